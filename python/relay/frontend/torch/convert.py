"""Exported programs and modules of PyTorch as programs of Relay: what `from_torch` and `from_pytorch` do."""

from __future__ import annotations

from typing import Any, Sequence

import torch

from ..._checks import shown
from ..._core import IRModule, NDArray, Var
from ...expr import bind
from .program import convert_exported

__all__ = ["decompositions", "exported", "scripted"]

# Functions that Relay has an operator for, so that PyTorch need not take them apart.
_KEPT = ("linear.default", "scaled_dot_product_attention.default", "gelu.default", "silu.default", "hardswish.default", "upsample_bicubic2d.vec",
         "upsample_bilinear2d.vec", "upsample_nearest2d.vec", "upsample_nearest1d.vec", "upsample_nearest3d.vec", "upsample_linear1d.vec",
         "upsample_trilinear3d.vec", "_upsample_bilinear2d_aa.vec", "upsample_bicubic2d.default", "upsample_bilinear2d.default",
         "upsample_nearest2d.default", "upsample_nearest1d.default", "upsample_nearest3d.default", "upsample_linear1d.default",
         "upsample_trilinear3d.default", "linalg_inv.default", "inverse.default", "linalg_solve.default", "linalg_cholesky.default")  # fmt: skip


def decompositions() -> Any:
    """PyTorch's table of decompositions without those of operators that Relay has."""
    table = torch.export.default_decompositions()
    for name in _KEPT:
        packet, _, overload = name.partition(".")
        table.pop(getattr(getattr(torch.ops.aten, packet), overload), None)
    return table


def exported(program: Any, freeze: bool) -> tuple[IRModule, dict[str, NDArray]]:
    """`relay.frontend.from_torch`."""
    if not isinstance(program, torch.export.ExportedProgram):
        hint = ""
        if isinstance(program, torch.nn.Module):
            hint = ": give torch.export.export(module, inputs)"
            if isinstance(program, torch.jit.ScriptModule):
                hint += " of the module before it was traced or scripted, or call from_pytorch, which takes this one with the shapes of its inputs"
        raise TypeError(f"exported_program is what torch.export.export gives, not a {type(program).__name__}{hint}" if hint
                        else f"exported_program is what torch.export.export gives, not {shown(program)}")  # fmt: skip
    return convert_exported(program.run_decompositions(decompositions()), bool(freeze))


def scripted(module: Any, input_infos: Sequence[Any], default_dtype: str) -> tuple[IRModule, dict[str, NDArray]]:
    """`relay.frontend.from_pytorch`."""
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"script_module is a module of PyTorch, not {shown(module)}")
    names, inputs = [], []
    for name, info in input_infos:
        typed = len(info) == 2 and isinstance(info[0], (list, tuple))
        shape, dtype = info if typed else (info, default_dtype)
        names.append(str(name))
        inputs.append(torch.zeros(tuple(shape), dtype=getattr(torch, {"float": "float32", "int": "int32"}.get(str(dtype), str(dtype)))))
    if isinstance(module, torch.jit.ScriptModule):
        from torch._export.converter import TS2EPConverter

        # The converter leaves extents open; exporting what it gives once more takes those that were asked for.
        module = TS2EPConverter(module, tuple(inputs), {}).convert().module()
    mod, params = exported(torch.export.export(module, tuple(inputs)), True)
    return _renamed(mod, names), params


def _renamed(mod: IRModule, names: list[str]) -> IRModule:
    """The module with parameters of `main` named as the inputs were."""
    main = mod["main"]
    if len(main.params) != len(names) or [param.name_hint for param in main.params] == names:
        return mod
    fresh = {param: Var(name, param.type_annotation) for param, name in zip(main.params, names)}
    renamed = mod.copy()
    renamed["main"] = main.with_body(bind(main.body, fresh), list(fresh.values()))
    return renamed
