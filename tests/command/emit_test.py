"""The kernels that `relay opt --emit` prints are modules that LLVM's own tools take."""

import os
import re
import shutil
import subprocess

import pytest

RELAY = os.environ["RELAY_BIN"]
LLC = shutil.which("llc-19", path=os.environ["PATH"] + ":/usr/lib/llvm-19/bin")
PROGRAM = """\
def @main(%x: Tensor[(n, 3), float32], %w: Tensor[(2, 3), float32], %k: Tensor[(5), int8]) {
  (nn.softmax(nn.dense(%x, %w)), tanh(%x), topk(%k, k=2), cumsum(%x, axis=0), nn.max_pool2d(reshape(%w, newshape=[1, 1, 2, 3]), pool_size=[2, 2]))
}
"""


def emit(path, form, *words):
    done = subprocess.run([RELAY, "opt", f"--emit={form}", str(path), *words], capture_output=True, text=True, check=True)
    return done.stdout


@pytest.fixture(name="program")
def fixture_program(tmp_path):
    path = tmp_path / "program.rly"
    path.write_text(PROGRAM)
    return path


def kernel_names(program):
    names = re.findall(r"^; (\w+), \w+", emit(program, "llvm"), re.M)
    assert len(names) > 2
    return names


def test_a_kernel_alone(program):
    whole = emit(program, "llvm")
    parts = [emit(program, "llvm", "--kernel", name) for name in kernel_names(program)]
    assert "\n".join(parts) == whole
    assert all(part.count("define dso_local i32 @kernel(") == 1 for part in parts)


@pytest.mark.parametrize("target", ["baseline", "avx512"])
def test_llc_takes_each_module(program, tmp_path, target):
    if LLC is None:
        pytest.skip("llc-19 is not installed (Debian: llvm-19)")
    for name in kernel_names(program):
        module = tmp_path / "kernel.ll"
        module.write_text(emit(program, "llvm", "--kernel", name, "--target", target))
        subprocess.run([LLC, "-filetype=obj", str(module), "-o", str(tmp_path / "kernel.o")], check=True)


def test_an_assembler_takes_each_kernel(program, tmp_path):
    if shutil.which("as") is None:
        pytest.skip("as is not installed (Debian: binutils)")
    for name in kernel_names(program):
        module = tmp_path / "kernel.s"
        module.write_text(emit(program, "asm", "--kernel", name))
        subprocess.run(["as", str(module), "-o", str(tmp_path / "kernel.o")], check=True)
