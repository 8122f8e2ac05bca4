"""Dtypes as values: their names, what two of them become, what they hold, and annotations such as `relay.f32["n", 4]`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["DTYPES", "DType", "Spec", "as_dtype", "can_hold", "default_of", "finfo", "iinfo", "kind_of_scalar", "promote"]


@dataclass(frozen=True)
class Spec:
    """The type of a parameter: a dtype and extents, each a number or a name. A name stands for any extent, everywhere the same one."""

    dtype: str
    shape: tuple[int | str, ...]

    def __repr__(self) -> str:
        return f"{self.dtype}[{', '.join(map(repr, self.shape)) or '()'}]"


class DType(str):
    """A dtype. It is the text of its name, too: `relay.numpy.float32 == "float32"`.

    `dtype(value)` makes an array of it, and `dtype["n", 4]` annotates a parameter of a function.
    """

    __slots__ = ()

    @property
    def name(self) -> str:
        """The name."""
        return str.__str__(self)

    @property
    def kind(self) -> str:
        """"bool", "int", "uint" or "float"."""
        return _KINDS[str.__str__(self)][0]

    @property
    def bits(self) -> int:
        """The size of an element."""
        return _KINDS[str.__str__(self)][1]

    @property
    def itemsize(self) -> int:
        """The size of an element in bytes."""
        return max(self.bits // 8, 1)

    def __getitem__(self, shape: Any) -> Any:
        extents = shape if isinstance(shape, tuple) else (shape,)
        for extent in extents:
            whole = isinstance(extent, int) and not isinstance(extent, bool) and extent >= 0
            if not whole and not (isinstance(extent, str) and extent.isidentifier()):
                raise TypeError(f"an extent is a number or a name, not {extent!r}")
        return Spec(str.__str__(self), extents)

    def __call__(self, value: Any = 0) -> Any:
        from ..numpy import asarray

        return asarray(value, dtype=self)

    def __repr__(self) -> str:
        return str.__str__(self)


_KINDS = {
    "bool": ("bool", 1), "int8": ("int", 8), "int16": ("int", 16), "int32": ("int", 32), "int64": ("int", 64), "uint8": ("uint", 8),
    "uint16": ("uint", 16), "uint32": ("uint", 32), "uint64": ("uint", 64), "float16": ("float", 16), "bfloat16": ("float", 16),
    "float32": ("float", 32), "float64": ("float", 64),
}  # fmt: skip
DTYPES = {name: DType(name) for name in _KINDS}
_BY_NUMPY: dict[Any, DType] = {np.dtype(name): dtype for name, dtype in DTYPES.items() if name != "bfloat16"}
_BY_PYTHON = {bool: "bool", int: "int32", float: "float32"}


def as_dtype(dtype: Any) -> DType:
    """The dtype that a name, a dtype of NumPy or a type of Python's numbers stands for. Raises TypeError for all else."""
    if type(dtype) is DType:
        return dtype
    if isinstance(dtype, type) and dtype in _BY_PYTHON:
        return DTYPES[_BY_PYTHON[dtype]]
    if isinstance(dtype, str) and dtype in DTYPES:
        return DTYPES[dtype]
    try:
        return _BY_NUMPY[dtype]
    except (KeyError, TypeError):
        pass
    try:
        return _BY_NUMPY[np.dtype(dtype)]
    except (KeyError, TypeError):
        text = str(dtype).removeprefix("torch.")
        if text in DTYPES:
            return DTYPES[text]
    raise TypeError(f"{dtype!r} is no dtype of Relay, which are {', '.join(DTYPES)}") from None


def default_of(kind: str) -> DType:
    """The dtype of Python's numbers where nothing else decides it."""
    return DTYPES[{"bool": "bool", "int": "int32", "uint": "uint32", "float": "float32"}[kind]]


def kind_of_scalar(value: Any) -> str:
    """"bool", "int" or "float" of a number of Python."""
    return "bool" if isinstance(value, bool) else "int" if isinstance(value, int) else "float"


_ORDER = {"bool": 0, "uint": 1, "int": 1, "float": 2}


def promote(a: str, b: str) -> DType:
    """The dtype in which two arrays are computed with.

    Inside of a kind it is the array API standard's. An integer and a float give the float; uint64 and a signed integer give float64.
    """
    if a == b:
        return DTYPES[a]
    x, y = DTYPES[a], DTYPES[b]
    if _ORDER[x.kind] != _ORDER[y.kind]:
        return x if _ORDER[x.kind] > _ORDER[y.kind] else y
    if x.kind == y.kind:
        if x.bits == y.bits:  # float16 and bfloat16 have no common 16 bits
            return DTYPES["float32"]
        return x if x.bits > y.bits else y
    signed, unsigned = (x, y) if x.kind == "int" else (y, x)
    bits = max(signed.bits, unsigned.bits * 2)
    return DTYPES[f"int{bits}"] if bits <= 64 else DTYPES["float64"]


def can_hold(dtype: str, kind: str) -> bool:
    """True if an array of a dtype stays what it is beside a number of Python of a kind."""
    return _ORDER[DTYPES[dtype].kind] >= _ORDER[kind]


@dataclass(frozen=True)
class finfo:  # noqa: N801 (the standard's name)
    """What a dtype of floats holds."""

    dtype: DType
    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float

    def __init__(self, dtype: Any) -> None:
        found = as_dtype(getattr(dtype, "dtype", dtype))
        if found.kind != "float":
            raise TypeError(f"finfo is of floats, not of {found}")
        if found == "bfloat16":
            values = (2.0**-7, 3.3895313892515355e38, 2.0**-126)
        else:
            known = np.finfo(found.name)
            values = (float(known.eps), float(known.max), float(known.smallest_normal))
        for name, value in zip(("dtype", "bits", "eps", "max", "min", "smallest_normal"),
                               (found, found.bits, values[0], values[1], -values[1], values[2])):  # fmt: skip
            object.__setattr__(self, name, value)


@dataclass(frozen=True)
class iinfo:  # noqa: N801
    """What a dtype of integers holds."""

    dtype: DType
    bits: int
    max: int
    min: int

    def __init__(self, dtype: Any) -> None:
        found = as_dtype(getattr(dtype, "dtype", dtype))
        if found.kind not in ("int", "uint"):
            raise TypeError(f"iinfo is of integers, not of {found}")
        signed = found.kind == "int"
        top = 2 ** (found.bits - signed) - 1
        for name, value in zip(("dtype", "bits", "max", "min"), (found, found.bits, top, -top - 1 if signed else 0)):
            object.__setattr__(self, name, value)
