"""A converter of a little format of its own, with the helpers of tvm.relay.frontend.common."""
import math

import numpy as np
import tvm
from tvm import relay
from tvm.ir import IRModule
from tvm.relay import analysis, function
from tvm.relay import expr as _expr
from tvm.relay import op as _op
from tvm.relay.frontend.common import AttrCvt, ExprTable, Renamer, StrAttrsDict, autopad, fold_constant, get_relay_op, infer_channels, infer_shape, infer_type, new_var, set_span


def conv(inputs, attrs):
    data, weight = inputs[0], inputs[1]
    channels = infer_channels(weight)
    kernel = infer_shape(weight)[2:]
    if attrs.get("border") == "same":
        data = autopad(data, (1, 1), kernel, (1, 1))
    out = _op.nn.conv2d(data, weight, kernel_size=kernel, channels=channels, strides=(1, 1))
    return _op.nn.bias_add(out, inputs[2]) if len(inputs) > 2 else out


CONVERT = {
    "conv": conv,
    "relu": lambda i, a: get_relay_op("relu")(i[0]),
    "sum": lambda i, a: _op.add(*i),
    "squash": lambda i, a: get_relay_op("sigmoid")(i[0]),
    "mean": lambda i, a: _op.mean(i[0], axis=a["axes"], keepdims=True),
    "scale": lambda i, a: _op.multiply(i[0], _expr.const(float(a["by"]))),
}
GRAPH = [
    ("input", "x", [], {"shape": (1, 3, 8, 8)}),
    ("param", "w", [], {"value": np.random.RandomState(0).randn(4, 3, 3, 3).astype("float32")}),
    ("param", "b", [], {"value": np.zeros(4, "float32")}),
    ("conv", "c", ["x", "w", "b"], {"border": "same"}),
    ("relu", "r", ["c"], {}),
    ("squash", "s", ["r"], {}),
    ("sum", "t", ["r", "s"], {}),
    ("scale", "u", ["t"], {"by": 0.5}),
    ("mean", "m", ["u"], {"axes": [2, 3]}),
]


def from_little(graph):
    table, inputs, params = ExprTable(), [], {}
    for op, name, operands, attrs in graph:
        if op == "input":
            var = new_var(name, shape=attrs["shape"], dtype="float32")
            inputs.append(var)
            table.set_expr(name, var)
        elif op == "param":
            params[name] = tvm.nd.array(attrs["value"])
            table.set_expr(name, new_var(name, shape=attrs["value"].shape, dtype="float32"))
        else:
            made = CONVERT[op]([table.get_expr(o) for o in operands], attrs)
            table.set_expr(name, set_span(made, name))
    out = table.get_expr(graph[-1][1])
    func = function.Function(analysis.free_vars(out), out)
    return IRModule.from_expr(func), params


mod, params = from_little(GRAPH)
assert infer_type(mod["main"].body).checked_type.shape[1] == 4
out = relay.create_executor("graph", mod=mod, params=params).evaluate()(np.ones((1, 3, 8, 8), "float32"), **params)
assert out.numpy().shape == (1, 4, 1, 1)
assert fold_constant(_expr.const(2.0) * _expr.const(3.0)).data.numpy() == 6
spans = []
analysis.post_order_visit(mod["main"], lambda e: spans.append(e.span.source_name.name) if isinstance(e, relay.Call) and e.span else None)
assert "c" in spans and "m" in spans, spans
