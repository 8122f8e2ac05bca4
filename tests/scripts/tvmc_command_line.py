"""tvmc at the command line: compile, run, wrong files; names of its modules."""
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper
from tvm import relay
from tvm.driver import tvmc
from tvm.driver.tvmc.common import TVMCException
from tvm.driver.tvmc.model import TVMCModel
from tvm.driver.tvmc.shape_parser import parse_shape_string

folder = tempfile.mkdtemp()


def at(name):
    return os.path.join(folder, name)


def command(*words):
    return subprocess.run([sys.executable, "-m", "tvm.driver.tvmc", *words], capture_output=True, text=True)


weights = helper.make_tensor("w", TensorProto.FLOAT, [3, 2], np.arange(6, dtype="float32"))
inputs, outputs = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3]), helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 2])
graph = helper.make_graph([helper.make_node("Gemm", ["x", "w"], ["y"])], "gemm", [inputs], [outputs], initializer=[weights])
onnx.save(helper.make_model(graph), at("m.onnx"))

compiled = command("compile", "--target", "llvm", "--input-shapes", "x:[1,3]", "--output", at("m.tar"), at("m.onnx"))
assert compiled.returncode == 0, compiled.stderr
np.savez(at("in.npz"), x=np.ones((1, 3), "float32"))
ran = command("run", "--inputs", at("in.npz"), "--outputs", at("out.npz"), "--print-time", "--print-top", "1", at("m.tar"))
assert ran.returncode == 0, ran.stderr
assert "mean" in ran.stdout and "9." in ran.stdout
np.testing.assert_allclose(np.load(at("out.npz"))["output_0"], [[6, 9]])

for words, what in [
    (["compile", at("none.onnx")], "none.onnx"),
    (["compile", "--target", "cuda_", at("m.onnx")], "no target kind"),
    (["compile", "--input-shapes", "x:1,3", at("m.onnx")], "write them as"),
    (["run", "--inputs", at("m.onnx"), at("m.tar")], "tvmc run"),
    (["run", at("in.npz")], "tvmc run"),
    ([], "usage"),
]:
    failed = command(*words)
    assert failed.returncode in (1, 2) and what in failed.stderr and "Traceback" not in failed.stderr, (words, failed.stderr)

assert str(parse_shape_string("x:[1,3] deep/name:0:[-1],s:[]")) == str({"x": [1, 3], "deep/name:0": [relay.Any()], "s": []})
try:
    tvmc.load(at("m.onnx"), model_format="tflite")
except TVMCException as error:
    print(error)
model = tvmc.load(at("m.onnx"), shape_dict={"x": [1, 3]})
assert isinstance(model, TVMCModel)
model.summary()
