"""Shapes with te.var, te.size_var, tir.Var and arithmetic of them."""
import tvm
from tvm import relay, te, tir
from tvm.relay.testing import run_infer_type


def test_broadcast_with_a_name():
    rows, cols = te.var("rows"), te.size_var("cols")
    a = relay.var("a", relay.TensorType((rows, 1, cols), "float32"))
    b = relay.var("b", relay.TensorType((6, cols), "float32"))
    total = run_infer_type(relay.add(a, b))
    assert total.checked_type == relay.TensorType((rows, 6, cols), "float32")
    assert isinstance(total.checked_type.shape[0], tvm.tir.Var)
    assert isinstance(total.checked_type.shape[1], tvm.tir.IntImm) and total.checked_type.shape[1].value == 6


def test_sums_and_products():
    n = te.size_var("n")
    x = relay.var("x", shape=(n, 4), dtype="float32")
    both = run_infer_type(relay.concatenate([x, x], axis=0))
    assert both.checked_type == relay.TensorType((n + n, 4), "float32")
    flat = run_infer_type(relay.nn.batch_flatten(relay.var("y", shape=(n, 3, 5))))
    assert flat.checked_type == relay.TensorType((n, 15), "float32")
    wide = run_infer_type(relay.tile(x, reps=(1, 3)))
    assert wide.checked_type == relay.ty.TensorType((n, 12), "float32")


def test_pool_of_a_named_height():
    h = tir.Var("h", "int32")
    x = relay.var("x", shape=(1, 8, h, 32))
    y = run_infer_type(relay.nn.max_pool2d(x, pool_size=(2, 2), strides=(2, 2)))
    assert y.checked_type.shape[3] == 16
    assert [int(d) for d in y.checked_type.shape[:2]] == [1, 8]


def test_any():
    x = relay.var("x", shape=(relay.Any(), 3))
    y = run_infer_type(relay.nn.relu(x))
    assert isinstance(y.checked_type.shape[0], tvm.tir.Any)
    assert not isinstance(y.checked_type.shape[1], tir.Any)
    assert relay.analysis.all_vars(y)[0].name_hint == "x"


def test_constants_as_extents():
    shape = [tir.const(2, "int32"), tir.IntImm("int64", 7)]
    x = relay.var("x", shape=shape)
    assert tuple(tvm.topi.utils.get_const_tuple(run_infer_type(x).checked_type.shape)) == (2, 7)


if __name__ == "__main__":
    test_broadcast_with_a_name()
    test_sums_and_products()
    test_pool_of_a_named_height()
    test_any()
    test_constants_as_extents()
