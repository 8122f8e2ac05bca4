"""Fourier transforms. No dtype of Relay is complex: a spectrum is a pair of arrays, the real and the imaginary parts."""

from __future__ import annotations

import operator

from ._common import Any, axis_of, emit, floating, lift, operands, operation
from .creation import zeros_like
from .manipulation import concat, flip, swapaxes

__all__ = ["fft", "fftfreq", "ifft", "irfft", "rfft", "rfftfreq"]


def _transform(real: Any, imaginary: Any, axis: int, inverse: bool) -> tuple[Any, Any]:
    place = axis_of(axis, real.ndim)
    last = real.ndim - 1
    if place != last:
        real, imaginary = swapaxes(real, place, last), swapaxes(imaginary, place, last)
    a, b = emit("dft", real, imaginary, inverse=inverse)
    return (a, b) if place == last else (swapaxes(a, place, last), swapaxes(b, place, last))


@operation
def fft(real: Any, imaginary: Any = None, /, *, axis: int = -1) -> tuple[Any, Any]:
    """The transform along an axis, of real parts and, where given, imaginary ones."""
    value = floating(real)
    return _transform(value, zeros_like(value) if imaginary is None else operands(value, imaginary)[0][1], axis, False)


@operation
def ifft(real: Any, imaginary: Any, /, *, axis: int = -1) -> tuple[Any, Any]:
    """The inverse transform along an axis, divided by the extent."""
    return _transform(floating(real), floating(imaginary), axis, True)


@operation
def rfft(x: Any, /, *, axis: int = -1) -> tuple[Any, Any]:
    """The first half of the transform of real numbers; the other half mirrors it."""
    value = floating(x)
    a, b = fft(value, axis=axis)
    place = axis_of(axis, value.ndim)
    end = operator.index(value.shape[place]) // 2 + 1
    key = (*[slice(None)] * place, slice(0, end))
    return a[key], b[key]


@operation
def irfft(real: Any, imaginary: Any, /, n: int | None = None, *, axis: int = -1) -> Any:
    """The `n` real numbers of a half of a spectrum; n is even by default."""
    a, b = floating(real), floating(imaginary)
    place = axis_of(axis, a.ndim)
    have = operator.index(a.shape[place])
    count = 2 * (have - 1) if n is None else n
    if count // 2 + 1 != have:
        raise ValueError(f"{count} numbers have {count // 2 + 1} frequencies, not {have}")
    before = (slice(None),) * place
    rest = slice(1, have - (count % 2 == 0))
    a = concat([a, flip(a[(*before, rest)], axis=place)], axis=place)
    b = concat([b, -flip(b[(*before, rest)], axis=place)], axis=place)
    return ifft(a, b, axis=place)[0]


@operation
def fftfreq(n: int, /, *, d: float = 1.0) -> Any:
    """The frequencies of `fft`, for samples at a distance d."""
    return lift([(i if i < (n + 1) // 2 else i - n) / (n * d) for i in range(n)])


@operation
def rfftfreq(n: int, /, *, d: float = 1.0) -> Any:
    """The frequencies of `rfft`, for samples at a distance d."""
    return lift([i / (n * d) for i in range(n // 2 + 1)])
