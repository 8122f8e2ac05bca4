"""The passes around memory and machines that users run by name: ManifestAlloc is not for them, planning is the program's."""
import numpy as np

import tvm
from tvm import relay
from tvm.relay import transform

x, y = relay.var("x", shape=(4, 4)), relay.var("y", shape=(4, 4))
out = relay.nn.relu(relay.nn.dense(x, y)) + x
mod = tvm.IRModule.from_expr(relay.Function([x, y], out))

pipeline = tvm.transform.Sequential(
    [
        transform.InferType(), transform.SimplifyInference(), transform.EliminateCommonSubexpr(), transform.CombineParallelConv2D(3), transform.CombineParallelDense(3),
        transform.FoldConstant(), transform.FoldScaleAxis(), transform.CanonicalizeOps(), transform.FuseOps(), transform.ToANormalForm(), transform.LambdaLift(),
        transform.InferType(), transform.Inline(), transform.DeadCodeElimination(), transform.RemoveUnusedFunctions(),
    ]
)
names = []


@tvm.instrument.pass_instrument
class Order:
    def run_after_pass(self, mod, info):
        names.append(info.name)


with tvm.transform.PassContext(opt_level=3, instruments=[Order()]):
    done = pipeline(mod)
assert [n for n in names if n in ("FuseOps", "ToANormalForm", "LambdaLift", "Inline")] == ["FuseOps", "ToANormalForm", "LambdaLift", "Inline"]
a, b = (np.random.uniform(-1, 1, (4, 4)).astype("float32") for _ in range(2))
before, after = (relay.create_executor(kind, mod=m).evaluate()(a, b).numpy() for kind, m in (("debug", mod), ("vm", done)))
np.testing.assert_allclose(before, after, rtol=1e-5)
np.testing.assert_allclose(before, np.maximum(a @ b.T, 0) + a, rtol=1e-5)

exe = relay.vm.compile(mod, "llvm")
machine = tvm.runtime.vm.VirtualMachine(exe, tvm.cpu(), memory_cfg="pooled")
out_array = tvm.nd.empty((4, 4))
machine.invoke_with_outputs("main", {"x": a, "y": b}, [out_array])
np.testing.assert_allclose(out_array.numpy(), before, rtol=1e-5)
