"""The skeleton of a tuning script: without tasks it builds as it is."""
import os
import tempfile

import numpy as np

import tvm
from tvm import auto_scheduler, autotvm, relay
from tvm.autotvm.tuner import GATuner, GridSearchTuner, RandomTuner, XGBTuner
from tvm.autotvm.graph_tuner import DPTuner, PBQPTuner
import tvm.contrib.graph_executor as runtime

target = "llvm -mcpu=core-avx2"
batch_size, dtype, input_name = 1, "float32", "data"
log_file = os.path.join(tempfile.mkdtemp(), "mlp.log")
open(log_file, "w").close()

tuning_option = {
    "log_filename": log_file,
    "tuner": "random",
    "early_stopping": None,
    "measure_option": autotvm.measure_option(
        builder=autotvm.LocalBuilder(), runner=autotvm.LocalRunner(number=1, repeat=10, min_repeat_ms=0, enable_cpu_cache_flush=True)
    ),
}


def tune_kernels(tasks, measure_option, tuner="gridsearch", early_stopping=None, log_filename="tuning.log"):
    for i, task in enumerate(tasks):
        prefix = "[Task %2d/%2d] " % (i + 1, len(tasks))
        if tuner == "xgb":
            tuner_obj = XGBTuner(task, loss_type="rank")
        elif tuner == "ga":
            tuner_obj = GATuner(task, pop_size=50)
        elif tuner == "random":
            tuner_obj = RandomTuner(task)
        else:
            tuner_obj = GridSearchTuner(task)
        tuner_obj.tune(
            n_trial=len(task.config_space),
            early_stopping=early_stopping,
            measure_option=measure_option,
            callbacks=[autotvm.callback.progress_bar(10, prefix=prefix), autotvm.callback.log_to_file(log_filename)],
        )


mod, params = relay.testing.mlp.get_workload(batch_size=batch_size, dtype=dtype)
tasks = autotvm.task.extract_from_program(mod["main"], target=target, params=params, ops=(relay.op.get("nn.dense"),))
print("tasks:", len(tasks))
tune_kernels(tasks, tuning_option["measure_option"], tuning_option["tuner"], None, log_file)

with autotvm.apply_history_best(log_file):
    with tvm.transform.PassContext(opt_level=3):
        lib = relay.build_module.build(mod, target=target, params=params)
    dev = tvm.cpu()
    data_tvm = tvm.nd.array((np.random.uniform(size=(1, 1, 28, 28))).astype(dtype))
    module = runtime.GraphModule(lib["default"](dev))
    module.set_input(input_name, data_tvm)
    print("Evaluate inference time cost...")
    print(module.benchmark(dev, number=5, repeat=2))

with auto_scheduler.ApplyHistoryBest(log_file):
    with tvm.transform.PassContext(opt_level=3, config={"relay.backend.use_auto_scheduler": True}):
        lib = relay.build(mod, target=target, params=params)
tasks, weights = auto_scheduler.extract_tasks(mod["main"], params, target)
for idx, task in enumerate(tasks):
    print("========== Task %d  (workload key: %s) ==========" % (idx, task.workload_key))
assert len(tasks) == len(weights)
