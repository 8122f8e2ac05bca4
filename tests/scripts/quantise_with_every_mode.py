"""Quantisation with each calibration."""
import numpy as np, tvm, tvm.testing
from tvm import relay
from tvm.relay import testing
from tvm.relay.expr import Call
from tvm.topi.utils import get_const_tuple


def quantize_and_build(out, skip_conv_layers=[]):
    f = relay.Function(relay.analysis.free_vars(out), out)
    mod, params = testing.create_workload(f)
    with relay.quantize.qconfig(skip_conv_layers=skip_conv_layers):
        qmod = relay.quantize.quantize(mod, params)
    relay.build(qmod, 'llvm', params=params)
    return qmod


def make_dataset(graph, size=3):
    shape = get_const_tuple(graph.params[0].type_annotation.shape)
    return [{'data': np.random.randn(*shape).astype('float32')} for _ in range(size)]


data = relay.var('data', shape=(1, 16, 32, 32))
w = relay.var('weight', shape=(8, 16, 3, 3))
conv = relay.nn.conv2d(data, w, padding=(1, 1), channels=8, kernel_size=(3, 3))
q = quantize_and_build(relay.nn.relu(conv))
assert 'int8' in q.astext(False)
f = relay.Function(relay.analysis.free_vars(relay.nn.relu(conv)), relay.nn.relu(conv))
mod, params = testing.create_workload(f)
for mode in ('percentile', 'kl_divergence'):
    with relay.quantize.qconfig(calibrate_mode=mode, calibrate_chunk_by=1, weight_scale='max'):
        relay.quantize.quantize(mod, params, make_dataset(mod['main']))
with relay.quantize.qconfig(calibrate_mode='global_scale', global_scale=4.0, partition_conversions='disabled', round_for_shift=False, do_simulation=False, dtype_input='int8', dtype_weight='int8', dtype_activation='int32'):
    relay.quantize.quantize(mod, params)
relay.quantize.prerequisite_optimize(mod, params)
