"""Callbacks over tuples: split and concatenate in another order become a take; hard sigmoid from clip and add."""
import numpy as np
import tvm
from tvm import relay
from tvm.relay import op as _op
from tvm.relay import transform as _transform
from tvm.relay.dataflow_pattern import DFPatternCallback, is_constant, is_op, is_tuple, is_tuple_get_item, rewrite, wildcard
from tvm.relay.frontend.common import infer_shape, infer_value


class SwapHalves(DFPatternCallback):
    def __init__(self):
        super().__init__()
        self.x = wildcard()
        self.split = is_op("split")(self.x).has_attr({"axis": 1})
        self.first = is_tuple_get_item(self.split, 0)
        self.second = is_tuple_get_item(self.split, 1)
        self.pattern = is_op("concatenate")(is_tuple([self.second, self.first])).has_attr({"axis": 1})

    def callback(self, pre, post, node_map):
        x = node_map[self.x][0]
        n = infer_shape(x)[1]
        order = np.r_[n // 2 : n, 0 : n // 2]
        return _op.take(x, relay.const(order.astype("int32")), axis=1)


class HardSigmoid(DFPatternCallback):
    def __init__(self):
        super().__init__()
        self.x = wildcard()
        r = is_op("add")(self.x, is_constant())
        r = is_op("clip")(r).has_attr({"a_min": 0.0, "a_max": 6.0})
        self.pattern = is_op("divide")(r, is_constant()) | is_op("multiply")(r, is_constant())

    def callback(self, pre, post, node_map):
        x = node_map[self.x][0]
        return _op.clip(x * relay.const(1 / 6.0) + relay.const(0.5), 0.0, 1.0)


x = relay.var("x", shape=(2, 8), dtype="float32")
s = relay.split(x, 2, axis=1)
y = relay.concatenate([s[1], s[0]], axis=1)
y = relay.clip(y + relay.const(3.0), 0.0, 6.0) / relay.const(6.0)
mod = tvm.IRModule.from_expr(relay.Function([x], y))
mod = _transform.InferType()(mod)
new = tvm.IRModule.from_expr(rewrite([SwapHalves(), HardSigmoid()], mod["main"]))
new = _transform.InferType()(new)
text = new.astext()
assert "take(" in text and "split" not in text and "divide" not in text
value = np.random.randn(2, 8).astype("float32")
a, b = (relay.create_executor("graph", mod=m).evaluate()(value).numpy() for m in (mod, new))
np.testing.assert_allclose(a, b, atol=1e-6)
assert infer_value(relay.const(2) + relay.const(3), {}).numpy() == 5
assert infer_shape(new["main"].body) == (2, 8)
