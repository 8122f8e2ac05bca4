"""An operator declared outside of the tree: compiled by the command that examples/plugin shows, loaded, run."""

import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RELAY = os.environ.get("RELAY_BIN", str(ROOT / "build/bin/relay"))
EXAMPLE = ROOT / "examples/plugin"
HEADER = "#include <relay/op/registry/plugin.h>\n"


def compiled(source, folder):
    library = folder / (source.stem + ".so")
    command = ["c++", "-std=c++20", "-O1", "-fPIC", "-shared", "-I", str(ROOT), str(source), "-o", str(library)]
    subprocess.run(command, check=True)
    return library


def relay(*words):
    return subprocess.run([RELAY, *map(str, words)], capture_output=True, text=True)


@pytest.fixture(scope="module")
def cube(tmp_path_factory):
    return compiled(EXAMPLE / "cube.cpp", tmp_path_factory.mktemp("plugin"))


@pytest.mark.parametrize("executor", ["vm", "eval"])
def test_runs_in_both_executors(cube, executor):
    done = relay("run", "--plugin", cube, EXAMPLE / "cube.rly", "--arg", "[1, 2, -3]", "--executor", executor)
    assert (done.returncode, done.stdout) == (0, "[0.0, 3.0, 0.0]\n: Tensor[(3), float32]\n"), done.stderr


def test_fuses_with_operators_of_the_tree(cube):
    done = relay("opt", "--plugin", cube, EXAMPLE / "cube.rly", "--passes", "InferType,FuseOps")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Primitive=1") == 1 and "example.cube(" in done.stdout, done.stdout


def test_model_file_needs_no_plugin(cube, tmp_path):
    model = tmp_path / "cube.rlx"
    assert relay("compile", "--plugin", cube, EXAMPLE / "cube.rly", "-o", model).returncode == 0
    assert relay("run", model, "--arg", "[1, 2, -3]").stdout.startswith("[0.0, 3.0, 0.0]")


def test_is_told_like_any_other(cube):
    done = relay("ops", "--plugin", cube, "example.cube")
    assert "scale times the third power" in done.stdout and "27.0]" in done.stdout


def test_its_signature_is_enforced(cube, tmp_path):
    program = tmp_path / "bad.rly"
    program.write_text("fn (%x: Tensor[(2), int32]) { example.cube(%x) }")
    done = relay("check", "--plugin", cube, program)
    assert done.returncode == 1
    assert "error[T2]: example.cube: data needs a floating-point dtype, found Tensor[(2), int32]" in done.stderr


def test_without_it_the_name_is_unknown():
    done = relay("check", EXAMPLE / "cube.rly")
    assert done.returncode == 1 and "example.cube" in done.stderr


@pytest.mark.parametrize(
    "body, message",
    [
        ("int answer() { return 42; }", "it has no RELAY_PLUGIN()"),
        ('RELAY_PLUGIN() { relay::declare_op("add"); }', "operator declared twice: add"),
        (
            'extern "C" int relay_plugin_abi() { return 0; } extern "C" void relay_plugin() {}',
            "was compiled for interface 0",
        ),
    ],
)
def test_refusals(tmp_path, body, message):
    source = tmp_path / "other.cpp"
    source.write_text(HEADER + body + "\n")
    done = relay("check", "--plugin", compiled(source, tmp_path), EXAMPLE / "cube.rly")
    assert done.returncode == 1 and message in done.stderr, done.stderr


def test_no_library(tmp_path):
    text = tmp_path / "text.so"
    shutil.copy(EXAMPLE / "cube.rly", text)
    for path in (text, tmp_path / "missing.so"):
        done = relay("check", "--plugin", path, EXAMPLE / "cube.rly")
        assert done.returncode == 1 and "cannot load the plug-in" in done.stderr, done.stderr
