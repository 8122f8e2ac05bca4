"""`tvm.parser`: program text."""

from __future__ import annotations

from .relay.parser import SpanCheck, fromtext, parse, parse_expr

__all__ = ["SpanCheck", "fromtext", "parse", "parse_expr"]
