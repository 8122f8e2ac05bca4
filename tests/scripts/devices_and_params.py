"""on_device, device_copy, PlanDevices; files of parameters."""
import os

import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.contrib import utils


def test_annotations():
    x, y = relay.var("x", shape=(3,)), relay.var("y", shape=(3,))
    add = relay.annotation.on_device(x + y, tvm.cpu(0))
    copied = relay.device_copy(add, tvm.cpu(0), tvm.cuda(0))
    call = relay.Function([x, y], relay.exp(copied))
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(call))
    assert mod["main"].ret_type == relay.TensorType((3,), "float32") and "on_device" in mod.astext()


def test_plan():
    x = relay.var("x", shape=(3,))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.annotation.on_device(relay.exp(x), tvm.cpu(0), constrain_result=True)))
    config = tvm.target.make_compilation_config(tvm.transform.PassContext.current(), tvm.target.Target("llvm"))
    planned = relay.transform.PlanDevices(config)(relay.transform.InferType()(mod))
    out = relay.create_executor("vm", mod=planned).evaluate()(np.zeros(3, "float32"))
    assert out.numpy().tolist() == [1, 1, 1]


def test_parameters_in_a_file():
    x, y = np.random.rand(10, 2).astype("float32"), np.random.rand(1, 2, 3).astype("float16")
    params = {"x": x, "y": tvm.nd.array(y)}
    param_bytes = relay.save_param_dict(params)
    assert isinstance(param_bytes, bytearray)
    back = relay.load_param_dict(param_bytes)
    assert len(back) == 2
    np.testing.assert_equal(back["x"].numpy(), x)
    np.testing.assert_equal(back["y"].numpy(), y)
    folder = utils.tempdir()
    tvm.runtime.save_param_dict_to_file(params, folder.relpath("p.params"))
    assert set(tvm.runtime.load_param_dict_from_file(folder / "p.params")) == {"x", "y"}


def test_bigendian_names():
    with pytest.raises(Exception):
        relay.load_param_dict(b"nonsense")


def test_checkpoint():
    x = relay.var("x", shape=(2,))
    f = relay.Function([x], relay.annotation.checkpoint(relay.exp(x)) + x)
    assert relay.create_executor("debug").evaluate(f)(np.zeros(2, "float32")).numpy().tolist() == [1, 1]


if __name__ == "__main__":
    pytest.main([__file__])
