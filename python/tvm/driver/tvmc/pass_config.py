"""`tvm.driver.tvmc.pass_config`: settings of passes as words of a command line."""

from .compiler import parse_configs as parse_configs

__all__ = ["parse_configs"]
