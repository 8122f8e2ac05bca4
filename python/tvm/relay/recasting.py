"""`recast`: chosen operators in another dtype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import relay as _relay
from relay import Attrs, Call, Expr, Function, Op, TensorType

from ..ir.module import from_expr as module_of

__all__ = ["recast"]


def recast(expr: Any, dtype: str, out_dtype: str, ops: Sequence[str] | None = None, skip_layers: Sequence[int] | None = None) -> Any:
    """Casts what calls of `ops` (`["nn.conv2d"]`) read to `dtype`, has them give `out_dtype`, and casts the result back.

    Calls are counted in the order in which they are computed; those whose numbers stand in `skip_layers`, negative ones counted from the
    end, stay as they are. Takes a function, an expression or a module, whose `main` it changes, and gives the same. Raises AttributeError for
    operators that do not exist, ValueError for calls without `out_dtype`, IndexError for numbers of no call.
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

    def note(node: Expr) -> None:
        name = _called(node)
        if name in chosen:
            kind = node.checked_type
            if not isinstance(kind, TensorType):
                raise ValueError(f"{name} gives several results; recast takes operators that give one tensor")
            backs.append(str(kind.dtype))

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
        if node.attrs is None or "out_dtype" not in node.attrs:
            raise ValueError(f"{name} has no out_dtype, which recast sets")
        attrs = Attrs({**dict(node.attrs.items()), "out_dtype": out_dtype}, node.attrs.type_key)
        args = [_relay.cast(arg, dtype) for arg in node.args]
        return _relay.cast(Call(node.op, args, attrs, None, node.span), backs[count])

    return _relay.rewrite(root, write)


def _called(node: Expr) -> str | None:
    """The operator that a node calls."""
    return node.op.name if isinstance(node, Call) and isinstance(node.op, Op) else None
