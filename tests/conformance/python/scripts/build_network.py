"""A small convolutional network: built, compiled at every level, run, saved and run again."""

import numpy as np

import tvm
from tvm import relay
from tvm.contrib import graph_executor, utils
from tvm.relay import testing


def conv_block(data, name, channels, strides=(1, 1)):
    conv = testing.layers.conv2d(data, channels=channels, kernel_size=(3, 3), strides=strides, padding=(1, 1), name=name + "_conv")
    bn = testing.layers.batch_norm_infer(conv, epsilon=2e-5, name=name + "_bn")
    return relay.nn.relu(bn)


def get_net(batch_size, num_classes):
    data = relay.var("data", shape=(batch_size, 3, 16, 16), dtype="float32")
    body = conv_block(data, "block1", 8)
    body = conv_block(body, "block2", 16, strides=(2, 2))
    body = relay.nn.global_avg_pool2d(body)
    body = relay.nn.batch_flatten(body)
    body = testing.layers.dense_add_bias(body, units=num_classes, name="fc")
    body = relay.nn.softmax(body)
    return relay.Function(relay.analysis.free_vars(body), body)


batch_size, num_classes = 2, 10
mod, params = testing.create_workload(get_net(batch_size, num_classes))
print(mod.astext(show_meta_data=False))

data = np.random.uniform(-1, 1, size=(batch_size, 3, 16, 16)).astype("float32")
expected = relay.create_executor("debug", mod=mod, params=params).evaluate()(data).numpy()
assert expected.shape == (batch_size, num_classes)

target, dev = tvm.target.Target("llvm"), tvm.cpu(0)
for opt_level in range(4):
    with tvm.transform.PassContext(opt_level=opt_level):
        lib = relay.build(mod, target, params=params)
    module = graph_executor.GraphModule(lib["default"](dev))
    module.set_input("data", data)
    module.run()
    out = module.get_output(0, tvm.nd.empty((batch_size, num_classes))).numpy()
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-6)

temp = utils.tempdir()
path_lib = temp.relpath("deploy_lib.tar")
lib.export_library(path_lib)
loaded = graph_executor.GraphModule(tvm.runtime.load_module(path_lib)["default"](dev))
loaded.run(data=tvm.nd.array(data))
np.testing.assert_array_equal(loaded.get_output(0).numpy(), out)
print("classes:", out.argmax(axis=1))
