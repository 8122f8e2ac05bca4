"""`tvm.target.compilation_config`: where TVM defines the settings of a build."""

from .virtual_device import CompilationConfig as CompilationConfig, make_compilation_config as make_compilation_config

__all__ = ["CompilationConfig", "make_compilation_config"]
