"""Runs that end early, and runs for asyncio."""

import asyncio
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import relay
from relay import frontend

ENDLESS = """
def @loop(%i: int64, %x: Tensor[(64, 64), float32]) -> Tensor[(64, 64), float32] {
  if (less(%i, 1000000000000i64)) { @loop(add(%i, 1i64), nn.dense(%x, %x)) } else { %x }
}
def @main(%n: int64, %x: Tensor[(64, 64), float32]) { @loop(%n, %x) }
"""
X = np.zeros((64, 64), "float32")
DONE = 10**12


@pytest.fixture(scope="module")
def program() -> relay.Executable:
    return relay.compile(relay.parse(ENDLESS))


def test_arguments_by_position_and_name(program: relay.Executable) -> None:
    assert program.run([DONE, X]).shape == (64, 64)
    assert program.run({"x": X, "n": DONE}, timeout=60).shape == (64, 64)
    assert program.signatures == {"main": ([("n", "int64"), ("x", "Tensor[(64, 64), float32]")], "Tensor[(64, 64), float32]")}


def test_results_have_the_names_that_the_program_gives_them() -> None:
    text = 'def @main(%x: Tensor[(n), float32]{}) {{ (%x, sum(%x)) }}'
    types = ["Tensor[(n), float32]", "float32"]
    for given, names in [("", ["output_0", "output_1"]), (', output_tensor_names=["rows", "a/b:0"]', ["rows", "a/b:0"])]:
        program = relay.compile(relay.parse(text.format(given)))
        assert program.results == {"main": list(zip(names, types))}
    mod, _ = frontend.from_onnx("examples/onnx/digits.onnx")
    assert relay.compile(mod).results["main"] == [("scores", "Tensor[(n, 10), float32]")]


def test_a_timeout_ends_a_run(program: relay.Executable) -> None:
    with pytest.raises(relay.RunTimeout, match=r"^the run did not end within 0\.05 s$") as caught:
        program.run([0, X], timeout=0.05)
    assert isinstance(caught.value, TimeoutError) and isinstance(caught.value, relay.RelayError) and caught.value.diagnostics == []
    with pytest.raises(relay.RunTimeout):
        program.run([0, X], timeout=-1)
    assert program.run([DONE, X]).shape == (64, 64)


def test_a_cancel_ends_all_its_runs(program: relay.Executable) -> None:
    cancel = relay.Cancel()
    with ThreadPoolExecutor(3) as pool:
        runs = [pool.submit(program.run, [0, X], cancel=cancel) for _ in range(3)]
        threading.Timer(0.1, cancel.cancel).start()
        for run in runs:
            with pytest.raises(relay.RunCancelled, match="^the run was cancelled$"):
                run.result()
    assert cancel.cancelled
    with pytest.raises(relay.RunCancelled):
        program.run([0, X], cancel=cancel)
    assert program.run([DONE, X], cancel=relay.Cancel()).shape == (64, 64)


def test_many_deadlines_at_once(program: relay.Executable) -> None:
    def one(i: int) -> bool:
        try:
            program.run([0, X], timeout=0.02 + 0.01 * (i % 5))
        except relay.RunTimeout:
            return True
        return False

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(one, range(40)))


def test_deadlines_in_a_child_process(program: relay.Executable) -> None:
    with pytest.raises(relay.RunTimeout):
        program.run([0, X], timeout=0.02)  # so that the parent's watch runs
    child = os.fork()
    if child == 0:
        try:
            program.run([0, X], timeout=0.05)
        except relay.RunTimeout:
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"arguments": 3}, r"^arguments are a sequence, or a dictionary by names of parameters, not "),
        ({"arguments": [DONE, X], "timeout": "1"}, r"^timeout is a number of seconds, not "),
        ({"arguments": [DONE, X], "timeout": float("nan")}, r"^timeout is a number of seconds, not "),
        ({"arguments": [DONE]}, r"needs a value for x"),
    ],
)  # fmt: skip
def test_wrong_calls(program: relay.Executable, keywords: dict, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        program.run(**keywords)


def test_asyncio(program: relay.Executable) -> None:
    async def work() -> None:
        results = await asyncio.gather(*(program.run_async([DONE, X], timeout=60) for _ in range(20)))
        assert all(result.shape == (64, 64) for result in results)
        with pytest.raises(relay.RunTimeout):
            await program.run_async({"n": 0, "x": X}, timeout=0.05)
        task = asyncio.create_task(program.run_async([0, X]))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await program.run_async([DONE, X])).shape == (64, 64)

    asyncio.run(work())
