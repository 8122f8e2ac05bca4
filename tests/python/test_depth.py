"""Programs that are nested deeply, and such that are merely large."""

import pickle
import sys
import threading

import numpy as np
import pytest
import relay

TEXT_LEVELS = 1000


def ifs(levels: int) -> relay.Function:
    x, c = relay.var("x", relay.TensorType((), "float32")), relay.var("c", relay.TensorType((), "bool"))
    body: relay.Expr = x
    for _ in range(levels):
        body = relay.If(c, body + 1.0, x)
    return relay.Function([c, x], body)


def matches(levels: int) -> relay.Expr:
    x = relay.var("x", relay.TupleType([relay.TensorType((), "float32")]))
    body: relay.Expr = relay.const(1.0)
    for i in range(levels):
        body = relay.Match(x, [relay.Clause(relay.PatternTuple([relay.PatternVar(relay.Var(f"v{i}"))]), body)])
    return relay.Function([x], body)


def functions(levels: int) -> relay.Expr:
    body: relay.Expr = relay.const(1.0)
    for i in range(levels):
        body = relay.Function([relay.Var(f"v{i}")], body)
    return body


class Counter(relay.ExprVisitor):
    def __init__(self):
        super().__init__()
        self.count = 0

    def visit_if(self, if_):
        self.count += 1
        super().visit_if(if_)

    def visit_match(self, match):
        self.count += 1
        super().visit_match(match)

    def visit_function(self, fn):
        self.count += 1
        super().visit_function(fn)


class Copier(relay.ExprMutator):
    def visit_if(self, if_):
        return super().visit_if(if_)

    def visit_constant(self, const):
        return relay.const(2.0)


class Mixed(relay.MixedModeMutator):
    def rewrite_call(self, pre, post):
        return post


@pytest.mark.parametrize("make", [ifs, matches, functions])
@pytest.mark.parametrize("levels", [50, 300, TEXT_LEVELS])
def test_visitors_go_as_deep_as_program_text(make, levels):
    program = make(levels)
    limit = sys.getrecursionlimit()
    counter = Counter()
    counter.visit(program)
    assert counter.count == levels + (make is not functions)
    changed = Copier().visit(program)
    assert (changed is program) == (make is ifs)
    assert Mixed().visit(program) is program
    assert sys.getrecursionlimit() == limit


def frames_left() -> int:
    """How much deeper this thread may recurse."""
    def count(depth: int) -> int:
        try:
            return count(depth + 1)
        except RecursionError:
            return depth

    return count(0)


def test_only_the_thread_that_visits_recurses_deeper():
    limit = sys.getrecursionlimit()
    found = {}

    class Watches(Counter):
        def visit_constant(self, const):
            found["limit"] = sys.getrecursionlimit()
            other = threading.Thread(target=lambda: found.update(other=frames_left()))
            other.start()
            other.join()

    before = frames_left()
    Watches().visit(matches(TEXT_LEVELS))
    assert found["limit"] == limit
    assert found["other"] <= limit
    assert frames_left() == before

    class Fails(Counter):
        def visit_constant(self, const):
            raise KeyError("at the bottom")

    with pytest.raises(KeyError):
        Fails().visit(matches(TEXT_LEVELS))
    assert frames_left() == before


def test_beyond_that_the_limit_is_named():
    limit = sys.getrecursionlimit()
    for visitor in (Counter(), Copier(), Mixed()):
        with pytest.raises(relay.RelayError, match="nested deeper than 2000 levels"):
            visitor.visit(ifs(20_000))
        assert sys.getrecursionlimit() == limit
        visitor.visit(ifs(10))


def test_what_is_too_deep_for_text_says_so():
    program = ifs(3 * TEXT_LEVELS)
    assert "nested too deeply to be printed (more than 1000 levels)" in repr(program)
    mod = relay.IRModule.from_expr(program)
    with pytest.raises(relay.RelayError, match="more than 1000 levels"):
        str(mod)
    assert relay.structural_equal(pickle.loads(pickle.dumps(program)), program)
    assert relay.structural_equal(pickle.loads(pickle.dumps(mod)), mod)


def test_deep_programs_run():
    mod = relay.IRModule.from_expr(ifs(TEXT_LEVELS))
    relay.check(mod)
    assert relay.evaluate(mod, np.bool_(True), np.float32(0)) == TEXT_LEVELS
    assert relay.compile(mod, opt_level=0)(True, 0.0) == TEXT_LEVELS


def graph(nodes: int) -> relay.Expr:
    x = relay.var("x", relay.TensorType((), "float32"))
    for _ in range(nodes):
        x = relay.exp(x)
    return x


def lets(nodes: int) -> relay.Expr:
    variables = [relay.Var("v") for _ in range(nodes)]
    body: relay.Expr = variables[-1]
    for i in reversed(range(nodes)):
        body = relay.Let(variables[i], relay.exp(variables[i - 1]) if i else relay.const(1.0), body)
    return body


@pytest.mark.parametrize("make", [graph, lets])
def test_large_programs_pickle(make):
    program = make(200_000)
    again = pickle.loads(pickle.dumps(program))
    assert relay.structural_equal(again, program, map_free_vars=True)
    mod = relay.IRModule.from_expr(make(50_000))
    assert relay.structural_equal(pickle.loads(pickle.dumps(mod)), mod)


def test_lists_inside_of_themselves():
    loop: list = []
    loop.append(loop)
    x = relay.var("x", shape=(2,))
    run = relay.compile(relay.Function([x], x + 1.0))
    for use in (
        lambda: relay.nn.conv2d(x, x, strides=loop),
        lambda: relay.concatenate(loop, 0),
        lambda: relay.Function([x], x, attrs={"a": loop}),
        lambda: run(loop),
        lambda: relay.const(loop),
        lambda: relay.evaluate(relay.Function([x], x), loop),
    ):
        with pytest.raises((RecursionError, TypeError, ValueError)):
            use()
    nested = ()
    for _ in range(100_000):
        nested = (nested,)
    with pytest.raises((RecursionError, TypeError, relay.RelayError)):
        relay.evaluate(relay.Function([x], x), nested)
