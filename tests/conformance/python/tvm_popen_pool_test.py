"""Calls in other processes: tvm.contrib.popen_pool."""

import os
import subprocess
import sys
import time

import numpy as np
import pytest
import tvm
from tvm import relay
from tvm.contrib.popen_pool import MapResult, PopenPoolExecutor, PopenWorker, StatusKind

_known = {"start": 0}


def _begin(value):
    _known["start"] = value


def _started():
    return _known["start"]


def _half(x):
    if x % 2:
        raise ValueError(f"{x} is odd")
    return x // 2


def test_worker_calls_functions_one_after_another():
    worker = PopenWorker()
    worker.send(_half, [8])
    assert worker.recv() == 4
    first = worker._process.pid
    worker.send(os.getpid)
    assert worker.recv() == first and worker.is_alive()
    worker.send(_half, (), {"x": 3})
    with pytest.raises(ValueError, match="3 is odd"):
        worker.recv()
    worker.kill()
    assert not worker.is_alive()
    worker.send(lambda a, b=2: a + b, [40])
    assert worker.recv() == 42
    worker.join(30)
    assert not worker.is_alive()


def test_a_call_that_takes_too_long_ends_and_the_next_one_has_another_process():
    worker = PopenWorker()
    worker.send(time.sleep, [600], timeout=0.5)
    with pytest.raises(TimeoutError, match="took longer"):
        worker.recv()
    worker.send(_half, [2], timeout=100)
    assert worker.recv() == 1


def test_a_process_that_dies():
    worker = PopenWorker()
    worker.send(os._exit, [3])
    with pytest.raises(ChildProcessError, match="terminated"):
        worker.recv()
    with pytest.raises(RuntimeError, match="not running"):
        worker.recv()


def test_initializer_and_number_of_uses():
    worker = PopenWorker(_begin, (7,), maximum_uses=2)
    pids = []
    for _ in range(3):
        worker.send(_started)
        assert worker.recv() == 7
        pids.append(worker._process.pid)
    assert pids[0] == pids[1] != pids[2]
    with pytest.raises(TypeError, match="callable"):
        PopenWorker(initializer=3)
    with pytest.raises(TypeError, match="callable"):
        PopenPoolExecutor(initializer=3)


def test_pool():
    pool = PopenPoolExecutor(max_workers=2, timeout=60)
    futures = [pool.submit(_half, 2 * i) for i in range(5)]
    assert [future.result() for future in futures] == list(range(5))
    found = list(pool.map_with_error_catching(_half, [4, 5, 6]))
    assert [one.status for one in found] == [StatusKind.COMPLETE, StatusKind.EXCEPTION, StatusKind.COMPLETE]
    assert isinstance(found[0], MapResult) and found[0].value == 2 and str(found[1].value) == "5 is odd"
    short = PopenPoolExecutor(max_workers=1, timeout=0.5)
    late = list(short.map_with_error_catching(time.sleep, [600]))
    assert late[0].status is StatusKind.TIMEOUT and isinstance(late[0].value, TimeoutError)


def test_closures_classes_and_programs():
    class Point:
        """A class of this function."""

        scale = 3

        def __init__(self, x):
            self.x = x

        @property
        def scaled(self):
            return self.x * self.scale

    def facts(n):
        return 1 if n < 2 else n * facts(n - 1)

    def evaluate(func, array):
        return relay.create_executor("debug", tvm.IRModule.from_expr(func)).evaluate()(array).numpy()

    worker = PopenWorker()
    worker.send(facts, [5])
    assert worker.recv() == 120
    worker.send(lambda p: Point(p.scaled), [Point(2)])
    made = worker.recv()
    assert type(made) is Point and made.x == 6
    x = relay.var("x", shape=(2,))
    worker.send(evaluate, [relay.Function([x], x + x), np.ones(2, "float32")])
    np.testing.assert_array_equal(worker.recv(), [2, 2])


def test_a_script_without_a_guard(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("from tvm.contrib.popen_pool import PopenPoolExecutor\n\nBASE = 40\n\ndef work(x):\n    return BASE + x\n\n"
                      "print(PopenPoolExecutor(max_workers=1, timeout=60).submit(work, 2).result())\n")  # fmt: skip
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert done.stdout == "42\n", done.stderr
