"""`tvm.tir`: what scripts of Relay use of it, expressions as dimensions."""

from __future__ import annotations

import builtins
import functools
import re
from typing import Any as _AnyType

import relay as _relay
from relay import Dim

from .. import _absent
from ..runtime import convert as convert

__all__ = ["Any", "BijectiveLayout", "IntImm", "Layout", "SizeVar", "Var", "bijective_layout", "const", "floordiv", "floormod", "indexdiv", "indexmod", "layout", "max", "min"]


class _Meta(type):
    def __instancecheck__(cls, instance: _AnyType) -> bool:
        if cls is Any:
            return isinstance(instance, Dim)
        if cls is IntImm:
            return type.__instancecheck__(cls, instance)
        return isinstance(instance, Dim) and not instance.is_any


class Any(metaclass=_Meta):
    """An extent that is known only at run time. `isinstance` asks whether a dimension is one: named ones are, too, since an ONNX model's
    names of extents are `Any` in TVM."""

    def __new__(cls, span: _AnyType = None) -> _AnyType:
        return _relay.Any()


class Var(metaclass=_Meta):
    """A named dimension."""

    def __new__(cls, name: str, dtype: _AnyType, span: _AnyType = None) -> _AnyType:
        return _relay.ShapeVar(name)


class SizeVar(metaclass=_Meta):
    """A named dimension that is not negative."""

    def __new__(cls, name: str, dtype: _AnyType, span: _AnyType = None) -> _AnyType:
        return _relay.ShapeVar(name)


class IntImm(int):
    """An integer with a dtype, usable as a dimension."""

    dtype: str

    def __new__(cls, dtype: str, value: int, span: _AnyType = None) -> IntImm:
        made = super().__new__(cls, value)
        made.dtype = str(dtype)
        return made

    def __reduce__(self) -> tuple[type[int], tuple[int]]:
        """Programs are pickled with plain integers: who reads them need not have `tvm`."""
        return int, (int(self),)

    def __copy__(self) -> IntImm:
        return self

    def __deepcopy__(self, memo: _AnyType) -> IntImm:
        return self

    @property
    def value(self) -> int:
        """The number."""
        return int(self)

    def same_as(self, other: object) -> bool:
        """True if both are the same number: extents have no objects of their own."""
        return isinstance(other, int) and int(self) == int(other)


def _computed(name: str) -> _AnyType:
    plain = getattr(int, name)

    @functools.wraps(plain)
    def compute(self: IntImm, *others: _AnyType) -> _AnyType:
        found = plain(self, *others)
        # What Python's integers do not know, and booleans, stay: an extent that is no number has operators of its own.
        return IntImm(_widest(self, *others), found) if type(found) is int else found

    return compute


def _widest(*numbers: _AnyType) -> str:
    """The dtype of most bits of those that say one; the first of several."""

    def bits(dtype: str) -> int:
        found = re.search(r"\d{1,4}", dtype)
        return int(found[0]) if found else 1  # bool

    return builtins.max((number.dtype for number in numbers if isinstance(number, IntImm)), key=bits)


# Numbers that are computed from such numbers have a `value`, too.
for _name in ("add", "sub", "mul", "floordiv", "mod", "radd", "rsub", "rmul", "rfloordiv", "rmod", "neg", "abs"):
    setattr(IntImm, f"__{_name}__", _computed(f"__{_name}__"))


def numbered(value: _AnyType) -> _AnyType:
    """A value of attributes or containers, whose integers, also those of lists and dictionaries, have a `value`."""
    if type(value) is int:
        return IntImm("int32" if -(2**31) <= value < 2**31 else "int64", value)
    if type(value) in (list, tuple):
        return type(value)(numbered(item) for item in value)
    return {key: numbered(item) for key, item in value.items()} if type(value) is dict else value


def _extent(value: int) -> IntImm:
    return IntImm("int32" if value < 2**31 else "int64", value)


# Scripts ask a known extent for its `value`, or whether it is an IntImm.
_relay._core.set_integer_dims(_extent)


class FloatImm(float):
    """A float with a dtype."""

    dtype: str

    def __new__(cls, dtype: str, value: float, span: _AnyType = None) -> FloatImm:
        made = super().__new__(cls, value)
        made.dtype = str(dtype)
        return made

    @property
    def value(self) -> float:
        """The number."""
        return float(self)


class StringImm(str):
    """A string."""

    def __new__(cls, value: str, span: _AnyType = None) -> StringImm:
        return super().__new__(cls, value)

    @property
    def value(self) -> str:
        """The text."""
        return str(self)


def const(value: _AnyType, dtype: str | None = None, span: _AnyType = None) -> _AnyType:
    """A number with a dtype."""
    if isinstance(value, (bool, int)) and not str(dtype or "").startswith(("float", "bfloat")):
        return IntImm(dtype or "int32", int(value))
    return FloatImm(dtype or "float32", float(value))


def indexdiv(a: _AnyType, b: _AnyType, span: _AnyType = None) -> _AnyType:
    """The quotient of dimensions, which are not negative."""
    return a // b


def indexmod(a: _AnyType, b: _AnyType, span: _AnyType = None) -> _AnyType:
    """The remainder of dimensions."""
    return a % b


def _or_scalars(plain: _AnyType) -> _AnyType:
    """The function, which takes scalars of tensor expressions, too."""

    @functools.wraps(plain)
    def either(a: _AnyType, b: _AnyType, span: _AnyType = None) -> _AnyType:
        from ..te import expressions

        if isinstance(a, expressions.PrimExpr) or isinstance(b, expressions.PrimExpr):
            return expressions.of_indices(plain.__name__, a, b)
        return plain(a, b, span)

    return either




def max(a: _AnyType, b: _AnyType, span: _AnyType = None) -> _AnyType:  # noqa: A001
    """The larger number; of extents that are not known, an extent."""
    if isinstance(a, Dim) or isinstance(b, Dim):
        return Dim.max(a if isinstance(a, Dim) else b, b if isinstance(a, Dim) else a)
    return a if a >= b else b


def min(a: _AnyType, b: _AnyType, span: _AnyType = None) -> _AnyType:  # noqa: A001
    """The smaller number; of extents that are not known, an extent."""
    if isinstance(a, Dim) or isinstance(b, Dim):
        return Dim.min(a if isinstance(a, Dim) else b, b if isinstance(a, Dim) else a)
    return a if a <= b else b


floordiv, floormod = indexdiv, indexmod = _or_scalars(indexdiv), _or_scalars(indexmod)
max, min = _or_scalars(max), _or_scalars(min)  # noqa: A001

from .data_layout import BijectiveLayout as BijectiveLayout, Layout as Layout, bijective_layout as bijective_layout, layout as layout  # noqa: E402


def __getattr__(name: str) -> _AnyType:
    from .. import te

    inside = te.expressions.functions.get(name)
    return _absent.lookup(__name__, name) if inside is None else inside
