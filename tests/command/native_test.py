"""relay compile, bench, --profile and runs of compiled models, as a user meets them. RELAY_BIN names the command."""

import json
import os
import pathlib
import signal
import subprocess
import time

import numpy as np
import pytest

TIMEOUT = 300  # seconds; a sanitizer build is slow
PROGRAM = """
def @main(%x: Tensor[(n, 5), float32], %weight: Tensor[(5, 5), float32]) {
  (nn.softmax(nn.dense(%x, %weight, units=None)), sum(%x, axis=[0]))
}
"""


def relay(*arguments, env=None):
    command = [os.environ["RELAY_BIN"], *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, env={**os.environ, **(env or {})})


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "program.rly").write_text(PROGRAM)
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "weights.npz", weight=rng.normal(size=(5, 5)).astype("float32"))
    np.save(tmp_path / "x.npy", rng.normal(size=(7, 5)).astype("float32"))
    return tmp_path


@pytest.fixture
def model(folder):
    done = relay("compile", folder / "program.rly", "--params", folder / "weights.npz", "-o", folder / "model.rlx")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return folder / "model.rlx"


def results(path):
    return [array for _, array in sorted(np.load(path).items())]


def test_a_model_computes_what_the_reference_does(folder, model):
    argument = f"x=@{folder / 'x.npy'}"
    expected = relay("run", folder / "program.rly", "--params", folder / "weights.npz", "--arg", argument,
                     "--executor", "eval", "--output", folder / "eval.npz")
    assert expected.returncode == 0
    reference = results(folder / "eval.npz")
    runs = {}
    for threads in (1, 2):
        for target in ("baseline", "avx2", "avx2-vnni", "avx512", "avx512-vnni", "avx512-bf16", "avx512-amx", "aarch64", "host"):
            path = folder / f"{target}-{threads}.npz"
            done = relay("run", folder / "program.rly", "--params", folder / "weights.npz", "--arg", argument,
                         "--target", target, "--threads", threads, "--output", path)
            if "this machine" in done.stderr:  # it lacks that instruction set
                assert done.returncode == 1
                continue
            assert done.returncode == 0, done.stderr
            runs[target, threads] = results(path)
            for ours, theirs in zip(runs[target, threads], reference):
                np.testing.assert_allclose(ours, theirs, rtol=2e-6, atol=1e-7)
    assert ("baseline", 1) in runs or ("aarch64", 1) in runs
    for target, threads in runs:
        for one, other in zip(runs[target, threads], runs[target, 1]):
            assert one.tobytes() == other.tobytes(), "results depend on the number of threads"
    done = relay("run", model, "--arg", argument, "--output", folder / "model.npz")
    assert done.returncode == 0, done.stderr
    for ours, theirs in zip(results(folder / "model.npz"), reference):
        np.testing.assert_allclose(ours, theirs, rtol=2e-6, atol=1e-7)


def test_one_model_takes_every_extent(model):
    for rows in (0, 1, 3, 17, 58):
        done = relay("run", model, "--arg", f"ones({rows}, 5)", "--format", "json")
        assert done.returncode == 0, done.stderr
        value = json.loads(done.stdout)["value"]
        assert len(value[0]) == rows and value[1] == [rows] * 5


def test_bench_reports_json(model):
    done = relay("bench", model, "--arg", "random(3, 5)", "--runs", "20", "--threads", "1", "--format", "json")
    assert done.returncode == 0, done.stderr
    measured = json.loads(done.stdout)
    assert measured["runs"] == 20 and 0 < measured["min_ms"] <= measured["median_ms"]
    assert measured["load_ms"] > 0 and measured["peak_bytes"] > 1 << 20


def test_bench_says_what_it_chose(folder):
    take = folder / "take.rly"
    take.write_text("def @main(%x: Tensor[(n, 2), float32], %i: Tensor[(2), int64]) { take(%x, %i, axis=0) }")
    done = relay("bench", take, "--arg", "ones(3, 2)", "--arg", "[0, 1]", "--runs", "2")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("compiled for these extents; a file of relay compile leaves n open\n@main: ")
    done = relay("bench", take, "--arg", "i=[0, 1]", "--runs", "2", "--format", "json")
    measured = json.loads(done.stdout)
    assert measured["decided_extents"] == ["n"] and len(measured["made_up"]) == 1
    fails = folder / "fails.rly"
    fails.write_text("def @main(%x: Tensor[(2), float32], %i: int64) { (%x, 1i64 / (%i * 0i64)) }")
    note = "note: made up, since not given by --arg: %i: int64"
    for arguments, made_up in ((("--arg", "ones(2)"), True), (("--arg", "ones(2)", "--arg", "1"), False)):
        done = relay("bench", fails, *arguments)
        assert done.returncode == 3 and "division by zero" in done.stderr and (note in done.stderr) == made_up, done.stderr


def test_results_are_stored_under_their_names(folder):
    program = folder / "named.rly"
    for names, keys in (('"rows", "a/b:0"', {"rows", "a/b:0"}), ('"one"', {"output_0", "output_1"})):
        program.write_text(f"def @main(%x: Tensor[(2), float32], output_tensor_names=[{names}]) {{ (%x, sum(%x)) }}")
        model = folder / "named.rlx"
        assert relay("compile", program, "-o", model).returncode == 0
        for runs in ((program,), (program, "--executor", "eval"), (model,)):
            done = relay("run", *runs, "--arg", "[1, 2]", "--output", folder / "named.npz")
            assert done.returncode == 0, done.stderr
            assert set(np.load(folder / "named.npz")) == keys
    program.write_text('def @main(%x: Tensor[(2), float32], output_tensor_names=["twice x"]) { %x * 2f }')
    assert relay("compile", program, "-o", model).returncode == 0
    assert '\n  output "twice x": Tensor[(2), float32]\n' in relay("show", model).stdout
    shown = json.loads(relay("show", model, "--json").stdout)["functions"][0]
    assert shown["results"] == [{"name": "twice x", "type": "Tensor[(2), float32]"}]
    assert relay("run", model, "--arg", "[1, 2]", "--output", folder / "named.npz").returncode == 0
    assert np.load(folder / "named.npz")["twice x"].tolist() == [2, 4]


def test_profile_lists_kernels_and_writes_a_trace(folder, model):
    done = relay("run", model, "--arg", "random(3, 5)", "--profile")
    assert done.returncode == 0
    assert "softmax" in done.stderr and "contraction" in done.stderr and "GFLOP/s" in done.stderr
    done = relay("bench", model, "--arg", "random(3, 5)", "--runs", "4", f"--profile={folder / 'trace.json'}")
    assert done.returncode == 0
    events = json.loads((folder / "trace.json").read_text())["traceEvents"]
    assert len(events) >= 3 * 4 and all(event["ph"] == "X" and event["dur"] >= 0 for event in events)


def test_profile_predicts_kernels(folder, model, tmp_path):
    environment = {"RELAY_CACHE_DIR": str(tmp_path)}
    done = relay("run", model, "--arg", "random(3, 5)", "--threads", "1", "--profile", env=environment)
    assert done.returncode == 0
    header, *kernels = done.stderr.splitlines()
    assert header.split()[-3:] == ["predicted", "ratio", "source"]
    columns = [line.split()[8:10] for line in kernels if "fn (" in line]
    assert columns and all(float(ms) >= 0 and float(ratio) > 0 for ms, ratio in columns)
    # The first four measure, which the last figure counts; what is no measurement is measured anew.
    kept = tmp_path / "machine-1"
    known = kept.read_text()
    assert all(float(figure) >= 0 for figure in known.split()) and known.split()[-1] == "1"
    kept.write_text("\n".join([*known.split()[:-1], "4"]) + "\n")
    known = kept.read_text()
    relay("run", model, "--arg", "random(3, 5)", "--threads", "1", "--profile", env=environment)
    assert kept.read_text() == known
    kept.write_text("nan -1\n")
    assert relay("run", model, "--arg", "random(3, 5)", "--threads", "1", "--profile", env=environment).returncode == 0
    assert len(kept.read_text().split()) == len(known.split())


def test_profiles_need_no_measurement_of_the_machine(folder, tmp_path):
    (folder / "exp.rly").write_text("def @main(%x: Tensor[(50), float32]) { exp(%x) }\n")
    environment = {"RELAY_CACHE_DIR": str(tmp_path), "RELAY_MEMORY_LIMIT": "64000000"}
    done = relay("run", folder / "exp.rly", "--arg", "random(50)", "--threads", "2", "--profile", env=environment)
    assert done.returncode == 0
    note, header, kernel, *_ = done.stderr.splitlines()
    assert note == "note: no times are predicted, since this machine could not be measured"
    assert "predicted" in header and kernel.split()[8:10] == ["-", "-"]


def test_traces_have_predictions(folder, model):
    done = relay("bench", model, "--arg", "random(3, 5)", "--runs", "2", f"--profile={folder / 'predicted.json'}")
    assert done.returncode == 0
    events = json.loads((folder / "predicted.json").read_text())["traceEvents"]
    assert all(event["args"]["predicted_us"] > 0 for event in events)


def test_library_kernels_are_not_predicted(folder):
    (folder / "sort.rly").write_text("def @main(%x: Tensor[(50), float32]) { sort(%x) }\n")
    done = relay("run", folder / "sort.rly", "--arg", "random(50)", "--profile")
    assert done.returncode == 0
    assert [line.split()[8:10] for line in done.stderr.splitlines() if " library " in line] == [["-", "-"]]


def test_emit_shows_each_stage(folder):
    for stage, sign in (("loops", "vector i"), ("llvm", "define"), ("asm", "ret")):
        done = relay("opt", folder / "program.rly", "--emit", stage, "--target", "baseline")
        assert done.returncode == 0 and sign in done.stdout


def test_damaged_models_are_refused(folder, model):
    contents = model.read_bytes()
    damaged = folder / "damaged.rlx"
    for cut in (16, 100, len(contents) // 2, len(contents) - 1):
        damaged.write_bytes(contents[:cut])
        done = relay("run", damaged, "--arg", "ones(1, 5)")
        assert done.returncode == 1 and "cannot be loaded" in done.stderr, done.stderr
    for at in range(8, len(contents), max(1, len(contents) // 40)):
        damaged.write_bytes(contents[:at] + bytes([contents[at] ^ 0x41]) + contents[at + 1:])
        done = relay("run", damaged, "--arg", "ones(1, 5)")
        assert done.returncode == 1 and "error:" in done.stderr, done.stderr


def test_nothing_is_left_where_a_model_cannot_be_written(folder):
    full = relay("compile", folder / "program.rly", "-o", "/dev/full")
    assert full.returncode == 1 and "No space left" in full.stderr
    missing = relay("compile", folder / "program.rly", "-o", folder / "no" / "model.rlx")
    assert missing.returncode == 1 and "No such file" in missing.stderr
    old = folder / "old.rlx"
    old.write_text("as it was")
    (folder / "wrong.rly").write_text("def @main() { 1 + }")
    assert relay("compile", folder / "wrong.rly", "-o", old).returncode == 1
    assert old.read_text() == "as it was"
    assert sorted(path.suffix for path in folder.iterdir()) == [".npy", ".npz", ".rlx", ".rly", ".rly"]


def test_a_cache_that_cannot_be_used_is_no_obstacle(folder):
    blocked = folder / "file"
    blocked.write_text("")
    for cache in (blocked, "/proc/no-such-folder"):
        done = relay("run", folder / "program.rly", "--params", folder / "weights.npz", "--arg", "ones(2, 5)",
                     env={"RELAY_CACHE_DIR": str(cache)})
        assert done.returncode == 0, done.stderr


def test_damaged_cache_entries_are_rewritten(folder):
    cache = folder / "cache"
    command = ("run", folder / "program.rly", "--params", folder / "weights.npz", "--arg", f"x=@{folder / 'x.npy'}")
    env = {"RELAY_CACHE_DIR": str(cache)}
    first = relay(*command, env=env)
    assert first.returncode == 0
    entries = [path for path in cache.rglob("*") if path.is_file()]
    assert entries
    for path in entries:
        contents = bytearray(path.read_bytes())
        if contents:
            contents[len(contents) // 2] ^= 0xFF
        path.write_bytes(contents)
    second = relay(*command, env=env)
    assert (second.returncode, second.stdout) == (0, first.stdout)


def test_a_model_comes_from_standard_input(model):
    argument = ("--arg", "ones(2, 5)")
    command = [os.environ["RELAY_BIN"], "run", "-", *argument]
    done = subprocess.run(command, input=model.read_bytes(), capture_output=True, timeout=TIMEOUT)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode() == relay("run", model, *argument).stdout
    command = [os.environ["RELAY_BIN"], "check", "-"]
    done = subprocess.run(command, input=model.read_bytes(), capture_output=True, timeout=TIMEOUT)
    assert done.returncode == 1
    assert done.stderr.startswith(b"error: standard input is a compiled model; this needs the program's text")


@pytest.mark.parametrize("option", [("--target", "baseline"), ("--opt-level", "0"), ("--onednn",)])
@pytest.mark.parametrize("command", ["run", "bench"])
def test_a_model_takes_no_options_of_the_compiler(model, command, option):
    done = relay(command, model, "--arg", "ones(2, 5)", *option)
    assert (done.returncode, done.stdout) == (2, "")
    assert option[0] in done.stderr


def test_usage_errors(folder, model):
    for arguments in (("compile", folder / "program.rly"), ("bench",), ("run", model, "--threads", "0"),
                      ("run", model, "--executor", "eval"), ("opt", folder / "program.rly", "--emit", "c"),
                      ("run", folder / "program.rly", "--executor", "eval", "--profile")):
        assert relay(*arguments).returncode == 2
    wrong = relay("run", model, "--arg", "ones(2, 4)")
    assert wrong.returncode == 1 and "expected Tensor[(n, 5), float32]" in wrong.stderr
    target = relay("compile", folder / "program.rly", "--target", "sse9", "-o", folder / "x.rlx")
    assert target.returncode == 2 and "avx512" in target.stderr
    text = relay("check", model)
    assert text.returncode == 1 and "is a compiled model" in text.stderr


def test_profile_names_nodes_of_models():
    heads = pathlib.Path(__file__).parents[1] / "import" / "Inputs" / "heads.onnx"
    done = relay("run", heads, "--arg", "ones(1, 2)", "--profile")
    assert done.returncode == 0, done.stderr
    assert 'MatMul "project"' in done.stderr and 'Softmax "weights": fn' in done.stderr


def test_profile_does_not_take_the_program_for_a_file_to_write(folder):
    done = relay("run", "--profile", folder / "program.rly", "--arg", "ones(1, 5)", "--arg", "ones(5, 5)")
    assert done.returncode == 0, done.stderr
    assert (folder / "program.rly").read_text() == PROGRAM


CONDITIONS = [  # what a run has to refuse, with extents that only the run knows
    ("broadcast_to(%x, shape=[3, 4])", "(2, 4)"),
    ("split(%x, indices_or_sections=2, axis=0)", "(3, 4)"),
    ("split(%x, indices_or_sections=[2, 5], axis=0)", "(3, 4)"),
    ("reshape(%x, newshape=[2, -1])", "(3, 3)"),
    ("slice_like(%x, ones(shape=[4, 4], dtype=\"float32\"))", "(2, 4)"),
    ("%x + ones(shape=[4, 1], dtype=\"float32\")", "(3, 2)"),
    ("where(%x > 0f, ones(shape=[4, 1], dtype=\"float32\"), %x)", "(3, 2)"),
    ("strided_slice(%x, begin=[3], end=[1])", "(2, 3)"),
    ("topk(%x, k=5).0", "(3, 3)"),
    ("nn.max_pool2d(expand_dims(expand_dims(%x, axis=0), axis=0), pool_size=[3, 3])", "(2, 2)"),
    ("nn.conv1d(expand_dims(%x, axis=0), ones(shape=[4, 1, 2], dtype=\"float32\"), groups=2)", "(3, 3)"),
    ("nn.pad(%x, 0, pad_width=[[2, 2], [0, 0]], pad_mode=\"reflect\")", "(2, 3)"),
]


@pytest.mark.parametrize("expression, shape", CONDITIONS)
@pytest.mark.parametrize("dims", ["n, m", "?, ?"])
def test_models_check_what_relations_ask_of_extents(tmp_path, expression, shape, dims):
    program = tmp_path / "p.rly"
    program.write_text(f"def @main(%x: Tensor[({dims}), float32]) {{ {expression} }}")
    done = relay("compile", program, "-o", tmp_path / "p.rlx")
    assert done.returncode == 0, done.stderr
    done = relay("run", tmp_path / "p.rlx", "--arg", f"ones{shape}")
    assert done.returncode in (1, 3) and "error: " in done.stderr, done.stdout
    reference = relay("run", program, "--arg", f"ones{shape}", "--executor", "eval")
    assert reference.returncode in (1, 3)


def test_interruption_ends_a_run(folder):
    (folder / "loop.rly").write_text("def @main(%x: int32) -> int32 { @main(%x + 1) }")
    process = subprocess.Popen([os.environ["RELAY_BIN"], "run", folder / "loop.rly", "--arg", "1"],
                               stderr=subprocess.PIPE, text=True)
    for _ in range(600):  # until the run has begun to take interrupts
        time.sleep(0.1)
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        caught = int(next(line for line in status.splitlines() if line.startswith("SigCgt")).split()[1], 16)
        if caught & (1 << (signal.SIGINT - 1)):
            break
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130 and "interrupted" in errors


def test_code_for_instructions_that_the_processor_lacks(folder):
    arguments = [folder / "program.rly", "--params", folder / "weights.npz"]
    done = relay("compile", *arguments, "--target", "avx2", "-o", folder / "avx2.rlx")
    assert (done.returncode, done.stderr) == (0, "")
    argument = f"x=@{folder / 'x.npy'}"
    for missing in ("f16c", "lzcnt", "movbe"):
        env = {"RELAY_CPU_WITHOUT": missing}
        done = relay("run", folder / "avx2.rlx", "--arg", argument, env=env)
        assert done.returncode == 1
        assert "the program was compiled for avx2, which this machine cannot run: it has no " in done.stderr
        assert missing in done.stderr
        done = relay("run", *arguments, "--arg", argument, "--target", "avx2", env=env)
        assert done.returncode == 1 and missing in done.stderr
        # The best that is left.
        done = relay("run", *arguments, "--arg", argument, env=env)
        assert (done.returncode, done.stderr) == (0, "")
