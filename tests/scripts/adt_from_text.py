"""Whole programs as text: options, trees, closures; values from Python and back."""
import numpy as np

import tvm
from tvm import relay
from tvm.relay.backend.interpreter import ConstructorValue

code = """
#[version = "0.0.5"]
type Shape { Circle(float32), Rect(float32, float32) }
def @area(%s: Shape) -> float32 {
  match (%s) {
    Circle(%r) => 3f * %r * %r,
    Rect(%w, %h) => %w * %h,
  }
}
def @twice[A](%f: fn (A) -> A) -> fn (A) -> A {
  fn (%x: A) -> A { %f(%f(%x)) }
}
def @main(%s: Shape) -> (float32, float32) {
  let %quadruple = @twice(fn (%x: float32) -> float32 { %x * 2f });
  (@area(%s), %quadruple(@area(%s)))
}
"""
mod = tvm.relay.parse(code)
_, circle, rect = mod.get_type("Shape")
assert isinstance(mod["main"].checked_type, relay.FuncType)

for kind in ("debug", "vm"):
    run = relay.create_executor(kind, mod=mod, device=tvm.cpu(0), target="llvm").evaluate()
    area, four = run(ConstructorValue(rect.tag, [tvm.nd.array(np.float32(2)), tvm.nd.array(np.float32(5))], rect))
    assert float(area.numpy()) == 10 and float(four.numpy()) == 40
    area, _ = run(ConstructorValue(circle.tag, [tvm.nd.array(np.float32(2))], circle))
    assert float(area.numpy()) == 12

shape = relay.create_executor("debug", mod=mod).evaluate(circle(relay.const(1.5)))
assert shape.constructor.name_hint == "Circle" and float(shape.fields[0].numpy()) == 1.5
print(mod["area"].astext())

nested = relay.parse_expr("let %f = fn (%x) { (%x, %x) }; %f(1f).0")
assert float(relay.create_executor("debug").evaluate(nested).numpy()) == 1

try:
    tvm.relay.parse('#[version = "0.0.5"]\ndef @main() { Triangle(1f) }')
except tvm.error.DiagnosticError as error:
    print(error)
else:
    raise AssertionError
