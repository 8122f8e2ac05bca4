"""Control flow: torch.cond, while_loop, map and scan as branches and loops of Relay."""

from __future__ import annotations

from typing import Any, Callable, Sequence

from ..._core import Call, Expr, Function, If, Let, TensorType, Tuple, TupleGetItem, TupleType, Var
from .context import Context, Value

__all__ = ["NAMES", "convert"]

Inner = Callable[[Any, Sequence[Any]], Any]


def convert(c: Context, name: str, args: Any, kwargs: Any, inner: Inner) -> Any:
    """The results of a higher-order operator."""
    return _CONVERTERS[name](c, inner, *args, **kwargs)


def _many(outputs: Any) -> list[Any]:
    return list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]


def _tuple(c: Context, outputs: Any) -> Tuple:
    return Tuple([c.expr(item) if isinstance(item, Value) else c.const(item, "int64") for item in _many(outputs)])


def _fields(c: Context, result: Expr) -> list[Expr]:
    return [TupleGetItem(result, i, c.span) for i in range(len(_many(c.out)))]


def _cond(c: Context, inner: Inner, pred: Any, true_fn: Any, false_fn: Any, operands: Any = ()) -> list[Expr]:
    test = c.call("reshape", pred.expr, newshape=[]) if isinstance(pred, Value) else c.const(bool(pred), "bool")
    then, otherwise = (_tuple(c, inner(branch, operands)) for branch in (true_fn, false_fn))
    return _fields(c, If(test, then, otherwise, c.span))


def _loop(c: Context, start: list[Any], test: Callable[[list[Any]], Expr], step: Callable[[list[Any]], Any]) -> Expr:
    """The tuple that a loop ends with: `step` while `test` holds. Its state keeps its types."""
    state, types = [], []
    for i, item in enumerate(start):
        kind = c.tensor_type(item.meta) if isinstance(item, Value) else item[1]
        types.append(kind)
        state.append(Var(f"state{i}", kind, c.span))
    values = [Value(var, item.meta) if isinstance(item, Value) else var for var, item in zip(state, start)]
    loop = Var("loop", None, c.span)
    again = Call(loop, [c.expr(item) for item in _many(step(values))], None, span=c.span)
    body = If(test(values), again, Tuple(state), c.span)
    function = Function(state, body, TupleType(types), span=c.span)
    first = [item.expr if isinstance(item, Value) else item[0] for item in start]
    return Let(loop, function, Call(loop, first, None, span=c.span), c.span)


def _while_loop(c: Context, inner: Inner, cond_fn: Any, body_fn: Any, carried: Any, additional: Any = ()) -> list[Expr]:
    if not all(isinstance(item, Value) for item in carried):
        raise NotImplementedError("a loop that carries numbers of Python; make them tensors")
    rest = list(additional)

    def test(state: list[Any]) -> Expr:
        return c.call("reshape", c.expr(_many(inner(cond_fn, state + rest))[0]), newshape=[])

    return _fields(c, _loop(c, list(carried), test, lambda state: inner(body_fn, state + rest)))


def _steps(c: Context, inner: Inner, fn: Any, init: list[Any], xs: list[Any], rest: list[Any]) -> list[Expr]:
    """A loop over the first axis of `xs`: the last state, then what each step gives, stacked."""
    outs = _many(c.out)[len(init) :]
    count = c.extent(xs[0].shape[0])
    buffers = [(c.full(c.const(0, _dtype(c, meta)), list(meta.shape)), c.tensor_type(meta)) for meta in outs]
    start: list[Any] = [(c.const(0, "int64"), TensorType((), "int64")), *init, *buffers]

    def step(state: list[Any]) -> list[Any]:
        index, carry, written = state[0], state[1 : 1 + len(init)], state[1 + len(init) :]
        rows = [Value(c.call("take", x.expr, index, axis=0), x.meta[0]) for x in xs]
        made = _many(inner(fn, carry + rows + rest))
        where = c.call("reshape", index, newshape=[1, 1])
        after = [
            c.call("scatter_nd", buffer, where, c.call("expand_dims", c.expr(row), axis=0), mode="update")
            for buffer, row in zip(written, made[len(init) :])
        ]
        return [c.call("add", index, c.const(1, "int64")), *made[: len(init)], *after]

    result = _loop(c, start, lambda state: c.call("less", state[0], c.const(count, "int64")), step)
    return [TupleGetItem(result, 1 + i, c.span) for i in range(len(init) + len(outs))]


def _dtype(c: Context, meta: Any) -> str:
    return str(c.tensor_type(meta).dtype)


def _map(c: Context, inner: Inner, fn: Any, xs: Any, additional: Any = ()) -> list[Expr]:
    return _steps(c, inner, fn, [], list(xs), list(additional))


def _scan(c: Context, inner: Inner, fn: Any, init: Any, xs: Any, additional: Any = (), **_: Any) -> list[Expr]:
    return _steps(c, inner, fn, list(init), list(xs), list(additional))


_CONVERTERS: dict[str, Callable[..., Any]] = {"cond": _cond, "while_loop": _while_loop, "map_impl": _map, "scan": _scan}
# Higher-order operators that `convert` takes.
NAMES = frozenset(_CONVERTERS)
