"""A batch norm put together from its elementary operators, over several layers, and then folded away."""
import math

import numpy as np
import tvm
import tvm.relay as relay
from tvm.relay.build_module import bind_params_by_name
from tvm.relay.dataflow_pattern import DFPatternCallback, TupleGetItemPattern, is_op, is_var, rewrite, wildcard
from tvm.relay.testing import run_opt_pass


class BatchNormFromOps(DFPatternCallback):
    def __init__(self, require_type=False):
        super().__init__(require_type)
        self.x, self.var, self.mean = wildcard(), wildcard(), wildcard()
        self.beta, self.gamma, self.eps = wildcard(), wildcard(), wildcard()
        self.pattern = self.gamma * (self.x - self.mean) / is_op("sqrt")(self.var + self.eps) + self.beta

    def callback(self, pre, post, node_map):
        x, var, mean = node_map[self.x][0], node_map[self.var][0], node_map[self.mean][0]
        beta, gamma, eps = node_map[self.beta][0], node_map[self.gamma][0], node_map[self.eps][0]
        return relay.op.nn.batch_norm(x, gamma, beta, mean, var, epsilon=eps.data.numpy().item(), axis=1)[0]


x = relay.var("x", shape=(2, 4))
names = ["var", "mean", "beta", "gamma"]
v = {n: relay.var(n, shape=(4,)) for n in names}
y = v["gamma"] * (x - v["mean"]) / relay.op.sqrt(v["var"] + relay.const(1e-5)) + v["beta"]
func = relay.Function([x] + list(v.values()), y)
out = rewrite(BatchNormFromOps(), func)
assert "nn.batch_norm" in str(out)
params = {n: np.random.uniform(0.5, 1.5, 4).astype("float32") for n in names}
bound = bind_params_by_name(out, params)
seq = tvm.transform.Sequential([relay.transform.SimplifyInference(), relay.transform.FoldConstant(), relay.transform.FoldScaleAxis()])
folded = run_opt_pass(bound, seq)
assert "batch_norm" not in str(folded) and "sqrt" not in str(folded), folded
data = np.random.randn(2, 4).astype("float32")
want = params["gamma"] * (data - params["mean"]) / np.sqrt(params["var"] + 1e-5) + params["beta"]
got = relay.create_executor("debug", mod=tvm.IRModule.from_expr(folded)).evaluate()(data).numpy()
np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
