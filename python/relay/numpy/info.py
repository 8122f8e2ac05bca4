"""What the namespace says of itself and of dtypes."""

from __future__ import annotations

from typing import Any

from ..functions.array import BaseArray
from ..functions.dtypes import DTYPES, DType, as_dtype, finfo, iinfo, promote
from ._common import result_dtype

__all__ = ["can_cast", "finfo", "iinfo", "isdtype", "issubdtype", "result_type"]

API_VERSIONS = ("2022.12", "2023.12", "2024.12")

_GROUPS = {
    "bool": ("bool",), "signed integer": ("int",), "unsigned integer": ("uint",), "integral": ("int", "uint"), "real floating": ("float",),
    "complex floating": (), "numeric": ("int", "uint", "float"),
}  # fmt: skip


def isdtype(dtype: Any, kind: Any) -> bool:
    """True if a dtype is of a kind: another dtype, a word such as "integral" or "real floating", or a tuple of these."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    found = as_dtype(dtype)
    if isinstance(kind, str) and kind in _GROUPS and type(kind) is not DType:
        return found.kind in _GROUPS[kind]
    try:
        return found == as_dtype(kind)
    except TypeError:
        raise ValueError(f"{kind!r} is no kind of dtypes, which are {', '.join(_GROUPS)}") from None


def issubdtype(dtype: Any, kind: Any) -> bool:
    """`isdtype`, under NumPy's name and with its classes, such as np.floating."""
    name = getattr(kind, "__name__", kind)
    groups = {"floating": "real floating", "integer": "integral", "signedinteger": "signed integer", "unsignedinteger": "unsigned integer",
              "number": "numeric", "inexact": "real floating"}  # fmt: skip
    return isdtype(dtype, groups.get(name, kind))


def can_cast(from_: Any, to: Any, /) -> bool:
    """True if promotion turns the first dtype, or that of an array, into the second."""
    source = from_.dtype if isinstance(from_, BaseArray) else as_dtype(from_)
    target = as_dtype(to)
    return source == target or (source.kind != "bool" and promote(source, target) == target) or (source.kind == "bool" and target == "bool")


def result_type(*arrays_and_dtypes: Any) -> DType:
    """The dtype in which arrays, dtypes and numbers of Python are computed with together."""
    return result_dtype(*arrays_and_dtypes)


class _Info:
    """What the standard asks a namespace: `relay.numpy.__array_namespace_info__()`."""

    def capabilities(self) -> dict[str, Any]:
        """Masks and shapes that depend on data work; an array has at most 64 axes."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> str:
        """"cpu"."""
        return "cpu"

    def devices(self) -> list[str]:
        """"cpu" alone."""
        return ["cpu"]

    def default_dtypes(self, *, device: Any = None) -> dict[str, DType]:
        """The dtypes of Python's numbers, and of positions."""
        return {"real floating": DTYPES["float32"], "integral": DTYPES["int32"], "indexing": DTYPES["int32"]}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, DType]:
        """Dtypes by name: all that the standard names, or those of a kind."""
        known = {name: dtype for name, dtype in DTYPES.items() if name not in ("float16", "bfloat16")}
        return known if kind is None else {name: dtype for name, dtype in known.items() if isdtype(dtype, kind)}


def __array_namespace_info__() -> _Info:  # noqa: N807
    return _Info()
