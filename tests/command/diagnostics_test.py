"""Codes, rules, fixes and the JSON form of diagnostics."""

import json
import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RELAY = os.environ.get("RELAY_BIN", str(ROOT / "build/bin/relay"))

# Rules whose example gives an error of a more general rule, or none when the program is checked.
SEEN_AS = {"T3": "T2", "T5": "T2", "T6": "T2", "T8": "T2", "T12": "T1", "T15": "T1"}
WHEN_RUN = {"R1": "R1", "T17": "V1", "V1": "V1"}
# Programs that break these rules are too large to print, or are not text.
WITHOUT_EXAMPLE = {"S4", "T9", "E4"}


def relay(*words, text=None):
    return subprocess.run([RELAY, *map(str, words)], input=text, capture_output=True, text=True)


def diagnostics(*words, text=None):
    return [json.loads(line) for line in relay(*words, "--diagnostics=json", text=text).stderr.splitlines()]


CODES = [line.split()[0] for line in relay("explain").stdout.splitlines()]


@pytest.mark.parametrize("code", CODES)
def test_examples_of_rules(code):
    wrong = relay("explain", code, "--wrong").stdout
    right = relay("explain", code, "--right").stdout
    if code in WITHOUT_EXAMPLE:
        assert wrong == "" and right == ""
        return
    command = "run" if code in WHEN_RUN else "check"
    found = diagnostics(command, "-", text=wrong)
    assert [d["code"] for d in found] == [WHEN_RUN.get(code) or SEEN_AS.get(code, code)], wrong
    # The examples are about types: that of T12 would never end.
    how = [command] if code == "R1" else ["check", "--allow", "endless-recursion"]
    fine = relay(*how, "-", text=right)
    assert fine.returncode == 0 and fine.stderr == "", right + fine.stderr


def test_explain_shows_text_and_examples():
    shown = relay("explain", "t13").stdout
    assert shown.startswith("T13: ")
    assert "\nWrong:\n" in shown and "\nRight:\n" in shown
    unknown = relay("explain", "T99")
    assert unknown.returncode == 2 and "there is no rule T99" in unknown.stderr


def test_text_names_the_rule():
    shown = relay("check", "-", text="def @main(%x: int32) { %y }\n").stderr
    assert shown.startswith("error[N1]: unknown local name %y\n --> <stdin>:1:24\n")


def programs(folder):
    return sorted((ROOT / "tests" / folder).rglob("bad-*.rly"))


@pytest.mark.parametrize("folder", ["errors", "infer", "op", "parse"])
def test_every_diagnostic_has_a_known_code(folder):
    without = []
    for path in programs(folder):
        program = path.read_text().split("\n/* EXPECT\n")[0]
        for found in diagnostics("check", "-", text=program):
            if found["code"] not in CODES:
                without.append((path.name, found["message"]))
    assert without == []


@pytest.mark.parametrize("folder, least", [("errors/newcomer", 60), ("errors/outsider", 60), ("errors/visitor", 34), ("errors/stranger", 56)])
def test_wrong_programs_give_one_error_each(folder, least):
    paths = programs(folder)
    assert len(paths) >= least
    several = {}
    for path in paths:
        if "// RUN: relay check" not in path.read_text():
            continue  # the mistake is in what the command is given
        found = diagnostics("check", "-", text=path.read_text().split("\n/* EXPECT\n")[0])
        if [d["severity"] for d in found] != ["error"] or found[0]["place"] is None:
            several[path.name] = [d["message"] for d in found]
    assert several == {}


def test_no_message_has_an_invented_name():
    for folder in ("errors", "infer", "op"):
        for path in programs(folder):
            program = path.read_text().split("\n/* EXPECT\n")[0]
            for found in diagnostics("check", "-", text=program):
                for text in [found["message"], *(note["message"] for note in found["notes"])]:
                    assert not re.search(r"(?<![\w%])_\d|\?\d", text), (path.name, text)


def test_json_has_places_notes_and_fixes():
    text = "def @main(%x: Tensor[(2, 3), float32]) {\n  sum(%x, dim=1)\n}\n"
    (found,) = diagnostics("check", "-", text=text)
    assert found["severity"] == "error" and found["code"] == "A2"
    assert found["place"] == {"file": "<stdin>", "line": 2, "column": 11, "end_line": 2, "end_column": 16}
    assert found["notes"][0] == {"kind": "help", "message": "did you mean axis?", "place": None}
    (fix,) = found["fixes"]
    assert fix["text"] == "axis" and fix["safe"] is True
    assert (fix["place"]["column"], fix["place"]["end_column"]) == (11, 14)


FIXED = {
    "sum(%x, dim=1)": "sum(%x, axis=1)",
    "relu(%x)": "nn.relu(%x)",
    "torch.tanh(%x)": "tanh(%x)",
    "cast(%x, dtype='int8')": 'cast(%x, dtype="int8")',
    "let y = %x; y + y": "let %y = %x; %y + %y",
    "if (true) { %x } else { %x }": "if (True) { %x } else { %x }",
    "if True { %x } else { %x }": "if (True) { %x } else { %x }",
    "return %x;": "%x",
    "let %y = exp(%x)\n  let %z = %y;\n  %z": "let %y = exp(%x);\n  let %z = %y;\n  %z",
    "f(%x)": "@f(%x)",
    "all(%x > 0f and %x < 1f)": "all(%x > 0f && %x < 1f)",
    "let mut %y = %x; %y": "let %y = %x; %y",
}


@pytest.mark.parametrize("wrong", FIXED)
def test_fix_makes_safe_changes(tmp_path, wrong):
    frame = "def @f(%x) {{ exp(%x) }}\ndef @main(%x: Tensor[(2, 3), float32]) {{\n  {}\n}}\n"
    path = tmp_path / "program.rly"
    path.write_text(frame.format(wrong))
    done = relay("check", "--fix", path)
    assert path.read_text() == frame.format(FIXED[wrong])
    assert done.returncode == 0, done.stderr


def test_fix_mends_definitions(tmp_path):
    path = tmp_path / "program.rly"
    path.write_text("fn @square(x: Tensor[[3], f32]): Tensor[(3), float] { x * x }\ndef main(%x) { @square(%x) }\n")
    done = relay("check", "--fix", path)
    assert done.returncode == 0, done.stderr
    assert path.read_text() == (
        "def @square(%x: Tensor[(3), float32]) -> Tensor[(3), float32] { %x * %x }\n"
        "def @main(%x) { @square(%x) }\n"
    )


def test_fix_leaves_the_rest(tmp_path):
    path = tmp_path / "program.rly"
    text = "def @main(%x: Tensor[(3), float32]) { unsqueeze(%x, axis=0) }\n"
    path.write_text(text)
    assert relay("check", "--fix", path).returncode == 1
    assert path.read_text() == text
    assert relay("check", "--fix", "-", text=text).returncode == 2
