"""Passes over functions as values, batches and quantised numbers, by TVM's names."""

import numpy as np

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
