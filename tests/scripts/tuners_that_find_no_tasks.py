"""Tuners are asked for tasks, and contexts of logs are entered."""
import os, tempfile, tvm
from tvm import relay, auto_scheduler, autotvm, meta_schedule as ms
import tvm.relay.testing

mod, params = relay.testing.mlp.get_workload(1)
target = tvm.target.Target('llvm -num-cores 4')
tasks, weights = auto_scheduler.extract_tasks(mod['main'], params, target)
for idx, task in enumerate(tasks):
    print(task.compute_dag)
tasks, weights = auto_scheduler.extract_tasks(mod, params, target, include_simple_tasks=True, opt_level=3)
log = os.path.join(tempfile.mkdtemp(), 'l.json')
open(log, 'w').close()
with auto_scheduler.ApplyHistoryBest(log):
    with tvm.transform.PassContext(opt_level=3, config={'relay.backend.use_auto_scheduler': True}):
        lib = relay.build(mod, target=target, params=params)
for t in autotvm.task.extract_from_program(mod['main'], target=target, params=params, ops=(relay.op.get('nn.conv2d'), relay.op.get('nn.dense'))):
    pass
with autotvm.tophub.context(target):
    relay.build(mod, target=target, params=params)
with tvm.autotvm.apply_history_best(log):
    pass
extracted = ms.relay_integration.extract_tasks(mod, target, params)
assert list(extracted) == []
