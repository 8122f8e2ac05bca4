"""The virtual machine with a profile: reports as text, CSV and JSON."""
import json

import numpy as np
import tvm
from tvm import relay
from tvm.relay.testing import mlp
from tvm.runtime import profiler_vm
from tvm.runtime.profiling import Report


def test_vm():
    mod, params = mlp.get_workload(1)
    target, dev = "llvm", tvm.cpu()
    exe = relay.vm.compile(mod, target, params=params)
    vm = profiler_vm.VirtualMachineProfiler(exe, dev)
    data = np.random.rand(1, 1, 28, 28).astype("float32")
    report = vm.profile(tvm.nd.array(data), func_name="main")
    text = str(report)
    assert "Total" in text and "Duration (us)" in text
    csv = report.csv().splitlines()
    assert len(csv) == len(report.calls) + 1
    document = json.loads(report.json())
    assert document["calls"] and "device_metrics" in document
    again = Report.from_json(report.json())
    assert len(again.calls) == len(report.calls)
    table = report.table(sort=True, aggregate=True, col_sums=True)
    assert "Name" in table


def test_vm_benchmark():
    mod, params = mlp.get_workload(1)
    exe = relay.vm.compile(mod, "llvm", params=params)
    vm = tvm.runtime.vm.VirtualMachine(exe, tvm.cpu())
    data = np.random.rand(1, 1, 28, 28).astype("float32")
    result = vm.benchmark(tvm.cpu(), tvm.nd.array(data), func_name="main", repeat=2, number=1)
    assert len(result.results) == 2 and result.std >= 0
    result = vm.benchmark(tvm.cpu(), tvm.nd.array(data), repeat=1, number=1, end_to_end=True)
    assert result.mean == result.median == result.max
    timer = vm.module.time_evaluator("invoke", tvm.cpu(), number=2)
    assert timer("main", tvm.nd.array(data)).mean > 0


def test_instructions_and_constants():
    mod, params = mlp.get_workload(1)
    exe = relay.vm.compile(mod, "llvm", params=params)
    code, lib = exe.save()
    loaded = tvm.runtime.vm.Executable.load_exec(code, lib)
    vm = tvm.runtime.vm.VirtualMachine(loaded, tvm.cpu())
    out = vm.run(np.zeros((1, 1, 28, 28), "float32"))
    assert out.shape == (1, 10)
    assert "main" in exe.get_function_params("main") or exe.get_function_params("main")[0] == "data"
    assert isinstance(exe.stats, str) and isinstance(exe.bytecode, str)
