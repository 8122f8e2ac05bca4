"""Passes over functions as values, batches and quantised numbers, by TVM's names."""

import numpy as np
import pytest

import tvm
from tvm import relay


def test_functions_become_data():
    mod = tvm.parser.parse("""#[version = "0.0.5"]
def @twice(%f: fn (int32) -> int32, %a: int32) -> int32 { %f(%f(%a)) }
def @main(%x: int32) -> int32 { @twice(fn (%b: int32) -> int32 { add(%b, 1) }, %x) }""")
    mod["main"] = relay.transform.Defunctionalization(mod["main"], mod)
    made = relay.transform.InferType()(mod)
    assert relay.create_executor("debug", made).evaluate()(np.int32(3)).numpy() == 5


def test_another_batch():
    x, w = relay.var("x", shape=(1, 3)), relay.var("w", shape=(2, 3))
    mod = tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.dense(x, w)))
    made = relay.transform.InferType()(relay.transform.ChangeBatch({x: 0}, batch_size=4)(mod))
    assert made["main"].checked_type.ret_type == relay.TensorType((4, 2))


def test_weights_that_are_transposed():
    x, w = relay.var("x", shape=(2, 3)), relay.var("w", shape=(3, 4))
    mod = tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.dense(x, relay.transpose(w, axes=[1, 0]))))
    mod = relay.transform.InferType()(mod)
    names = relay.analysis.search_fc_transpose(mod["main"])
    made = relay.transform.SimplifyFCTranspose(names)(mod)
    assert [param.name_hint for param in made["main"].params] == ["x", "w.T"]


def test_quantised_operators_become_others():
    x = relay.var("x", shape=(2, 4))
    body = relay.qnn.op.quantize(x, relay.const(0.5), relay.const(3), out_dtype="uint8")
    made = relay.qnn.transform.CanonicalizeOps()(tvm.IRModule.from_expr(relay.Function([x], body)))
    assert "qnn" not in made.astext()


# ---- Sizes, lifetimes and numbers -----------------------------------------------------------------------


def run_main(mod, *args):
    return relay.create_executor("vm", mod=mod).evaluate()(*args).numpy()


@pytest.mark.parametrize("auto_pad", [False, True])
@pytest.mark.parametrize("rows", [1, 2, 3, 4, 7])
def test_flexible_shape_dispatch(auto_pad, rows):
    x, w = relay.var("x", shape=(relay.Any(), 3)), relay.var("w", shape=(2, 3))
    mod = tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.relu(relay.nn.dense(x, w))))
    made = relay.transform.FlexibleShapeDispatch([2, 4], auto_pad=auto_pad, input_indices=[0])(mod)
    assert {"main_2", "main_4", "main_other"} <= {var.name_hint for var in made.get_global_vars()}
    a, b = np.random.rand(rows, 3).astype("float32"), np.random.rand(2, 3).astype("float32")
    np.testing.assert_allclose(run_main(made, a, b), np.maximum(a @ b.T, 0), rtol=1e-5)


def test_flexible_shape_dispatch_whose_results_keep_their_size():
    x = relay.var("x", shape=(relay.Any(), 3))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.sum(x, axis=0)))
    made = relay.transform.FlexibleShapeDispatch(buckets=[4], axis=0, auto_pad=True, pad_value=0, affects_output=False)(mod)
    a = np.random.rand(3, 3).astype("float32")
    np.testing.assert_allclose(run_main(made, a), a.sum(0), rtol=1e-5)


def test_manifest_lifetimes():
    x = relay.var("x", shape=(2,))
    y, z = relay.var("y"), relay.var("z")
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.Let(y, relay.exp(x), relay.Let(z, relay.abs(y), z))))
    made = relay.transform.ManifestLifetimes()(mod)
    kills = []
    relay.analysis.post_order_visit(
        made["main"], lambda node: kills.append(node.args[0].name_hint) if isinstance(node, relay.Call) and node.op.name == "memory.kill" else None)
    assert sorted(kills) == ["x", "y"]


def test_capture_post_dfs_index_in_spans():
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    mod = relay.transform.CapturePostDfsIndexInSpans()(tvm.IRModule.from_expr(relay.Function([x, y], relay.exp(x) + y)))
    body = mod["main"].body
    # Numbers: x 0, y 1, add 2, exp 3, exp(x) 4, the sum 5, the function 6.
    assert body.span.source_name == "index:5:6"
    assert body.args[0].span.source_name == "index:4:5"
    assert mod["main"].span.source_name == "index:6:-1"
