"""Program text."""

from __future__ import annotations

from typing import Any

import relay as _relay
from relay import Expr, IRModule

from ..ir.diagnostics import rendered
from .metadata import with_metadata

__all__ = ["SpanCheck", "fromtext", "parse", "parse_expr"]


def parse(source: str, source_name: str = "from_string", init_module: IRModule | None = None, init_meta_table: Any = None) -> IRModule:
    """Program text as a module, typed. Raises RelayError with all problems, those of types too.

    `init_meta_table` has lists of constants and virtual devices by the key that ``meta[key][index]`` in the text names. Raises ValueError
    where the text has metadata of its own, TypeError for other objects.
    """
    if init_meta_table:
        source = with_metadata(source, init_meta_table)
    with rendered(init_module):
        return _typed(_relay.parse(source, source_name, init_module))


def _typed(mod: IRModule) -> IRModule:
    """The module with types, and with constants in the place of numbers, which then have a dtype."""
    infer = _relay.transform.create("InferType")
    made: IRModule = infer(mod)
    settled: dict[str, Any] = {name: _relay.rewrite(made[name], _constant) for name in made.function_names}
    changed = {name: function for name, function in settled.items() if function is not made[name]}
    if changed:
        made = made.copy()
        for name, function in changed.items():
            made.add_function(name, function, replace=True)
        made = infer(made)
    return made


def _constant(expr: Expr) -> Expr | None:
    if not isinstance(expr, _relay._core.Literal):
        return None
    found = expr.checked_type if _has_type(expr) else None
    if not isinstance(found, _relay.TensorType) or not isinstance(found.dtype, str) or not found.dtype:
        return None
    return _relay.const(expr.value, found.dtype, expr.span)


def _has_type(expr: Expr) -> bool:
    try:
        return expr.checked_type is not None
    except (_relay.RelayError, ValueError, AttributeError):
        return False


def fromtext(source: str, source_name: str = "from_string") -> Any:
    """A module, typed, or an expression of program text."""
    with rendered():
        found = _relay.fromtext(source, source_name)
        return _typed(found) if isinstance(found, IRModule) else _settled(found)


def parse_expr(source: str) -> Expr:
    """An expression of program text. Its numbers are constants where its types can be found; where not, they wait for a context."""
    with rendered():
        return _settled(_relay.parse_expr(source))


def _settled(expr: Expr) -> Expr:
    if not any(isinstance(node, _relay._core.Literal) for node in _relay._core.post_order(expr)):
        return expr
    free = _relay._core.free_vars(expr)
    try:
        made = _typed(IRModule({"main": _relay.Function(free, expr)}))["main"]
    except _relay.RelayError:
        return expr
    settled = _relay.bind(made.body, dict(zip(made.params, free))) if free else made.body
    assert isinstance(settled, Expr)
    return settled


class _SpanCheck:
    """A pass that requires every call to have a place in source text."""

    def __call__(self, mod: IRModule) -> IRModule:
        for name in mod.function_names:
            for node in _relay._core.post_order(mod[name]):
                if isinstance(node, _relay.Call) and not node.span.known:
                    raise _relay.RelayError(f"a call in @{name} has no place in source text: {_relay._core.print_short(node)}")
        return mod


def SpanCheck() -> _SpanCheck:  # noqa: N802
    """A pass that raises RelayError where a call has no place in source text."""
    return _SpanCheck()
