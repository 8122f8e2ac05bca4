"""`relay new-pass`: what it writes compiles, runs and passes its own test; nothing is written over."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RELAY = os.environ.get("RELAY_BIN", str(ROOT / "build/bin/relay"))


def new_pass(*words, **more):
    return subprocess.run([RELAY, "new-pass", *map(str, words)], capture_output=True, text=True, **more)


@pytest.fixture
def checkout(tmp_path):
    for folder in ("relay/transform", "tests/transform"):
        (tmp_path / folder).mkdir(parents=True)
    return tmp_path


def test_both_kinds_in_cpp_compile_and_run(checkout):
    assert new_pass("HTMLToText2", "--doc", 'Says "a\\b".', cwd=checkout).stdout == (
        "relay/transform/html_to_text2.cpp\ntests/transform/html_to_text2.rly\n"
    )
    assert new_pass("Delete", "--plugin", "--folder", checkout).returncode == 0
    # The one registers itself from a static object, the other from the plug-in's function: one library has room for both.
    both = checkout / "both.cpp"
    both.write_text('#include "delete.cpp"\n#include "relay/transform/html_to_text2.cpp"\n')
    library = checkout / "both.so"
    subprocess.run(["c++", "-std=c++20", "-O0", "-fPIC", "-shared", "-I", str(ROOT), str(both), "-o", str(library)], check=True)
    listed = subprocess.run([RELAY, "--plugin", library, "opt", "--list"], capture_output=True, text=True, check=True).stdout
    assert 'Says "a\\b".' in listed and "Delete" in listed
    golden = (checkout / "tests/transform/html_to_text2.rly").read_text()
    for name in ("HTMLToText2", "Delete"):
        done = subprocess.run(
            [RELAY, "--plugin", library, "opt", "--passes", name, checkout / "tests/transform/html_to_text2.rly"],
            capture_output=True, text=True, check=True)  # fmt: skip
        assert done.stdout == golden.split("/* EXPECT\n")[1].split("*/")[0]


@pytest.mark.skipif(not (ROOT / "build/python/relay").is_dir(), reason="the Python package is not built")
@pytest.mark.parametrize("name", ["AddNothing", "If", "Relay"])
def test_python_passes_its_own_test(tmp_path, name):
    assert new_pass(name, "--python", "--folder", tmp_path).stdout.count("\n") == 2
    environment = dict(os.environ, PYTHONPATH=str(ROOT / "build/python"))
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", tmp_path], capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout


@pytest.mark.parametrize("taken", ["relay/transform/mine.cpp", "tests/transform/mine.rly"])
def test_nothing_is_written_over(checkout, taken):
    (checkout / taken).write_text("kept")
    done = new_pass("Mine", "--folder", checkout)
    assert done.returncode == 1 and f"{checkout / taken} exists already" in done.stderr
    assert (checkout / taken).read_text() == "kept"
    assert len([path for path in checkout.rglob("mine.*")]) == 1


def test_a_link_is_not_followed(checkout):
    (checkout / "tests/transform/mine.rly").symlink_to(checkout / "elsewhere")
    assert new_pass("Mine", "--folder", checkout).returncode == 1
    assert not (checkout / "elsewhere").exists()


@pytest.mark.parametrize(
    "words, code, says",
    [
        (["foldConstant"], 2, "NAME is written like FoldConstant"),
        (["../Up"], 2, "NAME is written like FoldConstant"),
        (["FoldConstant"], 2, "a pass FoldConstant exists already"),
        (["Mine", "--plugin", "--python"], 2, "--python and --plugin exclude each other"),
        (["Mine", "--doc", "two\nlines"], 2, "--doc is one line"),
        (["Mine"], 1, "there is no folder relay/transform in "),
        (["Mine", "--python", "--folder", "none"], 1, "cannot write none/mine_pass.py: No such file or directory"),
    ],
)
def test_refusals(tmp_path, words, code, says):
    done = new_pass(*words, cwd=tmp_path)
    assert done.returncode == code and says in done.stderr
    assert list(tmp_path.iterdir()) == []
