"""Partitioning functions of other libraries import, tell that they are absent, and tables that exist are looked at."""
import pytest

import tvm
from tvm import relay
from tvm.relay.op.contrib import get_pattern_table
from tvm.relay.op.contrib.arm_compute_lib import partition_for_arm_compute_lib
from tvm.relay.op.contrib.bnns import partition_for_bnns
from tvm.relay.op.contrib.cmsisnn import partition_for_cmsisnn
from tvm.relay.op.contrib.cutlass import partition_for_cutlass
from tvm.relay.op.contrib.dnnl import partition_for_dnnl, pattern_table
from tvm.relay.op.contrib.ethosn import Available, ethosn_available, partition_for_ethosn
from tvm.relay.op.contrib.ethosu import partition_for_ethosu
from tvm.relay.op.contrib.tensorrt import partition_for_tensorrt
from tvm.relay.op.contrib.vitis_ai import partition_for_vitis_ai

REGISTERED = {
    "arm-compute-lib": partition_for_arm_compute_lib,
    "bnns": partition_for_bnns,
    "cmsis-nn": partition_for_cmsisnn,
    "cutlass": partition_for_cutlass,
    "dnnl": partition_for_dnnl,
    "ethos-n": partition_for_ethosn,
    "ethos-u": partition_for_ethosu,
    "tensorrt": partition_for_tensorrt,
    "vitis-ai": partition_for_vitis_ai,
}


def get_codegen_by_target(name):
    try:
        return REGISTERED[name]
    except KeyError:
        raise tvm.error.TVMError("Composite target %s is not defined in TVM." % name)


def test_table():
    rows = pattern_table()
    assert len(rows) > 3 and all(isinstance(row[0], str) and row[0].startswith("dnnl.") for row in rows)
    assert get_pattern_table("dnnl") is not None


def test_dnnl():
    x = relay.var("x", shape=(1, 4, 8, 8))
    w = relay.var("w", shape=(4, 4, 3, 3))
    mod = tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.relu(relay.nn.conv2d(x, w, padding=(1, 1), kernel_size=(3, 3), channels=4))))
    mod = get_codegen_by_target("dnnl")(mod)
    assert any("dnnl" in gv.name_hint for gv in mod.get_global_vars())


def test_absent_has_a_reason():
    mod = tvm.IRModule.from_expr(relay.Function([], relay.const(1.0)))
    with pytest.raises(Exception) as caught:
        REGISTERED["tensorrt"](mod)
    assert str(caught.value)
    with pytest.raises(tvm.error.TVMError):
        get_codegen_by_target("nothing")


if __name__ == "__main__":
    pytest.main([__file__])
