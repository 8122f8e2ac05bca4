"""Tests of scripts/check_layers.py on trees that keep and break each rule."""

import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import check_layers  # noqa: E402


@pytest.fixture
def problems(tmp_path):
    def check(**files):
        for name, text in files.items():
            path = tmp_path / name.replace("__", "/").replace("_cpp", ".cpp").replace("_h", ".h")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return check_layers.check(tmp_path)[0]

    return check


HEADER = "#pragma once\n"


def test_a_later_layer_includes_an_earlier_one(problems):
    assert problems(relay__ir__a_h=HEADER, relay__infer__b_cpp="#include <relay/ir/a.h>\n#include <vector>\n") == []


def test_an_earlier_layer_must_not_include_a_later_one(problems):
    found = problems(relay__infer__a_h=HEADER, relay__ir__b_cpp="int x;\n#include <relay/infer/a.h>\n")
    assert found == ["relay/ir/b.cpp:2: ir must not include infer (relay/infer/a.h)"]


@pytest.mark.parametrize("user, allowed", [("runtime", False), ("vm/machine", False), ("vm/compiler", True)])
def test_the_runtime_knows_no_compiler(problems, user, allowed):
    found = problems(relay__ir__a_h=HEADER, **{f"relay/{user}/b.cpp": "#include <relay/ir/a.h>\n"})
    assert (found == []) == allowed


@pytest.mark.parametrize("user, allowed", [("runtime", False), ("ir", False), ("vm/machine", True), ("vm/compiler", True), ("reduce", True)])
def test_the_machine_belongs_to_the_runtime(problems, user, allowed):
    found = problems(relay__vm__machine__a_h=HEADER, **{f"relay/{user}/b.cpp": "#include <relay/vm/machine/a.h>\n"})
    assert (found == []) == allowed


def test_the_machine_includes_the_runtime(problems):
    assert problems(relay__runtime__a_h=HEADER, relay__vm__machine__b_cpp="#include <relay/runtime/a.h>\n") == []


@pytest.mark.parametrize(
    "files, message",
    [
        ({"relay__ir__a_cpp": '#include "b.h"\n'}, "path from the root"),
        ({"relay__ir__a_cpp": "#include <relay/ir/gone.h>\n"}, "there is no relay/ir/gone.h"),
        ({"relay__other__a_cpp": "\n"}, "this folder is no layer"),
        ({"tests__a_h": HEADER, "relay__ir__a_cpp": "#include <tests/a.h>\n"}, "includes only relay/"),
        ({"relay__ir__a_h": "int x;\n"}, "#pragma once"),
        ({"tools__a_cpp": "// TO" + "DO: later\n"}, "do it, or write an issue"),
        ({"docs/a.md": "FIX" + "ME\n"}, "do it, or write an issue"),
    ],
)
def test_broken_rules_are_reported(problems, files, message):
    found = problems(**files)
    assert len(found) == 1 and message in found[0]


def test_long_files_are_warnings_only(tmp_path):
    (tmp_path / "relay" / "ir").mkdir(parents=True)
    (tmp_path / "relay" / "ir" / "a.cpp").write_text("\n" * 601)
    assert check_layers.check(tmp_path) == ([], ["relay/ir/a.cpp: 601 lines (is it one subject?)"])


def test_exit_status(tmp_path):
    script = [sys.executable, str(ROOT / "scripts" / "check_layers.py"), str(tmp_path)]
    assert subprocess.run(script, capture_output=True).returncode == 0
    (tmp_path / "relay" / "ir").mkdir(parents=True)
    (tmp_path / "relay" / "ir" / "a.h").write_text("int x;\n")
    assert subprocess.run(script, capture_output=True).returncode == 1


def test_the_build_has_the_same_layers():
    text = (ROOT / "cmake" / "Layers.cmake").read_text()
    listed = re.search(r"set\(RELAY_LAYERS([^)]*)\)", text)[1].split()
    assert listed == check_layers.LAYERS
