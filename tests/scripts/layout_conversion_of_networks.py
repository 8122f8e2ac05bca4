"""Layouts as scripts of the command line driver convert them: lists of operators, custom layouts, skipped layers."""
import numpy as np
import tvm
from tvm import relay
from tvm.relay import transform
from tvm.relay.testing import resnet


def convert_graph_layout(mod, desired_layout):
    desired_layouts = {
        "nn.conv2d": [desired_layout, "default"],
        "nn.conv2d_transpose": [desired_layout, "default"],
        "qnn.conv2d": [desired_layout, "default"],
        "nn.max_pool2d": [desired_layout],
    }
    seq = tvm.transform.Sequential([relay.transform.RemoveUnusedFunctions(), relay.transform.ConvertLayout(desired_layouts)])
    with tvm.transform.PassContext(opt_level=3):
        try:
            return seq(mod)
        except Exception as err:
            raise RuntimeError("Error converting layout to {0}: {1}".format(desired_layout, str(err)))


mod, params = resnet.get_workload(num_layers=8, batch_size=1, image_shape=(3, 28, 28), num_classes=10)
nhwc = convert_graph_layout(mod, "NHWC")
layouts = set()


def look(e):
    if isinstance(e, relay.Call) and e.op == relay.op.get("nn.conv2d"):
        layouts.add((e.attrs.data_layout, e.attrs.kernel_layout))


relay.analysis.post_order_visit(nhwc["main"], look)
assert layouts == {("NHWC", "HWIO")}, layouts
data = np.random.uniform(-1, 1, (1, 3, 28, 28)).astype("float32")
results = []
for m in (mod, nhwc):
    with tvm.transform.PassContext(opt_level=3):
        lib = relay.build(m, "llvm", params=params)
    g = tvm.contrib.graph_executor.GraphModule(lib["default"](tvm.cpu()))
    g.set_input("data", data)
    g.run()
    results.append(g.get_output(0).numpy())
np.testing.assert_allclose(results[0], results[1], rtol=1e-4, atol=1e-5)
with relay.transform.LayoutConfig(skip_layers=[0]) as cfg:
    partly = convert_graph_layout(mod, "NHWC")
layouts.clear()
relay.analysis.post_order_visit(partly["main"], look)
assert len(layouts) == 2
again = convert_graph_layout(nhwc, "NCHW")
assert relay.analysis.list_op_freqs(again)["nn.conv2d"] == relay.analysis.list_op_freqs(mod)["nn.conv2d"]
