"""Scripts that only look whether something can be tuned: meta schedule, auto scheduler, extraction from several networks."""
import tempfile

import numpy as np

import tvm
from tvm import auto_scheduler, autotvm, meta_schedule as ms, relay
from tvm.autotvm.task.dispatcher import DispatchContext, FallbackContext
from tvm.meta_schedule.relay_integration import extract_tasks

target = tvm.target.Target("llvm --num-cores=4")
nets = [relay.testing.mlp.get_workload(1), relay.testing.dqn.get_workload(1)]
assert autotvm.task.extract_from_multiple_program([m["main"] for m, _ in nets], [p for _, p in nets], target) == []
for mod, params in nets:
    assert list(extract_tasks(mod, target, params)) == []
    tasks, task_weights = auto_scheduler.extract_tasks(mod["main"], params, target)
    for task, weight in zip(tasks, task_weights):
        print(task.desc, weight)

with FallbackContext():
    assert isinstance(DispatchContext.current, FallbackContext)
with autotvm.tophub.context(target):
    lib = relay.build(nets[0][0], target, params=nets[0][1])
assert not auto_scheduler.is_auto_scheduler_enabled()

options = auto_scheduler.TuningOptions(num_measure_trials=200, runner="local", verbose=0)
assert options.num_measure_trials == 200

with tempfile.TemporaryDirectory() as work_dir:
    try:
        database = ms.relay_integration.tune_relay(mod=nets[0][0], params=nets[0][1], target=target, work_dir=work_dir, max_trials_global=4)
    except NotImplementedError as reason:
        print("not tuned:", reason)
    else:
        raise AssertionError(database)
