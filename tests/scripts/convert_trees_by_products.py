"""Trees as three products, with an open batch; the executable goes through files."""
import tempfile

import numpy as np
import tvm
from tvm import relay
from tvm.contrib import graph_executor
from tvm.relay import op as _op
from tvm.relay.frontend.common import infer_shape, infer_type, new_var, AttrCvt, fold_constant, StrAttrsDict
from tvm.relay import expr as _expr, function as _function, analysis

folder = tempfile.mkdtemp()


class GEMMTrees:
    def __init__(self, A, B, C, D, E):
        self.A, self.B, self.C, self.D, self.E = [_expr.const(t) for t in (A, B, C, D, E)]

    def __call__(self, x):
        y = _op.less(_op.nn.dense(x, self.A), self.B)
        y = _op.cast(y, "float32")
        y = _op.equal(_op.nn.dense(y, self.C), self.D)
        y = _op.cast(y, "float32")
        y = _op.nn.dense(y, self.E)
        return y


A = np.eye(3, 5, dtype="float32")
B = np.full((3,), 0.5, "float32")
C = np.random.randint(-1, 2, (4, 3)).astype("float32")
D = np.random.randint(-1, 2, (4,)).astype("float32")
E = np.random.rand(2, 4).astype("float32")
x = new_var("x", shape=(relay.Any(), 5), dtype="float32")
y = GEMMTrees(A, B, C, D, E)(x)
label = _op.cast(_op.argmax(y, axis=1, keepdims=False), "int64")
probs = _op.nn.softmax(y, axis=1)
out = _expr.Tuple([label, probs])
func = _function.Function(analysis.free_vars(out), out)
mod = tvm.IRModule.from_expr(func)
print(infer_shape(y), infer_type(y).checked_type)
with tvm.transform.PassContext(opt_level=3, config={"relay.backend.use_auto_scheduler": False}, disabled_pass=["AlterOpLayout"], required_pass=["FastMath"]):
    exe = relay.vm.compile(mod, target=tvm.target.Target("llvm"))
code, lib = exe.save()
lib.export_library(folder + "/trees.so")
open(folder + "/trees.ro", "wb").write(code)
loaded = tvm.runtime.vm.Executable.load_exec(bytearray(open(folder + "/trees.ro", "rb").read()), tvm.runtime.load_module(folder + "/trees.so"))
vm = tvm.runtime.vm.VirtualMachine(loaded, tvm.cpu(), memory_cfg="naive")
data = np.random.rand(7, 5).astype("float32")
res = vm.run(data)
lt = (data @ A.T < B).astype("float32")
eq = ((lt @ C.T) == D).astype("float32")
ref = eq @ E.T
np.testing.assert_array_equal(res[0].numpy(), ref.argmax(1))
print(loaded.stats)
assert list(loaded.globals) == ["main"] and loaded.get_function_params("main") == ["x"]
assert vm.benchmark(tvm.cpu(), data, repeat=2, number=3).mean > 0
