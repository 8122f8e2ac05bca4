"""Quantiser of patterns: partition by a pattern with a check and attributes, and the class that the C++ side takes."""
from typing import *

import numpy as np
import tvm
from tvm import relay
from tvm.relay.dataflow_pattern import DFPatternCallback, _DFPatternCallback, is_constant, is_op, wildcard
from tvm.relay.op import nn, tensor
from tvm.relay.op.nn.utils import get_pad_tuple2d


class DensePattern(DFPatternCallback):
    def __init__(self):
        super().__init__(require_type=True)
        self.data, self.weight = wildcard(), is_constant()
        self.dense = is_op("nn.dense")(self.data, self.weight)
        self.pattern = self.dense
        self.attr_callback = self.check

    def check(self, expr):
        return expr.checked_type.shape[1] > 4

    def callback(self, pre, post, node_map):
        return node_map[self.dense][0]


x = relay.var("x", shape=(2, 6))
w1, w2 = relay.const(np.ones((8, 6), "float32")), relay.const(np.ones((3, 8), "float32"))
f = relay.Function([x], relay.nn.dense(relay.nn.dense(x, w1), w2))
f = relay.transform.InferType()(tvm.IRModule.from_expr(f))["main"]
p = DensePattern()
parted = p.pattern.partition(f, attrs={"Composite": "mine.dense"}, check=p.check)
names = []
relay.analysis.post_order_visit(parted, lambda e: names.append(e.attrs["Composite"]) if isinstance(e, relay.Function) and e.attrs and "Composite" in e.attrs else None)
assert names == ["mine.dense"], names
parted_all = p.pattern.partition(f, {"Composite": "all"})
assert str(parted_all).count("Composite=") == 2
inner = _DFPatternCallback(p.pattern, p.callback, p.require_type, p.rewrite_once)
assert inner.pattern is not None and inner.require_type
assert get_pad_tuple2d((1, 2)) == (1, 2, 1, 2) and get_pad_tuple2d(3) == (3, 3, 3, 3)
assert p.rewrite(f) is not None
