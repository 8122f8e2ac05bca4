"""A tracer: Python code over proxies becomes Relay, as converters of traced modules do it."""
import numpy as np

import tvm
from tvm import relay
from tvm.contrib import graph_executor


class Proxy:
    def __init__(self, expr, tracer):
        self.expr, self.tracer = expr, tracer

    def _lift(self, other):
        return other.expr if isinstance(other, Proxy) else relay.const(np.float32(other))

    def __add__(self, other):
        return Proxy(self.expr + self._lift(other), self.tracer)

    def __mul__(self, other):
        return Proxy(self.expr * self._lift(other), self.tracer)

    __radd__, __rmul__ = __add__, __mul__

    def __getitem__(self, item):
        begin, end = [item.start or 0], [item.stop if item.stop is not None else 2**31 - 1]
        return Proxy(relay.strided_slice(self.expr, begin, end), self.tracer)

    @property
    def shape(self):
        mod = relay.transform.InferType()(tvm.IRModule.from_expr(self.expr))
        body = mod["main"].body
        return tvm.topi.utils.get_const_tuple(body.checked_type.shape)

    def view(self, *shape):
        return Proxy(relay.reshape(self.expr, shape), self.tracer)

    def relu(self):
        return Proxy(relay.nn.relu(self.expr), self.tracer)


class Linear:
    def __init__(self, inp, out):
        self.weight, self.bias = np.random.randn(out, inp).astype("float32") * 0.3, np.zeros(out, "float32")

    def __call__(self, x):
        w, b = x.tracer.parameter(self.weight), x.tracer.parameter(self.bias)
        return Proxy(relay.nn.bias_add(relay.nn.dense(x.expr, w), b, axis=-1), x.tracer)


class Tracer:
    def __init__(self):
        self.params = {}

    def parameter(self, value):
        name = f"p{len(self.params)}"
        self.params[name] = tvm.nd.array(value)
        return relay.var(name, shape=value.shape, dtype=str(value.dtype))

    def trace(self, module, shape):
        inp = relay.var("input0", shape=shape)
        out = module(Proxy(inp, self)).expr
        free = relay.analysis.free_vars(out)
        return tvm.IRModule.from_expr(relay.Function([inp] + [v for v in free if v is not inp], out)), self.params


class Net:
    def __init__(self):
        self.a, self.b = Linear(12, 7), Linear(7, 2)

    def __call__(self, x):
        x = x.view(x.shape[0], -1)
        h = self.a(x).relu() * 0.5 + 1.0
        return self.b(h)[1:3]


net = Net()
mod, params = Tracer().trace(net, (4, 3, 4))
print(mod)
lib = relay.build(mod, target="llvm", params=params)
m = graph_executor.GraphModule(lib["default"](tvm.cpu(0)))
data = np.random.rand(4, 3, 4).astype("float32")
m.set_input("input0", data)
m.run()
h = np.maximum(data.reshape(4, 12) @ net.a.weight.T, 0) * 0.5 + 1
np.testing.assert_allclose(m.get_output(0).numpy(), (h @ net.b.weight.T)[1:3], rtol=1e-4, atol=1e-5)
