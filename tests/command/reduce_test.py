"""`relay reduce` on defects of a plug-in: passes that fail in each way, and an operator that a pass writes wrongly."""

import os
import pathlib
import shlex
import signal
import subprocess
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RELAY = os.environ.get("RELAY_BIN", str(ROOT / "build/bin/relay"))
DEFECTS = pathlib.Path(__file__).with_name("reduce_defects.cpp")


@pytest.fixture(scope="module")
def plugin(tmp_path_factory):
    library = tmp_path_factory.mktemp("plugin") / "defects.so"
    command = ["c++", "-std=c++20", "-O0", "-fPIC", "-shared", "-I", str(ROOT), str(DEFECTS), "-o", str(library)]
    subprocess.run(command, check=True)
    return library


def relay(*words, **more):
    # A sanitizer leaves signals as they are: a crash is what some of these tests are about.
    options = os.environ.get("ASAN_OPTIONS", "")
    environment = dict(os.environ, ASAN_OPTIONS=f"{options}:handle_segv=0" if options else "handle_segv=0")
    return subprocess.run([RELAY, *map(str, words)], capture_output=True, text=True, env=environment, **more)


def quote(path):
    return shlex.quote(str(path))


def long_program(folder, trigger):
    """A program of over a hundred lines with `trigger` (of %v40) in its middle."""
    lines = ["def @norm(%a: Tensor[(4, 6), float32]) -> Tensor[(4, 6), float32] {",
             "  let %m = mean(%a, axis=[1], keepdims=True);", "  divide(%a - %m, sqrt(%m * %m + 1f))", "}",
             "def @main(%v0: Tensor[(4, 6), float32], %w: Tensor[(6, 6), float32], %c: bool) {"]
    steps = ["nn.dense({a}, %w, units=6)", "nn.relu({a})", "@norm({a})", "if (%c) {{ tanh({a}) }} else {{ {a} + {b} }}",
             "({a}, {b}).1", "nn.softmax({a})", "{a} * {b}"]
    for i in range(1, 90):
        a, b = f"%v{i - 1}", f"%v{max(i - 5, 0)}"
        step = trigger.format(a=a, b=b) if i == 40 else steps[i % len(steps)].format(a=a, b=b)
        lines.append(f"  let %v{i} = {step};")
    lines += ["  (%v89, sum(%v40), nn.relu(%v40), %v39)", "}"]
    path = folder / "long.rly"
    path.write_text("\n".join(lines) + "\n")
    return path


def program_lines(text):
    return [line for line in text.rstrip("\n").split("\n") if not line.startswith("//")]


@pytest.mark.parametrize(
    "name, trigger, says",
    [
        ("DefectThrows", "erf({a})", "DefectThrows ends with an error: internal error: erf of something"),
        ("DefectCrashes", "cos({a})", "DefectCrashes crashes: SIGSEGV"),
        ("DefectHangs", "sin({a})", "DefectHangs does not end in time"),
        ("DefectDiffers", "ceil({a})", "DefectDiffers gives another result: element "),
    ],
)
def test_passes(plugin, tmp_path, name, trigger, says):
    source = long_program(tmp_path, trigger)
    small = tmp_path / "small.rly"
    done = relay("reduce", source, "--plugin", plugin, "--pass", name, "--try-time", 2 if name == "DefectHangs" else 20,
                 "-o", small)
    assert done.returncode == 0, done.stderr
    text = small.read_text()
    assert text.startswith("// " + says), text
    assert len(program_lines(text)) <= 15, text
    # The program alone fails in the same way.
    if name == "DefectThrows":
        again = relay("opt", small, "--plugin", plugin, "--passes", name)
        assert again.returncode == 70 and "erf of something" in again.stderr


def test_executors(plugin, tmp_path):
    source = long_program(tmp_path, "defect.halve({a})")
    done = relay("reduce", source, "--plugin", plugin, "--executors", "--arg", "c=True", "--try-time", 60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("// the machine gives another result: element "), done.stdout
    assert "// relay reduce FILE --executors" in done.stdout
    lines = program_lines(done.stdout)
    assert len(lines) <= 15 and any("defect.halve(" in line for line in lines), done.stdout
    # As the head of the result says it.
    small = tmp_path / "small.rly"
    small.write_text(done.stdout)
    command = shlex.split(done.stdout.split("\n")[1].removeprefix("// relay reduce FILE"))
    again = relay("reduce", small, "--plugin", plugin, *command, "--max-tries", 1)
    assert again.returncode == 0, again.stderr


def test_a_failing_pass_says_the_command(plugin, tmp_path):
    source = long_program(tmp_path, "erf({a})")
    done = relay("opt", source, "--plugin", plugin, "--passes", "InferType,DefectThrows")
    assert done.returncode == 70
    help_line = done.stderr.strip().split("\n")[-1]
    assert help_line == f"help: relay reduce {quote(source)} --plugin {quote(plugin)} --pass InferType,DefectThrows makes it smaller first"
    command = shlex.split(help_line.removeprefix("help: relay ").removesuffix(" makes it smaller first"))
    assert relay(*command).returncode == 0


def test_interrupt_keeps_what_is_there(tmp_path):
    source = long_program(tmp_path, "cos({a})")
    small = tmp_path / "small.rly"
    tries = tmp_path / "tries"
    command = [RELAY, "reduce", str(source), "--command", f"echo >> {quote(tries)}; sleep 0.05; ! grep -q cos {{}}", "-o", str(small)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 60
    while not tries.exists() or tries.stat().st_size < 5:  # it has begun, and is far from its end
        assert time.monotonic() < end
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "warning: interrupted: it may become smaller still" in errors
    assert relay("check", small).returncode == 0


def test_passes_are_checked_by_runs(plugin, tmp_path):
    path = tmp_path / "program.rly"
    path.write_text("def @main(%x: Tensor[(3), float32]) { ceil(%x + %x) }\n")
    done = relay("--plugin", plugin, "opt", "--verify-each=run", "--passes", "InferType,DefectDiffers", path)
    assert done.returncode == 70
    assert "pass DefectDiffers changed what the program computes: element " in done.stderr
    assert done.stderr.count("internal error") == 1
    assert f"help: relay reduce {quote(path)}" in done.stderr and "--pass InferType,DefectDiffers" in done.stderr
    # The parts that --verify-each looks at without runs are right.
    assert relay("--plugin", plugin, "opt", "--verify-each", "--passes", "DefectDiffers", path).returncode == 0


@pytest.mark.parametrize("passes", [["--level", "4"], ["--passes", "ToANormalForm,ToGraphNormalForm"]])
def test_passes_that_keep_results_pass(tmp_path, passes):
    path = tmp_path / "program.rly"
    path.write_text("def @main(%x: Tensor[(3), float32]) { let %y = %x + 0f; (%y * %y, nn.softmax(%x)) }\n")
    done = relay("opt", "--verify-each=run", *passes, path)
    assert done.returncode == 0 and done.stderr == ""


def test_programs_that_cannot_be_run_are_said_once(tmp_path):
    path = tmp_path / "program.rly"
    path.write_text("def @main(%f: fn(float32) -> float32, %x: float32) { %f(%x + 0f) + 0f }\n")
    done = relay("opt", "--verify-each=run", "--level", "3", path)
    assert done.returncode == 0
    assert done.stderr.count("passes were not checked by runs of the program: no values are known for its parameters") == 1


def test_an_unknown_way_to_check_is_refused(tmp_path):
    done = relay("opt", "--verify-each=all", "--level", "3", tmp_path / "none.rly")
    assert done.returncode == 2 and "--verify-each" in done.stderr and "takes nothing or run, not all" in done.stderr


def test_a_wrong_rule_is_blamed_by_its_name(tmp_path):
    path, rules = tmp_path / "program.rly", tmp_path / "mine.rules"
    path.write_text("def @main(%x: Tensor[(3), float32]) { tanh(exp(%x * 1f)) + exp(%x) }\n")
    rules.write_text("rule one: %x * 1 => %x;\nrule hyperbolic: tanh(exp(%x)) => %x;\n")
    done = relay("opt", "--verify-each=run", "--rewrite", rules, path)
    assert done.returncode == 1 and "internal error" not in done.stderr
    assert "error: rule `hyperbolic` changes what the program computes" in done.stderr
    assert "mine.rules:2:6" in done.stderr and "program.rly:1:39" in done.stderr
    rules.write_text("rule one: %x * 1 => %x;\n")
    assert relay("opt", "--verify-each=run", "--rewrite", rules, path).returncode == 0


@pytest.mark.parametrize("passes", ["ToCPS", "ToMixedPrecision", "ToCPS,UnCPS"])
def test_passes_that_change_the_signature_are_compared(tmp_path, passes):
    path = tmp_path / "program.rly"
    path.write_text("def @main(%x: Tensor[(3, 4), float32], %w: Tensor[(2, 4), float32]) { nn.relu(nn.dense(%x, %w)) }\n")
    done = relay("opt", "--verify-each=run", "--passes", passes, path)
    assert done.returncode == 0 and "internal error" not in done.stderr


def test_other_parameters_are_not_compared(tmp_path):
    path = tmp_path / "program.rly"
    path.write_text("def @main(%x: Tensor[(3, 4), float32], %w: Tensor[(4, 2), float32]) { nn.dense(%x, transpose(%w)) }\n")
    done = relay("opt", "--verify-each=run", "--passes", "SimplifyFCTranspose(target_weight_name=[w])", path)
    assert done.returncode == 0
    assert "passes were not checked by runs of the program: pass SimplifyFCTranspose changes the signature" in done.stderr
