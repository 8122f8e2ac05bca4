"""Every workload of relay.testing in a small size, built and run by the graph executor."""
import numpy as np
import tvm
from tvm import relay
from tvm.contrib import graph_executor
from tvm.relay import testing

WORKLOADS = {
    "mlp": lambda: (testing.mlp.get_workload(1), {"data": (1, 1, 28, 28)}),
    "squeezenet": lambda: (testing.squeezenet.get_workload(batch_size=1, image_shape=(3, 64, 64), num_classes=10, version="1.1"), {"data": (1, 3, 64, 64)}),
    "mobilenet": lambda: (testing.mobilenet.get_workload(batch_size=1, image_shape=(3, 32, 32), num_classes=10), {"data": (1, 3, 32, 32)}),
    "resnet": lambda: (testing.resnet.get_workload(batch_size=1, num_classes=10, num_layers=18, image_shape=(3, 32, 32)), {"data": (1, 3, 32, 32)}),
    "dcgan": lambda: (testing.dcgan.get_workload(1, oshape=(3, 64, 64), ngf=4, random_len=8), {"data": (1, 8)}),
    "dqn": lambda: (testing.dqn.get_workload(1, num_actions=4), {"data": (1, 4, 84, 84)}),
    "densenet": lambda: (testing.densenet.get_workload(densenet_size=121, classes=10, batch_size=1, image_shape=(3, 32, 32)), {"data": (1, 3, 32, 32)}),
    "lstm": lambda: (testing.lstm.get_workload(iterations=2, num_hidden=4), {"data": (1, 4)}),
    "synthetic": lambda: (testing.synthetic.get_workload(input_shape=(1, 3, 8, 8)), {"data": (1, 3, 8, 8)}),
    "resnet_3d": lambda: (testing.resnet_3d.get_workload(batch_size=1, num_classes=10, num_layers=18, image_shape=(3, 4, 32, 32)), {"data": (1, 3, 4, 32, 32)}),
}


def run(name):
    (mod, params), shapes = WORKLOADS[name]()
    with tvm.transform.PassContext(opt_level=2):
        lib = relay.build(mod, target="llvm", params=params)
    m = graph_executor.GraphModule(lib["default"](tvm.cpu()))
    for key, shape in shapes.items():
        m.set_input(key, np.random.rand(*shape).astype("float32"))
    m.run()
    out = m.get_output(0).numpy()
    assert np.isfinite(out).all(), name
    want = relay.transform.InferType()(mod)["main"].checked_type.ret_type
    first = want.fields[0] if isinstance(want, relay.TupleType) else want
    assert out.shape == tuple(int(d) for d in first.shape), name
    return out.shape


for each in WORKLOADS:
    print(each, run(each))
