"""Any in many places: ifs, loops, lists, results, inputs that must agree."""
import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.relay.loops import while_loop
from tvm.relay.prelude import Prelude
from tvm.relay.testing import run_infer_type


def run(mod_or_func, *args):
    mod = mod_or_func if isinstance(mod_or_func, tvm.IRModule) else tvm.IRModule.from_expr(mod_or_func)
    return relay.create_executor("vm", mod=mod, device=tvm.cpu(), target="llvm").evaluate()(*args)


def test_if_with_two_shapes():
    x = relay.var("x", shape=(relay.Any(), relay.Any()))
    f = relay.Function([x], relay.If(relay.less(relay.sum(x), relay.const(0.0)), relay.reshape(x, (-1, 1)), x))
    assert run(f, np.full((2, 3), -1, "float32")).shape == (6, 1) and run(f, np.ones((2, 3), "float32")).shape == (2, 3)


def test_growing_loop():
    acc = relay.var("acc", shape=(relay.Any(),), dtype="int32")
    loop = while_loop(
        lambda i, a: relay.less(i, relay.const(5)),
        [relay.var("i", shape=(), dtype="int32"), acc],
        lambda i, a: [i + relay.const(1), relay.concatenate([a, relay.reshape(i, (1,))], 0)],
    )
    start = relay.var("start", shape=(relay.Any(),), dtype="int32")
    f = relay.Function([start], relay.TupleGetItem(loop(relay.const(0), start), 1))
    assert run(f, np.array([9], "int32")).numpy().tolist() == [9, 0, 1, 2, 3, 4]


def test_a_list_of_any():
    mod = tvm.IRModule()
    p = Prelude(mod)
    _, cons, nil = mod.get_type("List")
    x = relay.var("x", shape=(relay.Any(),))
    mod["main"] = relay.Function([x], p.length(cons(x, cons(relay.concatenate([x, x], 0), nil()))))
    assert int(run(mod, np.ones(3, "float32")).numpy()) == 2


def test_types_of_results():
    x = relay.var("x", shape=(relay.Any(), 4))
    for e, text in (
        (relay.nn.dense(x, relay.var("w", shape=(3, 4))), "Tensor[(?, 3), float32]"), (relay.sum(x, axis=0), "Tensor[(4), float32]"),
        (relay.squeeze(relay.expand_dims(x, 0), [0]), "Tensor[(?, 4), float32]"), (relay.transpose(x), "Tensor[(4, ?), float32]"),
    ):  # fmt: skip
        assert str(run_infer_type(e).checked_type) == text


def test_shape_of_and_size():
    x = relay.var("x", shape=(relay.Any(), relay.Any(), 2))
    shape, size = run(relay.Function([x], relay.Tuple([relay.shape_of(x), relay.ndarray_size(x)])), np.zeros((3, 4, 2), "float32"))
    assert shape.numpy().tolist() == [3, 4, 2] and int(size.numpy()) == 24


def test_inputs_must_agree():
    x, y = relay.var("x", shape=(relay.Any(), relay.Any())), relay.var("y", shape=(relay.Any(), relay.Any()))
    f = relay.create_executor("vm").evaluate(relay.Function([x, y], x + y))
    assert f(np.ones((2, 6), "float32"), np.ones((2, 6), "float32")).shape == (2, 6)
    with pytest.raises(tvm.TVMError):
        f(np.ones((2, 6), "float32"), np.ones((7, 5), "float32"))


if __name__ == "__main__":
    pytest.main([__file__])
