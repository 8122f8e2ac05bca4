"""Times networks as benchmark/x86 scripts did: module.time_evaluator, benchmark, a table by network."""
import argparse

import numpy as np
import tvm
from tvm import relay
from tvm.contrib import graph_executor
from tvm.relay import testing


def get_network(name, batch_size=1, dtype="float32"):
    image_shape = (3, 32, 32)
    if name.startswith("resnet-"):
        n_layer = int(name.split("-")[1])
        return testing.resnet.get_workload(num_layers=n_layer, batch_size=batch_size, image_shape=image_shape, dtype=dtype), (batch_size,) + image_shape
    if name == "mlp":
        return testing.mlp.get_workload(batch_size=batch_size), (batch_size, 1, 28, 28)
    raise ValueError("Unsupported network: " + name)


def benchmark(network, target, repeat=2):
    (mod, params), input_shape = get_network(network)
    with tvm.transform.PassContext(opt_level=3):
        lib = relay.build(mod, target=target, params=params)
    dev = tvm.device(str(target), 0)
    module = graph_executor.GraphModule(lib["default"](dev))
    data_tvm = tvm.nd.array((np.random.uniform(size=input_shape)).astype("float32"))
    module.set_input("data", data_tvm)
    ftimer = module.module.time_evaluator("run", dev, number=1, repeat=repeat)
    prof_res = np.array(ftimer().results) * 1000
    print("%-20s %-19s (%s)" % (network, "%.2f ms" % np.mean(prof_res), "%.2f ms" % np.std(prof_res)))
    assert prof_res.shape == (repeat,) and (prof_res > 0).all()
    res = module.benchmark(dev, number=1, repeat=repeat, end_to_end=True, min_repeat_ms=0)
    assert res.min <= res.median <= res.max and len(res.results) == repeat and "mean" in str(res)
    one = module.module.time_evaluator("run", dev=dev, number=2, repeat=1, min_repeat_ms=1)()
    assert one.mean > 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--network", type=str, choices=["resnet-18", "mlp"])
    parser.add_argument("--target", type=str, default="llvm")
    args = parser.parse_args([])
    for net in [args.network] if args.network else ["mlp", "resnet-18"]:
        benchmark(net, tvm.target.Target(args.target))
