"""The pass infrastructure: sequences, levels, required and disabled passes, a pass of one's own, an instrument."""

import numpy as np

import tvm
from tvm import relay
from tvm.ir.instrument import pass_instrument


def example():
    shape = (1, 8, 10, 10)
    c = relay.const(np.ones(shape, "float32"))
    weight = relay.var("weight", shape=(8, 8, 3, 3))
    x = relay.var("x", relay.TensorType(shape, "float32"))
    conv = relay.nn.conv2d(x, weight, padding=(1, 1))
    y = relay.add(c, c)
    y = relay.multiply(y, relay.const(2, "float32"))
    y = relay.add(conv, y)
    z = relay.add(y, c)
    z1 = relay.add(y, c)
    return relay.Function([x, weight], relay.add(z, z1))


mod = tvm.IRModule.from_expr(example())
folded = relay.transform.FoldConstant()(relay.transform.InferType()(mod))
assert relay.analysis.list_op_freqs(folded)["add"] == 4 and "multiply" not in relay.analysis.list_op_freqs(folded)

deduplicated = relay.transform.EliminateCommonSubexpr()(folded)
assert relay.analysis.list_op_freqs(deduplicated)["add"] == 3

seq = tvm.transform.Sequential([
    relay.transform.FoldConstant(), relay.transform.EliminateCommonSubexpr(), relay.transform.FuseOps(fuse_opt_level=2),
])  # fmt: skip
fused_by_default = seq(mod)
with tvm.transform.PassContext(opt_level=3):
    everything = seq(mod)
with tvm.transform.PassContext(opt_level=3, disabled_pass=["EliminateCommonSubexpr"]):
    not_all = seq(mod)
assert relay.analysis.list_op_freqs(everything)["add"] == 3
assert relay.analysis.list_op_freqs(not_all)["add"] == 4
assert "Primitive" in str(fused_by_default)


@relay.transform.function_pass(opt_level=1)
class CustomPipeline:
    """Multiplies every constant by a number."""

    def __init__(self, multiplier):
        self.multiplier = multiplier

    def transform_function(self, func, mod, ctx):
        obj = self

        class ReplaceConstant(tvm.relay.ExprMutator):
            def visit_constant(self, const):
                return relay.multiply(obj.multiplier, const)

        return ReplaceConstant().visit(func)


custom_pass = CustomPipeline(multiplier=relay.const(3, "float32"))
assert custom_pass.info.name == "CustomPipeline"
assert relay.analysis.list_op_freqs(custom_pass(mod))["multiply"] > 1


@pass_instrument
class Names:
    def __init__(self):
        self.seen = []

    def run_before_pass(self, mod, info):
        self.seen.append(info.name)


names = Names()
with tvm.transform.PassContext(opt_level=3, instruments=[names]):
    tvm.transform.Sequential([relay.transform.FoldConstant(), tvm.transform.PrintIR(), custom_pass, relay.transform.FoldConstant()])(mod)
assert [name for name in names.seen if name == "FoldConstant"] == ["FoldConstant"] * 2
print(names.seen)
