"""Where a device starts: which operators a compiler takes, counted and coloured, with nothing but visitors."""
import numpy as np

import tvm
from tvm import relay
from tvm.relay.expr_functor import ExprMutator, ExprVisitor
from tvm.relay.op.annotation import compiler_begin, compiler_end
from tvm.relay.op.contrib.arm_compute_lib import arm_compute_lib_pattern_table, partition_for_arm_compute_lib
from tvm.relay.op.contrib.tensorrt import partition_for_tensorrt
from tvm.contrib.xcode import create_dylib

SUPPORTED = {"nn.conv2d", "nn.relu", "nn.max_pool2d", "add"}


class Coverage(ExprVisitor):
    def __init__(self):
        super().__init__()
        self.taken, self.left = [], []

    def visit_call(self, call):
        super().visit_call(call)
        if isinstance(call.op, tvm.ir.Op):
            (self.taken if call.op.name in SUPPORTED else self.left).append(call.op.name)


class Mark(ExprMutator):
    """Each supported call becomes a function of its own with an attribute."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def visit_call(self, call):
        new = super().visit_call(call)
        if not (isinstance(new.op, tvm.ir.Op) and new.op.name in SUPPORTED):
            return new
        self.count += 1
        params = [relay.var(f"p{self.count}_{i}", type_annotation=old.checked_type) for i, old in enumerate(call.args)]
        body = relay.Call(new.op, params, new.attrs, new.type_args)
        func = relay.Function(params, body).with_attr({"Composite": "dev." + new.op.name, "global_symbol": f"dev_{self.count}"})
        return relay.Call(func, list(new.args))


mod, params = relay.testing.resnet.get_workload(num_layers=8, image_shape=(3, 28, 28), num_classes=4)
mod["main"] = relay.build_module.bind_params_by_name(mod["main"], params)
with tvm.transform.PassContext(opt_level=3):
    mod = tvm.transform.Sequential([relay.transform.InferType(), relay.transform.SimplifyInference(), relay.transform.FoldScaleAxis(), relay.transform.InferType()])(mod)
coverage = Coverage()
coverage.visit(mod["main"])
print(len(coverage.taken), "taken,", len(coverage.left), "left:", sorted(set(coverage.left)))
assert coverage.taken.count("nn.conv2d") >= 8

mark = Mark()
marked = tvm.IRModule.from_expr(mark.visit(mod["main"]))
marked = relay.transform.InferType()(marked)
assert mark.count == len(coverage.taken) and marked.astext().count("Composite=") == mark.count
data = np.random.rand(1, 3, 28, 28).astype("float32")
before, after = (relay.create_executor("graph", m, tvm.cpu(), "llvm").evaluate()(data).numpy() for m in (mod, marked))
np.testing.assert_allclose(before, after, rtol=1e-3, atol=1e-4)

try:
    partition_for_tensorrt(mod, params)
except NotImplementedError as reason:
    print(reason)
