import json
import re
import csv
import io
import numpy as np
import tvm
import tvm.testing
from tvm import relay
from tvm.relay.testing import mlp
from tvm.runtime import profiler_vm, profiling
from tvm.runtime.profiling import Report, Duration, Percent, Count
from tvm.contrib.debugger import debug_executor
from tvm.contrib import graph_executor


def read_csv(report):
    f = io.StringIO(report.csv())
    headers, rows = [], []
    reader = csv.reader(f, delimiter=",")
    headers = next(reader)
    data = {h: [] for h in headers}
    for row in reader:
        for h, v in zip(headers, row):
            data[h].append(v)
    return data


mod, params = mlp.get_workload(1)
exe = relay.vm.compile(mod, "llvm", params=params)
vm = profiler_vm.VirtualMachineProfiler(exe, tvm.cpu())
data = np.random.rand(1, 1, 28, 28).astype("float32")
report = vm.profile(data, func_name="main")
assert "fused_nn_dense" in str(report) or "nn" in str(report).lower()
assert "Total" in str(report)
csvd = read_csv(report)
assert "Hash" in csvd or "Name" in csvd
assert all(float(x) >= 0 for x in csvd["Duration (us)"])
parsed = json.loads(report.json())
assert len(parsed["calls"]) == len(report.calls)
back = Report.from_json(report.json())
assert back.json() == report.json() or json.loads(back.json())["calls"] == parsed["calls"]
lib = relay.build(mod, "llvm", params=params)
gr = debug_executor.create(lib.get_graph_json(), lib.lib, tvm.cpu())
rep = gr.profile(data=data)
print(rep.table(sort=False, aggregate=False, col_sums=False)[:200])
assert sum(c["Duration (us)"].microseconds for c in rep.calls) > 0
assert all(isinstance(c["Percent"].percent, float) for c in rep.calls) if "Percent" in rep.calls[0] else True
cfg = rep.configuration
print(cfg)
g = graph_executor.GraphModule(lib["default"](tvm.cpu()))
g.set_input("data", data)
r = g.benchmark(tvm.cpu(), repeat=3, number=2, min_repeat_ms=0, end_to_end=True)
assert len(r.results) == 3 and r.std >= 0 and r.mean > 0
