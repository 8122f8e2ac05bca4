"""`recast`: chosen operators in another dtype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import relay as _relay
from relay import Attrs, Call, Expr, Function, Op, TensorType, Tuple, TupleGetItem, TupleType

from ..ir.module import from_expr as module_of

__all__ = ["recast"]


def recast(expr: Any, dtype: str, out_dtype: str, ops: Sequence[str] | None = None, skip_layers: Sequence[int] | None = None) -> Any:
    """Casts what calls of `ops` (`["nn.conv2d"]`) read to `dtype`, has them give `out_dtype` if they have that attribute, and casts the result back.

    Calls are counted in the order in which they are computed; those whose numbers stand in `skip_layers`, negative ones counted from the
    end, stay as they are. Takes a function, an expression or a module, whose `main` it changes, and gives the same. Raises AttributeError for
    operators that do not exist, ValueError for those of several results, IndexError for numbers of no call.
    """
    chosen = frozenset(ops if ops is not None else ["nn.conv2d"])
    operators: Any = Op
    for name in chosen:
        operators.get(name)
    if isinstance(expr, _relay.IRModule):
        made = expr.copy()
        made["main"] = recast(expr["main"], dtype, out_dtype, ops, skip_layers)
        return made
    typed: Any = _relay.transform.InferType()(module_of(expr))["main"]
    root: Expr = typed if isinstance(expr, Function) else typed.body
    backs: list[str] = []  # the dtype of the result of each call
    kinds: list[list[Any]] = []  # the types of its arguments

    def note(node: Expr) -> None:
        name = _called(node)
        if name in chosen:
            kind = node.checked_type
            if not isinstance(kind, TensorType):
                raise ValueError(f"{name} gives several results; recast takes operators that give one tensor")
            backs.append(str(kind.dtype))
            assert isinstance(node, Call)
            kinds.append([arg.checked_type for arg in node.args])

    _relay.analysis.post_order_visit(root, note)
    skipped = set()
    for number in skip_layers or []:
        if not -len(backs) <= number < len(backs):
            raise IndexError(f"layer {number} of {len(backs)}")
        skipped.add(number % len(backs))
    count = -1

    def write(node: Expr) -> Expr | None:
        nonlocal count
        name = _called(node)
        if name not in chosen:
            return None
        assert isinstance(node, Call)
        count += 1
        if count in skipped:
            return None
        attrs = node.attrs
        if attrs is not None and "out_dtype" in attrs:
            attrs = Attrs({**dict(attrs.items()), "out_dtype": out_dtype}, attrs.type_key)
        args = [_cast(arg, dtype, kind) for arg, kind in zip(node.args, kinds[count])]
        return _relay.cast(Call(node.op, args, attrs, None, node.span), backs[count])

    return _relay.rewrite(root, write)


def _cast(arg: Expr, dtype: str, kind: Any) -> Expr:
    """An argument in another dtype; the fields of one that is a tuple of tensors."""
    if not isinstance(kind, TupleType):
        return _relay.cast(arg, dtype)
    if not all(isinstance(field, TensorType) for field in kind.fields):
        raise ValueError(f"recast takes operators of tensors and tuples of tensors, found {kind}")
    fields = list(arg.fields) if isinstance(arg, Tuple) else [TupleGetItem(arg, i) for i in range(len(kind.fields))]
    return Tuple([_relay.cast(field, dtype) for field in fields])


def _called(node: Expr) -> str | None:
    """The operator that a node calls."""
    return node.op.name if isinstance(node, Call) and isinstance(node.op, Op) else None
