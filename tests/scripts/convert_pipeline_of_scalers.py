"""Preprocessing of tables as a tensor program: a scaler, an imputer, one-hot encoding, a linear model, in the way of converters."""
import numpy as np

import tvm
from tvm import relay
from tvm.contrib import graph_executor
from tvm.relay import op as _op

rng = np.random.default_rng(1)
rows, numeric, categories = 40, 3, 4
table = rng.normal(5, 2, (rows, numeric)).astype("float32")
table[rng.random(table.shape) < 0.1] = np.nan
kinds = rng.integers(0, categories, (rows, 1)).astype("int64")
mean, scale = np.nanmean(table, 0), np.nanstd(table, 0)
coefficients = rng.normal(size=(2, numeric + categories)).astype("float32")
intercept = rng.normal(size=2).astype("float32")


class Operator:
    def __init__(self, name, inputs, attrs):
        self.name, self.inputs, self.attrs = name, inputs, attrs


def convert_imputer(inputs, attrs):
    fill = relay.const(attrs["fill"])
    return _op.where(_op.isnan(inputs[0]), _op.broadcast_to_like(fill, inputs[0]) if attrs.get("like") else fill, inputs[0])


def convert_scaler(inputs, attrs):
    return _op.divide(_op.subtract(inputs[0], relay.const(attrs["mean"])), relay.const(attrs["scale"]))


def convert_onehot(inputs, attrs):
    flat = _op.squeeze(inputs[0], axis=[1])
    return _op.one_hot(flat, relay.const(1.0), relay.const(0.0), attrs["depth"], -1, "float32")


def convert_linear(inputs, attrs):
    return _op.nn.bias_add(_op.nn.dense(inputs[0], relay.const(attrs["weight"])), relay.const(attrs["bias"]), axis=1)


CONVERTERS = {
    "Imputer": convert_imputer, "Scaler": convert_scaler, "OneHot": convert_onehot, "Linear": convert_linear,
    "Concat": lambda inputs, attrs: _op.concatenate(inputs, axis=1), "Softmax": lambda inputs, attrs: _op.nn.softmax(inputs[0], axis=1),
    "ArgMax": lambda inputs, attrs: _op.argmax(inputs[0], axis=1),
}
pipeline = [
    Operator("Imputer", ["x"], {"fill": mean.astype("float32")}),
    Operator("Scaler", [0], {"mean": mean.astype("float32"), "scale": scale.astype("float32")}),
    Operator("OneHot", ["c"], {"depth": categories}),
    Operator("Concat", [1, 2], {}),
    Operator("Linear", [3], {"weight": coefficients, "bias": intercept}),
    Operator("Softmax", [4], {}),
    Operator("ArgMax", [5], {}),
]


def convert(pipeline, inputs, outputs):
    values = []
    for node in pipeline:
        args = [inputs[i] if isinstance(i, str) else values[i] for i in node.inputs]
        if node.name not in CONVERTERS:
            raise NotImplementedError(f"no converter for {node.name}")
        values.append(CONVERTERS[node.name](args, node.attrs))
    return relay.Function(list(inputs.values()), relay.Tuple([values[i] for i in outputs]))


inputs = {"x": relay.var("x", shape=(rows, numeric)), "c": relay.var("c", shape=(rows, 1), dtype="int64")}
mod = tvm.IRModule.from_expr(convert(pipeline, inputs, [6, 5]))
with tvm.transform.PassContext(opt_level=3):
    lib = relay.build(mod, "llvm")
m = graph_executor.GraphModule(lib["default"](tvm.cpu()))
m.set_input("x", table)
m.set_input("c", kinds)
m.run()
label, probability = m.get_output(0).numpy(), m.get_output(1).numpy()

x = (np.where(np.isnan(table), mean, table) - mean) / scale
z = np.concatenate([x, np.eye(categories)[kinds[:, 0]]], 1) @ coefficients.T + intercept
e = np.exp(z - z.max(1, keepdims=True))
np.testing.assert_allclose(probability, e / e.sum(1, keepdims=True), rtol=1e-4, atol=1e-5)
assert (label == z.argmax(1)).all()
