"""Programs as text and JSON, weights as .params, programs as files: written, read again, compared."""

import os

import numpy as np

import tvm
from tvm import relay
from tvm.contrib import graph_executor, utils

TEXT = """
#[version = "0.0.5"]
def @scale(%x: Tensor[(2, 3), float32], %by: float32) -> Tensor[(2, 3), float32] {
  multiply(%x, %by)
}

def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32]) -> Tensor[(2, 4), float32] {
  let %y = @scale(%x, 2f);
  %0 = nn.dense(%y, %w, units=4);
  nn.relu(%0)
}
"""

mod = relay.fromtext(TEXT)
mod = relay.transform.InferType()(mod)
again = tvm.parser.parse(mod.astext())
assert tvm.ir.structural_equal(mod, again)
assert tvm.ir.structural_equal(mod, tvm.ir.load_json(tvm.ir.save_json(mod)))

params = {"w": np.random.randn(4, 3).astype("float32")}
temp = utils.tempdir()
param_path, json_path, lib_path = temp.relpath("w.params"), temp.relpath("mod.json"), temp.relpath("lib.so")
with open(param_path, "wb") as f:
    f.write(relay.save_param_dict(params))
with open(json_path, "w") as f:
    f.write(tvm.ir.save_json(mod))

with open(json_path) as f:
    mod = tvm.ir.load_json(f.read())
with open(param_path, "rb") as f:
    params = relay.load_param_dict(f.read())

with tvm.transform.PassContext(opt_level=3):
    lib = relay.build(mod, target="llvm", params=params)
lib.export_library(lib_path)
print("size of the program:", os.path.getsize(lib_path))

module = graph_executor.GraphModule(tvm.runtime.load_module(lib_path)["default"](tvm.cpu()))
x = np.random.randn(2, 3).astype("float32")
module.set_input("x", x)
module.run()
np.testing.assert_allclose(module.get_output(0).numpy(), np.maximum(2 * x @ params["w"].numpy().T, 0), rtol=1e-5, atol=1e-6)

# A constant in a program survives text: it is written into the metadata section.
c = relay.const(np.arange(6, dtype="float32").reshape(2, 3))
v = relay.var("v", shape=(2, 3))
f = relay.Function([v], v * c)
text = f.astext(show_meta_data=True)
assert "#[metadata]" in text and "#[metadata]" not in f.astext(show_meta_data=False)
parsed = relay.parse_expr(text)
np.testing.assert_array_equal(relay.create_executor().evaluate(parsed)(x).numpy(), x * c.data.numpy())

try:
    relay.parse("def @main(%x: Tensor[(2), float32]) { %x + }", "broken.txt")
    raise AssertionError("this is no program")
except tvm.error.DiagnosticError as error:
    assert "broken.txt:1" in str(error)
