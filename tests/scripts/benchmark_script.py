"""A benchmark script: arguments, networks, times."""
import argparse
import sys

import numpy as np

import tvm
from tvm import relay
import tvm.contrib.graph_executor as runtime


def get_network(name, batch_size, dtype="float32"):
    input_shape = (batch_size, 3, 32, 32)
    if name == "mlp":
        input_shape = (batch_size, 1, 28, 28)
        mod, params = relay.testing.mlp.get_workload(batch_size=batch_size, dtype=dtype)
    elif name == "custom":
        from tvm.relay.testing import init

        net = relay.testing.layers.conv2d(data=relay.var("data", shape=input_shape), channels=4, kernel_size=(3, 3), padding=(1, 1), name="conv")
        net = relay.nn.bias_add(net, relay.var("conv_bias"))
        net = relay.testing.layers.batch_norm_infer(data=net, name="bn")
        net = relay.testing.layers.dense_add_bias(data=relay.nn.batch_flatten(relay.nn.relu(net)), units=10, name="fc")
        mod, params = init.create_workload(relay.Function(relay.analysis.free_vars(net), net))
    else:
        raise ValueError("Unsupported network: " + name)
    return mod, params, input_shape, (batch_size, 10)


def evaluate_network(network, target, dtype, repeat):
    mod, params, input_shape, output_shape = get_network(network, batch_size=1, dtype=dtype)
    with tvm.transform.PassContext(opt_level=3):
        lib = relay.build(mod, target=target, params=params)
    dev = tvm.device(str(target), 0)
    module = runtime.GraphModule(lib["default"](dev))
    module.set_input("data", tvm.nd.array(np.random.uniform(size=input_shape).astype(dtype)))
    ftimer = module.module.time_evaluator("run", dev, number=1, repeat=repeat, min_repeat_ms=0)
    prof_res = np.array(ftimer().results) * 1000
    print("%-20s %-19s (%s)" % (network, "%.2f ms" % np.mean(prof_res), "%.2f ms" % np.std(prof_res)))
    assert module.get_output(0).shape == output_shape
    return np.percentile(prof_res, 90)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--network", type=str, choices=["mlp", "custom"], default=None)
    parser.add_argument("--target", type=str, default="llvm")
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args(sys.argv[1:])
    for name in [args.network] if args.network else ["mlp", "custom"]:
        assert evaluate_network(name, tvm.target.Target(args.target), "float32", args.repeat) > 0
