"""Program text."""

from __future__ import annotations

from typing import Any

import relay as _relay
from relay import Expr, IRModule

__all__ = ["SpanCheck", "fromtext", "parse", "parse_expr"]


def parse(source: str, source_name: str = "from_string", init_module: IRModule | None = None, init_meta_table: Any = None) -> IRModule:
    """Program text as a module. Raises RelayError with all problems."""
    if init_meta_table:
        raise NotImplementedError("parse with init_meta_table: constants stand in the text's own metadata section")
    return _relay.parse(source, source_name, init_module)


def fromtext(source: str, source_name: str = "from_string") -> Any:
    """A module or an expression of program text."""
    return _relay.fromtext(source, source_name)


def parse_expr(source: str) -> Expr:
    """An expression of program text."""
    return _relay.parse_expr(source)


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
