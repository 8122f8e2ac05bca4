"""Fixtures, parameters and targets of a suite of tests."""
import pytest, numpy as np, tvm, tvm.testing
from tvm import relay

dtype = tvm.testing.parameter('float32', 'float16')
size = tvm.testing.parameter(1, 8, ids=['one', 'eight'])
a_shape, b_shape = tvm.testing.parameters(((2, 3), (3,)), ((4,), (4,)))


@tvm.testing.fixture(cache_return_value=True)
def data(size, dtype):
    return np.ones(size, dtype)


@tvm.testing.fixture
def target_host():
    return 'llvm'


def test_a(data, dtype, size, target_host):
    assert data.dtype == dtype and data.size == size


@tvm.testing.exclude_targets('cuda')
def test_b(target, dev):
    assert 'llvm' in str(target) and dev.device_type == 1


@tvm.testing.known_failing_targets('llvm')
def test_c(target, dev):
    assert False


@tvm.testing.parametrize_targets('llvm', 'llvm -mcpu=haswell', pytest.param('vulkan', marks=pytest.mark.skip))
def test_d(target, dev):
    assert tvm.target.Target(target).kind.name == 'llvm'


@tvm.testing.requires_gpu
@tvm.testing.requires_cuda
def test_e():
    assert False


@tvm.testing.requires_llvm
class TestK:
    kind = tvm.testing.parameter('debug', 'graph', 'vm', 'aot')

    def test_run(self, kind, a_shape, b_shape):
        x, y = (relay.var('x', shape=a_shape), relay.var('y', shape=b_shape))
        r = relay.create_executor(kind, device=tvm.cpu(), target='llvm', mod=tvm.IRModule.from_expr(relay.Function([x, y], x * y))).evaluate()(np.ones(a_shape, 'float32'), np.ones(b_shape, 'float32'))
        tvm.testing.assert_allclose(r.numpy(), np.ones(a_shape))


@pytest.mark.parametrize('t', ['llvm'])
@tvm.testing.requires_package('numpy', 'onnx')
def test_f(t):
    pass


@tvm.testing.requires_package('surely_not_there')
def test_g():
    assert False


@tvm.testing.slow
def test_h():
    pass


@tvm.testing.skip_if_32bit(reason='memory')
def test_i():
    pass


class TestCmp(tvm.testing.CompareBeforeAfter):
    transform = relay.transform.FoldConstant()

    def before(self):
        return tvm.IRModule.from_expr(relay.const(1) + relay.const(2))

    def expected(self):
        return relay.transform.InferType()(tvm.IRModule.from_expr(relay.const(3)))


if __name__ == '__main__':
    tvm.testing.main()
