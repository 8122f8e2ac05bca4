"""Ctrl-C, threads and forks: each in a process of its own."""

import pytest

# `interrupted(work)` says whether Ctrl-C after some time ended `work` with KeyboardInterrupt, soon.
HEAD = """
import os, signal, threading, time
import numpy as np
import relay
from relay import transform

def interrupted(work, after=0.7):
    timer = threading.Timer(after, lambda: os.kill(os.getpid(), signal.SIGINT))
    begin = time.time()
    try:
        timer.start()
        work()
    except KeyboardInterrupt:
        took = time.time() - begin - after
        assert took < 60, took  # the machine may be busy
        print("interrupted", flush=True)
    else:
        print("ended after", time.time() - begin, flush=True)
    timer.join()

def still_usable():
    x = relay.var("x", shape=(2,))
    assert relay.compile(relay.Function([x], relay.exp(x)))(np.zeros(2, "float32")).tolist() == [1, 1]
    assert relay.evaluate(relay.Function([x], relay.exp(x)), np.zeros(2, "float32")).tolist() == [1, 1]

def large(count=4000, shape=(3, 5)):
    # Many kernels, none the same.
    x = relay.var("x", shape=shape)
    y = x
    for i in range(count):
        y = relay.nn.softmax(y * float(i), axis=i % 2)
        if i % 2: y = relay.reshape(y, (shape[1] if i % 4 == 1 else shape[0], -1))
    return relay.Function([x], y)
"""

CASES = {
    "compile": "interrupted(lambda: relay.compile(large(), cache=False))",
    "compile without optimisation": "f = large(60_000)\ninterrupted(lambda: relay.compile(f, opt_level=0, cache=False))",
    "run": """
program = relay.compile(relay.parse('''
def @loop(%i: int64, %x: Tensor[(64, 64), float32]) -> Tensor[(64, 64), float32] {
  if (less(%i, 1000000000000i64)) { @loop(add(%i, 1i64), nn.dense(%x, %x)) } else { %x }
}
def @main(%x: Tensor[(64, 64), float32]) { @loop(0i64, %x) }
'''))
interrupted(lambda: program(np.zeros((64, 64), "float32")))
""",
    "evaluate a loop": """
mod = relay.parse('''
def @loop(%i: int64) -> int64 { if (less(%i, 1000000000000i64)) { @loop(add(%i, 1i64)) } else { %i } }
def @main() { @loop(0i64) }
''')
interrupted(lambda: relay.evaluate(mod))
""",
    "evaluate a large operator": """
mod = relay.parse("def @main(%x: Tensor[(4000, 4000), float32]) { nn.dense(%x, %x) }")
interrupted(lambda: relay.evaluate(mod, np.zeros((4000, 4000), "float32")))
""",
    "a closure of the evaluator": """
f = relay.evaluate(relay.parse('''
def @loop(%i: int64) -> int64 { if (less(%i, 1000000000000i64)) { @loop(add(%i, 1i64)) } else { %i } }
def @main() { fn(%i: int64) { @loop(%i) } }
'''))
interrupted(lambda: f(np.int64(0)))
""",
    "a pass in Python": """
@transform.function_pass(opt_level=0)
def slow(func, mod, ctx):
    while True: pass
x = relay.var("x", shape=(2,))
mod = relay.IRModule.from_expr(relay.Function([x], x))
interrupted(lambda: transform.Sequential([slow])(mod))
""",
    "a visitor": """
class Slow(relay.ExprVisitor):
    def visit_var(self, var):
        while True: time.sleep(0.01)
x = relay.var("x", shape=(2,))
interrupted(lambda: Slow().visit(relay.Function([x], x + 1.0)))
""",
    "post_order_visit": """
x = relay.var("x", shape=(2,))
def wait(expr):
    while True: pass
interrupted(lambda: relay.post_order_visit(x + 1.0, wait))
""",
    "rewrite": """
x = relay.var("x", shape=(2,))
def wait(expr):
    while True: pass
interrupted(lambda: relay.rewrite(x + 1.0, wait))
""",
    "an instrument": """
class Slow:
    def run_before_pass(self, mod, info):
        while True: pass
x = relay.var("x", shape=(2,))
with transform.PassContext(instruments=[Slow()]):
    mod = relay.IRModule.from_expr(relay.Function([x], x))
    interrupted(lambda: transform.FoldConstant()(mod))
""",
}


@pytest.mark.parametrize("case", CASES)
def test_interrupt(python, case):
    assert python(HEAD + CASES[case] + "\nstill_usable()\n").split() == ["interrupted"]


BUSY = """
import threading, time, sys
import numpy as np
import relay
from relay import transform
x = relay.var("x", shape=(64, 64))
f = relay.Function([x], relay.nn.softmax(relay.nn.dense(relay.exp(x), x)))
data = np.zeros((64, 64), "float32")
program = relay.compile(f)
begun = threading.Semaphore(0)
def forever(work):
    def run():
        begun.release()
        while True:
            try: work()
            except KeyboardInterrupt: pass
    return run
class Visit(relay.ExprVisitor): pass
@transform.function_pass(opt_level=0)
def python_pass(func, mod, ctx):
    for _ in range(50): pass
    return func
mod = relay.IRModule.from_expr(f)
"""

WORK = {
    "compile": "lambda: relay.compile(relay.Function([x], relay.exp(f.body) * float(time.time() % 1000)), cache=False)",
    "run": "lambda: program(data)",
    "evaluate": "lambda: relay.evaluate(f, data)",
    "visit": "lambda: relay.post_order_visit(f, lambda e: e)",
    "passes": "lambda: transform.Sequential([python_pass, transform.FoldConstant(), python_pass])(mod)",
    "parse": "lambda: relay.parse(str(mod))",
}


@pytest.mark.parametrize("work", WORK)
def test_exit_while_threads_are_in_the_library(python, work):
    program = BUSY + f"""
for _ in range(4): threading.Thread(target=forever({WORK[work]}), daemon=True).start()
for _ in range(4): begun.acquire()
time.sleep(float(sys.argv[1]) if len(sys.argv) > 1 else 0.2)
print("leaving", flush=True)
"""
    for _ in range(4):
        assert python(program) == "leaving\n"


def test_a_child_works(python):
    out = python(
        BUSY
        + """
import multiprocessing, os
def work(n):
    y = relay.var("y", shape=(n, n))
    g = relay.compile(relay.Function([y], relay.nn.relu(y) + float(n)), cache=False)
    relay.check(relay.IRModule.from_expr(f))
    return float(g(np.zeros((n, n), "float32")).sum()) + float(program(data).sum()) + float(relay.evaluate(f, data).sum())
if __name__ == "__main__":
    here = [work(n) for n in (2, 3)]
    with multiprocessing.get_context("fork").Pool(2) as pool:
        there = pool.map(work, [2, 3])
    assert np.allclose(here, there), (here, there)
    print("same")
"""
    )
    assert out == "same\n"


def test_a_child_of_a_busy_process_works_or_says_why_not(python):
    out = python(
        BUSY
        + """
import os, signal
for _ in range(2): threading.Thread(target=forever(lambda: relay.compile(f, cache=False)), daemon=True).start()
for _ in range(2): begun.acquire()
ends = set()
for _ in range(10):
    time.sleep(0.05)
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # a child that hangs is killed
        try:
            relay.compile(f)(data)
            os._exit(0)
        except relay.RelayError as error:
            os._exit(0 if "forked while another thread was at work in relay" in str(error) else 1)
        os._exit(2)
    ends.add(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(ends, flush=True)
""",
        timeout=300,
    )
    assert out.splitlines()[0] == "{0}"


def test_a_child_of_a_process_that_runs_programs_runs_them(python):
    out = python(
        BUSY
        + """
import os, signal
for _ in range(2): threading.Thread(target=forever(lambda: program(data)), daemon=True).start()
for _ in range(2): begun.acquire()
expected = program(data).tolist()
ends = set()
for _ in range(40):
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # a child that hangs is killed
        os._exit(0 if program(data).tolist() == expected else 1)
    ends.add(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(ends, flush=True)
""",
        timeout=300,
    )
    assert out.splitlines()[0] == "{0}"


def test_a_child_can_be_interrupted(python):
    assert python(HEAD + """
child = os.fork()
if child == 0:
    mod = relay.parse('''
    def @loop(%i: int64) -> int64 { if (less(%i, 1000000000000i64)) { @loop(add(%i, 1i64)) } else { %i } }
    def @main() { @loop(0i64) }
    ''')
    interrupted(lambda: relay.evaluate(mod))
    os._exit(0)
os.waitpid(child, 0)
""") == "interrupted\n"
