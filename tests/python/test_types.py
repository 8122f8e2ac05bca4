"""Type annotations: the package, and a program of a user, under the strict modes of mypy and basedpyright."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import docs_blocks
import relay

PROGRAM = """
import numpy as np
import relay
from relay import instrument, transform

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
multiply: relay.Op = relay.op.get("multiply")
described: list[str] = [multiply.name, relay.op.describe("add")]


def halve(e: relay.Expr) -> relay.Expr | None:
    if isinstance(e, relay.Call) and e.op is multiply:
        return relay.multiply(e.args[0], relay.const(0.5))
    return None


@transform.function_pass(opt_level=1)
def Halve(func: relay.Function, mod: relay.IRModule, ctx: transform.PassContext) -> relay.Function:
    return func.with_body(relay.rewrite(func.body, halve))


@transform.module_pass(opt_level=1, name="Same")
def same(mod: relay.IRModule, ctx: transform.PassContext) -> relay.IRModule:
    return mod


@transform.function_pass(opt_level=1)
class Rename(transform.FunctionPass):
    def __init__(self, old: str) -> None:
        self.old = old

    def transform_function(self, func: relay.Function, mod: relay.IRModule, ctx: transform.PassContext) -> relay.Function:
        return func


passes: relay.transform.Pass = transform.Sequential([Halve, same, Rename("x"), transform.FoldConstant()])
timing = instrument.PassTimingInstrument()
with transform.PassContext(opt_level=3, instruments=[timing], config={"relay.FuseOps.max_depth": 8}):
    halved: relay.IRModule = Rename("y")(passes(mod))
table: str = timing.render()


@instrument.pass_instrument
class Watch:
    def run_before_pass(self, mod: relay.IRModule, info: transform.PassInfo) -> None:
        print(info.name)


def interesting(candidate: relay.IRModule) -> bool:
    return "relu" in str(candidate)


smaller: relay.IRModule = relay.reduce(mod, interesting, max_tries=3).mod
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

    # Without PyTorch, Ray, and the packages of a server, nothing is known of their classes.
    config = tmp_path / "mypy.ini"
    config.write_text(
        "[mypy]\n[mypy-relay.frontend.torch.*]\nignore_errors = True\n[mypy-relay.serve.*,relay.ray.*]\ndisallow_subclassing_any = False\nwarn_unused_ignores = False\n"
        "[mypy-uvicorn.*,uvloop.*,orjson.*,httptools.*,ray.*,pyarrow.*,cloudpickle.*]\nignore_missing_imports = True\n"
    )

    def mypy(*args):
        command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--config-file", str(config), "--cache-dir", str(tmp_path / "cache"), *args]
        return subprocess.run(command, capture_output=True, text=True, cwd=root, timeout=600)

    done = mypy("-p", "relay", "-p", "tvm")
    assert done.returncode == 0, done.stdout
    done = mypy(str(path))
    assert done.returncode == 0, done.stdout
    done = mypy(str(wrong))
    assert done.stdout.count("error:") == 2, done.stdout


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_code_of_the_guides_is_well_typed(tmp_path):
    """As strictly as code without annotations allows; each document's blocks are one program."""
    # PyTorch, which one of them is about, need not be there. Another one has names of extents in annotations, which mypy takes for types. The package tvm gives
    # classes of Relay the members that they have in TVM as it is imported, which mypy does not see.
    guides = sorted(path for path in (docs_blocks.ROOT / "docs" / "guides").glob("*.md") if path.name not in ("pytorch.md", "language-models.md", "functions.md", "many-machines.md", "from-tvm.md"))
    documents = [*guides, docs_blocks.ROOT / "docs" / "python.md",
                 docs_blocks.ROOT / "docs" / "operators-from-python.md"]  # fmt: skip
    programs = []
    for document in documents:
        code = [block.code for block in docs_blocks.blocks(document) if block.language == "python"]
        programs.append(tmp_path / f"{document.stem.replace('-', '_')}_code.py")
        programs[-1].write_text("\n".join(code))
    root = Path(relay.__file__).absolute().parent.parent
    environment = dict(os.environ, MYPYPATH="" if root.name == "site-packages" else str(root))
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--allow-untyped-defs", "--allow-untyped-calls",
               "--allow-incomplete-defs", "--disable-error-code", "no-redef", "--no-error-summary", *map(str, programs)]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=600)
    assert done.returncode == 0, done.stdout


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
