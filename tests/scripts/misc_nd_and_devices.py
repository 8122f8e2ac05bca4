"""tvm.nd, devices, targets, containers, the registry."""
import numpy as np
import pytest

import tvm
from tvm import nd, runtime
from tvm.ir import Array, Map
from tvm.runtime.container import ADT, String, tuple_object


def test_arrays():
    a = tvm.nd.array(np.arange(6).reshape(2, 3).astype("float32"), device=tvm.cpu(0))
    assert a.shape == (2, 3) and a.dtype == "float32" and a.device == tvm.cpu(0)
    b = tvm.nd.empty((2, 3), "float32", tvm.cpu())
    a.copyto(b)
    np.testing.assert_array_equal(b.asnumpy(), a.numpy())
    b[:] = np.zeros((2, 3), "float32")
    assert not b.numpy().any() and a.numpy().any()
    c = nd.array([1.5, 2.5])
    assert c.dtype == "float32" and isinstance(c, tvm.runtime.NDArray)
    d = nd.from_dlpack(a.to_dlpack())
    assert d.numpy().tolist() == a.numpy().tolist()
    assert a.copyto(tvm.cpu(0)).numpy().sum() == 15


def test_devices():
    assert tvm.cpu().exist and not tvm.cuda(0).exist and not tvm.opencl().exist and not tvm.rocm(0).exist and not tvm.vulkan(0).exist
    assert str(tvm.device("llvm", 0)) == "cpu(0)" and tvm.device("cuda", 1).device_id == 1
    assert tvm.cpu(0) == tvm.device("cpu") and tvm.cuda(0).device_type == 2
    tvm.cpu(0).sync()
    assert tvm.runtime.enabled("llvm") and not tvm.runtime.enabled("cuda")


def test_targets():
    target = tvm.target.Target("llvm -mcpu=skylake-avx512 -mattr=+avx512f,+avx512vl")
    assert target.kind.name == "llvm" and target.mcpu == "skylake-avx512" and "+avx512f" in target.mattr and "cpu" in target.keys
    with target:
        assert tvm.target.Target.current() == target
    assert tvm.target.Target.current(allow_none=True) is None
    with tvm.target.Target({"kind": "llvm", "mcpu": "core-avx2"}):
        assert tvm.target.Target.current().attrs["mcpu"] == "core-avx2"
    assert tvm.target.Target("llvm", host="llvm").host.kind.name == "llvm"
    assert tvm.target.Target("cuda", "llvm").kind.name == "cuda"


def test_containers():
    assert list(tvm.runtime.convert([1, 2, 3])) == [1, 2, 3] and isinstance(tvm.runtime.convert([1]), Array)
    assert isinstance(tvm.runtime.convert({"a": 1}), Map) and String("x") == "x"
    pair = tuple_object([nd.array([1.0]), nd.array([2.0])])
    assert isinstance(pair, ADT) and pair.tag == 0 and len(pair) == 2 and pair[1].numpy()[0] == 2
    assert tvm.runtime.container.ShapeTuple([1, 2]) == (1, 2)


@tvm.register_func("scripts.add_one")
def add_one(x):
    return x + 1


def test_registry():
    assert tvm.get_global_func("scripts.add_one")(41) == 42
    assert tvm.get_global_func("scripts.nothing", allow_missing=True) is None
    with pytest.raises(ValueError):
        tvm.get_global_func("scripts.nothing")
    with pytest.raises(ValueError):
        tvm.register_func("scripts.add_one", lambda x: x)
    tvm.register_func("scripts.add_one", lambda x: x + 2, override=True)
    assert tvm._ffi.get_global_func("scripts.add_one")(1) == 3


@pytest.mark.skipif(tvm.get_global_func("relay.ext.dnnl", True) is None, reason="DNNL is not built")
def test_external_library():
    assert tvm.support.libinfo()["USE_DNNL"] != "OFF"


def test_build_facts():
    assert tvm.support.libinfo().get("USE_CUDA", "OFF") == "OFF" and isinstance(tvm.__version__, str)


if __name__ == "__main__":
    pytest.main([__file__])
