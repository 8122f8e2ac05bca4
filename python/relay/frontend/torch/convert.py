"""Exported programs of PyTorch as programs of Relay: what `from_torch` does."""

from __future__ import annotations

from typing import Any

import torch

from ..._checks import shown
from ..._core import IRModule, NDArray
from .program import convert_exported

__all__ = ["decompositions", "exported"]

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
