"""The command `relay` of the package, `python -m relay`, and what `import relay` says where it cannot work."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import relay

PROGRAM = "def @main(%x: float32) { %x + 1f }\n"
FOREVER = "def @loop(%x: int64) -> int64 { @loop(%x + 1i64) }\ndef @main() -> int64 { @loop(0i64) }\n"


def command(*words, **kwargs):
    return subprocess.run([sys.executable, "-m", "relay", *words], capture_output=True, text=True, timeout=120, **kwargs)


def test_runs_a_program():
    done = command("run", "-", "--arg", "2", input=PROGRAM)
    assert (done.returncode, done.stdout, done.stderr) == (0, "3.0\n: float32\n", "")


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["check", "/missing.rly"], 1, "error: cannot open /missing.rly"),
        (["chekc"], 2, "there is no command chekc"),
        (["run", "-", "--arg", "[1, 2]"], 1, "error"),
        (["check", b"/caf\xe9.rly"], 1, "error: "),  # no UTF-8
    ],
)
def test_exit_codes_are_those_of_the_executable(words, status, message):
    done = subprocess.run([sys.executable, "-m", "relay", *words], input=PROGRAM.encode(), capture_output=True, timeout=120)
    assert done.returncode == status
    assert message in done.stderr.decode(errors="replace")
    assert b"Traceback" not in done.stderr


def test_failure_of_the_program():
    done = command("run", "-", "--arg", "0", input="def @main(%x: int32) { 1 / %x }\n")
    assert done.returncode == 3 and "error: " in done.stderr


@pytest.mark.skipif("RELAY_BIN" not in os.environ, reason="there is no executable to compare with")
@pytest.mark.parametrize("words", [["--help"], ["--version"], ["ops", "nn.conv2d"], ["doc", "passes"], []])
def test_says_what_the_executable_says(words):
    executable = subprocess.run([os.environ["RELAY_BIN"], *words], capture_output=True, text=True, timeout=120)
    done = command(*words)
    assert (done.returncode, done.stdout, done.stderr) == (executable.returncode, executable.stdout, executable.stderr)


def test_one_version():
    assert relay.__version__ and command("--version").stdout == f"relay {relay.__version__}\n"


def test_a_call_leaves_what_the_process_does_at_a_signal():
    # SIGPIPE by default would end a process whose asyncio wakes a loop that is being closed.
    program = "import signal, relay; before = [signal.getsignal(s) for s in signal.valid_signals()]\n"
    program += "relay._core.run_command([b'relay', b'ops', b'nn.conv2d'])\n"
    program += "assert before == [signal.getsignal(s) for s in signal.valid_signals()]\n"
    program += "ignored = next(line for line in open('/proc/self/status') if line.startswith('SigIgn'))\n"
    program += "assert int(ignored.split()[1], 16) & 1 << signal.SIGPIPE - 1, ignored"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_a_closed_pipe_ends_it():
    process = subprocess.Popen([sys.executable, "-m", "relay", "doc", "operators"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert process.wait(timeout=120) == -signal.SIGPIPE
    assert process.stderr.read() == b""
    process.stderr.close()


def test_a_full_disk_is_an_error():
    with open("/dev/full", "wb") as full:
        done = subprocess.run([sys.executable, "-m", "relay", "doc", "passes"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=120)
    assert done.returncode == 1 and "cannot write to standard output" in done.stderr


def test_interrupt(tmp_path):
    """Ctrl-C ends the machine's run with a message, not with Python's traceback."""
    program = tmp_path / "forever.rly"
    program.write_text(FOREVER)
    process = subprocess.Popen(
        [sys.executable, "-m", "relay", "run", str(program)],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # shells ignore it in the background
    )
    # Once it has used more of the processor than loading and compiling take, it runs.
    ticks = os.sysconf("SC_CLK_TCK")
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and float(Path(f"/proc/{process.pid}/stat").read_text().split()[13]) / ticks < 1.5:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (130, "error: interrupted\n")


def test_a_plugin_is_refused(tmp_path):
    """Its symbols would have to be visible to all libraries of the process."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    source = tmp_path / "plugin.c"
    # A symbol that every plug-in refers to, and one that nothing has.
    source.write_text("void relay_symbol_that_a_plugin_needs(void); void relay_plugin(void) { relay_symbol_that_a_plugin_needs(); }\n")
    library = tmp_path / "plugin.so"
    subprocess.run([compiler, "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    done = command("--plugin", str(library), "ops", "add")
    assert done.returncode == 1
    assert "error: cannot load the plug-in" in done.stderr and "the Python package takes none" in done.stderr


def test_a_file_of_the_same_name_in_the_folder(tmp_path):
    """The installed command does not look into the folder it is run in."""
    script = Path(sys.executable).with_name("relay")
    if not script.exists():
        pytest.skip("the package is not installed")
    (tmp_path / "relay.py").write_text("raise SystemExit('the wrong relay')\n")
    done = subprocess.run([script, "--version"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, f"relay {relay.__version__}\n"), done.stderr


def test_free_threaded_builds_are_refused():
    # Such a build says so in its flags.
    text = "import sys; sys.abiflags = 't'; import relay"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert "ImportError: relay does not run on free-threaded builds of Python yet" in done.stderr


def test_without_numpy():
    """A function that needs no array works; one that does says what is missing."""
    text = """
import sys
sys.modules["numpy"] = None
import relay
print(relay.parse_expr("1f + 2f"))
try:
    relay.const(1.0)
except ImportError as error:
    print("ImportError:", error)
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^ImportError: .*numpy", done.stdout, re.MULTILINE), done.stdout


def test_hash_seeds_do_not_matter():
    text = """
import relay
x = relay.var("x", shape=(2, 3))
mod = relay.IRModule.from_expr(relay.Function([x], relay.nn.softmax(relay.exp(x))))
print(mod, relay.structural_hash(mod))
"""
    outputs = set()
    for seed in ("0", "1", "4242"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120, env=environment)
        assert done.returncode == 0, done.stderr
        outputs.add(done.stdout)
    assert len(outputs) == 1
