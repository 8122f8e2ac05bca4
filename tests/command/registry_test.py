"""Facts that every declaration of an operator must have; the operators are those of the registry."""

import json
import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RELAY = os.environ.get("RELAY_BIN", str(ROOT / "build/bin/relay"))
OPERATORS = json.loads(subprocess.run([RELAY, "doc", "registry"], capture_output=True, text=True, check=True).stdout)
BY_NAME = {op["name"]: op for op in OPERATORS}


def names_in(text):
    """Names of operators that are called in a program."""
    return set(re.findall(r"(?<![%@\w.])([a-z_][\w.]*)\(", text))


def recorded():
    names = set()
    for path in [*(ROOT / "tests/op/data").glob("*.jsonl"), *(ROOT / "tests/conformance/oracle").glob("ops-*.jsonl")]:
        with open(path) as lines:
            for line in lines:
                case = json.loads(line)
                names |= names_in(case["program"])
    # Signs that stand for operators.
    return names | {"add", "subtract", "multiply", "divide", "negative"}


def refusals():
    """Names of operators in the errors that golden tests expect."""
    names = set()
    for folder in ("op", "infer", "errors", "run"):
        for path in (ROOT / "tests" / folder).rglob("*"):
            if path.suffix in (".rly", ".test"):
                names |= set(re.findall(r"error: ([a-z_][\w.]*)[: ]", path.read_text()))
    return names


RECORDED = recorded()
REFUSED = refusals()


@pytest.mark.parametrize("name", BY_NAME)
def test_declaration_is_complete(name):
    op = BY_NAME[name]
    missing = []
    if len(op["doc"]) < 3:
        missing.append("documentation")
    for value in op["inputs"] + op["outputs"]:
        if not value["doc"]:
            missing.append(f"documentation of {value['name']}")
        if not value["spec"]:
            missing.append(f"a specification of {value['name']} (relay/op/registry/signature.h)")
    if not op["outputs"]:
        missing.append("its results (.output)")
    # Operators of functions have no tensors that a layout or a scale could be of.
    of_functions = any(value["doc"].startswith("Function") for value in op["inputs"])
    if ("layout" not in op or "quantised" not in op) and not of_functions:
        missing.append("a call of it in its example, for what becomes of layouts and quantised numbers")
    for attribute in op["attributes"]:
        if not attribute["doc"]:
            missing.append(f"documentation of attribute {attribute['name']}")
    if not op["examples"]:
        missing.append("an example (.example)")
    for example in op["examples"]:
        if name not in names_in(example["program"]):
            missing.append(f"a call of it in its example {example['program']}")
    if name not in RECORDED and not op["no_data"]:
        missing.append("recorded data in tests/op/data, or .no_data(why)")
    if name in RECORDED and op["no_data"]:
        missing.append("no .no_data: there are recorded data")
    if (op["own_relation"] or op["attributes"]) and name not in REFUSED:
        missing.append("a golden test of what it refuses")
    assert not missing, f"{name} lacks " + "; ".join(missing)


@pytest.mark.parametrize("name", BY_NAME)
def test_examples_run_alike_in_both_executors(name, tmp_path):
    for example in BY_NAME[name]["examples"]:
        program = tmp_path / "example.rly"
        program.write_text(example["program"])
        command = [RELAY, "run", str(program), "--format", "json"]
        for argument in example["arguments"]:
            command += ["--arg", argument]
        results = []
        for executor in ("eval", "vm"):
            done = subprocess.run([*command, "--executor", executor], capture_output=True, text=True)
            assert done.returncode == 0, f"{executor}: {example}\n{done.stderr}"
            results.append(json.loads(done.stdout))
        assert results[0]["type"] == results[1]["type"]
        assert close(results[0]["value"], results[1]["value"]), results


def test_operators_without_gradients_are_in_the_documents():
    page = (ROOT / "docs/gradients.md").read_text().split("### Operators without a gradient")[1].split("\n#")[0]
    told = dict(re.findall(r"^\| `([^`]+)` \| (.+) \|$", page, re.MULTILINE))
    assert told == {name: op["no_gradient"] for name, op in BY_NAME.items() if op["gradient"] == "none"}


def close(a, b):
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(close(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(close, a, b))
    if isinstance(a, float) or isinstance(b, float):
        return a == b or abs(a - b) <= 1e-5 * max(1, abs(b))
    return a == b
