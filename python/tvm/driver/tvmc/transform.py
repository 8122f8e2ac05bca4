"""Changes of a model before it is compiled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from ... import _absent
from .compiler import convert_graph_layout as convert_graph_layout
from .model import TVMCException

__all__ = ["MixedPrecision", "apply_graph_transforms", "convert_graph_layout", "convert_to_mixed_precision"]


class MixedPrecision:
    """A block in which the named operators are computed on narrow floats always, and others where their inputs are."""

    def __init__(self, ops: Sequence[str]) -> None:
        self._ops = list(ops)
        self._attached = ExitStack()

    def __enter__(self) -> MixedPrecision:
        from ...relay.testing.temp_op_attr import TempOpAttr

        # All of them, or none where a name is that of no operator.
        with ExitStack() as made:
            for name in self._ops:
                made.enter_context(TempOpAttr(name, "FTVMMixedPrecisionConversionType", lambda call, narrow: [0, narrow, narrow]))
            self._attached = made.pop_all()
        return self

    def __exit__(self, *exc: Any) -> None:
        self._attached.__exit__(*exc)


def convert_to_mixed_precision(mod: Any, ops: Sequence[str] | None = None, calculation_type: str = "float16", acc_type: str = "float16") -> Any:
    """The module on narrow floats; `ops` are computed on them always, convolutions and products by default. Sums are of float32, whatever
    `acc_type` says. Raises TVMCException for names that no operator has."""
    from ...relay.transform import ToMixedPrecision

    try:
        with MixedPrecision(ops if ops is not None else ["nn.conv2d", "nn.dense"]):
            return ToMixedPrecision(calculation_type)(mod)
    except AttributeError as error:
        raise TVMCException(str(error)) from None


def apply_graph_transforms(mod: Any, args: Mapping[str, Any] | None, params: Any = None) -> Any:
    """The module after what `args` asks for: `desired_layout` with `desired_layout_ops`, `mixed_precision` with `mixed_precision_ops`,
    `mixed_precision_calculation_type` and `mixed_precision_acc_type`."""
    given = dict(args or {})
    if given.get("desired_layout"):
        mod = convert_graph_layout(mod, given["desired_layout"], given.get("desired_layout_ops"))
    if given.get("mixed_precision"):
        mod = convert_to_mixed_precision(mod, given.get("mixed_precision_ops"), given.get("mixed_precision_calculation_type") or "float16",
                                         given.get("mixed_precision_acc_type") or "float16")  # fmt: skip
    return mod


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
