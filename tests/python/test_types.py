"""Type annotations: the package, and a program of a user, under the strict modes of mypy and basedpyright."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

import relay

PROGRAM = """
import numpy as np
import relay

x = relay.var("x", shape=(1, 3, 8, 8))
w = relay.const(np.ones((4, 3, 3, 3), "float32"))
y = relay.nn.relu(relay.nn.conv2d(x, w, strides=2, padding=1) * 2.0 + 1.0)
first, second = relay.split(y, 2, axis=1)
mod = relay.IRModule.from_expr(relay.Function([x], relay.add(first, second)))
names: list[str] = [var.name_hint for var in mod.get_global_vars()]


class Count(relay.ExprVisitor):
    calls = 0

    def visit_call(self, call: relay.Call) -> None:
        self.calls += len(call.args)
        super().visit_call(call)


program: relay.Executable = relay.compile(mod)
try:
    relay.check(mod)
except relay.RelayError as error:
    places: list[int] = [diagnostic.span.line for diagnostic in error.diagnostics]
"""


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_strictly_typed(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import relay\nrelay.nn.conv2d(1.0, 2.0, groups='two')\nrelay.var(3)\n")
    # An installed package is found by itself; what lies beside it would be taken for the user's own.
    root = Path(relay.__file__).absolute().parent.parent
    if root.name == "site-packages":
        root = tmp_path

    def mypy(*args):
        command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", str(tmp_path / "cache"), *args]
        return subprocess.run(command, capture_output=True, text=True, cwd=root, timeout=600)

    done = mypy("-p", "relay")
    assert done.returncode == 0, done.stdout
    done = mypy(str(path))
    assert done.returncode == 0, done.stdout
    done = mypy(str(wrong))
    assert done.stdout.count("error:") == 2, done.stdout


@pytest.mark.skipif(importlib.util.find_spec("basedpyright") is None, reason="basedpyright is not installed")
def test_strictly_typed_for_pyright(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "wrong.py").write_text("import relay\nrelay.nn.conv2d(1.0, 2.0, groups='two')\nrelay.var(3)\n")
    root = Path(relay.__file__).absolute().parent.parent

    def pyright(name):
        config = tmp_path / f"{name}.json"
        config.write_text(json.dumps({"typeCheckingMode": "strict", "include": [f"{name}.py"], "extraPaths": [str(root)], "pythonVersion": "3.10"}))
        command = [sys.executable, "-m", "basedpyright", "-p", str(config), "--pythonpath", sys.executable, "--outputjson"]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=600)
        return json.loads(done.stdout)["generalDiagnostics"]

    assert pyright("program") == []
    assert [(found["severity"], found["range"]["start"]["line"]) for found in pyright("wrong")] == [("error", 1), ("error", 2)]


def test_the_program_of_the_test_runs():
    exec(compile(PROGRAM, "program.py", "exec"), {"__name__": "program"})


def test_the_extension_module_has_stubs():
    root = Path(relay.__file__).parent
    assert (root / "py.typed").exists()
    stubs = (root / "_core.pyi").read_text()
    compile(stubs, "_core.pyi", "exec")
    for cls in ("Expr", "Call", "IRModule", "Executable", "RelayError"):
        assert f"class {cls}" in stubs
