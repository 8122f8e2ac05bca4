"""Tests of relay_conformance: a lost operator, a lost case and a refusal for another reason do not pass."""

import json
import os
import pathlib
import subprocess

import pytest

TOOL = pathlib.Path(os.environ["RELAY_BIN"]).parent / "relay_conformance"

EXP = {
    "name": "exp/one",
    "program": "def @main(%x: float32) { exp(%x) }",
    "inputs": [{"shape": [], "dtype": "float32", "values": [0.0]}],
    "type": "float32",
    "outputs": [{"shape": [], "dtype": "float32", "values": [1.0]}],
}
GONE = {**EXP, "name": "gone/one", "program": "def @main(%x: float32) { gone(%x) }"}


@pytest.fixture
def conformance(tmp_path):
    def run(kind, cases, pins=None, update=False, differences=""):
        (tmp_path / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
        (tmp_path / "differences.md").write_text(differences)
        command = [TOOL, kind, "cases.jsonl", "--differences", "differences.md"]
        if pins is not None:
            (tmp_path / "pins.tsv").write_text(pins)
            command += ["--pins", "pins.tsv"] + (["--update"] if update else [])
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        return done.returncode, done.stdout

    run.folder = tmp_path
    return run


def test_a_lost_operator_fails(conformance):
    code, text = conformance("ops", [EXP, GONE], pins="cases\tpassed\t1\n")
    assert code == 1 and "FAILED          cases: gone/one: there is no operator gone any more" in text
    code, text = conformance("ops", [EXP, GONE], pins="cases\tpassed\t1\ncases\tlacks\toperator gone\n")
    assert code == 0 and "not applicable  operator gone (1)" in text


def test_a_lost_case_fails(conformance):
    code, text = conformance("ops", [EXP], pins="cases\tpassed\t2\n")
    assert code == 1 and "FAILED          cases: 1 cases passed, 2 are pinned" in text


def test_what_is_gained_says_how_to_pin_it(conformance):
    for pins in ("", "cases\tpassed\t0\n", "cases\tpassed\t1\ncases\tlacks\toperator gone\n"):
        code, text = conformance("ops", [EXP], pins=pins)
        assert code == 0 and "run tests/update_pins" in text
    code, text = conformance("ops", [EXP], pins="cases\tpassed\t1\n")
    assert code == 0 and "update_pins" not in text


def test_update_writes_what_is_reached_and_keeps_other_files(conformance):
    wrong = {**EXP, "name": "exp/wrong", "type": "float64"}
    code, _ = conformance(
        "ops", [EXP, GONE, wrong], pins="# old\nother\tpassed\t7\ncases\tpassed\t9\n", update=True, differences="`cases: exp/wrong`"
    )
    lines = (conformance.folder / "pins.tsv").read_text().splitlines()
    assert code == 0
    assert lines[1:] == ["cases\tpassed\t1", "cases\tdifferences\t1", "cases\tlacks\toperator gone", "other\tpassed\t7"]


TWO = "def @main(%x: Tensor[(2, 3), float32]) { (sum(%x, axis=[2]), exp(%x)) }"


@pytest.mark.parametrize(
    "case, why",
    [
        ({"program": TWO, "where": "axis=[2]", "error": "axis outside the rank"}, None),
        ({"program": TWO, "where": "exp(%x)", "error": "axis outside the rank"}, "at another place"),
        ({"program": TWO, "where": "axis=[2]", "error": "a bracket is never closed"}, "another kind of mistake"),
        ({"name": "parse/x", "program": TWO, "where": "axis=[2]", "error": "axis outside the rank"}, "no mistake of syntax"),
        ({"program": "def @main(%x: float32) { exp(%x) }", "error": "axis outside the rank"}, "accepted"),
    ],
)
def test_a_refusal_is_for_the_recorded_reason(conformance, case, why):
    code, text = conformance("types", [{"name": "shape/x", **case}])
    assert code == (0 if why is None else 1), text
    assert why is None or why in text


@pytest.mark.parametrize(
    "case, why",
    [
        ({"program": TWO, "error": "the data has rank two"}, None),
        ({"program": TWO, "error": "both must have one dtype"}, "another kind of mistake"),
        ({"program": "def @main(%x: Tensor[(2, 3), float32]) { (sum(%x), max(%x, axis=[2])) }", "error": "rank"}, "at another place"),
    ],
)
def test_a_refusal_is_of_the_operator_of_the_case(conformance, case, why):
    code, text = conformance("ops", [{"name": "sum/axis", "inputs": [], **case}])
    assert code == (0 if why is None else 1), text
    assert why is None or why in text


PRINTED = '#[version = "0.0.5"]\ndef @main(%x: float32 /* ty=float32 */) -> float32 {\n  exp(%x) /* ty=float32 */\n}\n'


@pytest.mark.parametrize("printed, code", [(PRINTED, 0), (PRINTED.replace("exp(%x) ", "exp( %x) "), 1)])
def test_prints_are_compared(conformance, printed, code):
    case = {"name": "print/x", "program": "def @main(%x: float32) { exp(%x) }", "printed": printed}
    found, text = conformance("types", [case])
    assert found == code, text
    assert code == 0 or "prints `  exp(%x)` for `  exp( %x)`" in text
