"""benchmarks/gradbench: Relay's answers to the evaluations, and the protocol."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "benchmarks" / "gradbench"
PATIENCE = 300 * float(os.environ.get("RELAY_TIMEOUT_FACTOR", "1"))


@pytest.mark.parametrize("name", ["hello", "gmm", "ba", "ht", "kmeans", "det", "llsq", "lse", "lstm", "ode"])
def test_answers_are_those_of_the_reference(name):
    command = [sys.executable, str(FOLDER / "run.py"), "--check", "--evals", name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr
    # One line for each input, with the time that it took.
    rows = [line for line in done.stdout.splitlines() if line.startswith(name)]
    assert len(rows) >= 2 and all(float(row.split()[-1]) > 0 for row in rows)


def answers(*lines):
    done = subprocess.run(
        [sys.executable, str(FOLDER / "relay_tool.py"), "--threads", "1"], input="\n".join(lines) + "\n",
        capture_output=True, text=True, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_protocol():
    start, define, square, timed, analysis = answers(
        '{"id": 0, "kind": "start", "eval": "hello"}',
        '{"id": 1, "kind": "define", "module": "hello"}',
        '{"id": 2, "kind": "evaluate", "module": "hello", "function": "double", "input": 3.0}',
        '{"id": 3, "kind": "evaluate", "module": "lse", "function": "primal", "input": {"x": [0, 0], "min_runs": 4, "min_seconds": 0}}',
        '{"id": 4, "kind": "analysis", "of": 2, "valid": true}',
        '{"id": 5, "kind": "end"}',
        '{"id": 6, "kind": "start", "eval": "hello"}',
    )
    assert start == {"id": 0, "tool": "relay"} and define == {"id": 1, "success": True} and analysis == {"id": 4}
    assert square["success"] and square["output"] == 6.0
    assert [timing["name"] for timing in timed["timings"]] == ["evaluate"] * 4
    assert abs(timed["output"] - 0.6931471805599453) < 1e-15


@pytest.mark.parametrize("message, error", [
    ('{"id": 7, "kind": "evaluate", "module": "other", "function": "f", "input": 1}', "no evaluation 'other'; there are hello"),
    ('{"id": 7, "kind": "evaluate", "module": "hello", "function": "f", "input": 1}', "hello has no function 'f'; it has square, double"),
    ('{"id": 7, "kind": "define", "module": "other"}', "no evaluation 'other'"),
    ('{"id": 7, "kind": "dance"}', "no message of kind 'dance'"),
    ('{"id": 7, "kind": "evaluate", "module": "lse", "function": "primal", "input": {"y": 1}}', "KeyError: 'x'"),
])  # fmt: skip
def test_a_mistake_is_answered_and_the_tool_goes_on(message, error):
    wrong, text, right = answers(message, "no JSON", '{"id": 8, "kind": "start", "eval": "hello"}')
    assert wrong["id"] == 7 and wrong["success"] is False and error in wrong["error"]
    assert text["id"] is None and "JSONDecodeError" in text["error"]
    assert right == {"id": 8, "tool": "relay"}
