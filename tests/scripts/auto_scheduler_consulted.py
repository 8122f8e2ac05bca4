"""A script that tunes by the auto-scheduler, and goes on with what it finds."""
import numpy as np
import os
import tempfile
import tvm
from tvm import relay, auto_scheduler
from tvm.contrib import graph_executor

mod, params = relay.testing.mobilenet.get_workload(batch_size=1, num_classes=10, image_shape=(3, 32, 32))
target = tvm.target.Target("llvm -mcpu=core-avx2")
log_file = os.path.join(tempfile.mkdtemp(), "tuning.json")
tasks, task_weights = auto_scheduler.extract_tasks(mod["main"], params, target)
for idx, task in enumerate(tasks):
    print("========== Task %d  (workload key: %s) ==========" % (idx, task.workload_key))
    print(task.compute_dag)


def run_tuning():
    tuner = auto_scheduler.TaskScheduler(tasks, task_weights)
    tune_option = auto_scheduler.TuningOptions(
        num_measure_trials=2,
        runner=auto_scheduler.LocalRunner(repeat=1, enable_cpu_cache_flush=True),
        measure_callbacks=[auto_scheduler.RecordToFile(log_file)],
    )
    tuner.tune(tune_option)


run_tuning()
open(log_file, "a").close()
with auto_scheduler.ApplyHistoryBest(log_file):
    with tvm.transform.PassContext(opt_level=3, config={"relay.backend.use_auto_scheduler": True}):
        lib = relay.build(mod, target="llvm", params=params)
dev = tvm.device("llvm", 0)
module = graph_executor.GraphModule(lib["default"](dev))
module.set_input("data", tvm.nd.array(np.random.uniform(size=(1, 3, 32, 32)).astype("float32")))
module.run()
assert module.get_output(0).shape == (1, 10)
