"""A table of a network's layers with shapes and attributes, as exporters write it."""
import json
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional

import numpy as np
import tvm
from tvm import relay
from tvm.relay import testing
from tvm.relay.expr import Constant, Var
from tvm.relay.expr_functor import ExprVisitor


@dataclass
class Layer:
    idx: int
    op_type: str
    attrs: Dict[str, Any] = field(default_factory=dict)
    in_shapes: List[List[int]] = field(default_factory=list)
    out_shape: Optional[List[int]] = None
    weight: Optional[str] = None


def plain(value):
    if isinstance(value, tvm.ir.container.Array):
        return [plain(v) for v in value]
    if isinstance(value, (tvm.tir.IntImm, tvm.tir.FloatImm)):
        return value.value
    return value if isinstance(value, (int, float, bool)) or value is None else str(value)


class LayerTable(ExprVisitor):
    def __init__(self):
        super().__init__()
        self.layers = []

    def visit_call(self, call):
        for arg in call.args:
            self.visit(arg)
        if not isinstance(call.op, tvm.ir.Op):
            return
        attrs = {}
        if call.attrs is not None and hasattr(call.attrs, "keys"):
            for key in call.attrs.keys():
                attrs[key] = plain(call.attrs[key])
        layer = Layer(len(self.layers), call.op.name, attrs)
        for arg in call.args:
            if isinstance(arg.checked_type, relay.TensorType):
                layer.in_shapes.append([int(d) for d in arg.checked_type.shape])
            if isinstance(arg, Var) and "weight" in arg.name_hint:
                layer.weight = arg.name_hint
        if isinstance(call.checked_type, relay.TupleType):
            layer.out_shape = [int(d) for d in call.checked_type.fields[0].shape]
        else:
            layer.out_shape = [int(d) for d in call.checked_type.shape]
        self.layers.append(layer)


mod, params = testing.resnet.get_workload(num_layers=18, batch_size=1, image_shape=(3, 32, 32))
mod = relay.transform.InferType()(mod)
table = LayerTable()
table.visit(mod["main"].body)
counts = OrderedDict()
for layer in table.layers:
    counts[layer.op_type] = counts.get(layer.op_type, 0) + 1
assert counts["nn.dense"] == 1 and counts["nn.conv2d"] >= 17
first = next(layer for layer in table.layers if layer.op_type == "nn.conv2d")
assert first.attrs["groups"] == 1 and first.attrs["kernel_size"] == [3, 3], first.attrs
assert first.out_shape[0] == 1 and first.weight in params
print(json.dumps([vars(layer) for layer in table.layers[:3]], indent=1))
