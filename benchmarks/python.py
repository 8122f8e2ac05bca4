#!/usr/bin/env python3
"""How quick the Python package is: PYTHONPATH=build/python benchmarks/python.py

Each figure is the best of several runs, in wall-clock time and in processor time of this thread: on a busy machine the second says what
an idle one would show.
"""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Callable


def best(run: Callable[[], object], repeat: int = 5) -> tuple[float, float]:
    """The least seconds of a run: by the clock, and of the processor."""
    wall, processor = [], []
    for _ in range(repeat):
        started, started_cpu = time.perf_counter(), time.thread_time()
        run()
        wall.append(time.perf_counter() - started)
        processor.append(time.thread_time() - started_cpu)
    return min(wall), min(processor)


def report(what: str, times: tuple[float, float], scale: float, unit: str, goal: str) -> None:
    print(f"{what:58} {times[0] * scale:9.3f} {times[1] * scale:9.3f} {unit:3} {goal}", flush=True)


def import_times() -> tuple[float, float]:
    program = "import time; w, p = time.perf_counter(), time.process_time(); import relay; print(time.perf_counter() - w, time.process_time() - p)"
    pairs = [tuple(map(float, subprocess.check_output([sys.executable, "-c", program], text=True).split())) for _ in range(7)]
    return min(wall for wall, _ in pairs), min(processor for _, processor in pairs)


def main() -> None:
    print(f"{'':58} {'wall':>9} {'processor':>9}     goal")
    report("import relay", import_times(), 1e3, "ms", "150")

    import numpy as np

    import relay

    x = relay.var("x", shape=(3,))
    add = relay.op.get("add")

    def chain(length: int) -> relay.Expr:
        e = x
        for _ in range(length):
            e = relay.Call(add, [e, x])
        return e

    def chain_of_functions() -> None:
        e = x
        for _ in range(100_000):
            e = relay.add(e, x)

    report("100,000 calls built: relay.Call(op, args)", best(lambda: chain(100_000)), 1e3, "ms", "300")
    report("100,000 calls built: relay.add(a, b)", best(chain_of_functions), 1e3, "ms", "300")

    deep = chain(1_000_000)

    class Count(relay.ExprVisitor):
        calls = 0

        def visit_call(self, call: relay.Call) -> None:
            self.calls += 1
            super().visit_call(call)

    def visit() -> None:
        visitor = Count()
        visitor.visit(deep)
        assert visitor.calls == 1_000_000

    report("ExprVisitor over 1,000,000 nodes", best(visit, 3), 1, "s", "2")
    report("ExprMutator over 1,000,000 nodes, nothing changed", best(lambda: relay.ExprMutator().visit(deep), 3), 1, "s", "")
    report("post_order_visit of 1,000,000 nodes", best(lambda: relay.post_order_visit(deep, lambda node: None), 3), 1, "s", "2")

    call = relay.add(x, x)
    count = range(200_000)

    def fields() -> None:
        for _ in count:
            call.op

    def empty() -> None:
        for _ in count:
            pass

    loop = best(empty)
    field = best(fields)
    report("a field: call.op", ((field[0] - loop[0]) / 200_000, (field[1] - loop[1]) / 200_000), 1e6, "µs", "0.3")

    program = relay.compile(relay.parse("def @main(%x: Tensor[(3, 4), float32]) { nn.relu(add(%x, 1f)) }"))
    array = np.ones((3, 4), "float32")
    calls = range(20_000)

    def run() -> None:
        for _ in calls:
            program(array)

    once = best(run)
    report("a call of a compiled function, NumPy in and out", (once[0] / 20_000, once[1] / 20_000), 1e6, "µs", "5")

    layer_names = ("nn.dense", "add", "nn.relu")

    def bert_sized() -> relay.Function:
        e = relay.var("x", shape=(1, 8))
        for i in range(1500):
            e = relay.op.nn.relu(e + relay.nn.dense(e, relay.var(f"w{i % 8}", shape=(8, 8))))
        return relay.Function(relay.analysis.free_vars(e), e)

    class ReluToTanh(relay.ExprMutator):
        def visit_call(self, call: relay.Call) -> relay.Expr:
            new = super().visit_call(call)
            return relay.tanh(*new.args) if new.op.name == "nn.relu" else new

    function = bert_sized()
    assert set(relay.analysis.list_op_freqs(function)) == set(layer_names)
    report("a mutator of ten lines over 4,500 calls", best(lambda: ReluToTanh().visit(function)), 1e3, "ms", "100")


if __name__ == "__main__":
    main()
