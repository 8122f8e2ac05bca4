"""The steps of relay.quantize by hand: prerequisites, partition, annotate, calibrate, realise."""
import numpy as np
import tvm
from tvm import relay
from tvm.relay import quantize as qtz
from tvm.relay.quantize.quantize import _bind_params, prerequisite_optimize
from tvm.relay.testing import mobilenet

mod, params = mobilenet.get_workload(batch_size=1, image_shape=(3, 32, 32))
mod["main"] = _bind_params(mod["main"], params)
optimised = prerequisite_optimize(mod)
assert "batch_norm" not in optimised.astext(show_meta_data=False)
print(qtz.current_qconfig())
with tvm.transform.PassContext(opt_level=3):
    with qtz.qconfig(nbit_input=8, nbit_weight=8, calibrate_mode="global_scale", global_scale=8.0, skip_conv_layers=[0]):
        parted = qtz.partition()(optimised)
        annotated = qtz.annotate()(parted)
        assert "quantize" in annotated.astext(show_meta_data=False)
        calibrated = qtz.calibrate()(annotated)
        real = qtz.realize()(calibrated)
    with qtz.qconfig(calibrate_mode="global_scale", global_scale=8.0, skip_conv_layers=[0]):
        whole = qtz.quantize(mod, params)
for module in (real, whole):
    text = module.astext(show_meta_data=False)
    assert "int8" in text and "int32" in text
x = np.random.uniform(-1, 1, (1, 3, 32, 32)).astype("float32")
a, b = (relay.create_executor("graph", mod=m).evaluate()(x).numpy() for m in (real, whole))
assert a.shape == b.shape
assert np.argmax(a) == np.argmax(b)
