"""A front end with the helpers of relay.frontend.common: AttrCvt, ExprTable, Renamer, autopad, infer_value."""
import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.relay import analysis, expr as _expr, function as _function, op as _op
from tvm.relay.frontend.common import (
    AttrCvt, ExprTable, Renamer, autopad, fold_constant, get_relay_op, infer_channels, infer_shape, infer_type, infer_value, new_var, set_span, shape_of,
    to_int_list, try_infer_value, unbind,
)


class OpConverter:
    """Converters by version, as the ONNX front end has them."""

    @classmethod
    def get_converter(cls, opset):
        versions = sorted(int(d.replace("_impl_v", "")) for d in dir(cls) if "_impl_v" in d)
        chosen = max(v for v in versions if v <= opset)
        return getattr(cls, f"_impl_v{chosen}")


class Conv(OpConverter):
    @classmethod
    def _impl_v1(cls, inputs, attr, params):
        if "auto_pad" in attr:
            if attr.pop("auto_pad") == "SAME_UPPER":
                inputs[0] = autopad(inputs[0], attr.get("strides", [1, 1]), attr["kernel_shape"], mode="SAME_UPPER")
        attr["channels"] = infer_channels(inputs[1])
        out = AttrCvt(op_name="conv2d", transforms={"kernel_shape": "kernel_size", "dilations": ("dilation", 1), "pads": ("padding", 0), "group": ("groups", 1)})(inputs[:2], attr, params)
        return _op.nn.bias_add(out, inputs[2]) if len(inputs) == 3 else out


class Reshape(OpConverter):
    @classmethod
    def _impl_v1(cls, inputs, attr, params):
        return _op.reshape(inputs[0], attr["shape"])

    @classmethod
    def _impl_v5(cls, inputs, attr, params):
        shape, static = try_infer_value(inputs[1], lambda x: to_int_list(x.flatten()), parameters=params)
        return _op.reshape(inputs[0], shape)


CONVERT = {"Conv": Conv, "Reshape": Reshape, "Relu": Renamer("relu"), "Tanh": Renamer("tanh")}


def from_nodes(nodes, shapes, weights, opset=7):
    table = ExprTable()
    for name, shape in shapes.items():
        table.set_expr(name, new_var(name, shape=shape))
    for name, value in weights.items():
        table.set_expr(name, table.new_const(value, dtype=str(value.dtype), source_name=name))
    for op, inputs, output, attr in nodes:
        args = [table.get_expr(i) for i in inputs]
        converter = CONVERT[op]
        converter = converter.get_converter(opset) if isinstance(converter, type) else converter
        made = converter(args, dict(attr), table.params)
        table.set_expr(output, set_span(fold_constant(made) if not analysis.free_vars(made) else made, f"{op}_{output}"))
    out = table.get_expr(nodes[-1][2])
    return tvm.IRModule.from_expr(_function.Function(analysis.free_vars(out), out)), table.params


NODES = [
    ("Conv", ["x", "w", "b"], "c", {"kernel_shape": [3, 3], "strides": [2, 2], "auto_pad": "SAME_UPPER"}),
    ("Relu", ["c"], "r", {}),
    ("Reshape", ["r", "s"], "y", {}),
]
WEIGHTS = {"w": np.random.rand(4, 3, 3, 3).astype("float32"), "b": np.zeros(4, "float32"), "s": np.array([1, -1], "int64")}


def test_network():
    mod, params = from_nodes(NODES, {"x": (1, 3, 9, 9)}, WEIGHTS)
    typed = infer_type(mod["main"])
    assert typed.checked_type.ret_type == relay.TensorType((1, 100), "float32")
    run = relay.create_executor("graph", mod, tvm.cpu(0), "llvm", {k: v for k, v in params.items() if k != "s"}).evaluate()
    assert run(np.random.rand(1, 3, 9, 9).astype("float32")).shape == (1, 100)


def test_spans():
    mod, _ = from_nodes(NODES[:2], {"x": (1, 3, 9, 9)}, WEIGHTS)
    assert mod["main"].body.span.source_name.name == "Relu_r"


def test_values():
    c = relay.const(np.arange(6, dtype="float32").reshape(2, 3))
    assert infer_value(_op.sum(c), {}).numpy() == 15 and infer_shape(unbind(c, 1)[0]) == (2,)
    assert isinstance(shape_of(c), _expr.Constant) and get_relay_op("concatenate") is _op.concatenate
    with pytest.raises(tvm.error.OpNotImplemented):
        get_relay_op("rotate_the_earth")


if __name__ == "__main__":
    pytest.main([__file__])
