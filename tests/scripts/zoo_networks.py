"""Networks of relay.testing: built, run, types of their results."""
import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.relay import testing

WORKLOADS = {
    "mlp": lambda: testing.mlp.get_workload(batch_size=1, image_shape=(1, 8, 8)),
    "resnet": lambda: testing.resnet.get_workload(batch_size=1, num_layers=8, num_classes=10, image_shape=(3, 28, 28)),
    "mobilenet": lambda: testing.mobilenet.get_workload(batch_size=1, num_classes=10, image_shape=(3, 32, 32)),
    "dqn": lambda: testing.dqn.get_workload(batch_size=1, num_actions=4),
    "dcgan": lambda: testing.dcgan.get_workload(batch_size=1, ngf=8, random_len=10),
    "synthetic": lambda: testing.synthetic.get_workload(),
}


@pytest.mark.parametrize("name", WORKLOADS)
def test_network(name):
    mod, params = WORKLOADS[name]()
    mod = relay.transform.InferType()(mod)
    main = mod["main"]
    inputs = {p.name_hint: p.checked_type for p in main.params if p.name_hint not in params}
    assert len(inputs) == 1
    (input_name, input_type), = inputs.items()
    shape = tvm.topi.utils.get_const_tuple(input_type.shape)
    with tvm.transform.PassContext(opt_level=3):
        lib = relay.build(mod, "llvm", params=params)
    module = tvm.contrib.graph_executor.GraphModule(lib["default"](tvm.cpu(0)))
    module.set_input(input_name, np.random.uniform(-1, 1, shape).astype(input_type.dtype))
    module.run()
    out = module.get_output(0)
    assert out.shape == tvm.topi.utils.get_const_tuple(main.ret_type.shape) and np.isfinite(out.numpy()).all()


def test_weights_by_an_initializer():
    x, w = relay.var("data", shape=(1, 4)), relay.var("w_weight", shape=(2, 4))
    mod, params = testing.create_workload(relay.Function([x, w], relay.nn.dense(x, w)), testing.init.Xavier())
    assert params["w_weight"].shape == (2, 4)
    assert testing.create_workload(relay.Function([x, w], relay.nn.dense(x, w)))[1].keys() >= {"w_weight"}


if __name__ == "__main__":
    pytest.main([__file__])
