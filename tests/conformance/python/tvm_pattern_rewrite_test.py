"""tvm.relay.dataflow_pattern: rewriting."""

import threading

import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.relay.dataflow_pattern import (
    DFPatternCallback, FunctionPattern, has_shape, is_constant, is_op, is_tuple, is_tuple_get_item, is_var, rewrite, wildcard,
)  # fmt: skip
from tvm.relay.testing import run_infer_type

x, y, z = (relay.var(name, shape=(4, 4)) for name in "xyz")


def same(a, b):
    tvm.ir.assert_structural_equal(a, b, map_free_vars=True)


class Subtract(DFPatternCallback):
    """x + y becomes x - y."""

    def __init__(self, **options):
        super().__init__(**options)
        self.x, self.y = wildcard(), wildcard()
        self.pattern = self.x + self.y

    def callback(self, pre, post, node_map):
        return node_map[self.x][0] - node_map[self.y][0]


class Double(DFPatternCallback):
    """-(-x) becomes x."""

    def __init__(self):
        super().__init__()
        self.x = wildcard()
        self.pattern = is_op("negative")(is_op("negative")(self.x))

    def callback(self, pre, post, node_map):
        return node_map[self.x][0]


# ---- Rewriting ------------------------------------------------------------------------------------------


def test_rewrite():
    same(rewrite(Subtract(), x + y), x - y)
    same(Subtract().rewrite(x + y), x - y)


def test_rewrite_what_does_not_match():
    expr = relay.exp(x)
    assert rewrite(Subtract(), expr).same_as(expr)


def test_rewrite_nested_matches():
    same(rewrite(Subtract(), (x + y) + z), (x - y) - z)
    same(rewrite(Subtract(), relay.exp(x + y) + relay.log(y + z)), relay.exp(x - y) - relay.log(y - z))


def test_rewrite_inside_functions_and_lets():
    v = relay.var("v")
    same(rewrite(Subtract(), relay.Function([x, y], x + y)), relay.Function([x, y], x - y))
    same(rewrite(Subtract(), relay.Let(v, x + y, v + v)), relay.Let(v, x - y, v - v))
    cond = relay.var("c", shape=(), dtype="bool")
    same(rewrite(Subtract(), relay.If(cond, x + y, y + x)), relay.If(cond, x - y, y - x))


def test_rewrite_to_a_fixed_point():
    expr = x
    for _ in range(9):
        expr = relay.negative(expr)
    same(rewrite(Double(), expr), relay.negative(x))


def test_rewrite_keeps_sharing():
    shared = relay.exp(x + y)
    result = rewrite(Subtract(), shared * shared)
    assert result.args[0].same_as(result.args[1])


def test_node_map_has_what_is_below_rewritten():
    seen = []

    class Look(DFPatternCallback):
        def __init__(self):
            super().__init__()
            self.inner = wildcard()
            self.pattern = is_op("exp")(self.inner)

        def callback(self, pre, post, node_map):
            seen.append((pre, post, node_map[self.inner][0], node_map[self.pattern][0]))
            return relay.log(node_map[self.inner][0])

    rewrite(Look(), relay.exp(relay.exp(x)))
    (_, _, first, _), (pre, post, second, root) = seen
    assert first.same_as(x) and second.op.name == "log" and root.same_as(post)
    assert pre.args[0].op.name == "exp" and post.args[0].op.name == "log"


def test_node_map_has_every_part_that_fits():
    parts = {}

    class Look(DFPatternCallback):
        def __init__(self):
            super().__init__(rewrite_once=True)
            self.data, self.bias = wildcard(), is_constant()
            self.dense = is_op("nn.dense")(self.data, wildcard())
            self.with_bias = is_op("add")(self.dense, self.bias)
            self.pattern = self.with_bias | self.dense

        def callback(self, pre, post, node_map):
            parts.update(node_map)
            assert self.bias in node_map and len(node_map[self.dense]) == 1
            return post

    callback = Look()
    expr = relay.nn.dense(x, y) + relay.const(1.0)
    rewrite(callback, expr)
    assert parts[callback.data][0].same_as(x) and parts[callback.pattern][0].same_as(expr)
    assert isinstance(parts[callback.bias][0], relay.Constant)
    assert wildcard() not in parts


def test_node_map_lacks_alternatives_that_do_not_fit():
    class Look(DFPatternCallback):
        def __init__(self):
            super().__init__()
            self.a, self.b = is_op("exp")(wildcard()), is_op("log")(wildcard())
            self.pattern = self.a | self.b

        def callback(self, pre, post, node_map):
            assert (self.a in node_map) != (self.b in node_map)
            with pytest.raises(KeyError):
                node_map[self.b if self.a in node_map else self.a]
            return post

    rewrite(Look(), relay.exp(relay.log(x)))


def test_node_map_of_a_recursive_pattern_has_all_rounds():
    lengths = []

    class Chain(DFPatternCallback):
        def __init__(self):
            super().__init__()
            self.chain = wildcard()
            self.call = is_op("nn.relu")(self.chain)
            self.chain.redirect_to(self.call | is_var())
            self.pattern = self.call

        def callback(self, pre, post, node_map):
            lengths.append(len(node_map[self.chain]))
            return post

    rewrite(Chain(), relay.nn.relu(relay.nn.relu(relay.nn.relu(x))))
    assert lengths == [3]


def test_rewrite_batch_norm_by_hand():
    """The parts of a normalisation that somebody wrote out become one operator."""
    data, mean, var = relay.var("data", shape=(2, 3)), relay.var("mean", shape=(3,)), relay.var("var", shape=(3,))
    gamma, beta, eps = relay.var("gamma", shape=(3,)), relay.var("beta", shape=(3,)), relay.const(1e-5)

    class BatchNorm(DFPatternCallback):
        def __init__(self):
            super().__init__()
            self.x, self.mean, self.var = wildcard(), wildcard(), wildcard()
            self.gamma, self.beta, self.eps = wildcard(), wildcard(), is_constant()
            self.pattern = self.gamma * (self.x - self.mean) / is_op("sqrt")(self.var + self.eps) + self.beta

        def callback(self, pre, post, node_map):
            parts = [node_map[p][0] for p in (self.x, self.gamma, self.beta, self.mean, self.var)]
            return relay.op.nn.batch_norm(*parts, epsilon=round(float(node_map[self.eps][0].data.numpy()), 7))[0]

    expected = relay.op.nn.batch_norm(data, gamma, beta, mean, var, epsilon=1e-5)[0]
    forms = [
        gamma * (data - mean) / relay.sqrt(var + eps) + beta,
        gamma * ((data - mean) / relay.sqrt(var + eps)) + beta,
        (data - mean) * (gamma / relay.sqrt(var + eps)) + beta,
        beta + (data - mean) / relay.sqrt(eps + var) * gamma,
    ]
    for form in forms:
        result = rewrite(BatchNorm(), form)
        assert isinstance(result, relay.TupleGetItem) and result.tuple_value.op.name == "nn.batch_norm", form
    same(run_infer_type(rewrite(BatchNorm(), forms[0])), run_infer_type(expected))


def test_rewrite_several_callbacks():
    class Exp(DFPatternCallback):
        def __init__(self):
            super().__init__()
            self.x = wildcard()
            self.pattern = is_op("subtract")(self.x, wildcard())

        def callback(self, pre, post, node_map):
            return relay.exp(node_map[self.x][0])

    same(rewrite([Subtract(), Exp()], x + y), relay.exp(x))


def test_rewrite_once():
    class More(DFPatternCallback):
        def __init__(self, once):
            super().__init__(rewrite_once=once)
            self.pattern = is_var("x")

        def callback(self, pre, post, node_map):
            return relay.exp(post)

    same(rewrite(More(True), relay.log(x)), relay.log(relay.exp(x)))


def test_rewriting_that_does_not_end():
    class More(DFPatternCallback):
        def __init__(self):
            super().__init__()
            self.x = wildcard()
            self.pattern = is_op("log")(self.x)

        def callback(self, pre, post, node_map):
            return relay.log(relay.negative(node_map[self.x][0]))

    mod = relay.fromtext("def @main(%x: float32) { log(exp(%x)) }")
    with pytest.raises(tvm.TVMError, match="does not end: after 100 rounds") as error:
        rewrite(More(), mod["main"])
    assert "log(_)" in str(error.value) and "rewrite_once" in str(error.value)


def test_rewriting_that_doubles_ends_early():
    class Twice(DFPatternCallback):
        def __init__(self):
            super().__init__()
            self.pattern = is_op("exp")(wildcard())

        def callback(self, pre, post, node_map):
            return relay.exp(relay.negative(post))

    with pytest.raises(tvm.TVMError, match="does not end: after 1[0-9] rounds"):
        rewrite(Twice(), relay.exp(x))


def test_conflicting_callbacks_do_not_end():
    class Back(DFPatternCallback):
        def __init__(self):
            super().__init__()
            self.x, self.y = wildcard(), wildcard()
            self.pattern = self.x - self.y

        def callback(self, pre, post, node_map):
            return node_map[self.x][0] + relay.exp(node_map[self.y][0])

    with pytest.raises(tvm.TVMError, match="100 rounds"):
        rewrite([Subtract(), Back()], x + y)


def test_require_type():
    class Ones(DFPatternCallback):
        def __init__(self, require_type):
            super().__init__(require_type=require_type)
            self.pattern = is_op("ones_like")(wildcard())

        def callback(self, pre, post, node_map):
            return relay.ones(pre.checked_type.concrete_shape, pre.checked_type.dtype)

    same(rewrite(Ones(True), relay.ones_like(x)), relay.ones((4, 4), "float32"))
    with pytest.raises(ValueError, match="no type"):
        rewrite(Ones(False), relay.ones_like(relay.var("fresh", shape=(2,))))


def test_require_type_between_rounds():
    class Flatten(DFPatternCallback):
        def __init__(self):
            super().__init__(require_type=True)
            self.x = wildcard()
            self.pattern = is_op("transpose")(self.x)

        def callback(self, pre, post, node_map):
            assert len(pre.checked_type.shape) == 2
            return relay.reshape(node_map[self.x][0], (4, 4))

    same(rewrite(Flatten(), relay.transpose(relay.transpose(x))), relay.reshape(relay.reshape(x, (4, 4)), (4, 4)))


def test_rewrite_with_a_module():
    mod = relay.fromtext("""
    def @double(%a: Tensor[(4, 4), float32]) -> Tensor[(4, 4), float32] { add(%a, %a) }
    def @main(%x: Tensor[(4, 4), float32]) { ones_like(@double(%x)) }
    """)

    class Ones(DFPatternCallback):
        def __init__(self):
            super().__init__(require_type=True)
            self.pattern = is_op("ones_like")(wildcard())

        def callback(self, pre, post, node_map):
            return relay.ones(pre.checked_type.concrete_shape, "float32")

    result = rewrite(Ones(), mod["main"], mod)
    same(result.body, relay.ones((4, 4), "float32"))


def test_inner_nodes_that_others_use_are_left_alone():
    inner = relay.negative(x)
    expr = relay.Tuple([relay.negative(inner), inner])
    assert rewrite(Double(), expr).same_as(expr)


def test_inner_nodes_whose_other_uses_end_in_the_match():
    class Fuse(DFPatternCallback):
        def __init__(self):
            super().__init__()
            self.a, self.b = wildcard(), wildcard()
            self.pattern = is_op("subtract")(is_op("exp")(self.a), self.b)

        def callback(self, pre, post, node_map):
            return relay.multiply(node_map[self.a][0], node_map[self.b][0])

    e = relay.exp(x)
    same(rewrite(Fuse(), e - relay.log(e)), x * relay.log(relay.exp(x)))


def test_rewrite_function_calls():
    f = relay.Function([x, y], x + y)

    class Inline(DFPatternCallback):
        def __init__(self):
            super().__init__()
            self.a, self.b = wildcard(), wildcard()
            self.pattern = FunctionPattern([wildcard(), wildcard()], wildcard())(self.a, self.b)

        def callback(self, pre, post, node_map):
            return node_map[self.a][0] + node_map[self.b][0]

    same(rewrite(Inline(), relay.Call(f, [z, x])), z + x)


def test_rewrite_with_types_in_patterns():
    class Small(DFPatternCallback):
        def __init__(self):
            super().__init__()
            self.x = has_shape((4, 4))
            self.pattern = is_op("exp")(self.x)

        def callback(self, pre, post, node_map):
            return relay.log(node_map[self.x][0])

    other = relay.var("o", shape=(3,))
    same(rewrite(Small(), relay.Tuple([relay.exp(x), relay.exp(other)])), relay.Tuple([relay.log(x), relay.exp(other)]))


def test_rewrite_constants():
    class Round(DFPatternCallback):
        def __init__(self):
            super().__init__(rewrite_once=True)
            self.pattern = is_constant()

        def callback(self, pre, post, node_map):
            return relay.const(np.round(post.data.numpy()))

    result = rewrite(Round(), x + relay.const(1.75))
    assert float(result.args[1].data.numpy()) == 2.0


def test_rewrite_tuples_and_projections():
    class First(DFPatternCallback):
        def __init__(self):
            super().__init__()
            self.first = wildcard()
            self.pattern = is_tuple_get_item(is_tuple([self.first, wildcard()]), 0)

        def callback(self, pre, post, node_map):
            return node_map[self.first][0]

    same(rewrite(First(), relay.TupleGetItem(relay.Tuple([x, y]), 0)), x)


def test_what_a_callback_raises_comes_out():
    class Bad(DFPatternCallback):
        def __init__(self):
            super().__init__()
            self.pattern = is_op("exp")(wildcard())

        def callback(self, pre, post, node_map):
            raise LookupError("of my own")

    with pytest.raises(LookupError, match="of my own"):
        rewrite(Bad(), relay.exp(x))


def test_what_a_callback_must_be():
    class Nothing(DFPatternCallback):
        pass

    with pytest.raises(ValueError, match="pattern is not set"):
        rewrite(Nothing(), x)
    nothing = Nothing()
    nothing.pattern = wildcard()
    with pytest.raises(NotImplementedError):
        rewrite(nothing, x)

    class Wrong(Double):
        def callback(self, pre, post, node_map):
            return 3

    with pytest.raises(TypeError, match="not an expression"):
        rewrite(Wrong(), relay.negative(relay.negative(x)))


def test_matching_runs_without_the_lock():
    """Another thread of Python goes on while a large program is matched."""
    expr = x
    for _ in range(60000):
        expr = relay.exp(expr)
    count, stop = [0], threading.Event()

    def work():
        while not stop.is_set():
            count[0] += 1

    thread = threading.Thread(target=work)
    thread.start()
    try:
        rewrite(Double(), expr)
    finally:
        stop.set()
        thread.join()
    assert count[0] > 0
