"""The installed wheels: what is in them, what they show to other libraries, where they stand in each other's way.

`make test-wheel` runs this with RELAY_WHEELS, the folder that has them.
"""

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import relay

WHEELS = Path(os.environ["RELAY_WHEELS"])
PACKAGE = Path(relay.__file__).resolve().parent
CORE = Path(relay._core.__file__)
# The libraries that manylinux_2_36 promises, and those in the wheel itself.
SYSTEM = {"libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2", "libpthread.so.0", "libdl.so.2", "librt.so.1"}
TAG = f"cp{sys.version_info[0]}{sys.version_info[1]}"


def python(text, **environment):
    return subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=300, env={**os.environ, **environment}
    )


def wheel():
    (found,) = WHEELS.glob(f"relay_lang-*-{TAG}-{TAG}-*.whl")
    return found


def test_is_what_is_tested():
    assert "site-packages" in PACKAGE.parts
    assert importlib.metadata.version("relay-lang") == importlib.metadata.version("relay-lang-tvm") == relay.__version__
    assert importlib.metadata.requires("relay-lang-tvm") == [f"relay-lang=={relay.__version__}", "cloudpickle>=2.2"]


def test_needs_numpy_alone():
    assert [re.split(r"[<>=]", requirement)[0] for requirement in importlib.metadata.requires("relay-lang") or []] == ["numpy"]


def test_is_for_every_linux_of_that_age():
    assert wheel().name.endswith("-manylinux_2_36_x86_64.whl")


def test_holds_the_package_and_nothing_else():
    names = zipfile.ZipFile(wheel()).namelist()
    assert {name.split("/")[0] for name in names} == {"relay", f"relay_lang-{relay.__version__}.dist-info"}
    assert {"relay/py.typed", "relay/_core.pyi", "relay/_cli.py", "relay/op/tensor.py"} <= set(names)
    assert any(name.endswith("/LICENSE") for name in names)
    assert {f"relay/licenses/{part}.txt" for part in ("llvm-19-dev", "nanobind", "libfmt-dev", "libzstd-dev")} <= set(names)
    assert not [name for name in names if name.endswith((".pyc", ".cpp", ".h", ".a")) or "__pycache__" in name]
    libraries = [name for name in names if ".so" in name]
    assert len(libraries) == 1, libraries


def test_size():
    assert wheel().stat().st_size < 25e6
    assert sum(info.file_size for info in zipfile.ZipFile(wheel()).infolist()) < 60e6


@pytest.mark.skipif(shutil.which("nm") is None or shutil.which("readelf") is None, reason="no binutils")
def test_shows_one_symbol():
    symbols = subprocess.run(["nm", "-D", "--defined-only", str(CORE)], capture_output=True, text=True, check=True).stdout
    assert [line.split()[-1] for line in symbols.splitlines()] == ["PyInit__core"]
    needed = re.findall(r"NEEDED.*\[(.*)\]", subprocess.run(["readelf", "-d", str(CORE)], capture_output=True, text=True, check=True).stdout)
    assert [name for name in needed if name not in SYSTEM] == []


def test_loads_nothing_from_elsewhere():
    """With a program compiled and run, the libraries in memory are the wheel's, Python's, NumPy's and the system's."""
    done = python(
        """
import numpy as np, relay
x = relay.var("x", shape=(64, 64))
relay.compile(relay.IRModule.from_expr(relay.Function([x], relay.nn.dense(relay.tanh(x), x))))(np.ones((64, 64), "float32"))
print(*{line.split()[-1] for line in open("/proc/self/maps") if ".so" in line}, sep="\\n")
"""
    )
    assert done.returncode == 0, done.stderr
    for name in ("LLVM", "dnnl", "fmt", "spdlog", "onnx", "protobuf"):
        assert f"lib{name}" not in done.stdout


def test_import_is_quick():
    text = "import time; s = time.process_time(); import relay; print(time.process_time() - s)"
    assert min(float(python(text).stdout) for _ in range(5)) < 0.15


def test_command(tmp_path):
    script = Path(sys.executable).with_name("relay")
    program = tmp_path / "program.rly"
    program.write_text("def @main(%x: Tensor[(2), float32]) { %x * 2f + 1f }\n")
    done = subprocess.run([script, "compile", program, "-o", tmp_path / "program.rlx"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    done = subprocess.run([script, "run", tmp_path / "program.rlx", "--arg", "[0, 1]"], capture_output=True, text=True, timeout=120)
    assert done.stdout == "[1.0, 3.0]\n: Tensor[(2), float32]\n", done.stderr
    done = subprocess.run([script, "--version"], capture_output=True, text=True, timeout=120)
    assert done.stdout == f"relay {relay.__version__}\n"


def test_a_second_copy(tmp_path):
    """The copy that comes first on the path is the one that is imported, whole: module, version and extension of one copy."""
    shutil.copytree(PACKAGE, tmp_path / "relay", symlinks=True)
    text = "import relay; print(relay.__file__, relay._core.__file__, relay.__version__, sep='\\n'); x = relay.var('x'); import relay.transform"
    done = python("import sys; " + text, PYTHONPATH=str(tmp_path))
    assert done.returncode == 0, done.stderr
    file, core, version = done.stdout.splitlines()
    assert Path(file).parent == Path(core).parent == tmp_path / "relay" and version == relay.__version__


def make_tvm(folder):
    (folder / "tvm").mkdir(parents=True)
    (folder / "tvm" / "__init__.py").write_text("real = True\n")


def test_tvm_by_name():
    done = python("import tvm; from tvm import relay; print(tvm.__file__, relay.var('x', shape=(1,)))")
    assert done.returncode == 0 and "site-packages" in done.stdout, done.stderr


def test_tvm_refuses_to_hide_a_folder(tmp_path):
    make_tvm(tmp_path)
    done = python(f"import sys; sys.path.append({str(tmp_path)!r}); import tvm")
    assert done.returncode == 1
    assert "ImportError: this package tvm gives TVM's names to the package relay, and there is another one in" in done.stderr
    assert str(tmp_path / "tvm") in done.stderr
    # One that comes first is the one that is imported.
    done = python("import tvm; print(tvm.real)", PYTHONPATH=str(tmp_path))
    assert done.stdout == "True\n", done.stderr


def test_tvm_refuses_to_hide_a_distribution(tmp_path):
    (tmp_path / "apache_tvm-0.14.0.dist-info").mkdir()
    (tmp_path / "apache_tvm-0.14.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: apache-tvm\nVersion: 0.14.0\n")
    done = python("import tvm", PYTHONPATH=str(tmp_path))
    assert done.returncode == 1
    assert "apache-tvm 0.14.0 is installed as well" in done.stderr
    # Relay itself does not mind.
    assert python("import relay", PYTHONPATH=str(tmp_path)).returncode == 0
