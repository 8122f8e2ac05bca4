"""Visitors, mutators, rewriting, types."""

import sys

import pytest

import relay

DEEP = 100_000


def chain(length, leaf=None):
    x = leaf if leaf is not None else relay.var("x", shape=(3,))
    e = x
    add = relay.op.get("add")
    for _ in range(length):
        e = relay.Call(add, [e, x])
    return e


def lets(length):
    x = relay.var("x", shape=(3,))
    body = x
    for i in range(length):
        body = relay.Let(relay.var(f"v{i}"), x, body)
    return body


class Order(relay.ExprVisitor):
    def __init__(self):
        super().__init__()
        self.seen = []

    def visit_call(self, call):
        self.seen.append(call.op.name)
        super().visit_call(call)

    def visit_var(self, var):
        self.seen.append("%" + var.name_hint)


def test_visitors_go_from_the_root_and_visit_once():
    x, y = relay.var("x"), relay.var("y")
    shared = relay.exp(x)
    order = Order()
    order.visit(relay.Function([y], shared + relay.tanh(shared) * y))
    assert order.seen == ["%y", "add", "exp", "%x", "multiply", "tanh"]


def test_visitors_reach_every_kind():
    r, x, data = relay.var("r"), relay.var("x", "int32"), relay.parse("type T { A(int32), B, }")
    _, a, b = data.get_type("T")
    n = relay.var("n")
    match = relay.Match(
        a(x),
        [
            relay.Clause(relay.PatternConstructor(a, [relay.PatternVar(n)]), relay.TupleGetItem(relay.Tuple([n]), 0)),
            relay.Clause(relay.PatternConstructor(b), relay.RefRead(relay.RefCreate(x))),
        ],
    )
    whole = relay.Function(
        [r, x],
        relay.Let(relay.var("w"), relay.RefWrite(r, x), relay.If(x < relay.const(3), match, relay.GlobalVar("g")(relay.Literal(1)))),
    )
    kinds = set()

    def wrap(name):
        def method(self, node):
            kinds.add(name)
            return getattr(relay.ExprVisitor, name)(self, node)

        return method

    names = [name for name in dir(relay.ExprFunctor) if name.startswith("visit_")]
    visitor = type("All", (relay.ExprVisitor,), {name: wrap(name) for name in names})()
    visitor.visit(whole)
    assert kinds == set(names) - {"visit_temp_expr"}
    assert relay.ExprMutator().visit(whole) is whole


def test_what_visitors_return_is_remembered():
    class Depth(relay.ExprVisitor):
        def visit_call(self, call):
            return 1 + max(self.visit(arg) or 0 for arg in call.args)

    x = relay.var("x")
    depth = Depth()
    assert depth.visit(relay.exp(relay.exp(x) + x)) == 3 and depth.visit(chain(DEEP)) == DEEP


def test_functors_without_a_method_say_so():
    with pytest.raises(NotImplementedError, match="ExprFunctor has no visit_var"):
        relay.ExprFunctor().visit(relay.var("x"))
    with pytest.raises(TypeError, match="takes an expression, not int"):
        relay.ExprVisitor().visit(3)


class ReluToTanh(relay.ExprMutator):
    def visit_call(self, call):
        new = super().visit_call(call)
        return relay.tanh(*new.args) if new.op.name == "nn.relu" else new


def test_mutators_keep_what_does_not_change_and_sharing():
    x = relay.var("x", shape=(3,))
    left = relay.exp(x)
    shared = relay.nn.relu(x)
    function = relay.Function([x], relay.Tuple([left, shared + left, shared]))
    changed = ReluToTanh().visit(function)
    assert changed.body.fields[0] is left and changed.params[0] is x
    assert changed.body.fields[1].args[0] is changed.body.fields[2] and changed.body.fields[2].op.name == "tanh"
    assert relay.ExprMutator().visit(function) is function and ReluToTanh().visit(left) is left


def test_mutators_may_give_other_variables_and_tuple_wrappers():
    class Rename(relay.ExprMutator):
        def visit_var(self, var):
            return relay.var(var.name_hint + "1", var.type_annotation)

        def visit_call(self, call):
            return relay.split(self.visit(call.args[0]), 2)

    x = relay.var("x", shape=(4,))
    changed = Rename().visit(relay.Function([x], relay.Let(relay.var("y"), relay.exp(x), x)))
    assert changed.params[0].name_hint == "x1" and changed.body.var.name_hint == "y1"
    assert changed.body.body is changed.params[0] and changed.body.value.op.name == "split"


def test_a_mutator_that_returns_none_is_told_where():
    class Forgets(relay.ExprMutator):
        def visit_call(self, call):
            super().visit_call(call)

    x = relay.var("x")
    with pytest.raises(TypeError, match=r"Forgets.visit_call must return an expression, but returned NoneType for exp\(%x\)"):
        Forgets().visit(relay.Function([x], relay.exp(x)))

    class Constants(relay.ExprMutator):
        def visit_var(self, var):
            return relay.const(1)

    with pytest.raises(TypeError, match="gave Constant for %x, which is bound here"):
        Constants().visit(relay.Function([x], x))


def test_exceptions_of_visitors_come_out_whole():
    class Fails(relay.ExprVisitor):
        def visit_var(self, var):
            raise RuntimeError("not this one")

    limit = sys.getrecursionlimit()
    for program in (chain(3), chain(DEEP), lets(10)):
        visitor = Fails()
        with pytest.raises(RuntimeError, match="not this one"):
            visitor.visit(program)
    assert sys.getrecursionlimit() == limit


def test_deep_dataflow():
    deep = chain(DEEP)
    order = Order()
    order.visit(deep)
    assert len(order.seen) == DEEP + 1
    assert relay.ExprMutator().visit(deep) is deep

    class Subtract(relay.ExprMutator):
        def visit_op(self, op):
            return relay.op.get("subtract")

    changed = Subtract().visit(deep)
    for _ in range(DEEP):
        assert changed.op.name == "subtract"
        changed = changed.args[0]
    assert isinstance(changed, relay.Var)


class Uses(relay.ExprVisitor):
    """Overrides `visit`: it sees each use of a node, and the depth of it."""

    def __init__(self):
        super().__init__()
        self.uses, self.numbers, self.depth, self.deepest = 0, {}, 0, 0

    def visit(self, expr):
        self.uses += 1
        self.depth += 1
        self.deepest = max(self.depth, self.deepest)
        super().visit(expr)
        self.depth -= 1
        self.numbers.setdefault(expr, len(self.numbers))


def test_an_overridden_visit_sees_each_use_at_any_depth():
    for length in (10, 350, 2000):
        uses, program = Uses(), chain(length)
        uses.visit(program)
        # The whole, and callee and two arguments of each call.
        assert uses.uses == 1 + 3 * length and len(uses.numbers) == length + 2
        operand, calls = program.args[0], 0
        while isinstance(operand, relay.Call):
            assert uses.numbers[operand.args[0]] < uses.numbers[operand]
            operand, calls = operand.args[0], calls + 1
        assert calls == length - 1
        if length <= 350:
            assert uses.deepest == length + 1


def test_an_overridden_visit_sees_each_let_of_a_chain():
    class Lets(relay.ExprVisitor):
        lets = 0

        def visit(self, expr):
            super().visit(expr)
            self.lets += isinstance(expr, relay.Let)

    class Kept(relay.ExprMutator):
        lets = 0

        def visit(self, expr):
            self.lets += isinstance(expr, relay.Let)
            return super().visit(expr)

    for length in (1, 3, 3000):
        names = [relay.var("v") for _ in range(length)]
        program = names[-1]
        for name in reversed(names):
            program = relay.Let(name, relay.const(1.0), program)
        visitor, mutator = Lets(), Kept()
        visitor.visit(program)
        assert mutator.visit(program) is program and visitor.lets == mutator.lets == length


def test_an_overridden_visit_of_mixed_mode_sees_each_node():
    class Mixed(relay.MixedModeVisitor):
        def __init__(self):
            super().__init__()
            self.seen, self.uses = set(), 0

        def visit(self, expr):
            super().visit(expr)
            self.seen.add(expr)
            self.uses += 1

    class Count(relay.MixedModeMutator):
        calls = 0

        def visit(self, expr):
            return super().visit(expr)

        def rewrite_call(self, old, new):
            self.calls += 1
            return new

    for length in (10, 2000):
        mixed, count, program = Mixed(), Count(), chain(length)
        mixed.visit(program)
        assert len(mixed.seen) == length + 2 and mixed.uses == 1 + 3 * length
        assert count.visit(program) is program and count.calls == length


def test_an_overridden_visit_may_give_other_results():
    class Strangers(relay.ExprMutator):
        def visit(self, expr):
            found = super().visit(expr)
            return relay.op.get("subtract") if found == relay.op.get("add") else found

    for length in (10, 1000):
        changed = Strangers().visit(chain(length))
        assert {call.op.name for call in calls_of(changed)} == {"subtract"}


def calls_of(expr):
    found = []
    relay.analysis.post_order_visit(expr, lambda node: found.append(node) if isinstance(node, relay.Call) else None)
    return found


def test_deep_functions_in_dataflow():
    x = relay.var("x")
    inner = relay.Function([x], chain(1000, x))
    e = relay.var("y")
    for _ in range(200):
        e = inner(e) + e

    class Count(relay.ExprVisitor):
        calls = 0

        def visit_call(self, call):
            self.calls += 1
            super().visit_call(call)

    count = Count()
    count.visit(e)
    assert count.calls == 1000 + 2 * 200


def test_deep_lets():
    program = lets(DEEP)
    relay.ExprVisitor().visit(program)
    assert relay.ExprMutator().visit(program) is program

    class Rename(relay.ExprMutator):
        def visit_var(self, var):
            return relay.var("w" + var.name_hint)

    changed = Rename().visit(program)
    for _ in range(DEEP):
        assert changed.var.name_hint.startswith("wv")
        changed = changed.body


@pytest.mark.skipif(sys.version_info < (3, 11), reason="a recursion in Python takes of the C stack there")
def test_deep_lets_through_an_overridden_method_in_order():
    class Scopes(relay.ExprMutator):
        def __init__(self):
            super().__init__()
            self.open = []

        def visit_let(self, let):
            self.open.append(let.var.name_hint)
            result = super().visit_let(let)
            assert self.open.pop() == let.var.name_hint
            return result

    program = lets(20_000)
    limit = sys.getrecursionlimit()
    scopes = Scopes()
    assert scopes.visit(program) is program and scopes.open == []
    assert sys.getrecursionlimit() == limit


def test_mixed_mode():
    class Fold(relay.MixedModeMutator):
        def rewrite_call(self, pre, post):
            assert pre.op is post.op
            return post.args[0] if post.op.name == "exp" and post.args[0] is not pre.args[0] or post.op.name == "log" else post

    x = relay.var("x")
    assert Fold().visit(relay.exp(relay.log(x))) is x
    assert Fold().visit(chain(DEEP)).op.name == "add"
    calls = []

    class Visit(relay.MixedModeVisitor):
        def visit_call(self, call):
            calls.append(call.op.name)
            super().visit_call(call)

    Visit().visit(relay.exp(relay.log(x)))
    assert calls == ["log", "exp"]


def test_post_order_and_rewrite():
    x = relay.var("x")
    e = relay.exp(x) + relay.exp(x)
    names = []
    relay.post_order_visit(e, lambda node: names.append(type(node).__name__))
    assert names.count("Var") == 1 and names[-1] == "Call"
    assert relay.rewrite(e, lambda node: None) is e
    changed = relay.rewrite(e, lambda node: relay.tanh(node.args[0]) if isinstance(node, relay.Call) and node.op.name == "exp" else None)
    assert {arg.op.name for arg in changed.args} == {"tanh"}
    with pytest.raises(TypeError, match="a rewrite gives an expression"):
        relay.rewrite(e, lambda node: 3)


def test_exceptions_of_callbacks_come_out_whole():
    class Odd(Exception):
        pass

    def fails(node):
        def inner():
            raise Odd("here", node)

        inner()

    for call in (relay.post_order_visit, relay.rewrite):
        with pytest.raises(Odd) as caught:
            call(chain(10), fails)
        names = [frame.name for frame in caught.traceback]
        assert "fails" in names and "inner" in names and isinstance(caught.value.args[1], relay.Expr)


def test_callbacks_may_call_the_library():
    seen = []

    def visit(node):
        relay.post_order_visit(node, seen.append)
        relay.parse("def @main() { 1 }")

    relay.post_order_visit(relay.exp(relay.var("x")), visit)
    assert len(seen) == 1 + 1 + 3


def test_type_functors():
    class Widen(relay.TypeMutator):
        def visit_tensor_type(self, typ):
            return relay.TensorType(typ.shape, "float64")

    given = relay.parse_type("fn ((Tensor[(2), float32], ref(int8))) -> Tensor[(3), float16]")
    assert Widen().visit(given) == relay.parse_type("fn ((Tensor[(2), float64], ref(float64))) -> Tensor[(3), float64]")
    names = []

    class Names(relay.TypeVisitor):
        def visit_tensor_type(self, typ):
            names.append(typ.dtype)

    Names().visit(given)
    assert names == ["float32", "int8", "float16"]

    class Forgets(relay.TypeMutator):
        def visit_tensor_type(self, typ):
            return None

    with pytest.raises(TypeError, match="visit_tensor_type must return a type"):
        Forgets().visit(given)
    with pytest.raises(NotImplementedError, match="no visit_func_type"):
        relay.TypeFunctor().visit(given)


def test_two_threads_visit_one_program():
    import threading

    deep = chain(20_000)
    results = []

    def visit():
        order = Order()
        order.visit(deep)
        results.append(len(order.seen))

    threads = [threading.Thread(target=visit) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [20_001] * 4
