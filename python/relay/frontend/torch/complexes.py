"""Complex numbers as pairs of tensors. Operators that are linear, or linear in each of two operands, are made of those on real tensors."""

from __future__ import annotations

import math
from typing import Any, Callable

import torch

from ..._core import Expr, Tuple, TupleGetItem
from ...expr import const
from .context import Context, Value, constant
from .registry import converter

__all__ = ["Complex", "apart", "fixed", "joined", "lifted", "real_meta"]


class Complex(Value):
    """A complex tensor: its real and its imaginary part."""

    __slots__ = ("re", "im")

    def __init__(self, re: Any, im: Any, meta: torch.Tensor | None = None) -> None:
        self.re, self.im = re, im
        self.meta = meta  # type: ignore[assignment]

    @property
    def expr(self) -> Expr:  # type: ignore[override]
        """No operator of Relay takes complex numbers."""
        raise NotImplementedError("complex numbers")

    def named(self, meta: torch.Tensor) -> Complex:
        """This as the complex tensor that PyTorch says it is."""
        part = real_meta(meta)
        re, im = (item.expr if isinstance(item, Value) else item for item in (self.re, self.im))
        return Complex(Value(re, part), Value(im, part), meta)


def real_meta(meta: Any) -> Any:
    """A tensor as its real part; tuples of them, and what is no complex tensor, alike."""
    if isinstance(meta, (tuple, list)):
        return [real_meta(item) for item in meta]
    return torch.view_as_real(meta.resolve_conj())[..., 0] if isinstance(meta, torch.Tensor) and meta.is_complex() else meta


def apart(c: Context, pairs: Any, meta: torch.Tensor) -> Complex:
    """The complex tensor of one with a last axis for the two parts."""
    return Complex(*(c.call("take", pairs, const(i, "int64"), axis=meta.dim()) for i in range(2))).named(meta)


def joined(c: Context, value: Complex) -> Expr:
    """The parts side by side on a last axis."""
    return c.call("stack", [value.re, value.im], axis=value.rank)


def fixed(tensor: torch.Tensor, meta: torch.Tensor) -> Value:
    """A tensor as a constant."""
    if not tensor.is_complex():
        return Value(constant(tensor), meta)
    data = torch.view_as_real(tensor.detach().resolve_conj())
    return Complex(*(constant(data[..., i].contiguous()) for i in range(2))).named(meta)


def _zeros(c: Context, value: Value) -> Value:
    return Value(c.full(c.const(0, value.dtype), value.shape), value.meta)


# Operators of which each part of the result comes from the same parts of the operands.
_LINEAR = frozenset(
    "aten." + name
    for name in """view _unsafe_view reshape unsqueeze squeeze permute expand repeat cat slice select split_with_sizes flip diagonal
    select_scatter slice_scatter constant_pad_nd clone alias detach lift_fresh_copy copy neg add sub sum mean index index_select gather
    index_put scatter_add where cumsum as_strided unfold stack t transpose full full_like fill scalar_tensor empty reflection_pad1d reflection_pad2d
    zeros ones embedding masked_fill roll unbind _reshape_alias empty_strided new_empty""".split()
)
# Operators that are linear in the first operand, and in the second.
_BILINEAR = frozenset("aten." + name for name in ("mul", "mm", "bmm", "dot", "mv", "linear", "convolution"))


def lifted(target: Any, convert: Callable[..., Any]) -> Callable[..., Any]:
    """The converter of an operator for calls with complex operands or results, made of that for real ones."""
    name = str(target).rpartition(".")[0]
    if name in _LINEAR:
        return lambda c, args, kwargs: _by_parts(c, convert, args, kwargs)
    if name in _BILINEAR:
        return lambda c, args, kwargs: _product(c, convert, args, kwargs)
    if name == "aten.div":
        return lambda c, args, kwargs: _quotient(c, convert, args, kwargs)
    return convert


def _pair(c: Context, item: Any) -> Any:
    """The two parts of an operand; indices and masks stay as they are in both."""
    if isinstance(item, Complex):
        return item.re, item.im
    if isinstance(item, Value):
        return (item, _zeros(c, item)) if item.floating else (item, item)
    return item, item


def _parts(c: Context, item: Any) -> Any:
    if isinstance(item, (tuple, list)):
        pairs = [_parts(c, inner) for inner in item]
        return [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    if isinstance(item, complex):
        return item.real, item.imag
    return _pair(c, item)


def _by_parts(c: Context, convert: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    # A number is an operand of these two and of the fills; elsewhere numbers are axes and extents.
    numbers = c.name.startswith(("aten.add.", "aten.sub.", "aten.full", "aten.fill", "aten.scalar_tensor"))
    last = len(args) - 1
    pairs = []
    for i, item in enumerate(args):
        pair = _parts(c, item)
        pairs.append((pair[0], 0) if numbers and i == last and isinstance(item, (int, float)) and not isinstance(item, bool) else pair)
    out, results = c.out, []
    c.out = real_meta(out)
    for part in range(2):
        results.append(convert(c, [pair[part] for pair in pairs], kwargs))
    c.out = out
    first, second = results
    if isinstance(first, (tuple, list)):
        return [Complex(one, other) for one, other in zip(first, second)]
    return Complex(first, second)


def _product(c: Context, convert: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    if len(args) > 2 and isinstance(args[2], Value):
        raise NotImplementedError("a bias beside complex numbers")
    (a, b), (x, y) = (_factors(item) for item in args[:2])
    out = c.out
    c.out = real_meta(out)

    def times(one: Any, other: Any) -> Any:
        return None if one is None or other is None else c.expr(convert(c, [one, other, *args[2:]], kwargs))

    re = _sum(c, "subtract", times(a, x), times(b, y))
    im = _sum(c, "add", times(a, y), times(b, x))
    zero = c.full(c.const(0, c.dtype), c.out.shape) if re is None or im is None else None
    c.out = out
    return Complex(zero if re is None else re, zero if im is None else im)


def _factors(item: Any) -> tuple[Any, Any]:
    if isinstance(item, Complex):
        return item.re, item.im
    if isinstance(item, complex):
        return item.real or None, item.imag or None
    return item, None


def _sum(c: Context, operation: str, one: Any, other: Any) -> Any:
    if one is None:
        return other if other is None or operation == "add" else c.call("negative", other)
    return one if other is None else c.call(operation, one, other)


def _quotient(c: Context, convert: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    this, other = args[:2]
    if isinstance(other, complex):
        other = 1 / other
        re, im = (c.call("multiply", part, c.const(other.real, part.dtype)) for part in _pair(c, this))
        turned = [c.call("multiply", part, c.const(other.imag, part.dtype)) for part in _pair(c, this)]
        return Complex(c.call("subtract", re, turned[1]), c.call("add", im, turned[0]))
    if not isinstance(other, Complex):
        return _by_parts(c, lambda c, args, kwargs: convert(c, [args[0], other], kwargs), [this], kwargs)
    # By the greater part first, so that no square overflows.
    p, q = other.re, other.im
    steep = c.call("greater", c.call("abs", q), c.call("abs", p))
    big, small = c.call("where", steep, q, p), c.call("where", steep, p, q)
    share = c.call("divide", small, big)
    divisor = c.call("add", big, c.call("multiply", small, share))
    one = c.const(1, p.dtype)
    cos, sin = c.call("where", steep, share, one), c.call("where", steep, one, share)
    if isinstance(this, Value):
        a, b = _pair(c, this)
    else:
        number = complex(this)
        a, b = c.const(number.real, p.dtype), c.const(number.imag, p.dtype)
    re = c.call("add", c.call("multiply", a, cos), c.call("multiply", b, sin))
    im = c.call("subtract", c.call("multiply", b, cos), c.call("multiply", a, sin))
    return Complex(c.call("divide", re, divisor), c.call("divide", im, divisor))


@converter("aten.view_as_real.default")
def _view_as_real(c: Context, this: Complex) -> Any:
    return joined(c, this)


@converter("aten.view_as_complex.default")
def _view_as_complex(c: Context, this: Value) -> Any:
    return apart(c, this, c.out)


@converter("aten.complex.default")
def _complex(c: Context, real: Value, imag: Value) -> Any:
    part = real_meta(c.out)
    return Complex(*(c.broadcast(item, list(part.shape)) for item in (real, imag)))


@converter("aten.polar.default")
def _polar(c: Context, abs: Value, angle: Value) -> Any:  # noqa: A002 (names of the schema)
    return Complex(*(c.call("multiply", abs, c.call(name, angle)) for name in ("cos", "sin")))


@converter("aten.real.default")
def _real(c: Context, this: Value) -> Any:
    return this.re if isinstance(this, Complex) else this


@converter("aten.imag.default")
def _imag(c: Context, this: Complex) -> Any:
    return this.im


@converter("aten._conj.default", "aten._conj_physical.default", "aten.conj_physical.default")
def _conj(c: Context, this: Value) -> Any:
    return Complex(this.re, c.call("negative", this.im)) if isinstance(this, Complex) else this


@converter("aten.resolve_conj.default", "aten.resolve_neg.default")
def _resolved(c: Context, this: Value) -> Any:
    return this


def magnitude(c: Context, value: Complex) -> Expr:
    """The absolute value. The greater part is taken out, so that no square overflows."""
    a, b = (c.call("abs", part) for part in (value.re, value.im))
    high, low = c.call("maximum", a, b), c.call("minimum", a, b)
    zero, one = c.const(0, value.re.dtype), c.const(1, value.re.dtype)
    share = c.call("divide", low, c.call("where", c.call("equal", high, zero), one, high))
    return c.call("multiply", high, c.call("sqrt", c.call("add", one, c.call("multiply", share, share))))


def _transformed(c: Context, re: Any, im: Any, rank: int, axis: int, inverse: bool) -> tuple[Any, Any]:
    """The discrete Fourier transform along an axis; the inverse is divided by the extent."""
    order = list(range(rank))
    order[axis], order[-1] = order[-1], order[axis]
    moved = axis != rank - 1

    def turned(value: Any) -> Any:
        return c.call("transpose", value, axes=order) if moved else value

    both = c.call("dft", turned(re), turned(im), inverse=inverse)
    return turned(TupleGetItem(both, 0, c.span)), turned(TupleGetItem(both, 1, c.span))


def _scaled(c: Context, parts: Any, dtype: str, sizes: list[int], normalization: int, inverse: bool) -> list[Any]:
    count = math.prod(sizes)
    factor = {0: 1.0, 1: 1 / math.sqrt(count), 2: 1 / count}[normalization] * (count if inverse else 1)
    return [part if abs(factor - 1) < 1e-15 else c.call("multiply", part, c.const(factor, dtype)) for part in parts]


def _known_sizes(sizes: list[Any]) -> list[int]:
    if not all(isinstance(size, int) and size > 0 for size in sizes):
        raise NotImplementedError("a Fourier transform along an open extent")
    return sizes


@converter("aten._fft_c2c.default")
def _c2c(c: Context, this: Complex, dim: Any, normalization: int, forward: bool) -> Any:
    sizes = _known_sizes([this.shape[axis] for axis in this.axes(dim)])
    re, im = this.re, this.im
    for axis in this.axes(dim):
        re, im = _transformed(c, re, im, this.rank, axis, not forward)
    return Complex(*_scaled(c, (re, im), this.re.dtype, sizes, normalization, not forward))


@converter("aten._fft_r2c.default")
def _r2c(c: Context, this: Value, dim: Any, normalization: int, onesided: bool) -> Any:
    axes = this.axes(dim)
    sizes = _known_sizes([this.shape[axis] for axis in axes])
    re, im = _transformed(c, this, _zeros(c, this), this.rank, axes[-1], False)
    if onesided:
        re, im = (c.slice(part, axes[-1], 0, sizes[-1] // 2 + 1) for part in (re, im))
    for axis in axes[:-1]:
        re, im = _transformed(c, re, im, this.rank, axis, False)
    return Complex(*_scaled(c, (re, im), this.dtype, sizes, normalization, False))


@converter("aten._fft_c2r.default")
def _c2r(c: Context, this: Complex, dim: Any, normalization: int, last_dim_size: int) -> Any:
    axes = this.axes(dim)
    have = last_dim_size // 2 + 1 if isinstance(last_dim_size, int) else last_dim_size
    sizes = _known_sizes([*(this.shape[axis] for axis in axes[:-1]), last_dim_size])
    last = axes[-1]
    re, im = this.re.expr, this.im.expr
    for axis in axes[:-1]:
        re, im = _transformed(c, re, im, this.rank, axis, True)
    re, im = (c.slice(part, last, 0, have) for part in (re, im))
    end = have - (last_dim_size % 2 == 0)
    if end > 1:
        # The other half mirrors this one.
        mirrored = [c.call("reverse", c.slice(part, last, 1, end), axis=last) for part in (re, im)]
        re = c.call("concatenate", Tuple([re, mirrored[0]]), axis=last)
        im = c.call("concatenate", Tuple([im, c.call("negative", mirrored[1])]), axis=last)
    re, _ = _transformed(c, re, im, this.rank, last, True)
    return _scaled(c, [re], this.re.dtype, sizes, normalization, True)[0]

