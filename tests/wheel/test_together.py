"""PyTorch, onnx, ONNX Runtime and relay in one process, in every order: each has an LLVM, a protobuf, an OpenMP or a fmt of its own."""

import importlib.util
import itertools
import re
import subprocess
import sys
from pathlib import Path

import pytest

PARTS = {
    "relay": """
import relay
x = relay.var("x", shape=(32, 32))
program = relay.compile(relay.IRModule.from_expr(relay.Function([x], relay.nn.softmax(relay.nn.dense(relay.exp(x), x)))))
""",
    "torch": """
import torch
net = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.Flatten())
""",
    "onnx": """
import onnx
from onnx import helper, TensorProto
node = helper.make_node("Relu", ["x"], ["y"])
value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3])
model = helper.make_model(
    helper.make_graph([node], "g", [value("x")], [value("y")]), opset_imports=[helper.make_opsetid("", 17)], ir_version=8
)
onnx.checker.check_model(model)
""",
    "onnxruntime": "import onnxruntime\n",
}
USE = """
import numpy as np
given = np.linspace(-1, 1, 1024, dtype="float32").reshape(32, 32)
want = np.exp(given) @ given.T
want = np.exp(want - want.max(1, keepdims=True)); want /= want.sum(1, keepdims=True)
assert np.allclose(program(given), want, atol=1e-5)
data = np.array([[-1, 2, -3], [4, -5, 6]], "float32")
mod, params = relay.frontend.from_onnx(model)
assert (relay.compile(mod, params=params)(data) == np.maximum(data, 0)).all()
session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
assert (session.run(None, {"x": data})[0] == np.maximum(data, 0)).all()
# PyTorch's own threads, and its tensors in and out of relay without a copy.
tensor = torch.from_numpy(given)
out = net(torch.ones(1, 1, 8, 8)).sum(); out.backward()
assert np.allclose(program(tensor), torch.softmax(torch.exp(tensor) @ tensor.T, 1).numpy(), atol=1e-5)
try:
    relay.parse("def @main( {")
except relay.RelayError as error:
    assert error.diagnostics
print("fine", flush=True)
"""


@pytest.mark.parametrize("order", list(itertools.permutations(PARTS)), ids="-".join)
def test_in_this_order(order):
    for name in ("torch", "onnx", "onnxruntime"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    program = "".join(PARTS[name] for name in order) + USE
    done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", program], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "fine\n"), done.stderr


README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_programs_of_the_readme(program, tmp_path):
    if "torch" in program and importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.strip(), done.stderr
