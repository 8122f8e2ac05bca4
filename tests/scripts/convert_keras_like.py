"""A little front end: layers as dictionaries become Relay, with an ExprTable and a parameter dictionary of its own."""
import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.relay import analysis, expr as _expr, function as _function, op as _op
from tvm.relay.frontend.common import infer_shape, infer_type

LAYERS = [
    {"kind": "Conv", "filters": 4, "kernel": 3, "activation": "relu"},
    {"kind": "Pool", "size": 2},
    {"kind": "Flatten"},
    {"kind": "Dense", "units": 5, "activation": "softmax"},
]


class ExprTable:
    def __init__(self):
        self.exprs, self.params, self.const_ctr = {}, {}, 1

    def new_const(self, value):
        name = f"_param_{self.const_ctr}"
        self.const_ctr += 1
        self.params[name] = tvm.nd.array(value)
        return _expr.var(name, shape=value.shape, dtype=str(value.dtype))


def activation(data, name):
    return {"relu": _op.nn.relu, "softmax": _op.nn.softmax, None: lambda x: x}[name](data)


def convert(data, layer, table, rng):
    if layer["kind"] == "Conv":
        channels = int(infer_shape(data)[1])
        weight = table.new_const(rng.standard_normal((layer["filters"], channels, layer["kernel"], layer["kernel"])).astype("float32"))
        out = _op.nn.conv2d(data, weight, channels=layer["filters"], kernel_size=(layer["kernel"],) * 2, padding=(1, 1))
        bias = table.new_const(np.zeros(layer["filters"], "float32"))
        return activation(_op.nn.bias_add(out, bias), layer.get("activation"))
    if layer["kind"] == "Pool":
        return _op.nn.max_pool2d(data, pool_size=(layer["size"],) * 2, strides=(layer["size"],) * 2)
    if layer["kind"] == "Flatten":
        return _op.nn.batch_flatten(_op.transpose(data, axes=[0, 2, 3, 1]))
    if layer["kind"] == "Dense":
        weight = table.new_const(rng.standard_normal((layer["units"], int(infer_shape(data)[1]))).astype("float32"))
        return activation(_op.nn.dense(data, weight, units=layer["units"]), layer.get("activation"))
    raise tvm.error.OpNotImplemented(f"Operator {layer['kind']} is not supported in frontend Layers.")


def from_layers(layers, shape):
    table, rng = ExprTable(), np.random.default_rng(0)
    expr = _expr.var("input_1", shape=shape, dtype="float32")
    for layer in layers:
        expr = convert(expr, layer, table, rng)
    func = _function.Function(analysis.free_vars(expr), expr)
    return tvm.IRModule.from_expr(func), table.params


def test_convert():
    mod, params = from_layers(LAYERS, (1, 3, 8, 8))
    assert [p.name_hint for p in mod["main"].params][0] == "input_1" and len(params) == 3
    typed = infer_type(mod["main"])
    assert typed.ret_type == relay.TensorType((1, 5), "float32")
    with tvm.transform.PassContext(opt_level=2):
        run = relay.create_executor("graph", mod, tvm.cpu(), "llvm", params).evaluate()
    out = run(np.random.rand(1, 3, 8, 8).astype("float32")).numpy()
    np.testing.assert_allclose(out.sum(), 1, rtol=1e-5)


def test_unknown_layer():
    with pytest.raises(tvm.error.OpNotImplemented, match="Operator Dropout3 is not supported"):
        from_layers([{"kind": "Dropout3"}], (1, 3, 8, 8))


if __name__ == "__main__":
    pytest.main([__file__])
