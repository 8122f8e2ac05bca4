"""Type annotations of the package `tvm`: a script that is checked strictly has no error because of it."""

import importlib
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import names
import tvm
from tvm._absent import AbsentModule

SCRIPT = """
import numpy as np
import tvm
from tvm import relay
from tvm.contrib import graph_executor

x = relay.var("x", shape=(1, 4))
w = relay.var("w", shape=(3, 4))
mod = tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.relu(relay.nn.dense(x, w))))
with tvm.transform.PassContext(opt_level=3):
    lib = relay.build(mod, target="llvm", params={"w": tvm.nd.array(np.ones((3, 4), "float32"))})
module = graph_executor.GraphModule(lib["default"](tvm.cpu(0)))
module.set_input("x", np.ones((1, 4), "float32"))
module.run()
print(module.get_output(0).numpy())
"""


def names_as_script() -> str:
    """An import of each module of the table, and a line for each name that works."""
    modules, lines = set(), []
    for name, kind, signature in names.rows():
        if names.judge(name, kind, signature)[0] != "works":
            continue
        full = name if name.split(".")[0] == "tvm" else "tvm." + name
        if isinstance(names.resolve(full.rpartition(".")[0] or full), AbsentModule):  # no file that mypy could read
            continue
        module = full
        while not found(module):
            module = module.rpartition(".")[0]
        modules.add(module)
        lines.append(full)
    assert len(lines) >= 600
    return "".join(f"import {module}\n" for module in sorted(modules)) + "\n".join(lines) + "\n"


def found(module: str) -> bool:
    try:
        return not isinstance(importlib.import_module(module), AbsentModule)
    except ImportError:
        return False


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_scripts_are_strictly_typed(tmp_path):
    assert (Path(tvm.__file__).parent / "py.typed").exists()
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "all_names.py").write_text(names_as_script())
    (tmp_path / "wrong.py").write_text("import tvm\ntvm.cpu(0).nothing\ntvm.relay.build_module.build()\n")
    root = Path(tvm.__file__).absolute().parent.parent
    environment = dict(os.environ, MYPYPATH="" if root.name == "site-packages" else str(root))
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--no-error-summary", "script.py", "all_names.py", "wrong.py"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=600)
    errors = [line for line in (done.stdout + done.stderr).splitlines() if "error:" in line]
    assert [line.split(":")[:2] for line in errors] == [["wrong.py", "2"], ["wrong.py", "3"]], errors
