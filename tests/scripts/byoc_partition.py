"""Composite patterns, annotation and partitioning for an external compiler."""
import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.relay import transform
from tvm.relay.build_module import bind_params_by_name
from tvm.relay.dataflow_pattern import is_op, wildcard
from tvm.relay.op.contrib.register import get_pattern_table, register_pattern_table


def conv_relu_pattern():
    return is_op("nn.relu")(is_op("nn.bias_add")(is_op("nn.conv2d")(wildcard(), wildcard()), wildcard()))


@register_pattern_table("scriptlib")
def pattern_table():
    return [("scriptlib.conv_bias_relu", conv_relu_pattern())]


@tvm.ir.register_op_attr("nn.max_pool2d", "target.scriptlib")
def _pool(expr):
    return True


def network():
    x = relay.var("x", shape=(1, 3, 8, 8))
    y = relay.nn.relu(relay.nn.bias_add(relay.nn.conv2d(x, relay.var("w", shape=(4, 3, 3, 3)), padding=(1, 1)), relay.var("b", shape=(4,))))
    y = relay.nn.max_pool2d(y, (2, 2), (2, 2))
    y = relay.exp(y)
    return tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(y), y))


def composites(mod):
    found = []

    def look(e):
        if isinstance(e, relay.Function) and e.attrs is not None and "Composite" in e.attrs.keys():
            found.append(e.attrs["Composite"])

    for gv in mod.get_global_vars():
        relay.analysis.post_order_visit(mod[gv], look)
    return found


def test_merge_composite():
    mod = transform.MergeComposite(get_pattern_table("scriptlib"))(transform.InferType()(network()))
    assert composites(mod) == ["scriptlib.conv_bias_relu"]


def test_partition():
    mod = tvm.transform.Sequential(
        [
            transform.InferType(),
            transform.MergeComposite(pattern_table()),
            transform.AnnotateTarget("scriptlib"),
            transform.MergeCompilerRegions(),
            transform.PartitionGraph(),
        ]
    )(network())
    external = [mod[gv] for gv in mod.get_global_vars() if mod[gv].attrs is not None and "Compiler" in mod[gv].attrs.keys()]
    assert len(external) == 1 and external[0].attrs["Compiler"] == "scriptlib" and composites(mod) == ["scriptlib.conv_bias_relu"]
    ops = relay.testing.count_ops(mod["main"])
    assert "nn.conv2d" not in ops and ops.get("exp") == 1


if __name__ == "__main__":
    pytest.main([__file__])
