"""`relay repl` on a pipe and on a terminal."""

import os
import pty
import re
import select
import subprocess
import termios
import time

import pytest

RELAY = os.environ["RELAY_BIN"]


def repl(text, *arguments):
    done = subprocess.run([RELAY, "repl", *map(str, arguments)], input=text, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


def test_definitions_and_expressions():
    text = """\
def @f(%x: Tensor[(n), float32]) {
  %x + 1f
}
let %a = Constant(1.5, (3), float32)
%b = @f(%a) *
  2f
%b
:type @f(%b)
def @f(%x: Tensor[(n), float32]) { %x }
@f(%a)
(%a, 2)
:list
"""
    assert repl(text) == (
        0,
        """\
@f : fn (Tensor[(n), float32]) -> Tensor[(n), float32]
%a : Tensor[(3), float32]
%b : Tensor[(3), float32]
[5.0, 5.0, 5.0]
: Tensor[(3), float32]
Tensor[(3), float32]
@f : fn (Tensor[(n), float32]) -> Tensor[(n), float32]
[1.5, 1.5, 1.5]
: Tensor[(3), float32]
([1.5, 1.5, 1.5], 2)
: (Tensor[(3), float32], int32)
@f : fn (Tensor[(n), float32]) -> Tensor[(n), float32]
%a : Tensor[(3), float32]
%b : Tensor[(3), float32]
""",
        "",
    )


def test_data_types():
    code, out, err = repl(
        """\
type Shape { Square(float32), Circle(float32) }
def @area(%s: Shape) { match (%s) { Square(%a) => %a * %a, Circle(%r) => 3f * %r } }
let %s = Square(2f)
@area(%s)
import "prelude"
Cons(1, Nil)
"""
    )
    assert (code, err) == (0, "")
    assert out.startswith("type Shape\n@area : fn (Shape) -> float32\n")
    assert "%s : Shape\n4.0\n: float32\n" in out and out.endswith(": List[int32]\n")


def test_mistakes_leave_the_session():
    code, out, err = repl(
        """\
let %a = 1f
%a + %none
def @f() { 300i8 }
def @g() {
%a
"""
        + "}\n%a\n:frob\n:tpye 1\n:time\n"
    )
    assert code == 1
    assert out == "%a : float32\n1.0\n: float32\n"
    assert "unknown local name %none\n --> <input>:1:6\n  |\n1 | %a + %none\n" in err
    assert "there is no command :frob" in err and "did you mean :type" in err
    assert "something is missing behind :time" in err


def test_commands(tmp_path):
    path = tmp_path / "program.rly"
    path.write_text("def @twice(%x: float32) { %x + %x }\n")
    code, out, err = repl(
        f":load {path}\n:passes FoldConstant 1f + 2f\n:time @twice(2f)\n:passes DeadCodeElimination\n:help\n:quit\n1\n"
    )
    assert (code, err) == (0, "")
    assert out.startswith("@twice : fn (float32) -> float32\n")
    assert "def @main() {\n  3f\n}" in out
    assert re.search(r"4\.0\n: float32\ncompile: [\d.]+ ms\nrun: [\d.]+ ms\n", out)
    assert "def @twice(" in out and ":passes A,B" in out and not out.endswith("int32\n")
    assert repl("@twice(1f)\n", path)[1].endswith("2.0\n: float32\n")


def test_last_line_without_end_and_open_input():
    assert repl("1 + 2") == (0, "3\n: int32\n", "")
    code, out, err = repl("def @f( {")
    assert (code, out) == (1, "") and "<input>:1:9" in err


def test_terminal(tmp_path):
    """A prompt, completion by Tab, several lines, history in a file."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(RELAY, [RELAY, "repl"], {**os.environ, "HOME": str(tmp_path), "TERM": "xterm"})
    seen = ""

    def wait(what):
        nonlocal seen
        end = time.monotonic() + 30
        while what not in seen:
            assert time.monotonic() < end, seen
            if select.select([terminal], [], [], 0.2)[0]:
                seen += os.read(terminal, 4096).decode()
        seen = seen[seen.index(what) + len(what) :]

    wait("relay> ")
    os.write(terminal, b"def @double(%x: float32) {\n")
    wait("...> ")
    os.write(terminal, b"%x + %x }\n")
    wait("@double : fn (float32) -> float32")
    wait("relay> ")
    editing = os.path.exists("/usr/lib/x86_64-linux-gnu/libedit.so.2")
    os.write(terminal, b"@dou\t(4f)\n" if editing else b"@double(4f)\n")
    wait("8.0")
    wait("relay> ")
    end = time.monotonic() + 30
    # The prompt comes before libedit takes the terminal over: a Control-D between the two would be a character of the line.
    while editing and termios.tcgetattr(terminal)[3] & termios.ICANON:
        assert time.monotonic() < end
        time.sleep(0.01)
    os.write(terminal, b"\x04" if editing else b":quit\n")
    while (ended := os.waitpid(pid, os.WNOHANG))[0] == 0:  # it waits until its output is read
        assert time.monotonic() < end
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                os.read(terminal, 4096)
            except OSError:
                time.sleep(0.05)
    status = ended[1]
    assert os.waitstatus_to_exitcode(status) == 0
    os.close(terminal)
    if not editing:
        pytest.skip("libedit is not installed")
    assert "double" in (tmp_path / ".relay_history").read_text()
