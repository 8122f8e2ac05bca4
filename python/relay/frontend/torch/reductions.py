"""Reductions, scans and sorting."""

from __future__ import annotations

from typing import Any

from .context import Context, Value
from .elementwise import truth
from .registry import converter

__all__: list[str] = []


def _reduction(ours: str) -> Any:
    def reduce(c: Context, this: Value, dim: Any, keepdim: Any) -> Any:
        if not this.rank:
            return c.cast(this, c.dtype)
        return c.call(ours, c.cast(this, c.dtype), axis=this.axes(dim), keepdims=bool(keepdim))

    return reduce


converter("aten.sum")(_reduction("sum"))
converter("aten.prod")(_reduction("prod"))
converter("aten.mean")(_reduction("mean"))
converter("aten.amax.default", "aten.max.default")(_reduction("max"))
converter("aten.amin.default", "aten.min.default")(_reduction("min"))


def _on_bools(ours: str) -> Any:
    def reduce(c: Context, this: Value, dim: Any, keepdim: Any) -> Any:
        return c.call(ours, truth(c, this), axis=this.axes(dim), keepdims=bool(keepdim)) if this.rank else truth(c, this)

    return reduce


converter("aten.any")(_on_bools("any"))
converter("aten.all")(_on_bools("all"))


def _position(ours: str) -> Any:
    def find(c: Context, this: Value, dim: Any, keepdim: Any) -> Any:
        if not this.rank:
            return c.const(0, "int64")
        data = this.expr
        if dim is None:
            data, axes = c.call("reshape", this, newshape=[-1]), [0]
        else:
            axes = this.axes(dim)
        found = c.call("cast", c.call(ours, data, axis=axes, keepdims=bool(keepdim) and dim is not None), dtype="int64")
        return c.reshape(found, list(c.out.shape)) if dim is None and keepdim else found

    return find


_argmax, _argmin = _position("argmax"), _position("argmin")
converter("aten.argmax.default")(_argmax)
converter("aten.argmin.default")(_argmin)


@converter("aten.max.dim")
def _max_dim(c: Context, this: Value, dim: int, keepdim: bool) -> Any:
    return _reduction("max")(c, this, dim, keepdim), _argmax(c, this, dim, keepdim)


@converter("aten.min.dim")
def _min_dim(c: Context, this: Value, dim: int, keepdim: bool) -> Any:
    return _reduction("min")(c, this, dim, keepdim), _argmin(c, this, dim, keepdim)


@converter("aten.var")
def _var(c: Context, this: Value, dim: Any, unbiased: Any, correction: Any, keepdim: Any) -> Any:
    return variance(c, this, dim, correction if unbiased is None and correction is not None else (0 if unbiased is False else 1), bool(keepdim))[0]


@converter("aten.var_mean.correction")
def _var_mean(c: Context, this: Value, dim: Any, correction: Any, keepdim: Any) -> Any:
    return variance(c, this, dim, 1 if correction is None else correction, bool(keepdim))


def variance(c: Context, this: Value, dim: Any, correction: float, keepdim: bool) -> Any:
    """The variance over axes and the mean. `correction` is subtracted from the count that it divides by."""
    axes = this.axes(dim)
    mean = c.call("mean", this, axis=axes, keepdims=True)
    apart = c.call("subtract", this, mean)
    total = c.call("sum", c.call("multiply", apart, apart), axis=axes, keepdims=keepdim)
    count = c.const(1, this.dtype)
    for axis in axes:
        count = c.call("multiply", count, c.const(this.shape[axis], this.dtype))
    less = c.call("maximum", c.call("subtract", count, c.const(correction, this.dtype)), c.const(0, this.dtype))
    return c.call("divide", total, less), mean if keepdim else c.call("mean", this, axis=axes, keepdims=False)


@converter("aten.cumsum.default")
def _cumsum(c: Context, this: Value, dim: int) -> Any:
    return c.call("cumsum", this, axis=this.axis(dim), dtype=c.dtype) if this.rank else c.cast(this, c.dtype)


@converter("aten.cumprod.default")
def _cumprod(c: Context, this: Value, dim: int) -> Any:
    return c.call("cumprod", this, axis=this.axis(dim), dtype=c.dtype) if this.rank else c.cast(this, c.dtype)


@converter("aten.sort")
def _sort(c: Context, this: Value, dim: int, descending: bool) -> Any:
    if not this.rank:
        return this, c.const(0, "int64")
    axis = this.axis(dim)
    order = c.call("argsort", this, axis=axis, is_ascend=not descending, dtype="int64")
    return c.call("gather", this, order, axis=axis), order


@converter("aten.topk.default")
def _topk(c: Context, this: Value, k: Any, dim: int, largest: bool) -> Any:
    if not this.rank:
        return this, c.const(0, "int64")
    axis = this.axis(dim)
    order = c.slice(c.call("argsort", this, axis=axis, is_ascend=not largest, dtype="int64"), axis, 0, k)
    return c.call("gather", this, order, axis=axis), order
