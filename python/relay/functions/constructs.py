"""What asks for the truth value of a traced array: the construct in the user's source, and what to write in its place."""

from __future__ import annotations

import ast
import linecache
import sys
import types
from collections.abc import Iterator
from typing import Any

from .places import _is_ours

__all__ = ["advice"]

_NEUTRAL = ("Use relay.cond, relay.while_loop or relay.numpy.where, `&` and `|` for `and` and `or`, or make the argument static (static_argnames). "
            "`if` and `while` become control flow where @relay.function decorates the function and its source can be read")  # fmt: skip
_CALLS = {
    "max": "relay.numpy.maximum(a, b), or x.max()", "min": "relay.numpy.minimum(a, b), or x.min()", "any": "relay.numpy.any, or a | b",
    "all": "relay.numpy.all, or a & b", "sorted": "relay.numpy.sort", "bool": "x != 0", "filter": "relay.numpy.where",
}  # fmt: skip
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_MATCH: Any = getattr(ast, "Match", ())
_parsed: dict[str, tuple[list[str], Any]] = {}


def advice() -> str:
    """What the construct of the innermost line of the user's is, and what to write instead; advice for all where it cannot be told."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and _is_ours(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None:
        return _NEUTRAL
    try:
        return _of_line(frame.f_code, frame.f_lineno or 0) or _NEUTRAL
    except RecursionError:  # a source too deep to look at
        return _NEUTRAL


def _source(name: str) -> Any:
    lines = linecache.getlines(name)
    known = _parsed.get(name)
    if known is None or known[0] is not lines:
        try:
            found: Any = ast.parse("".join(lines)) if lines else None
        except (SyntaxError, ValueError, MemoryError):
            found = None
        if len(_parsed) > 64:
            _parsed.clear()
        known = _parsed[name] = (lines, found)
    return known[1]


def _chain(root: Any, line: int) -> list[Any]:
    """The nodes around a line from the outside in, those of the innermost function that holds it alone."""
    found: list[Any] = []
    for node in _around(root, line):
        if isinstance(node, _SCOPES):
            found = []
        found.append(node)
    return found


def _around(root: Any, line: int) -> Iterator[Any]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if not hasattr(node, "lineno") or node.lineno <= line <= (node.end_lineno or node.lineno):
            yield node
            waiting.extend(reversed(list(ast.iter_child_nodes(node))))


def _of_line(code: types.CodeType, line: int) -> str | None:
    root = _source(code.co_filename)
    nodes = _chain(root, line) if root is not None else []
    rewritten = "__relay_branches__" in code.co_freevars
    for node in nodes:
        if isinstance(node, ast.Assert) and _covers(node.test, line):
            return "An assert asks while the function is traced, and no program raises: check the result outside of the function"
        tests = [test for one in getattr(node, "generators", []) for test in one.ifs]
        if any(_covers(test, line) for test in tests):
            return "A condition in a comprehension decides how many elements there are, which a program must know: use relay.numpy.where, or a mask"
    scope = nodes[0] if nodes and isinstance(nodes[0], (ast.FunctionDef, ast.AsyncFunctionDef)) else None
    if scope is not None and _calls(scope, (scope.name,)):
        return (f"{scope.name} calls itself, and a tracer would go on without end, since the value that ends it is not known: write a loop (`while`, "
                "relay.while_loop), or the function as the text of a program, where functions may call themselves")  # fmt: skip
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _CALLS and not _is_other_test(nodes, line, rewritten):
            return f"Python's {node.func.id}() compares while the function is traced: use {_CALLS[node.func.id]}"
        if isinstance(node, ast.Compare) and any(isinstance(op, (ast.In, ast.NotIn)) for op in node.ops):
            return "Python's `in` compares while the function is traced: use (values == x).any() with an array of the values"
    return _of_statements(nodes, line, code.co_name, rewritten)


def _is_other_test(nodes: list[Any], line: int, rewritten: bool) -> bool:
    """True if the line is a test of a function that is not rewritten: that is the cause, rather than a call in it."""
    tests = [node.test for node in nodes if isinstance(node, (ast.If, ast.While, ast.IfExp))]
    return not rewritten and any(_covers(test, line) and not _calls(test, _CALLS) for test in tests)


def _calls(node: Any, names: Any) -> bool:
    """True if something is called by one of the names."""
    return any(isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and one.func.id in names for one in ast.walk(node))


def _covers(node: Any, line: int) -> bool:
    return bool(node.lineno <= line <= (node.end_lineno or node.lineno))


def _of_statements(nodes: list[Any], line: int, name: str, rewritten: bool) -> str | None:
    if any(isinstance(one, (ast.Yield, ast.YieldFrom, ast.Await)) for node in nodes[:1] for one in ast.walk(node)):
        return f"{name} is a generator or a coroutine, whose `if` and `while` stay Python's: return a list, or use relay.cond and relay.while_loop"
    for node in reversed(nodes):
        if _MATCH and isinstance(node, _MATCH):
            return "A `match` stays Python's, with all that is in it: write `if` and `elif`"
        if isinstance(node, (ast.While, ast.For)):
            if any(isinstance(one, ast.Return) for one in ast.walk(node)):
                return "A loop with a `return` in it stays Python's: set a variable, leave by `break`, and return behind the loop"
            if node.orelse:
                return "A loop with an `else` stays Python's: set a flag before `break`, and ask it behind the loop"
            if rewritten and any(isinstance(one, (ast.Break, ast.Continue)) for one in ast.walk(node)):
                return "A loop that `break` or `continue` leaves out of `with` or `try` stays Python's: jump outside of them"
    asks = any(isinstance(node, (ast.If, ast.While, ast.IfExp)) and _covers(node.test, line) or isinstance(node, ast.BoolOp) for node in nodes)
    if asks and not rewritten and nodes and isinstance(nodes[0], _SCOPES):
        what = "this lambda (whose source is found where a statement has no other)" if isinstance(nodes[0], ast.Lambda) else name
        return ("`if`, `while`, `and` and `or` become control flow in functions that @relay.function decorates (and those inside of them), and "
                f"{what} stays Python's: decorate it too, or use relay.cond, relay.while_loop or relay.numpy.where, or make the argument static (static_argnames)")  # fmt: skip
    return None
