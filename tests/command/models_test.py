"""Real models (benchmarks/models) against what ONNX Runtime computed for them: from .onnx, from .rly and .npz, from .rlx."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/models"))
import samples  # noqa: E402
import zoo  # noqa: E402

RELAY = os.environ.get("RELAY_BIN", str(ROOT / "build/bin/relay"))
MODELS = pathlib.Path(RELAY).resolve().parents[1] / "models"
TOLERANCE = 1e-4  # of the range of each output


def relay(*arguments):
    result = subprocess.run([RELAY, *map(str, arguments)], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


def outputs_of(program, inputs, folder, *options):
    path = folder / "outputs.npz"
    relay("run", program, "--params", inputs, "--output", path, *options)
    with np.load(path) as stored:
        return [stored[name] for name in stored.files]


def agree(outputs, case):
    with np.load(samples.RECORDED / f"{case}.npz") as stored:
        found = samples.errors(outputs, dict(stored))
    assert max(found) <= TOLERANCE, found


@pytest.fixture
def ready(tmp_path):
    def make(case):
        model, dims = samples.CASES[case]
        path = zoo.materialised(model, MODELS)
        inputs = tmp_path / f"{case}-inputs.npz"
        np.savez(inputs, **zoo.inputs(model, path, dims))
        return path, inputs

    return make


@pytest.mark.parametrize("case", list(samples.CASES))
def test_agrees_with_what_was_recorded(case, ready, tmp_path):
    path, inputs = ready(case)
    agree(outputs_of(path, inputs, tmp_path), case)


@pytest.mark.parametrize("case", [case for case in samples.CASES if not case.startswith("lstm")])
def test_agrees_as_text_and_as_executable(case, ready, tmp_path):
    path, inputs = ready(case)
    text, weights, executable = tmp_path / "m.rly", tmp_path / "m.npz", tmp_path / "m.rlx"
    relay("import", path, "-o", text, "--params", weights)
    agree(outputs_of(text, inputs, tmp_path, "--params", weights), case)
    relay("compile", path, "-o", executable)
    agree(outputs_of(executable, inputs, tmp_path), case)


def test_one_executable_for_all_lengths(ready, tmp_path):
    executable = tmp_path / "lstm.rlx"
    for case in [case for case in samples.CASES if case.startswith("lstm")]:
        path, inputs = ready(case)
        if not executable.exists():
            relay("compile", path, "-o", executable)
        agree(outputs_of(executable, inputs, tmp_path), case)


@pytest.mark.parametrize("model", sorted({model for model, _ in samples.CASES.values()}))
def test_no_product_is_computed_in_loops(model):
    listing = relay("opt", "--emit=loops", zoo.materialised(model, MODELS))
    kernels = [line for line in listing.splitlines() if line.startswith("// ")]
    assert any(line.endswith(", contraction") for line in kernels)
    assert [line for line in kernels if "in loops" in line] == []
