"""Processes: start, fork, signals, exit, memory."""

import sys

import numpy as np
import pytest

import relay

LONG = """
import sys, threading, time, os, signal
import numpy as np
import relay
mod = relay.parse('''
def @loop(%i: int64, %x: Tensor[(64, 64), float32]) -> Tensor[(64, 64), float32] {
  if (less(%i, 1000000000000i64)) { @loop(add(%i, 1i64), nn.dense(%x, %x)) } else { %x }
}
def @main(%x: Tensor[(64, 64), float32]) { @loop(0i64, %x) }
''')
program = relay.compile(mod)
x = np.zeros((64, 64), "float32")
"""


def test_import_is_quick_and_without_numpy(python):
    out = python("import sys, relay; relay.var('x', shape=(2,)) + 1.0; print('numpy' in sys.modules)")
    assert out.strip() == "False"
    # Processor time, since the machine may be busy; several, since the first may write caches.
    program = "import time; t = time.process_time(); import relay; print(time.process_time() - t)"
    assert min(float(python(program)) for _ in range(3)) < 0.5


def test_nothing_leaks_at_exit(python):
    python(
        """
import numpy as np, relay
x = relay.var("x", shape=(2,))
class V(relay.ExprVisitor):
    def visit_var(self, var): raise ValueError
try: V().visit(x + 1.0)
except ValueError: pass
try: relay.parse("def")
except relay.RelayError as error: kept = error
program = relay.compile(relay.Function([x], relay.exp(x)))
result = program(np.ones(2, "float32"))
from relay import analysis, frontend, qnn
""",
        leaks=True,
    )


def test_programs_run_after_a_fork(python):
    out = python(
        """
import os, numpy as np, relay
program = relay.compile(relay.parse('''def @main(%x: Tensor[(512, 512), float32]) { nn.dense(exp(%x), %x) }'''))
x = np.random.rand(512, 512).astype("float32")
before = program(x)
child = os.fork()
if child == 0:
    ok = np.allclose(program(x), before)
    fresh = relay.compile(relay.parse("def @main(%x: Tensor[(2048), float32]) { tanh(%x) }"))
    ok = ok and np.allclose(fresh(x[0].repeat(4)), np.tanh(x[0].repeat(4)), atol=1e-5)
    del program
    os._exit(0 if ok else 1)
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 0, status
assert np.allclose(program(x), before)
print("both")
"""
    )
    assert out.strip() == "both"


def test_threads_are_those_of_relay(python):
    out = python(
        """
import numpy as np, relay
program = relay.compile(relay.parse("def @main(%x: Tensor[(512, 512), float32]) { tanh(%x) }"), threads=2)
import os, time
names = lambda: sorted(open(f"/proc/self/task/{task}/comm").read().strip() for task in os.listdir("/proc/self/task"))
end = time.monotonic() + 30  # on a busy machine a thread may begin, and take its name, late
while time.monotonic() < end:
    program(np.zeros((512, 512), "float32"))
    if names()[-1] == "relay-1": break
print(names()[-1])
print([line for line in open("/proc/self/maps") if "libgomp" in line or "libomp" in line])
"""
    )
    assert out.split() == ["relay-1", "[]"]


def test_interrupt_ends_a_long_run(python):
    out = python(
        LONG
        + """
try:
    threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    program(x)
except KeyboardInterrupt:
    print("interrupted")
small = relay.compile(relay.parse("def @main(%x: float32) { exp(%x) }"))
assert small(np.float32(0)) == 1
# The handler of the program's author is the one that is called.
signal.signal(signal.SIGINT, lambda *_: (_ for _ in ()).throw(ValueError("mine")))
try:
    threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    program(x)
except ValueError as error:
    print(error)
"""
    )
    assert out.split() == ["interrupted", "mine"]


def test_exit_while_a_thread_runs(python):
    out = python(
        LONG
        + """
threading.Thread(target=program, args=(x,), daemon=True).start()
time.sleep(1.0)
print("leaving", flush=True)
""",
        outlives=True,  # the thread holds the program
    )
    assert out.strip() == "leaving"


def test_subinterpreters_are_refused(python):
    out = python(
        """
import relay
try:
    import _interpreters as subinterpreters
    run = subinterpreters.exec
except ImportError:
    import _xxsubinterpreters as subinterpreters
    run = subinterpreters.run_string
run(subinterpreters.create(), '''
try:
    import relay
except ImportError as error:
    print(error, flush=True)
''')
"""
    )
    assert out.strip() == "relay cannot be used in a subinterpreter, only in the main one"


def test_arrays_are_released(python):
    python(
        """
import gc, weakref, numpy as np, relay
class Tracked(np.ndarray): pass
array = np.zeros(10, "float32").view(Tracked)
ref = weakref.ref(array)
program = relay.compile(relay.parse("def @main(%x: Tensor[(10), float32]) { exp(%x) }"))
program(array)
node = relay.NDArray(array)
del array
gc.collect()
assert ref() is not None
del node
gc.collect()
assert ref() is None
"""
    )


def test_a_second_initialisation_is_refused(python):
    out = python(
        """
import relay, sys
x = relay.var("x", shape=(2,))
for name in [name for name in sys.modules if name.partition(".")[0] == "relay"]:
    del sys.modules[name]
for _ in range(2):
    try:
        import relay
    except ImportError as error:
        print(error)
print(x + 1.0)
""",
        outlives=True,  # what the modules that were left held
    )
    lines = out.splitlines()
    why = "relay was imported in this process before and cannot be initialised again: leave relay and its modules in sys.modules, or start a new process"
    assert lines[:2] == [why] * 2 and "add" in out


def test_a_process_adds_little_to_the_weights_of_a_read_only_file(python, tmp_path):
    path = tmp_path / "model.rlx"
    x = relay.var("x", shape=(1, 1024))
    weights = np.random.default_rng(0).standard_normal((8192, 1024)).astype("float32")  # 32 MiB
    relay.compile(relay.IRModule.from_expr(relay.Function([x], relay.nn.dense(x, relay.const(weights))))).save(path)
    path.chmod(0o444)
    text = f"""
import numpy as np, relay

def own():
    words = open("/proc/self/status").read().split()
    return int(words[words.index("RssAnon:") + 1])  # KiB that no file backs

x = np.ones((1, 1024), "float32")
small = relay.compile(relay.parse("def @main(%x: Tensor[(1, 1024), float32]) {{ %x + 1f }}"), threads=1)
small(x)
before = own()
run = relay.load({str(path)!r}, threads=1)
run(x)
run(x)
print(own() - before, run(x).sum())
"""
    grown, total = python(text).split()
    assert abs(float(total) - weights.sum()) < 1
    assert int(grown) < 0.05 * weights.nbytes / 1024
