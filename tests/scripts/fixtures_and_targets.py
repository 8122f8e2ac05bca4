"""pytest with tvm.testing: parameters, fixtures, targets, marks, skips."""
import numpy as np
import pytest

import tvm
import tvm.testing
from tvm import relay

size = tvm.testing.parameter(4, 8, ids=["small", "large"])
kind, dtype = tvm.testing.parameters(("graph", "float32"), ("vm", "float32"), ("debug", "float64"))
scaled = tvm.testing.parameter(by_dict={"one": 1.0, "two": 2.0})
made = []


@tvm.testing.fixture(cache_return_value=True)
def weights(size):
    made.append(size)
    return np.arange(size, dtype="float32")


@tvm.testing.fixture
def func(size, dtype, scaled):
    x = relay.var("x", shape=(size,), dtype=dtype)
    return relay.Function([x], x * relay.const(scaled, dtype))


def test_all_of_them(target, dev, kind, dtype, size, scaled, weights, func):
    data = weights.astype(dtype)
    out = relay.create_executor(kind, device=dev, target=target).evaluate(func)(data)
    tvm.testing.assert_allclose(out.numpy(), data * scaled)


def test_cached(weights):
    weights[:] = -1
    assert made.count(len(weights)) == 1


@tvm.testing.exclude_targets("llvm")
def test_excluded(target, dev):
    raise AssertionError("llvm is excluded, and there is no other")


@tvm.testing.known_failing_targets("llvm")
def test_known_to_fail(target, dev):
    raise ValueError("as it is known")


@tvm.testing.parametrize_targets("llvm", "vulkan", "cuda")
def test_some_targets(target, dev):
    assert target == "llvm" and dev == tvm.cpu(0)


@tvm.testing.requires_cudnn
@tvm.testing.requires_gpu
def test_gpu_library():
    raise AssertionError


@tvm.testing.requires_llvm
@tvm.testing.requires_package("numpy")
def test_packages():
    assert tvm.testing.device_enabled("llvm") and not tvm.testing.device_enabled("opencl")


@tvm.testing.requires_package("a_package_that_nobody_has")
def test_missing_package():
    raise AssertionError


@pytest.mark.parametrize("target_name", [pytest.param("cuda", marks=tvm.testing.requires_cuda.marks()), "llvm"])
def test_marks(target_name):
    assert target_name == "llvm"


@tvm.testing.skip_if_32bit(reason="wide pointers")
def test_wide():
    assert np.dtype("intp").itemsize == 8


def test_numerical_gradients():
    x = np.random.rand(3, 2)
    tvm.testing.check_numerical_grads(lambda a: (a**3).sum(), [x], [3 * x**2])
    with pytest.raises(AssertionError):
        tvm.testing.check_numerical_grads(lambda a: (a**3).sum(), [x], [x])


class TestFold(tvm.testing.CompareBeforeAfter):
    transform = relay.transform.FoldConstant()

    def before(self):
        x = relay.var("x", shape=(2,))
        return relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], x + (relay.const(1.0) + relay.const(2.0)))))

    def expected(self):
        x = relay.var("x", shape=(2,))
        return relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], x + relay.const(3.0))))


if __name__ == "__main__":
    tvm.testing.main()
