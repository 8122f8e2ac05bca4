"""Models to files of compiled code."""

from __future__ import annotations

from typing import Any

from ... import _absent
from ...ir.transform import PassContext
from .model import TVMCModel, TVMCPackage

__all__ = ["compile_model"]


def compile_model(
    tvmc_model: TVMCModel, target: Any, opt_level: int = 3, executor: Any = None, runtime: Any = None, tuning_records: Any = None,
    package_path: str | None = None, cross: Any = None, cross_options: Any = None, output_format: str = "so", dump_code: Any = None,
    dump_offloads: str = "", target_host: Any = None, disabled_pass: Any = None, pass_context_configs: Any = None, additional_target_options: Any = None,
    use_vm: bool = False, mod_name: str = "default", workspace_pools: Any = None, print_pass_times: bool = False, print_ir_before: Any = None,
    print_ir_after: Any = None, instruments: Any = None, desired_layout: Any = None, **options: Any,
) -> TVMCPackage:  # fmt: skip
    """Compiles a model and writes it to `package_path`, a temporary file without one.

    Raises NotImplementedError for a target that is no CPU, for dumps of generated code and for options that change the program.
    """
    from ...relay.build_module import build

    given = {"cross": cross, "dump_code": dump_code, "dump_offloads": dump_offloads, "workspace_pools": workspace_pools, "desired_layout": desired_layout,
             "print_ir_before": print_ir_before, "print_ir_after": print_ir_after, **options}  # fmt: skip
    for name, value in given.items():
        if value:
            raise NotImplementedError(f"tvmc.compile({name}=…): run the passes on the module, and compile what they give")
    disabled = disabled_pass.split(",") if isinstance(disabled_pass, str) else disabled_pass
    config = dict(entry.split("=", 1) for entry in pass_context_configs or [])
    with PassContext(opt_level=opt_level, disabled_pass=disabled, config=config or None, instruments=instruments):
        lib = build(tvmc_model.mod, target, params=tvmc_model.params, mod_name=mod_name or "default")
    path = package_path or tvmc_model.default_package_path()
    lib.export_library(path)
    return TVMCPackage(path)


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
