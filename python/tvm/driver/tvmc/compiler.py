"""Models to files of compiled code."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import relay as _relay

from ... import _absent
from ...ir.instrument import PassTimingInstrument
from ...ir.transform import PassContext
from ...target import Target
from .arguments import refuse
from .model import TVMCException, TVMCModel, TVMCPackage

__all__ = ["compile_model"]


def compile_model(
    tvmc_model: TVMCModel, target: Any, opt_level: int = 3, executor: Any = None, runtime: Any = None, tuning_records: Any = None,
    package_path: str | None = None, cross: Any = None, cross_options: Any = None, output_format: str = "so", dump_code: Any = None,
    dump_offloads: str = "", target_host: Any = None, disabled_pass: Any = None, pass_context_configs: Any = None, additional_target_options: Any = None,
    use_vm: bool = False, mod_name: str = "default", workspace_pools: Any = None, print_pass_times: bool = False, print_ir_before: Any = None,
    print_ir_after: Any = None, instruments: Any = None, desired_layout: Any = None, desired_layout_ops: Any = None, **options: Any,
) -> TVMCPackage:  # fmt: skip
    """Compiles a model and writes it to `package_path`, a temporary file without one.

    `desired_layout` is a layout, or one for each of `desired_layout_ops`, as ``NHWC`` or ``NHWC:HWIO``. `pass_context_configs` has texts
    ``key=value``. `tuning_records` changes nothing: FileNotFoundError where there is none. Raises TVMCException for a target that is none, NotImplementedError for a target that is no
    CPU, for the format mlf and for options that need what is not there.
    """
    from ...relay.build_module import build

    given = {"cross": cross, "cross_options": cross_options, "dump_code": dump_code, "dump_offloads": dump_offloads, "workspace_pools": workspace_pools,
             "print_ir_before": print_ir_before, "print_ir_after": print_ir_after}  # fmt: skip
    for name, value in given.items():
        if value:
            refuse(name, f"tvmc.compile({name}=…)")
    for name in options:
        raise TypeError(f"tvmc.compile has no argument {name}")
    if output_format == "mlf":
        raise NotImplementedError("the format mlf is not there: it is C source for microcontrollers, and programs are machine code")
    if tuning_records and not os.path.exists(tuning_records):
        raise FileNotFoundError(f"there are no tuning records at {tuning_records}")
    try:
        Target.canon_target(target)
    except ValueError as error:
        raise TVMCException(f"the target {target!r} cannot be read: {error}") from None
    disabled = disabled_pass.split(",") if isinstance(disabled_pass, str) else disabled_pass
    timing = PassTimingInstrument()
    watching = [*(instruments or ()), *([timing] if print_pass_times else ())]
    with PassContext(opt_level=opt_level, disabled_pass=disabled, config=parse_configs(pass_context_configs), instruments=watching):
        mod = tvmc_model.mod if not desired_layout else convert_graph_layout(tvmc_model.mod, desired_layout, desired_layout_ops)
        lib = build(mod, target, params=tvmc_model.params, mod_name=mod_name or "default")
        if print_pass_times:
            print(timing.render())
    path = package_path or tvmc_model.default_package_path()
    lib.export_library(path)
    package = TVMCPackage(path)
    package.executor_type = "vm" if use_vm else "graph"
    package.graph = None if use_vm else lib.get_graph_json()
    return package


def parse_configs(input_configs: Sequence[str] | None) -> dict[str, Any] | None:
    """Settings of a PassContext, of texts ``key=value``: values are read as the key's type says. Raises TVMCException."""
    if not input_configs:
        return None
    known = _relay.transform.PassContext.list_configs()  # types by our names
    settings: dict[str, Any] = {}
    for entry in input_configs:
        key, equals, text = entry.partition("=")
        if not equals:
            raise TVMCException(f"{entry!r} is no setting: write key=value")
        kind = known.get(key, {}).get("type")
        settings[key] = text if kind is None else _value(key, kind, text)
    return settings


def _value(key: str, kind: str, text: str) -> Any:
    word = text.strip().lower()
    try:
        if kind == "bool":
            return {"true": True, "1": True, "false": False, "0": False}[word]
        return int(word) if kind == "int" else float(word) if kind == "float" else text
    except (KeyError, ValueError):
        raise TVMCException(f"{key} takes a value of type {kind}, not {text!r}") from None


_LAYOUT_OPS = ("nn.conv2d", "nn.conv2d_transpose", "qnn.conv2d")


def convert_graph_layout(mod: Any, desired_layouts: Any, ops: Sequence[str] | None = None) -> Any:
    """The module with convolutions, or `ops`, in other layouts. Raises TVMCException for another number of layouts than of operators."""
    from ...relay.transform import ConvertLayout

    layouts = [desired_layouts] if isinstance(desired_layouts, str) else list(desired_layouts)
    names = list(ops or _LAYOUT_OPS)
    if len(layouts) == 1:
        layouts *= len(names)
    if len(layouts) != len(names):
        raise TVMCException(f"{len(layouts)} layouts for {len(names)} operators: give one, or one for each")
    wanted = {name: [*layout.split(":"), "default"][:2] for name, layout in zip(names, layouts)}
    return ConvertLayout(wanted)(mod)


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
