"""Calls in other processes: tvm.contrib.popen_pool."""

import dataclasses
import enum
import os
import resource
import signal
import subprocess
import sys
import time
import typing

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


def _refuse():
    raise ValueError("no device")


def test_an_initializer_that_fails_fails_each_time():
    pool = PopenPoolExecutor(max_workers=1, initializer=_refuse)
    found = list(pool.map_with_error_catching(abs, [1, 2]))
    assert [(one.status, str(one.value)) for one in found] == [(StatusKind.EXCEPTION, "no device")] * 2


class _Pair(Exception):
    def __init__(self, a, b):
        super().__init__(f"{a} and {b}")


def _raise_pair():
    raise _Pair(1, 2)


def test_functions_carry_what_they_read_and_no_more(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import threading\nfrom tvm.contrib.popen_pool import PopenWorker\nlock = threading.Lock()\nclass Holder:\n    lock = 3\n"
                      "def lock_of(holder):\n    return holder.lock\ndef annotated(x: int) -> str: ...\n"
                      "worker = PopenWorker()\nworker.send(lambda: (lock_of(Holder()), annotated.__annotations__))\nprint(worker.recv())\n")  # fmt: skip
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert done.stdout == "(3, {'x': <class 'int'>, 'return': <class 'str'>})\n", done.stderr


def test_an_exception_that_cannot_be_read_again():
    worker = PopenWorker()
    worker.send(_raise_pair)
    with pytest.raises(RuntimeError, match="_Pair: 1 and 2"):
        worker.recv()


def test_dataclasses_enumerations_and_generics_of_a_script():
    @dataclasses.dataclass(frozen=True)
    class Config:
        size: int = 3

    class Mode(enum.Enum):
        FAST = 1

    Element = typing.TypeVar("Element")

    class Box(typing.Generic[Element]):
        pass

    def work(config, mode):
        return dataclasses.replace(config, size=config.size + 1), mode is Mode.FAST, mode, Box[int]() is not None

    worker = PopenWorker()
    worker.send(work, [Config(), Mode.FAST])
    config, same, mode, made = worker.recv()
    assert config == Config(4) and same and mode is Mode.FAST and made


def test_modules_of_a_class_of_their_own(monkeypatch):
    class Module(type(os)):
        pass

    monkeypatch.setattr(dataclasses, "__class__", Module)
    assert type(dataclasses) is Module
    worker = PopenWorker()
    worker.send(lambda: dataclasses.__name__)
    assert worker.recv() == "dataclasses"


def test_a_class_that_comes_back_is_left_alone():
    seen = []

    class Counter:
        limit = 1

        def count(self):
            seen.append(self.limit)

    before = Counter.count
    worker = PopenWorker()
    worker.send(lambda: Counter())
    Counter.limit = 2
    worker.recv().count()
    assert seen == [2] and Counter.count is before
    worker.send(lambda: Counter().limit)  # the process has the class of its last call
    assert worker.recv() == 2


def test_the_start_of_a_process_takes_none_of_the_time():
    worker = PopenWorker()
    worker.send(os.getpid, timeout=0.05)
    assert worker.recv() == worker._process.pid
    with pytest.raises(ValueError, match="not nan"):
        worker.send(os.getpid, timeout=float("nan"))
    with pytest.raises(RuntimeError, match="no call whose result"):
        worker.recv()


def test_a_process_ends_itself_after_its_time():
    worker = PopenWorker()
    worker.send(time.sleep, [600], timeout=0.2)
    worker._process.wait(60)  # nobody receives
    with pytest.raises(TimeoutError, match="took longer"):
        worker.recv()


def test_a_process_ends_with_its_parent():
    parent = subprocess.Popen(
        [sys.executable, "-c", "import time\nfrom tvm.contrib.popen_pool import PopenWorker\nworker = PopenWorker()\nworker.send(time.sleep, [600])\n"
         "print(worker._process.pid, flush=True)\ntime.sleep(600)"], stdout=subprocess.PIPE, text=True)  # fmt: skip
    group = int(parent.stdout.readline())
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    for _ in range(600):
        stat = f"/proc/{group}/stat"
        if not os.path.exists(stat) or open(stat).read().rsplit(")", 1)[1].split()[0] == "Z":
            return
        time.sleep(0.1)
    os.killpg(group, signal.SIGKILL)
    pytest.fail("the process outlived its parent")


def test_a_long_message_to_a_busy_process():
    worker = PopenWorker()
    worker.send(os.getpid)
    worker.recv()
    worker.send(time.sleep, [600])
    with pytest.raises(TimeoutError, match="did not read the call"):
        worker.send(len, [bytes(10_000_000)], timeout=0.3)
    worker.send(len, [bytes(10_000_000)], timeout=100)
    worker.send(bytes, [10_000_000])  # what comes back meanwhile is kept
    worker.send(len, [bytes(10_000_000)])
    assert worker.recv() == 10_000_000 and len(worker.recv()) == 10_000_000 and worker.recv() == 10_000_000


def test_many_open_files():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2000:
        pytest.skip("the system allows fewer files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (2000, hard))
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        worker = PopenWorker()
        worker.send(_half, [8], timeout=100)
        assert worker.recv() == 4
        worker.kill()
    finally:
        for each in held:
            os.close(each)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_send_after_a_join_that_was_too_short():
    worker = PopenWorker()
    worker.send(time.sleep, [600])
    with pytest.raises(subprocess.TimeoutExpired):
        worker.join(0.1)
    worker.send(_half, [8])
    assert worker.recv() == 4
