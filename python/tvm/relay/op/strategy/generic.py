"""`tvm.relay.op.strategy.generic`: what is asked about convolutions."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from .... import _absent

__all__ = ["is_depthwise_conv2d", "wrap_topi_schedule"]


def _extent(shape: Sequence[Any], layout: str, axis: str) -> int:
    """The extent of an axis, whose blocks in a layout such as ``NCHW16c`` count together."""
    letters = re.sub(r"\d", "", layout)
    if axis not in letters or len(letters) != len(shape):
        raise ValueError(f"the layout {layout!r} does not say where {axis} is in the shape {tuple(shape)}")
    extent = 1
    for letter, size in zip(letters, shape):
        if letter.upper() == axis:
            extent *= int(size)
    return extent


def is_depthwise_conv2d(data_shape: Sequence[Any], data_layout: str, kernel_shape: Sequence[Any], kernel_layout: str, groups: int) -> bool:
    """True if each channel of a convolution is a group of its own. Raises ValueError for shapes that the layouts do not fit."""
    return _extent(data_shape, data_layout, "C") == _extent(kernel_shape, kernel_layout, "O") == groups


def wrap_topi_schedule(topi_schedule: Any) -> Callable[..., Any]:
    """A schedule as `OpStrategy.add_implementation` takes it, which nothing reads: calling it raises OutOfScope."""

    def schedule(attrs: Any, outs: Any, target: Any) -> Any:
        raise _absent.OutOfScope(_absent.explanation("tvm.te.create_schedule"))

    schedule.__wrapped__ = topi_schedule  # type: ignore[attr-defined]
    return schedule


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
