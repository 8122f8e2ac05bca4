import numpy as np
import pytest
import tvm
from tvm import relay
from tvm.relay import Expr, Function
from tvm.ir.base import SourceName
import tvm.relay.testing

SRC = """
#[version = "0.0.5"]
type Maybe[A] { Just(A), Nothing }

def @pick[A](%m: Maybe[A], %default: A) -> A {
  match (%m) {
    Just(%x) => %x,
    Nothing => %default,
  }
}

def @fact(%n: int32) -> int32 {
  if (equal(%n, 0)) { 1 } else { multiply(%n, @fact(subtract(%n, 1))) }
}

def @conv_block(%data: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32]) {
  %0 = nn.conv2d(%data, %w, padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3]);
  %1 = nn.relu(%0);
  nn.max_pool2d(%1, pool_size=[2, 2], strides=[2, 2], padding=[0, 0, 0, 0])
}

def @main(%n: int32, %data: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32]) {
  let %f = @fact(%n);
  let %c: Tensor[(1, 4, 4, 4), float32] = @conv_block(%data, %w);
  let %m = Just(%f);
  (@pick(%m, -1), sum(%c), %c)
}
"""


def test_module():
    mod = relay.fromtext(SRC)
    assert {g.name_hint for g in mod.get_global_vars()} == {"pick", "fact", "conv_block", "main"}
    d, w = np.random.rand(1, 3, 8, 8).astype("float32"), np.random.rand(4, 3, 3, 3).astype("float32")
    res = relay.create_executor("vm", mod=mod, device=tvm.cpu(), target="llvm").evaluate()(np.array(5, "int32"), d, w)
    assert int(res[0].numpy()) == 120
    assert res[2].numpy().shape == (1, 4, 4, 4)
    np.testing.assert_allclose(res[1].numpy(), res[2].numpy().sum(), rtol=1e-5)
    assert mod["pick"].type_params[0].name_hint == "A"
    tvm.ir.assert_structural_equal(relay.fromtext(mod.astext()), mod)


def test_expr_forms():
    for text, kind in (("%x", relay.Var), ("fn (%x: int32) { %x }", relay.Function), ("(1, 2, 3)", relay.Tuple), ("(1, 2).0", relay.TupleGetItem),
                       ("let %a = 1; %a", relay.Let), ("@g", relay.GlobalVar)):
        e = relay.parse_expr(text) if not text.startswith(("%", "@")) else None
        if e is not None:
            assert isinstance(e, kind), (text, type(e))
    op = relay.parse_expr("fn (%x: Tensor[(2, 2), float32]) { negative(%x) }")
    assert op.body.op.name == "negative" and isinstance(op.body.op, tvm.ir.Op)


def test_spans_and_errors():
    mod = tvm.relay.parse(SRC, "prog.rly")
    f = mod["fact"]
    assert f.body.span.source_name.name == "prog.rly" and f.body.span.line > 0
    for bad in ("def @main() { add(1) ", "def @main( { }", "def @main(%x: Tensor[(2), flot32]) { %x }", "def @main() { no.such.op(1) }"):
        with pytest.raises(tvm.error.DiagnosticError):
            tvm.relay.parse('#[version = "0.0.5"]\n' + bad)


def test_meta_and_attrs():
    c = np.random.rand(2, 3).astype("float32")
    f = relay.Function([], relay.const(c) * relay.const(2.0)).with_attr("label", "it").with_attr("level", tvm.tir.IntImm("int32", 4))
    mod = tvm.IRModule.from_expr(f)
    back = relay.fromtext(mod.astext())
    assert back["main"].attrs["label"] == "it" and int(back["main"].attrs["level"]) == 4
    np.testing.assert_equal(relay.create_executor(mod=back).evaluate()().numpy(), c * 2)
    init = tvm.relay.parse('#[version = "0.0.5"]\ndef @base(%x: float32) { %x + 1.0f }')
    ext = tvm.relay.parse('#[version = "0.0.5"]\ndef @main(%y: float32) { @base(%y) }', init_module=init)
    assert len(ext.get_global_vars()) == 2
    assert float(relay.create_executor(mod=ext).evaluate()(np.array(1, "float32")).numpy()) == 2
    table = {"relay.Constant": [relay.const(np.array([1, 2], "float32"))]}
    m = tvm.relay.parse('#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), float32]) { add(%x, meta[relay.Constant][0]) }', "s", None, table)
    np.testing.assert_equal(relay.create_executor(mod=m).evaluate()(np.zeros(2, "float32")).numpy(), [1, 2])


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__, "-q"]))
