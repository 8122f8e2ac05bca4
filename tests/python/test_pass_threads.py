"""Passes in several Python threads: others go on while one runs, and what passes say is all there."""

import sys
import threading
import time

import numpy as np
import pytest
import relay
from relay import instrument, transform


def long_program(nodes: int) -> relay.IRModule:
    x = relay.var("x", shape=(2,))
    body: relay.Expr = x
    for _ in range(nodes):
        body = relay.add(relay.exp(body), body)
    return relay.IRModule.from_expr(relay.Function([x], body))


@pytest.fixture
def no_switches():
    """No thread is made to let go of the interpreter's lock: who has it gives it up by itself."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(3600)
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize("passes", [
    lambda: transform.InferType(),
    lambda: transform.ToANormalForm(),
    lambda: transform.Sequential([transform.SimplifyExpr(), transform.EliminateCommonSubexpr()]),
])  # fmt: skip
def test_another_thread_goes_on_while_a_pass_runs(no_switches, passes):
    mod = long_program(10_000)
    run = passes()
    steps = 0
    done = False

    def work():
        nonlocal steps
        while not done:
            steps += 1
            time.sleep(0.0001)  # without the lock

    other = threading.Thread(target=work)
    other.start()
    try:
        while steps == 0:
            time.sleep(0.0001)
        # This thread keeps the lock from here on but for what the pass does, so that only a pass that lets go of it lets
        # the other one step. A busy machine may hold that one up for the length of some passes, not of a thousand.
        before = steps
        for _ in range(1000):
            result = run(mod)
            if steps > before:
                break
        after = steps
    finally:
        done = True
        other.join()
    assert "main" in result
    assert after > before


def test_python_is_called_back_with_the_lock(no_switches):
    seen = []

    @transform.function_pass(opt_level=0)
    def Look(func, mod, ctx):
        seen.append((threading.get_ident(), relay.analysis.free_vars(func.body)))
        return func

    class Watch(instrument.PassInstrument):
        def run_before_pass(self, mod, info):
            seen.append((threading.get_ident(), info.name))

        def should_run(self, mod, info):
            return info.name != "ToANormalForm"

    def relation(call, x):
        seen.append((threading.get_ident(), "relation"))
        return x

    mod = long_program(10)
    with relay.op.registered("test.pass_threads", inputs=["x"], relation=relation, kernel=lambda x: np.negative(x)) as op:
        x = relay.var("x", shape=(2,))
        mod["other"] = relay.Function([x], op(x))
        with transform.PassContext(opt_level=3, instruments=[Watch()]):
            transform.Sequential([Look, transform.ToANormalForm(), transform.FoldConstant()])(mod)
    assert {ident for ident, _ in seen} == {threading.get_ident()}
    what = [entry for _, entry in seen]
    assert "relation" in what and "Look" in what and "FoldConstant" in what


def test_what_a_pass_raises_comes_out():
    class Own(Exception):
        pass

    @transform.function_pass(opt_level=0)
    def Fails(func, mod, ctx):
        raise Own("of its own")

    with pytest.raises(Own, match="of its own"):
        transform.Sequential([transform.InferType(), Fails])(long_program(3))


def test_threads_share_a_context_and_a_module():
    warned = "def @f(%x: int32, Inline=1) -> int32 { add(%x, 1) }\ndef @main(%x: int32) { @f(@f(%x)) }"
    mod = relay.parse(warned)
    timing = instrument.PassTimingInstrument()
    times = timing.times
    context = transform.PassContext(opt_level=3, trace=True, instruments=[timing])
    threads, rounds = 4, 25
    wanted = str(transform.Sequential([transform.SimplifyExpr(), transform.Inline(max_nodes=1)])(mod))
    wrong = []

    def work():
        try:
            with context:
                for _ in range(rounds):
                    found = str(transform.Sequential([transform.SimplifyExpr(), transform.Inline(max_nodes=1)])(mod))
                    if found != wanted:
                        wrong.append(found)
                    times.entries, context.trace, context.diagnostics
        except BaseException as error:  # noqa: BLE001
            wrong.append(error)

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert wrong == []
    assert len(context.diagnostics) == threads * rounds
    inlined = [entry for entry in context.trace if entry.name == "Inline"]
    assert len(inlined) == threads * rounds
    assert len([entry for entry in times.entries if entry[0] == "Inline"]) == threads * rounds
