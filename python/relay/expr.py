"""Expressions: the node classes, `var`, `const`, `bind`, and operators of Python on expressions.

`x + y`, `-x`, `x < 1.0` are calls of operators, `f(x)` of an expression is a call, `t[0]` of a tuple is its field. `==` compares
identity: `relay.equal` is the elementwise operator, `relay.structural_equal` compares programs.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Callable, Iterator, Mapping, Sequence

from . import _core
from ._core import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Literal,
    NDArray,
    Op,
    RefCreate,
    RefRead,
    RefWrite,
    Span,
    TempExpr,
    TensorType,
    Tuple,
    TupleGetItem,
    Type,
    Var,
)

if TYPE_CHECKING:
    import numpy as np

__all__ = [
    "Call", "Constant", "Expr", "Function", "GlobalVar", "If", "Let", "Literal", "Op", "RefCreate", "RefRead", "RefWrite",
    "TempExpr", "Tuple", "TupleGetItem", "TupleWrapper", "Var", "as_expr", "bind", "const", "var",
]  # fmt: skip


class TupleWrapper:
    """An expression of tuple type whose length is known: it unpacks and indexes in Python.

    Operators with several results give one. It stands wherever an expression may; `astuple()` is the expression itself.
    """

    __slots__ = ("tuple_value", "size")

    def __init__(self, tuple_value: Expr | TupleWrapper, size: int) -> None:
        self.tuple_value: Expr = as_expr(tuple_value)
        self.size = int(size)

    def _as_expr(self) -> Expr:
        return self.tuple_value

    def astuple(self) -> Expr:
        """The wrapped expression."""
        return self.tuple_value

    asobject = astuple

    def astext(self, show_meta_data: bool = True) -> str:
        """Program text of the wrapped expression."""
        return _core.print_expr(self.tuple_value, show_meta_data)

    def __getitem__(self, index: int) -> TupleGetItem:
        if not -self.size <= index < self.size:
            raise IndexError(f"index {index} of a tuple of {self.size}")
        return TupleGetItem(self.tuple_value, index % self.size)

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[TupleGetItem]:
        return (TupleGetItem(self.tuple_value, i) for i in range(self.size))

    @property
    def checked_type(self) -> Type:
        """The type of the wrapped expression."""
        return self.tuple_value.checked_type

    def astype(self, dtype: Any) -> Expr:
        """Raises TypeError: a tuple has no dtype; cast its fields."""
        raise TypeError("astype cannot be used on a tuple: cast its fields")

    def __repr__(self) -> str:
        return f"TupleWrapper({self.tuple_value!r}, {self.size})"


def as_expr(value: Any) -> Expr:
    """An expression of a number, an array, or a tuple or list of such; expressions come back as they are.

    Python's numbers become literals, whose dtype their context decides. Raises TypeError for any other object.
    """
    if isinstance(value, _core.IRModule):
        raise TypeError('an expression is needed, not an IRModule; take a function of it, such as mod["main"]')
    return value if isinstance(value, Expr) else _core.as_expr(value)


def var(
    name_hint: str,
    type_annotation: Type | str | None = None,
    shape: Sequence[Any] | None = None,
    dtype: str = "float32",
    span: Span | None = None,
) -> Var:
    """A new variable.

    Its type is `type_annotation` (a type, or a dtype for a scalar), or a tensor of `shape` and `dtype`, or is inferred when neither
    is given. Extents of `shape` are integers, `relay.Any()` or terms of `relay.ShapeVar`. Raises ValueError for both.
    """
    if type_annotation is not None and shape is not None:
        raise ValueError("a variable takes a type_annotation or a shape, not both")
    annotation: Type | None
    if shape is not None:
        annotation = TensorType(shape, dtype)
    elif isinstance(type_annotation, str):
        annotation = TensorType((), type_annotation)
    else:
        annotation = type_annotation
    return Var(name_hint, annotation, span or Span())


def const(value: Any, dtype: Any = None, span: Span | None = None) -> Constant:
    """A constant of a number, a list of numbers, an array of NumPy, or anything with DLPack; arrays are copied.

    Without `dtype`, Python's numbers and lists of them are float32, int32 or bool; arrays keep theirs. With one, floats are rounded to
    floats; TypeError and OverflowError tell of numbers that would become others.
    """
    import numpy as np

    if value is None:
        raise TypeError("a constant is made of a number or an array, not of None")
    plain = isinstance(value, (bool, int, float, list, tuple))
    if dtype is not None:
        data = _core.exact_array(value, dtype)
    elif plain:
        natural = str(np.asarray(value).dtype)
        narrow = {"float64": "float32", "int64": "int32", "uint64": "int32", "object": "int32"}.get(natural)
        try:
            data = NDArray(value) if narrow is None else _core.exact_array(value, narrow)
        except OverflowError as error:
            raise OverflowError(f"{error}, which numbers are without a dtype: say dtype") from None
    else:
        data = NDArray(value)
    # An array that others may write to is copied, so also one of a class that adds to arrays: that is what it may add.
    return Constant(data if plain or type(value) is NDArray else data.copy(), span or Span())


def bind(expr: Expr, binds: Mapping[Any, Any]) -> Expr:
    """The expression with variables replaced by what `binds` says, in all its parts.

    Of a function, parameters that are bound go away, and variables that are free in what replaces them become parameters. Keys are
    variables, or names of parameters of the function. Raises TypeError for other keys and values that are no expressions.
    """
    replacement: dict[Var, Expr] = {}
    for key, value in binds.items():
        if isinstance(key, str):
            named = [param for param in expr.params if param.name_hint == key] if isinstance(expr, Function) else []
            if len(named) != 1:
                if not isinstance(expr, Function):
                    raise KeyError(f"{key!r} is the name of a parameter, which a {type(expr).__name__} has not: give variables themselves")
                raise KeyError(f"{len(named)} parameters are named {key}")
            key = named[0]
        replacement[key] = as_expr(value)
    if not isinstance(expr, Function):
        return _core.substitute(expr, replacement)
    body = _core.substitute(expr.body, replacement)
    params = [param for param in expr.params if param not in replacement]
    if body is expr.body and len(params) == len(expr.params):
        return expr
    known = set(_core.free_vars(expr))
    result = expr.with_body(body, params)
    added = [free for free in _core.free_vars(result) if free not in known]
    if not added:
        return result
    return expr.with_body(body, params + added)


def _binary(name: str, swap: bool = False) -> Callable[[Expr, Any], Expr]:
    operator = _core.op(name)
    call_op = _core.call_op

    def method(self: Expr, other: Any) -> Any:
        if not _is_operand(other):
            return NotImplemented
        result: Expr = call_op(operator, other, self) if swap else call_op(operator, self, other)
        return result

    method.__doc__ = f"A call of `{name}`."
    return method


def _is_operand(value: Any) -> bool:
    if isinstance(value, (Expr, TupleWrapper, int, float, NDArray)):
        return True
    if hasattr(type(value), "_trace"):  # a traced array, whose own operators take expressions
        return False
    # NumPy's arrays and numbers and their like, but no strings, lists or None.
    return hasattr(value, "__array__") or hasattr(value, "__dlpack__")


def _unary(name: str) -> Callable[[Expr], Expr]:
    operator = _core.op(name)

    def method(self: Expr) -> Expr:
        return _core.call_op(operator, self)

    method.__doc__ = f"A call of `{name}`."
    return method


def _astype(self: Expr, dtype: Any) -> Expr:
    """The expression with its elements converted: a call of `cast`."""
    return _core.call_op("cast", self, dtype=_core.TensorType((), dtype).dtype)


def _call(self: Expr, *args: Any) -> Call:
    """A call of this expression. Raises TypeError for operators: call their function, or build a `Call`."""
    return Call(self, [as_expr(arg) for arg in args])


_COMPARISONS = frozenset({"less", "less_equal", "greater", "greater_equal", "equal", "not_equal"})


def _bool(self: Call) -> bool:
    op = self.op
    if isinstance(op, Op) and op.name in _COMPARISONS:
        raise TypeError(
            f"`{op.name}` of expressions is not True or False before the program runs: choose with relay.If or relay.where, combine "
            "with relay.logical_and, test for an expression with `is not None`"
        )
    return True


def annotated_text(thing: Any, annotate: Any, show_meta_data: bool = True) -> str:
    """The text of a module or expression with what a function says of each node as a comment behind it. Marks of a comment around what it
    says go, since its text is inside of one; others are parted."""

    def remark(node: Any) -> str:
        text = str(annotate(node) or "").strip().removeprefix("/*").removesuffix("*/")
        return re.sub(r"\*(?=/)|/(?=\*)", r"\g<0> ", text).strip()

    return _core.annotated_text(thing, remark, show_meta_data)


def _astext(self: Expr, show_meta_data: bool = True, annotate: Any = None) -> str:
    """Program text of the expression. `annotate`: a function of a node whose text stands behind the node as a comment."""
    if annotate is not None:
        return annotated_text(self, annotate, show_meta_data)
    return _core.print_expr(self, show_meta_data)


def _with_attr(self: Function, attr_key_or_dict: str | Mapping[str, Any], attr_value: Any = None) -> Function:
    """The function with an attribute, or several, set."""
    attrs = dict(self.attrs.items()) if self.attrs is not None else {}
    if isinstance(attr_key_or_dict, str):
        attrs[attr_key_or_dict] = attr_value
    else:
        attrs.update(attr_key_or_dict)
    return _with_attrs(self, attrs)


def _without_attr(self: Function, attr_key: str) -> Function:
    """The function without an attribute."""
    attrs = dict(self.attrs.items()) if self.attrs is not None else {}
    attrs.pop(attr_key, None)
    return _with_attrs(self, attrs)


# The type of the result that is written. The package `tvm` shows the one that inference found where none is.
_result: Any = vars(Function)["ret_type"].__get__


def _with_attrs(self: Function, attrs: dict[str, Any]) -> Function:
    return Function(
        self.params, self.body, _result(self), self.type_params, attrs or None, self.span, type_constraints=self.type_constraints
    )


def _tuple_iter(self: Tuple) -> Iterator[Expr]:
    return iter(self.fields)


def _extend_classes() -> None:
    for name, operator in {
        "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide", "mod": "floor_mod",
        "pow": "power",
    }.items():  # fmt: skip
        setattr(Expr, f"__{name}__", _binary(operator))
        setattr(Expr, f"__r{name}__", _binary(operator, swap=True))
    for name, operator in {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}.items():
        setattr(Expr, f"__{name}__", _binary(operator))
    setattr(Expr, "__neg__", _unary("negative"))
    # Keeps NumPy from taking an expression for an element: `array + x` asks the expression.
    setattr(Expr, "__array_ufunc__", None)
    setattr(Expr, "__call__", _call)
    setattr(Expr, "astype", _astype)
    setattr(Expr, "astext", _astext)
    setattr(Call, "__bool__", _bool)
    setattr(Tuple, "__iter__", _tuple_iter)
    setattr(Function, "with_attr", _with_attr)
    setattr(Function, "without_attr", _without_attr)
    setattr(Var, "vid", property(lambda self: self))


_extend_classes()
