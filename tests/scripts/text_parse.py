"""Parsing of expressions, functions, types and modules, compared with what the API builds."""
import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.error import DiagnosticError

HEADER = '#[version = "0.0.5"]\n'


def same(text, expr):
    parsed = tvm.relay.parse_expr(text)
    tvm.ir.assert_structural_equal(parsed, expr, map_free_vars=True)
    again = tvm.relay.parse_expr(parsed.astext())
    tvm.ir.assert_structural_equal(parsed, again, map_free_vars=True)


def module(text):
    return tvm.relay.parse(HEADER + text)


def number(text):
    constant = tvm.relay.parse_expr(text)
    assert isinstance(constant, relay.Constant) and isinstance(constant.data, tvm.nd.NDArray)
    return constant.data.numpy().item()


def test_numbers():
    assert [number(t) for t in ("0", "42", "-7", "1.5f", "2e3f", "True")] == [0, 42, -7, 1.5, 2000.0, True]


@pytest.mark.parametrize("symbol, op", [("+", relay.add), ("*", relay.multiply), ("<", relay.less), ("!=", relay.not_equal)])
def test_infix(symbol, op):
    same(f"2 {symbol} 3", op(relay.const(2), relay.const(3)))


def test_precedence():
    equal = tvm.ir.structural_equal
    assert equal(relay.parse_expr("2 + 3 * 4"), relay.parse_expr("2 + (3 * 4)"))
    assert not equal(relay.parse_expr("(2 + 3) * 4"), relay.parse_expr("2 + 3 * 4"))


def test_let_and_functions():
    x = relay.Var("x")
    same("let %x = 3; %x", relay.Let(x, relay.const(3), x))
    y = relay.Var("y", relay.TensorType((2, 3), "float32"))
    same("fn (%y: Tensor[(2, 3), float32]) { nn.relu(%y) }", relay.Function([y], relay.nn.relu(y)))
    same("if (False) { 1 } else { 2 }", relay.If(relay.const(False), relay.const(1), relay.const(2)))
    same("(1, (), 2)", relay.Tuple([relay.const(1), relay.Tuple([]), relay.const(2)]))


def test_attributes():
    call = relay.parse_expr("free_var %d: Tensor[(1, 8, 8, 3), float32]; nn.max_pool2d(%d, pool_size=[2, 2], layout=\"NHWC\")")
    assert call.op == relay.op.get("nn.max_pool2d") and call.attrs.layout == "NHWC" and [int(i) for i in call.attrs.pool_size] == [2, 2]


def test_modules():
    mod = module("def @twice(%x: int32) -> int32 { %x + %x }\ndef @main(%n: int32) -> int32 { @twice(@twice(%n)) }")
    assert sorted(var.name_hint for var in mod.get_global_vars()) == ["main", "twice"]
    assert mod["main"].checked_type == relay.FuncType([relay.scalar_type("int32")], relay.scalar_type("int32"))
    assert int(relay.create_executor("debug", mod=mod).evaluate()(np.int32(3)).numpy()) == 12


def test_data_types():
    mod = module("type Maybe[A] { Just(A), Nothing }\ndef @get[A](%m: Maybe[A], %d: A) -> A { match (%m) { Just(%a) => %a, Nothing => %d } }")
    assert mod["get"].body.complete
    header, just, nothing = mod.get_type("Maybe")
    assert (just.tag, nothing.tag) != (None, None) and header.name_hint == "Maybe"


@pytest.mark.parametrize("text", ["%nobody", "let %x = ; ()", "nn.conv2d(", "if (True) { 1 }"])
def test_mistakes(text):
    with pytest.raises(DiagnosticError):
        relay.parse_expr(text)


def test_spans():
    mod = tvm.parser.parse("def @main(%x: Tensor[(2), float32]) {\n  exp(%x)\n}", "source.rly")
    assert mod["main"].body.span.line == 2 and mod["main"].body.span.source_name.name == "source.rly"
    tvm.parser.SpanCheck()(mod)


if __name__ == "__main__":
    pytest.main([__file__])
