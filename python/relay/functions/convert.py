"""Python's `if`, `while` and `for` as control flow: the source of a function is rewritten to ask `branches` what to do.

On values of Python the rewritten statements do what Python does; on traced arrays they become branches and loops of the program. Line numbers
stay. `break` and `continue` set flags, which what follows asks. What cannot be rewritten stays as it is, and says so if a traced array decides
it: loops with return or else, or with a jump out of `with` and `try`, and generators.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
from typing import Any

from . import branches

__all__ = ["converted"]

_HELPER = "__relay_branches__"


def converted(fn: Any) -> Any:
    """The function with its control flow rewritten; itself if its source cannot be read or has none."""
    if isinstance(fn, types.MethodType):
        inner = converted(fn.__func__)
        return types.MethodType(inner, fn.__self__) if inner is not fn.__func__ else fn
    if not isinstance(fn, types.FunctionType) or hasattr(fn, "__wrapped__"):
        return fn  # the source of a decorated function is that of the function inside: the decorator would be lost
    try:
        lines, first = inspect.getsourcelines(fn)
        parsed = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError, IndentationError, ValueError):
        return fn
    node = _definition(parsed, fn)
    if node is None or not _needs(node):
        return fn
    ast.increment_lineno(node, first - 1)
    try:
        return _compiled(fn, node)
    except (SyntaxError, ValueError, KeyError, StopIteration, RecursionError):
        return fn


def _definition(parsed: ast.Module, fn: types.FunctionType) -> Any:
    """The function's definition, if it is the only one of its name at the top of its source. A lambda is taken where it stands alone."""
    if len(parsed.body) == 1 and isinstance(parsed.body[0], ast.FunctionDef) and parsed.body[0].name == fn.__name__:
        return parsed.body[0]
    if fn.__name__ == "<lambda>":
        found = [node for node in ast.walk(parsed) if isinstance(node, ast.Lambda)]
        if len(found) == 1:
            body = ast.Return(found[0].body)
            made = ast.FunctionDef("_lambda", found[0].args, [body], [], lineno=found[0].lineno, col_offset=0)
            ast.copy_location(body, found[0].body)
            return made
    return None


def _needs(node: ast.AST) -> bool:
    if any(isinstance(one, (ast.Yield, ast.YieldFrom, ast.Await)) for one in _own(node)):
        return False
    return any(isinstance(one, (ast.If, ast.While, ast.For, ast.IfExp, ast.BoolOp)) or _is_not(one) for one in ast.walk(node))


def _is_not(node: ast.AST) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)


def _own(node: ast.AST) -> Any:
    """Nodes of a function without those of functions inside of it."""
    waiting = list(ast.iter_child_nodes(node))
    while waiting:
        one = waiting.pop()
        yield one
        if not isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            waiting.extend(ast.iter_child_nodes(one))


def _compiled(fn: types.FunctionType, node: Any) -> Any:
    node.decorator_list = []
    _drop_annotations(node)
    made = _Rewriter(node).function(node)
    # Free variables, and the helper, are those of a function around it, so that the code names them as free.
    free = [*fn.__code__.co_freevars, _HELPER]
    maker = ast.FunctionDef(
        "_maker", ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[]),
        [*[ast.Assign([ast.Name(name, ast.Store())], ast.Constant(None)) for name in free], made, ast.Return(_load(made.name))],
        [], lineno=made.lineno, col_offset=0,
    )  # fmt: skip
    module = ast.Module([maker], [])
    for one in ast.walk(module):
        if getattr(one, "lineno", None) is not None and getattr(one, "end_lineno", None) is None:
            one.end_lineno, one.end_col_offset = one.lineno, getattr(one, "col_offset", 0)  # type: ignore[attr-defined]
    ast.fix_missing_locations(module)
    outer = compile(module, fn.__code__.co_filename, "exec")
    inner = _shown(_code(_code(outer, "_maker"), made.name), fn.__name__)
    cells = {**dict(zip(fn.__code__.co_freevars, fn.__closure__ or ())), _HELPER: types.CellType(branches)}
    result = types.FunctionType(inner, fn.__globals__, fn.__name__, fn.__defaults__, tuple(cells[name] for name in inner.co_freevars))
    result.__kwdefaults__ = fn.__kwdefaults__
    result.__qualname__ = fn.__qualname__
    return result


def _code(outer: types.CodeType, name: str) -> types.CodeType:
    return next(one for one in outer.co_consts if isinstance(one, types.CodeType) and one.co_name == name)


def _shown(code: types.CodeType, name: str) -> types.CodeType:
    """The code, whose parts have the function's own name in tracebacks."""
    constants = tuple(_shown(one, name) if isinstance(one, types.CodeType) else one for one in code.co_consts)
    return code.replace(co_consts=constants, co_name=name if code.co_name.startswith("_relay_") else code.co_name)


def _drop_annotations(node: Any) -> None:
    for one in ast.walk(node):
        if isinstance(one, ast.arg):
            one.annotation = None
        elif isinstance(one, ast.FunctionDef):
            one.returns = None


def _names_set(nodes: list[Any]) -> set[str]:
    """Local names that statements bind."""
    found: set[str] = set()
    for node in nodes:
        for one in [node, *_own(node)] if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) else [node]:
            if isinstance(one, ast.Name) and isinstance(one.ctx, (ast.Store, ast.Del)):
                found.add(one.id)
            elif isinstance(one, (ast.FunctionDef, ast.ClassDef)):
                found.add(one.name)
            elif isinstance(one, (ast.Import, ast.ImportFrom)):
                found |= {(alias.asname or alias.name).split(".")[0] for alias in one.names}
            elif isinstance(one, ast.ExceptHandler) and one.name:
                found.add(one.name)
    return found


def _names_read(nodes: list[Any]) -> set[str]:
    return {one.id for node in nodes for one in ast.walk(node) if isinstance(one, ast.Name)}


def _leaves(nodes: list[Any], kinds: Any) -> bool:
    """True if statements may leave by one of the kinds of statements."""
    return any(isinstance(one, kinds) for node in nodes for one in [node, *_own(node)])


def _jumps(nodes: list[Any]) -> bool:
    """True if a break or continue of the loop itself is among statements."""
    waiting = list(nodes)
    while waiting:
        one = waiting.pop()
        if isinstance(one, (ast.Break, ast.Continue)):
            return True
        if not isinstance(one, (ast.FunctionDef, ast.Lambda, ast.ClassDef, ast.While, ast.For)):
            waiting.extend(ast.iter_child_nodes(one))
    return False


def _flag(name: str, value: bool, node: Any) -> Any:
    return ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], ast.Constant(value)), node)


def _not_set(names: list[str]) -> Any:
    """A test that no flag is set."""
    tests: list[ast.expr] = [ast.UnaryOp(ast.Not(), _load(name)) for name in names]
    return tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)


def _lowered(statements: list[Any], left: str, skipped: str) -> list[Any] | None:
    """Statements of a loop with flags in the place of break and continue; None if they jump out of `with` or `try`."""
    out: list[Any] = []
    for i, one in enumerate(statements):
        if isinstance(one, (ast.Break, ast.Continue)):
            return [*out, _flag(left if isinstance(one, ast.Break) else skipped, True, one)]
        if not _jumps([one]):
            out.append(one)
            continue
        if not isinstance(one, ast.If):
            return None
        body, orelse, rest = (_lowered(part, left, skipped) for part in (one.body, one.orelse, statements[i + 1 :]))
        if body is None or orelse is None or rest is None:
            return None
        out.append(ast.copy_location(ast.If(one.test, body, orelse), one))
        if rest:
            out.append(ast.copy_location(ast.If(_not_set([left, skipped]), rest, []), rest[0]))
        return out
    return out


def _returns(body: list[Any]) -> bool:
    """True if statements end by return or raise on each way."""
    if not body:
        return False
    last = body[-1]
    if isinstance(last, (ast.Return, ast.Raise)):
        return True
    return isinstance(last, ast.If) and _returns(last.body) and _returns(last.orelse)


class _Rewriter(ast.NodeTransformer):
    """Rewrites one function. Functions inside of it have a rewriter of their own."""

    def __init__(self, node: Any) -> None:
        self.count = 0
        # Names of modules and of functions around it; parts of the function say so again, since they are functions of their own.
        self.outside: dict[str, type] = {}
        for one in _own(node):
            if isinstance(one, (ast.Global, ast.Nonlocal)):
                self.outside.update(dict.fromkeys(one.names, type(one)))
        arguments = node.args
        named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *[one for one in (arguments.vararg, arguments.kwarg) if one]]
        self.parameters = {one.arg for one in named}
        self.declared: set[str] = set()

    def function(self, node: Any) -> Any:
        outer = self.outer(node.body)
        body = self.block(node.body, [])
        start = [ast.Assign([ast.Name(name, ast.Store())], _helper("undefined", ast.Constant(name)), lineno=node.lineno, col_offset=0)
                 for name in sorted(self.declared - self.parameters)]  # fmt: skip
        made = ast.FunctionDef(node.name, node.args, [*outer, *start, *body] or [ast.Pass()], [], lineno=node.lineno, col_offset=node.col_offset)
        return made

    def block(self, statements: list[Any], after: list[Any]) -> list[Any]:
        """Statements rewritten. `after` are those that run behind them, up to the end of the function."""
        out: list[Any] = []
        for i, one in enumerate(statements):
            rest = statements[i + 1 :]
            if isinstance(one, ast.If) and _leaves([one], ast.Return):
                made = self.returning(one, rest, after)
                if made is not None:
                    return [*out, *made]
            found = self.statement(one, [*rest, *after])
            out += found if isinstance(found, list) else [found]
        return out

    def statement(self, node: Any, after: list[Any]) -> Any:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if isinstance(node, ast.FunctionDef) and _needs(node):
                inner = _Rewriter(node).function(node)
                inner.decorator_list = [self.visit(one) for one in node.decorator_list]
                return ast.copy_location(inner, node)
            return node
        if isinstance(node, ast.ClassDef):
            return node
        if isinstance(node, ast.If):
            return self.branch(node, after)
        if isinstance(node, ast.While):
            return self.repeat(node, after)
        if isinstance(node, ast.For):
            return self.each(node, after)
        if isinstance(node, (ast.With, ast.Try)):
            for field in ("body", "orelse", "finalbody"):
                if getattr(node, field, None):
                    setattr(node, field, self.block(getattr(node, field), after))
            for handler in getattr(node, "handlers", []):
                handler.body = self.block(handler.body, after)
            return node
        return self.visit(node)

    def outer(self, body: list[Any]) -> list[Any]:
        """What says which names of a body are those of modules and of functions around."""
        set_ = _names_set(body)
        return [kind([name]) for name, kind in self.outside.items() if name in set_]

    def name(self, what: str) -> str:
        self.count += 1
        return f"_relay_{what}_{self.count}"

    def state(self, bodies: list[Any], node: Any) -> tuple[list[str], list[Any]]:
        """Names that statements set, and functions that read and set them."""
        names = sorted(name for name in _names_set(bodies) - self.outside.keys() if not name.startswith("_relay_"))
        self.declared |= set(names)
        get, put = self.name("get"), self.name("put")
        values = ast.Tuple([ast.Name(name, ast.Load()) for name in names], ast.Load())
        targets = ast.Tuple([ast.Name(name, ast.Store()) for name in names], ast.Store())
        getter = _define(get, [], [ast.Return(values)], node)
        setter_body: list[Any] = [ast.Assign([targets], ast.Name("_relay_values", ast.Load()))] if names else [ast.Pass()]
        setter = _define(put, ["_relay_values"], [*_nonlocal(names), *setter_body], node)
        return names, [getter, setter]

    def branch(self, node: Any, after: list[Any]) -> Any:
        if _leaves([node], (ast.Return,)) or _jumps([node]):
            node.test = self.visit(node.test)
            node.body = self.block(node.body, after)
            node.orelse = self.block(node.orelse, after)
            return node
        names, helpers = self.state([*node.body, *node.orelse], node)
        then, other = self.name("then"), self.name("else")
        used = _names_read(after)
        body, orelse = self.block(node.body, after), self.block(node.orelse, after)
        call = _helper("if_", self.visit(node.test), _load(then), _load(other), _load(helpers[0].name), _load(helpers[1].name),
                       _texts(tuple(names)), _texts(tuple(name for name in names if name in used)))  # fmt: skip
        parts = [*helpers, _define(then, [], [*self.outer(node.body), *_nonlocal(names), *body], node),
                 _define(other, [], [*self.outer(node.orelse), *_nonlocal(names), *(orelse or [ast.Pass()])], node)]
        return [*parts, _headed(ast.Expr(call), node, node.test)]

    def returning(self, node: Any, rest: list[Any], after: list[Any]) -> list[Any] | None:
        """A branch that returns: what follows goes into the other side, so that both return. None if that cannot be."""
        if after or _jumps([node]):
            return None
        then, other = list(node.body), list(node.orelse)
        if not _returns(then):
            then = then + rest
        if not _returns(other):
            other = other + rest
        then = then if _returns(then) else then + [ast.copy_location(ast.Return(ast.Constant(None)), node)]
        other = other if _returns(other) else other + [ast.copy_location(ast.Return(ast.Constant(None)), node)]
        names = sorted(_names_set([*then, *other]) - self.outside.keys())
        self.declared |= set(names)
        first, second = self.name("then"), self.name("else")
        import copy

        test = self.visit(node.test)
        parts = [_define(first, [], [*self.outer(then), *_nonlocal(names), *self.block(copy.deepcopy(then), [])], node),
                 _define(second, [], [*self.outer(other), *_nonlocal(names), *self.block(copy.deepcopy(other), [])], node)]  # fmt: skip
        get, put = self.name("get"), self.name("put")
        values = ast.Tuple([ast.Name(name, ast.Load()) for name in names], ast.Load())
        targets = ast.Tuple([ast.Name(name, ast.Store()) for name in names], ast.Store())
        parts.append(_define(get, [], [ast.Return(values)], node))
        setter_body: list[Any] = [ast.Assign([targets], _load("_relay_values"))] if names else [ast.Pass()]
        parts.append(_define(put, ["_relay_values"], [*_nonlocal(names), *setter_body], node))
        call = _helper("returned", test, _load(first), _load(second), _load(get), _load(put))
        return [*parts, _headed(ast.Return(call), node, node.test)]

    def jumpless(self, node: Any) -> tuple[list[Any], str | None] | None:
        """The body of a loop without break and continue, and the flag of break; None if it has to stay as it is."""
        if _leaves(node.body, ast.Return) or node.orelse:
            return None
        if not _jumps(node.body):
            return node.body, None
        self.count += 1
        left, skipped = f"_loop_left_{self.count}", f"_loop_skipped_{self.count}"
        body = _lowered(node.body, left, skipped)
        return None if body is None else ([_flag(skipped, False, node), *body], left)

    def repeat(self, node: Any, after: list[Any]) -> Any:
        made = self.jumpless(node)
        if made is not None and made[1] is not None:
            both = ast.copy_location(ast.BoolOp(ast.And(), [_not_set([made[1]]), node.test]), node)
            loop = ast.copy_location(ast.While(both, made[0], []), node)
            return [_flag(made[1], False, node), *self.repeat(loop, after)]
        if _leaves(node.body, ast.Return) or _jumps(node.body) or node.orelse:
            node.test = self.visit(node.test)
            node.body = self.block(node.body, [*node.body, *after])
            return node
        names, helpers = self.state(node.body, node)
        test, body = self.name("test"), self.name("body")
        used = _names_read([*node.body, *after, node.test])
        parts = [_define(test, [], [ast.copy_location(ast.Return(self.visit(node.test)), node)], node),
                 _define(body, [], [*self.outer(node.body), *_nonlocal(names), *self.block(node.body, [*node.body, *after])], node)]  # fmt: skip
        call = _helper("while_", _load(test), _load(body), _load(helpers[0].name), _load(helpers[1].name), _texts(tuple(names)),
                       _texts(tuple(name for name in names if name in used)))  # fmt: skip
        return [*helpers, *parts, _headed(ast.Expr(call), node, node.test)]

    def each(self, node: Any, after: list[Any]) -> Any:
        over = self.visit(node.iter)
        if isinstance(over, ast.Call) and isinstance(over.func, ast.Name) and over.func.id == "range" and not over.keywords:
            over = ast.copy_location(_helper("range_", _load("range"), *over.args), node.iter)
        made = self.jumpless(node)
        if made is None:
            node.iter = ast.copy_location(_helper("plain", over), node)
            node.body = self.block(node.body, [*node.body, *after])
            return node
        statements, left = made
        statements = [ast.copy_location(ast.Assign([node.target], _load("_relay_item")), node), *statements]
        if left is not None:
            statements = [ast.copy_location(ast.If(_not_set([left]), statements, []), node)]
        names, helpers = self.state(statements, node)
        body = self.name("body")
        again = [*statements, *after, *([_load(left)] if left else [])]
        used = _names_read(again)
        parts = [_define(body, ["_relay_item"], [*self.outer(statements), *_nonlocal(names), *self.block(statements, again)], node)]
        stop = ast.Constant(None) if left is None else _thunk(ast.copy_location(_load(left), node))
        call = _helper("for_", over, _load(body), _load(helpers[0].name), _load(helpers[1].name), _texts(tuple(names)),
                       _texts(tuple(name for name in names if name in used)), stop)  # fmt: skip
        begin = [] if left is None else [_flag(left, False, node)]
        return [*begin, *helpers, *parts, _headed(ast.Expr(call), node, node.iter)]

    def visit_Lambda(self, node: Any) -> Any:  # noqa: N802
        return self.generic_visit(node)

    def visit_IfExp(self, node: Any) -> Any:  # noqa: N802
        self.generic_visit(node)
        return ast.copy_location(_helper("if_else", node.test, _thunk(node.body), _thunk(node.orelse)), node)

    def visit_BoolOp(self, node: Any) -> Any:  # noqa: N802
        self.generic_visit(node)
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        found = node.values[-1]
        for one in reversed(node.values[:-1]):
            found = ast.copy_location(_helper(name, one, _thunk(found)), node)
        return found

    def visit_UnaryOp(self, node: Any) -> Any:  # noqa: N802
        self.generic_visit(node)
        return ast.copy_location(_helper("not_", node.operand), node) if isinstance(node.op, ast.Not) else node

    def visit_Compare(self, node: Any) -> Any:  # noqa: N802
        self.generic_visit(node)
        if len(node.ops) < 2 or any(isinstance(one, (ast.NamedExpr, ast.Call)) for part in node.comparators[:-1] for one in ast.walk(part)):
            return node
        parts = [ast.copy_location(ast.Compare(left, [op], [right]), node)
                 for left, op, right in zip([node.left, *node.comparators], node.ops, node.comparators)]  # fmt: skip
        found: Any = parts[-1]
        for one in reversed(parts[:-1]):
            found = ast.copy_location(_helper("and_", one, _thunk(found)), node)
        return found


def _headed(made: Any, node: Any, head: Any) -> Any:
    """A statement in the place of another's first line, from its word to the end of its condition: errors show that, not the last line of its body."""
    ast.copy_location(made, node)
    if getattr(head, "end_lineno", None) is not None and head.end_lineno >= node.lineno:
        made.end_lineno, made.end_col_offset = head.end_lineno, head.end_col_offset
    return made


def _load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _helper(name: str, *args: Any) -> ast.Call:
    return ast.Call(ast.Attribute(_load(_HELPER), name, ast.Load()), list(args), [])


def _texts(names: tuple[str, ...]) -> ast.Tuple:
    return ast.Tuple([ast.Constant(name) for name in names], ast.Load())


def _thunk(body: Any) -> ast.Lambda:
    made = ast.Lambda(ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[]), body)
    return ast.copy_location(made, body)


def _nonlocal(names: list[str]) -> list[Any]:
    return [ast.Nonlocal(list(names))] if names else []


def _define(name: str, parameters: list[str], body: list[Any], node: Any) -> Any:
    arguments = ast.arguments(posonlyargs=[], args=[ast.arg(one) for one in parameters], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.copy_location(ast.FunctionDef(name, arguments, body or [ast.Pass()], []), node)
