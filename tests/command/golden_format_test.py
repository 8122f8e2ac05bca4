"""Tests of the golden test format itself (tests/golden_format.py), with a stand-in for the relay binary."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import golden_format  # noqa: E402

# relay ok|fail|crash|internal|both|count|tail FILE
STAND_IN = """#!/usr/bin/env bash
case $1 in
  ok) echo "ok $2" ;;
  fail) echo "error: no"; echo " --> $2:3:5" >&2; exit 1 ;;
  crash) kill -SEGV $$ ;;
  internal) exit 70 ;;
  both) echo late >&2; printf early ;;
  count) echo "$(wc -l < "$2") lines" ;;
  cat) cat "$2" ;;
  unbalanced) echo '*/' ;;
  random) echo $RANDOM$RANDOM ;;
esac
"""


@pytest.fixture
def golden(tmp_path):
    relay = tmp_path / "bin" / "relay"
    relay.parent.mkdir()
    relay.write_text(STAND_IN)
    relay.chmod(0o755)
    folder = tmp_path / "tests"
    folder.mkdir()

    def check(text, name="sample.rly", update=False, timeout=20):
        path = folder / name
        path.write_text(text)
        return golden_format.run(path, tmp_path / "scratch", relay, update, timeout), path

    return check


def test_output_as_expected_passes_and_folders_are_left_out(golden):
    outcome, _ = golden("// RUN: relay ok %s\n1\n/* EXPECT\nok sample.rly\n*/\n")
    assert outcome.passed, outcome.message


def test_other_output_fails_with_a_difference(golden):
    outcome, _ = golden("// RUN: relay ok %s\n/* EXPECT\nok other.rly\n*/\n")
    assert not outcome.passed
    assert "-ok other.rly\n+ok sample.rly" in outcome.message


def test_missing_expectation_fails_unless_nothing_is_printed(golden):
    assert not golden("// RUN: relay ok %s\n")[0].passed
    assert golden("// RUN: relay silent %s\n")[0].passed


def test_standard_output_comes_before_standard_error(golden):
    outcome, _ = golden("// RUN: relay both\n/* EXPECT\nearly\nlate\n*/\n")
    assert outcome.passed, outcome.message


def test_several_commands_run_in_order(golden):
    text = "# RUN: relay ok first\n# RUN: relay fail %s\n# EXIT: 1\n# RUN: echo 5%%\n/* EXPECT\nok first\nerror: no\n --> sample.rly:3:5\n5%\n*/\n"
    outcome, _ = golden(text)
    assert outcome.passed, outcome.message


@pytest.mark.parametrize(
    "text, message",
    [
        ("1\n", "no RUN line"),
        ("// RUN:\n", "RUN without a command"),
        ("1\n// RUN: true\n", "must stand in the comments that begin the file"),
        ("// EXIT: 1\n// RUN: true\n", "EXIT must follow a RUN line"),
        ("// RUN: true\n// EXIT: 0\n// EXIT: 0\n", "EXIT must follow a RUN line, once"),
        ("// RUN: relay internal\n// EXIT: 70\n", "EXIT must be a status"),
        ("// RUN: true\n/* EXPECT\na\n*/\n1\n", "must be closed by the file's last line"),
        ("// RUN: true\n/* EXPECT\na\n*/\n/* EXPECT\na\n*/\n", "several"),
    ],
)
def test_malformed_files_fail(golden, text, message):
    outcome, _ = golden(text)
    assert not outcome.passed
    assert message in outcome.message


@pytest.mark.parametrize(
    "command, message",
    [
        ("relay fail %s > %t 2>&1", "exited with 1, not 0"),
        ("relay fail x 2>&1 | cat > %t", "exited with 1, not 0"),
        ("relay crash", "exit status"),
        ("relay internal", "exited with 70"),
        ("sleep 60", "killed after"),
    ],
)
def test_commands_that_end_wrongly_fail(golden, command, message):
    outcome, _ = golden(f"// RUN: {command}\n", timeout=2 if command.startswith("sleep") else 60)
    assert not outcome.passed
    assert message in outcome.message


@pytest.mark.parametrize("command", ["relay ok %s", "relay ok '%s'", 'relay ok "%s"', "cp %s '%t.b' && relay ok \"%S\"/sample.rly"])
@pytest.mark.parametrize("folder", ["a b", "it's", "$HOME", "back\\slash", "\u00fcn\u00efcode"])
def test_folders_may_have_any_name(tmp_path, golden, command, folder):
    _, path = golden(f"// RUN: {command}\n/* EXPECT\nok sample.rly\n*/\n")
    there = tmp_path / folder / "tests"
    there.mkdir(parents=True)
    outcome = golden_format.run(path.rename(there / path.name), tmp_path / folder / "scratch", tmp_path / "bin" / "relay")
    assert outcome.passed, outcome.message


def test_bad_files_must_fail(golden):
    expected = "/* EXPECT\nerror: no\n --> bad-x.rly:3:5\n*/\n"
    outcome, _ = golden("// RUN: relay fail %s\n" + expected, name="bad-x.rly")
    assert outcome.passed, outcome.message
    outcome, _ = golden("// RUN: relay ok %s\n/* EXPECT\nok bad-x.rly\n*/\n", name="bad-x.rly")
    assert not outcome.passed
    outcome, _ = golden("// RUN: relay ok %s\n// EXIT: 0\n", name="bad-x.rly")
    assert "a file named bad-* must fail" in outcome.message
    outcome, _ = golden("// RUN: relay crash\n", name="bad-x.rly")
    assert not outcome.passed


def test_update_writes_the_expectation(golden):
    outcome, path = golden("// RUN: relay ok %s\n1\n", update=True)
    assert outcome.passed and outcome.updated
    assert path.read_text() == "// RUN: relay ok %s\n1\n/* EXPECT\nok sample.rly\n*/\n"
    outcome, path = golden(path.read_text().replace("ok sample", "stale"), update=True)
    assert path.read_text() == "// RUN: relay ok %s\n1\n/* EXPECT\nok sample.rly\n*/\n"
    outcome, path = golden(path.read_text(), update=True)
    assert outcome.passed and not outcome.updated


def test_update_removes_an_expectation_that_is_empty_now(golden):
    outcome, path = golden("// RUN: true\n/* EXPECT\nold\n*/\n", update=True)
    assert outcome.passed, outcome.message
    assert path.read_text() == "// RUN: true\n"


def test_update_settles_output_that_depends_on_the_length_of_the_file(golden):
    outcome, path = golden("// RUN: relay count %s\n", update=True)
    assert outcome.passed, outcome.message
    assert "4 lines" in path.read_text()


@pytest.mark.parametrize("command", ["relay fail %s", "relay unbalanced"])
def test_update_keeps_a_file_whose_test_cannot_pass(golden, command):
    text = f"// RUN: {command}\n/* EXPECT\nold\n*/\n"
    outcome, path = golden(text, update=True)
    assert not outcome.passed
    assert path.read_text() == text


def test_update_reports_output_that_differs_from_run_to_run(golden):
    outcome, _ = golden("// RUN: relay random\n", update=True)
    assert not outcome.passed
    assert "differs from run to run" in outcome.message


def test_program_without_its_expectation(golden):
    outcome, _ = golden("// RUN: relay cat %p | tail -n 1\n1 + 1\n/* EXPECT\n1 + 1\n*/\n")
    assert outcome.passed, outcome.message


def test_temporary_files_start_fresh(golden):
    text = "// RUN: test ! -e %t && touch %t && echo %t\n/* EXPECT\nsample\n*/\n"
    assert golden(text)[0].passed
    assert golden(text)[0].passed


def test_missing_binary_fails(tmp_path):
    path = tmp_path / "a.rly"
    path.write_text("// RUN: true\n")
    assert "is not built" in golden_format.run(path, tmp_path / "s", tmp_path / "relay").message


def test_lit_runs_the_format(golden, tmp_path):
    """The whole way: a test tree of its own, lit's exit status, the update switch."""
    _, path = golden("// RUN: relay ok %s\n")
    tree = tmp_path / "tree" / "tests"
    (tree / "run").mkdir(parents=True)
    for name in ("lit.cfg.py", "golden_format.py"):
        (tree / name).write_text((ROOT / "tests" / name).read_text())
    sample = tree / "run" / "sample.rly"
    sample.write_text(path.read_text())

    def lit(**extra):
        start = 'import sys; from lit.main import main; sys.argv[0] = "lit"; main()'
        relay = f"relay={tmp_path}/bin/relay"
        arguments = ["-v", "--param", relay, "--param", f"scratch={tmp_path}/lit", str(tree / "run")]
        command = [sys.executable, "-c", start, *arguments]
        return subprocess.run(command, env=dict(os.environ, **extra), capture_output=True, text=True)

    first = lit(RELAY_UPDATE_GOLDEN="0")
    assert first.returncode == 1 and "+ok sample.rly" in first.stdout
    assert lit(RELAY_UPDATE_GOLDEN="1").returncode == 0
    assert lit(RELAY_UPDATE_GOLDEN="0").returncode == 0
    assert sample.read_text().endswith("/* EXPECT\nok sample.rly\n*/\n")
