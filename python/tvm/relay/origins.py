"""Which code generator got which call of the program that a front end made: names of places that are unique, and the table."""

from __future__ import annotations

from typing import Any

import relay as _relay
from relay import Call, Expr, Function, IRModule, Op, Span

from ..ir.spans import SourceName
from ..ir.type_args import written_type_args

__all__ = ["SUFFIX_STRING", "analyze_operations_distribution", "tag_suffixes"]

SUFFIX_STRING = r"_PART_"


def tag_suffixes(mod: IRModule) -> IRModule:
    """Makes the name of the source of every call unique: `conv1_PART_0`, `conv1_PART_1`, …. The module itself is changed, and given back.

    Partitioning keeps places, so `analyze_operations_distribution` finds the calls again by these names.
    """
    counts: dict[str, int] = {}

    def tagged(node: Expr) -> Expr | None:
        if not isinstance(node, Call) or not node.span:
            return None
        span = node.span
        name = str(span.source_name)
        number = counts.get(name, 0)
        counts[name] = number + 1
        place = Span(f"{name}{SUFFIX_STRING}{number}", span.line, span.end_line, span.column, span.end_column)
        return Call(node.op, list(node.args), node.attrs, written_type_args(node), place)

    for name in mod.function_names:
        made = _relay.rewrite(mod[name], tagged)
        assert isinstance(made, Function)
        mod[name] = made
    return mod


def analyze_operations_distribution(mod: IRModule) -> dict[str, list[Any]]:
    """The code generator, the composite function and the number of its call, by the name of the source of each call of an operator.

    Calls in no function of a code generator belong to `generic`, and so do those in no composite function. Each composite call has a number
    of its own, and so has each call outside of one.
    """
    found: dict[str, list[Any]] = {}
    number = 0
    for name in mod.function_names:
        function = mod[name]
        compiler = _text(function, "Compiler")
        inside: dict[Expr, list[Any]] = {}
        order: list[Expr] = []
        _relay.analysis.post_order_visit(function, order.append)
        for node in order:
            if isinstance(node, Call) and isinstance(node.op, Function):
                number += 1
                parts: list[Expr] = []
                _relay.analysis.post_order_visit(node.op.body, parts.append)
                for part in parts:
                    inside.setdefault(part, [compiler, _text(node.op, "Composite"), number])
        for node in order:
            if not isinstance(node, Call) or not isinstance(node.op, Op) or not node.span:
                continue
            if node not in inside:
                number += 1
                inside[node] = [compiler, "generic", number]
            found[SourceName(str(node.span.source_name)).name] = list(inside[node])
    return found


def _text(function: Function, key: str) -> str:
    return str(function.attrs[key]) if function.attrs is not None and key in function.attrs else "generic"
