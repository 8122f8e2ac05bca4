"""A tuning script whose tuning is skipped: imports, options, tasks consulted, contexts of history, and the build that follows."""
import argparse
import logging
import os

import numpy as np
import tvm
import tvm.auto_scheduler as auto_scheduler
from tvm import autotvm, relay
from tvm.autotvm.tuner import GATuner, GridSearchTuner, RandomTuner, XGBTuner
from tvm.contrib import graph_executor, ndk, utils
from tvm.contrib.utils import tempdir
from tvm.relay import testing

logging.basicConfig(level=logging.WARNING)
log_file = "no_such.log"
target = "llvm -mcpu=core-avx2"
mod, params = testing.mobilenet.get_workload(batch_size=1, image_shape=(3, 32, 32))


def tune(enabled):
    if not enabled:
        return
    tasks = autotvm.task.extract_from_program(mod["main"], target=target, params=params, ops=(relay.op.get("nn.conv2d"),))
    for i, task in enumerate(reversed(tasks)):
        tuner = XGBTuner(task, loss_type="rank")
        tuner.tune(n_trial=10, measure_option=autotvm.measure_option(builder=autotvm.LocalBuilder(), runner=autotvm.LocalRunner()))


tune(False)
if os.path.exists(log_file):
    with autotvm.apply_history_best(log_file):
        raise AssertionError("it is not there")
with autotvm.tophub.context(tvm.target.Target(target)):
    with tvm.transform.PassContext(opt_level=3, config={"relay.backend.use_auto_scheduler": False}):
        lib = relay.build(mod, target=target, params=params)
with autotvm.FallbackContext():
    pass
m = graph_executor.GraphModule(lib["default"](tvm.device(target, 0)))
m.set_input("data", np.random.rand(1, 3, 32, 32).astype("float32"))
m.run()
assert m.get_output(0).shape == (1, 1000)
temp = tempdir()
path = temp.relpath("deploy.so")
lib.export_library(path)
loaded = tvm.runtime.load_module(path)
m2 = graph_executor.GraphModule(loaded["default"](tvm.cpu()))
print(np.mean(m2.module.time_evaluator("run", tvm.cpu(), number=1, repeat=2)().results))
