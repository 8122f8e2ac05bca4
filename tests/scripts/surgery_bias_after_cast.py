"""DFPatternCallback that moves a cast before bias_add; attributes by index; rewrite of a whole module's main."""
import tvm
from tvm import relay
from tvm.relay import transform
from tvm.relay.dataflow_pattern import DFPatternCallback, is_op, rewrite, wildcard
from tvm.relay.expr_functor import ExprMutator, ExprVisitor


class CastBeforeBias(DFPatternCallback):
    def __init__(self, require_type=False):
        super().__init__(require_type)
        self.conv2d = is_op("nn.conv2d")(wildcard(), wildcard())
        self.bias = wildcard()
        self.pattern = is_op("nn.bias_add")(self.conv2d, self.bias)

    def callback(self, pre, post, node_map):
        conv2d = node_map[self.conv2d][0]
        out_dtype = conv2d.attrs["out_dtype"]
        bias = node_map[self.bias][0]
        return relay.op.nn.bias_add(relay.op.cast(conv2d, out_dtype or "float32"), bias)


class OnlyOnce(CastBeforeBias):
    def __init__(self):
        super().__init__()
        self.rewrite_once = True


@tvm.ir.transform.module_pass(opt_level=0)
class CastBeforeBiasPass:
    def transform_module(self, mod, ctx):
        for global_var, func in mod.functions.items():
            func = rewrite(OnlyOnce(), func)
            mod.update_func(global_var, func)
        return mod

    def __call__(self, mod):
        return self.transform_module(mod, tvm.transform.PassContext.current())


x = relay.var("x", shape=(1, 8, 6, 6), dtype="int8")
w = relay.var("w", shape=(4, 8, 3, 3), dtype="int8")
b = relay.var("b", shape=(4,), dtype="int32")
y = relay.nn.bias_add(relay.nn.conv2d(x, w, out_dtype="int32", kernel_size=[3, 3], channels=4), b)
mod = tvm.IRModule.from_expr(relay.Function([x, w, b], y))
mod = CastBeforeBiasPass()(mod)
mod = transform.InferType()(mod)


class Ops(ExprVisitor):
    def __init__(self):
        super().__init__()
        self.names = []

    def visit_call(self, call):
        self.names.append(call.op.name)
        super().visit_call(call)


ops = Ops()
ops.visit(mod["main"])
assert ops.names == ["nn.bias_add", "cast", "nn.conv2d"], ops.names
assert mod["main"].ret_type.dtype == "int32"
