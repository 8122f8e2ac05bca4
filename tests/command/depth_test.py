"""Programs of great length and depth under a small stack: text of a million bindings, recursion a million deep, long loops."""

import json
import os
import resource
import subprocess

import pytest

RELAY = os.environ["RELAY_BIN"]
CALLS = 1_000_000
STACK = 256 * 1024
MEMORY = 4 * 1024**3
with open(RELAY, "rb") as binary:
    SANITIZED = b"__asan_init" in binary.read()


def limits():
    resource.setrlimit(resource.RLIMIT_STACK, (STACK, STACK))


def run(arguments, stdin=None):
    """Runs relay under the small stack; gives the result and the peak memory in bytes."""
    process = subprocess.Popen([RELAY, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, preexec_fn=limits)
    out, err = process.communicate(stdin.encode() if stdin is not None else None)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    return process.returncode, out.decode(), err.decode(), peak


def graph_chain():
    lines = ["def @main(%x: Tensor[(2), float32], %y: Tensor[(2), float32]) {", "  %0 = add(%x, %y);"]
    for i in range(1, CALLS):
        lines.append(f"  %{i} = {'multiply' if i % 3 == 0 else 'add'}(%{i - 1}, %{'x' if i % 2 == 0 else 'y'});")
    return "\n".join(lines) + f"\n  %{CALLS - 1}\n}}\n"


def let_chain():
    lines = ["def @main(%x: Tensor[(2), float32], %y: Tensor[(2), float32]) {", "  let %v0 = add(%x, %y);"]
    for i in range(1, CALLS):
        lines.append(f"  let %v{i} = {'multiply' if i % 3 == 0 else 'add'}(%v{i - 1}, %{'x' if i % 2 == 0 else 'y'});")
    return "\n".join(lines) + f"\n  %v{CALLS - 1}\n}}\n"


@pytest.fixture(scope="module", params=[graph_chain, let_chain], ids=["graph", "lets"])
def program(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("chain") / "chain.rly"
    path.write_text(request.param())
    return str(path)


def test_check(program):
    code, out, err, peak = run(["check", program])
    assert code == 0, err
    assert "Tensor[(2), float32]" in out
    assert peak <= MEMORY


@pytest.mark.parametrize("command", ["print", "fmt"])
def test_print(program, command):
    code, out, err, peak = run([command, program])
    assert code == 0, err
    assert out.count("\n") > CALLS
    assert peak <= MEMORY


# Together, since most of the time goes into reading and printing.
@pytest.mark.parametrize("names", ["SimplifyInference,FoldConstant,EliminateCommonSubexpr,DeadCodeElimination",
                                   "ToANormalForm,ToGraphNormalForm"])
def test_passes(program, names):
    code, out, err, peak = run(["opt", "--passes", names, program])
    assert code == 0, err
    assert out.count("\n") > CALLS
    assert peak <= MEMORY


COUNT = """
def @count(%n : int32) -> int32 { if (%n == 0) { 0 } else { 1 + @count(%n - 1) } }
"""
LOOP = """
def @loop(%n : int32, %sum : int32) -> int32 { if (%n == 0) { %sum } else { @loop(%n - 1, %sum + 2) } }
"""


def test_recursion_a_million_deep():
    code, out, err, peak = run(["run", "-", "--arg", "1000000", "--format", "json"], COUNT)
    assert code == 0, err
    assert '"value": 1000000' in out
    assert peak <= MEMORY


LISTS = """
import "prelude"
def @count(%n: int32, %done: List[int32]) -> List[int32] { if (%n == 0) { %done } else { @count(%n - 1, Cons(%n, %done)) } }
def @main(%n: int32) {
  let %xs = @count(%n, Nil);
  let %odd = @filter(fn (%x: int32) { mod(%x, 2) == 1 }, %xs);
  let %pairs = @zip(@map(fn (%x: int32) { %x + 1 }, %xs), @rev(@concat(%odd, %xs)));
  let %down = @unfoldr(fn (%i: int32) { if (%i == 0) { None } else { Some((%i - 1, %i)) } }, %n);
  (@length(%pairs), @foldr(fn (%x: (int32, int32), %sum: int32) { %x.0 - %x.1 + %sum }, 0, %pairs),
   @foldl(fn (%a: int32, %x: int32) { %a + mod(%x, 3) }, 0, %odd), @nth(%xs, %n - 1), @hd(@rev(%xs)), @length(%down))
}
"""


@pytest.mark.parametrize("executor", ["vm", "eval"])
def test_lists_of_a_hundred_thousand(executor):
    """The functions of the prelude take a stack that does not depend on the length."""
    count = 20_000 if SANITIZED else 100_000
    code, out, err, peak = run(["run", "-", "--executor", executor, "--arg", str(count), "--format", "json"], LISTS)
    assert code == 0, err
    xs = range(1, count + 1)
    odd = [x for x in xs if x % 2 == 1]
    pairs = list(zip([x + 1 for x in xs], [*odd, *xs][::-1]))
    wanted = [len(pairs), sum(a - b for a, b in pairs), sum(x % 3 for x in odd), count, count, count]
    assert json.loads(out)["value"] == wanted
    assert peak <= MEMORY


def test_tail_loop_takes_constant_memory():
    steps = 10_000_000
    code, out, err, _ = run(["run", "-", "--arg", str(steps), "--arg", "0", "--format", "json"], LOOP)
    assert code == 0, err
    assert f'"value": {2 * steps}' in out


def test_tail_loop_memory_is_bounded():
    # The address space is limited, so a loop that grew its stack would fail.
    def small():
        limits()
        if not SANITIZED:  # AddressSanitizer reserves terabytes of addresses for itself
            resource.setrlimit(resource.RLIMIT_AS, (600 * 1024**2, 600 * 1024**2))

    done = subprocess.run([RELAY, "run", "-", "--arg", "1000000", "--arg", "0"], input=LOOP.encode(),
                          capture_output=True, preexec_fn=small, check=False)
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.parametrize("limit, size", [(None, ""), ("RELAY_MEMORY_LIMIT", str(256 * 1024**2)), ("RELAY_MEMORY_LIMIT", "256 MiB"), ("RELAY_STACK_LIMIT", "256MB")])
def test_endless_recursion_is_an_error(limit, size):
    program = "def @f(%n : int32) -> int32 { 1 + @f(%n) }"
    if limit:
        os.environ[limit] = size
    try:
        code, _, err, _ = run(["run", "-", "--arg", "1"], program)
    finally:
        os.environ.pop(limit or "", None)
    assert code == 3, err
    assert "recursion is too deep" in err


@pytest.mark.parametrize("size", ["abc", "-5", "12 apples", "99999999999999999999", "999999999999TiB", "1.5GiB"])
def test_a_limit_that_is_no_size_is_told(size):
    environment = dict(os.environ, RELAY_MEMORY_LIMIT=size)
    done = subprocess.run([RELAY, "run", "-"], input=b"def @main() { 1 + 2 }", capture_output=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert f"warning: RELAY_MEMORY_LIMIT='{size}' is no size and is ignored" in done.stderr.decode()
