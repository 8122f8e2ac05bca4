"""Fourier transforms. No dtype of Relay is complex: a spectrum is a pair of arrays, the real and the imaginary parts."""

from __future__ import annotations

import operator
from collections.abc import Sequence

from ._common import Any, axis_of, cast, emit, floating, lift, operands, operation
from .creation import require_device, zeros, zeros_like
from .manipulation import concat, flip, roll, swapaxes

__all__ = [
    "fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft", "irfftn", "rfft", "rfftfreq", "rfftn",
]  # fmt: skip

_OPPOSITE = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def _count(n: Any) -> int:
    """A number of elements. Raises TypeError, ValueError."""
    try:
        count = operator.index(n)
    except (TypeError, AttributeError):
        raise TypeError(f"n is a whole number, not {n!r}") from None
    if count < 1:
        raise ValueError(f"a transform has one number at least, not {count}")
    return count


def _sized(value: Any, place: int, n: int | None) -> Any:
    """The first `n` elements along an axis, with zeros behind them where there are fewer; all without a number."""
    if n is None:
        return value
    n = _count(n)
    have = operator.index(value.shape[place])
    if n <= have:
        return value if n == have else value[(*[slice(None)] * place, slice(0, n))]
    return concat([value, zeros((*value.shape[:place], n - have, *value.shape[place + 1 :]), dtype=value.dtype)], axis=place)


def _scaled(pair: tuple[Any, Any], n: Any, norm: str, inverse: bool) -> tuple[Any, Any]:
    """The transform times what `norm` asks for: the inverse one is divided by the extent already."""
    if norm not in _OPPOSITE:
        raise ValueError(f"norm is 'backward', 'ortho' or 'forward', not {norm!r}")
    if norm == "backward":
        return pair
    factor = operator.index(n) ** (-1.0 if norm == "forward" else -0.5)
    real, imaginary = pair
    scale = 1 / factor if inverse else factor
    return real * scale, imaginary * scale


def _transform(real: Any, imaginary: Any, n: int | None, axis: int, norm: str, inverse: bool) -> tuple[Any, Any]:
    place, last = axis_of(axis, real.ndim), real.ndim - 1
    real, imaginary = _sized(real, place, n), _sized(imaginary, place, n)
    extent = real.shape[place]
    if place != last:
        real, imaginary = swapaxes(real, place, last), swapaxes(imaginary, place, last)
    a, b = emit("dft", real, imaginary, inverse=inverse)
    return _scaled((a, b) if place == last else (swapaxes(a, place, last), swapaxes(b, place, last)), extent, norm, inverse)


def _pair(real: Any, imaginary: Any) -> tuple[Any, Any]:
    value = floating(real)
    if imaginary is None:
        return value, zeros_like(value)
    (a, b), _ = operands(value, floating(imaginary))
    return a, b


def _places(ndim: int, s: Sequence[int] | None, axes: Sequence[int] | None) -> list[tuple[int, int | None]]:
    """The axes of a transform of several, each with the number of elements that it takes."""
    if axes is None:
        axes = range(ndim) if s is None else range(ndim - len(s), ndim)
    if s is not None and len(s) != len(axes):
        raise ValueError(f"s has {len(s)} extents for {len(axes)} axes")
    places = [axis_of(axis, ndim) for axis in axes]
    if len(set(places)) != len(places):
        raise ValueError(f"the axes {tuple(axes)} have one twice")
    return list(zip(places, [None] * len(places) if s is None else s))


def _some_places(ndim: int, s: Sequence[int] | None, axes: Sequence[int] | None) -> list[tuple[int, int | None]]:
    """The same of one axis at least: the last is that of the half of a spectrum."""
    places = _places(ndim, s, axes)
    if not places:
        raise ValueError("a transform of real numbers goes along one axis at least")
    return places


@operation
def fft(real: Any, imaginary: Any = None, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> tuple[Any, Any]:
    """The transform along an axis, of real parts and, where given, imaginary ones; of `n` elements, with zeros for those that miss."""
    a, b = _pair(real, imaginary)
    return _transform(a, b, n, axis, norm, False)


@operation
def ifft(real: Any, imaginary: Any = None, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> tuple[Any, Any]:
    """The inverse transform along an axis, divided by the extent."""
    a, b = _pair(real, imaginary)
    return _transform(a, b, n, axis, norm, True)


@operation
def fftn(
    real: Any, imaginary: Any = None, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str = "backward"
) -> tuple[Any, Any]:
    """The transform along several axes, all of them by default; `s` has the number of elements of each."""
    a, b = _pair(real, imaginary)
    for place, n in _places(a.ndim, s, axes):
        a, b = _transform(a, b, n, place, norm, False)
    return a, b


@operation
def ifftn(
    real: Any, imaginary: Any = None, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str = "backward"
) -> tuple[Any, Any]:
    """The inverse transform along several axes, all of them by default; `s` has the number of elements of each."""
    a, b = _pair(real, imaginary)
    for place, n in _places(a.ndim, s, axes):
        a, b = _transform(a, b, n, place, norm, True)
    return a, b


@operation
def rfft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> tuple[Any, Any]:
    """The first half of the transform of real numbers; the other half mirrors it."""
    a, b = fft(x, n=n, axis=axis, norm=norm)
    place = axis_of(axis, a.ndim)
    key = (*[slice(None)] * place, slice(0, operator.index(a.shape[place]) // 2 + 1))
    return a[key], b[key]


@operation
def irfft(real: Any, imaginary: Any, /, n: int | None = None, *, axis: int = -1, norm: str = "backward") -> Any:
    """The `n` real numbers of a half of a spectrum, which is cut or filled up with zeros for it; n is even by default."""
    a, b = _pair(real, imaginary)
    place = axis_of(axis, a.ndim)
    count = _count(2 * (operator.index(a.shape[place]) - 1) if n is None else n)
    a, b = _sized(a, place, count // 2 + 1), _sized(b, place, count // 2 + 1)
    before = (slice(None),) * place
    rest = slice(1, count // 2 + 1 - (count % 2 == 0))
    a = concat([a, flip(a[(*before, rest)], axis=place)], axis=place)
    b = concat([b, -flip(b[(*before, rest)], axis=place)], axis=place)
    return ifft(a, b, axis=place, norm=norm)[0]


@operation
def rfftn(x: Any, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str = "backward") -> tuple[Any, Any]:
    """The transform of real numbers along several axes; along the last of them, the first half, as of `rfft`."""
    value = floating(x)
    *others, (last, n) = _some_places(value.ndim, s, axes)
    a, b = rfft(value, n=n, axis=last, norm=norm)
    for place, count in others:
        a, b = _transform(a, b, count, place, norm, False)
    return a, b


@operation
def irfftn(real: Any, imaginary: Any, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str = "backward") -> Any:
    """The real numbers of a spectrum that `rfftn` gives."""
    a, b = _pair(real, imaginary)
    *others, (last, n) = _some_places(a.ndim, s, axes)
    for place, count in others:
        a, b = _transform(a, b, count, place, norm, True)
    return irfft(a, b, n, axis=last, norm=norm)


@operation
def hfft(real: Any, imaginary: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
    """The real transform of numbers whose second half mirrors the first; only the first is given."""
    a, b = _pair(real, imaginary)
    _scaled((a, b), 1, norm, False)
    return irfft(a, -b, n, axis=axis, norm=_OPPOSITE[norm])


@operation
def ihfft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> tuple[Any, Any]:
    """The first half of the inverse transform of real numbers; the other half mirrors it."""
    value = floating(x)
    _scaled((value, value), 1, norm, False)
    a, b = rfft(value, n=n, axis=axis, norm=_OPPOSITE[norm])
    return a, -b


def _frequencies(numbers: list[float], dtype: Any, device: Any) -> Any:
    require_device(device)
    value = lift(numbers)
    return value if dtype is None else cast(value, dtype)


@operation
def fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Any:
    """The frequencies of `fft`, for samples at a distance d."""
    return _frequencies([(i if i < (n + 1) // 2 else i - n) / (n * d) for i in range(n)], dtype, device)


@operation
def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Any:
    """The frequencies of `rfft`, for samples at a distance d."""
    return _frequencies([i / (n * d) for i in range(n // 2 + 1)], dtype, device)


def _shifted(x: Any, axes: Any, back: bool) -> Any:
    value = lift(x)
    places = [axis_of(axis, value.ndim) for axis in (range(value.ndim) if axes is None else [axes] if isinstance(axes, int) else axes)]
    steps = [operator.index(value.shape[place]) // 2 for place in places]
    if back:
        steps = [-step for step in steps]
    return roll(value, tuple(steps), axis=tuple(places)) if places else value


@operation
def fftshift(x: Any, /, *, axes: Any = None) -> Any:
    """The spectrum with its zero frequency in the middle, along an axis, several, or all."""
    return _shifted(x, axes, back=False)


@operation
def ifftshift(x: Any, /, *, axes: Any = None) -> Any:
    """What `fftshift` moved, back in its place."""
    return _shifted(x, axes, back=True)
