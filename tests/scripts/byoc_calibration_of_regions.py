"""Inputs and outputs of the regions of an external compiler, and the distribution of operators over compilers."""
import numpy as np
import tvm
import tvm.relay.testing
from tvm import relay
from tvm.relay import transform
from tvm.relay.analysis import analyze_operations_distribution, get_calibration_data


def check(mod, params):
    i_data = np.random.rand(1, 1, 28, 28).astype("float32")
    data = get_calibration_data(mod, {"data": i_data, **params})
    assert len(data) == len([gv for gv in mod.get_global_vars() if gv.name_hint != "main"])
    for gv, values in data.items():
        assert "inputs" in values and "outputs" in values
        func = mod[gv]
        assert len(values["inputs"]) == len(func.params)
        ret = func.ret_type if func.ret_type is not None else func.checked_type.ret_type
        assert len(values["outputs"]) == (len(ret.fields) if isinstance(ret, relay.TupleType) else 1)
        for param, value in zip(func.params, values["inputs"]):
            assert tuple(int(d) for d in param.checked_type.shape) == value.numpy().shape
    return data


for name in ("nn.relu", "nn.dense"):
    tvm.ir.register_op_attr(name, "target.h4calib", lambda expr: True)
mod, params = relay.testing.mlp.get_workload(1)
seq = tvm.transform.Sequential([transform.InferType(), transform.AnnotateTarget(["h4calib"]), transform.MergeCompilerRegions(), transform.PartitionGraph(), transform.InferType()])
with tvm.transform.PassContext(opt_level=3):
    mod = seq(mod)
found = check(mod, params)
assert found
distribution = analyze_operations_distribution(mod)
print(distribution)
