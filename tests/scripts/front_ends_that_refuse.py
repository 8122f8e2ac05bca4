"""Front ends of other systems say what to use; helpers of converters work."""
import pytest, numpy as np, tvm
from tvm import relay
from tvm.relay import frontend


@pytest.mark.parametrize('name', ['from_keras', 'from_tensorflow', 'from_tflite', 'from_mxnet', 'from_caffe2', 'from_coreml', 'from_darknet', 'from_paddle', 'from_oneflow', 'from_caffe'])
def test_refuse(name):
    with pytest.raises(NotImplementedError, match='from_onnx'):
        getattr(frontend, name)(None)


def test_onnx_module_level():
    with pytest.raises(Exception):
        relay.frontend.from_onnx(None)
    from tvm.relay.frontend.tensorflow import from_tensorflow
    from tvm.relay.frontend.keras import from_keras
    import tvm.relay.testing.tf as tf_testing
    with pytest.raises(NotImplementedError):
        tf_testing.get_workload('x.pb')


def test_common():
    from tvm.relay.frontend.common import infer_value, fold_constant, AttrCvt, StrAttrsDict, get_relay_op, infer_shape
    assert fold_constant(relay.const(1) + relay.const(2)).data.numpy() == 3
    assert get_relay_op('relu') is relay.nn.relu and infer_shape(relay.var('x', shape=(1, 2))) == (1, 2)
    assert StrAttrsDict({'k': '(1, 2)'}).get_int_tuple('k') == (1, 2)
