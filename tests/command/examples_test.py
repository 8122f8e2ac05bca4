"""The programs of examples/, run by the relay command: every row of examples/seed/expect.tsv with its notes, the digits
and the TreeLSTM. RELAY_BIN names the command; nothing is skipped, without it everything fails."""

import ast
import csv
import importlib.util
import json
import math
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
SEED = EXAMPLES / "seed"
TIMEOUT = 300  # seconds; a sanitizer build is slow


# The command


def relay_binary():
    name = os.environ.get("RELAY_BIN")
    if not name:
        pytest.fail("RELAY_BIN is not set to the relay command")
    path = pathlib.Path(name).resolve()
    if not os.access(path, os.X_OK):
        pytest.fail(f"RELAY_BIN: {path} cannot be run")
    return str(path)


def relay(*arguments, stdin=None):
    return subprocess.run([relay_binary(), *map(str, arguments)], input=stdin, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, encoding="utf-8", timeout=TIMEOUT, check=False)


def run_json(program, *arguments, entry=None, options=(), stdin=None):
    """The type (as printed) and the value of a program that must succeed."""
    command = ["run", program, "--format", "json", *options]
    if entry is not None:
        command += ["--entry", entry]
    for argument in arguments:
        command += ["--arg", argument]
    done = relay(*command, stdin=stdin)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(lines) == 1, done.stdout
    result = json.loads(lines[0])
    assert set(result) == {"type", "value"}
    return result["type"], result["value"]


# Types and values


def normal_type(text):
    """Without blanks, and with a rank-0 tensor written as its dtype: `Tensor[(), int32]` and `int32` are one type."""
    text = re.sub(r"\s+", "", text)
    text = re.sub(r"Tensor\[\(\),(\w+)\]", r"\1", text)
    return re.sub(r"Tensor\[\((\d+),\),", r"Tensor[(\1),", text)


def parse_type(text):
    """A closed type of tensors and tuples as (shape, dtype), or a list of these."""
    text = normal_type(text)

    def parse(at):
        tensor = re.compile(r"Tensor\[\(([\d,]*)\),(\w+)\]|(\w+)").match(text, at)
        if tensor:
            shape = tuple(int(d) for d in (tensor.group(1) or "").split(",") if d)
            return (shape, tensor.group(2) or tensor.group(3)), tensor.end()
        assert text[at] == "(", f"no tensor or tuple at {at} in {text}"
        fields, at = [], at + 1
        while text[at] != ")":
            field, at = parse(at)
            fields.append(field)
            if text[at] == ",":
                at += 1
        return fields, at + 1

    result, end = parse(0)
    assert end == len(text), text
    return result


class All:
    """Every element of a tensor."""

    def __init__(self, value):
        self.value = value


def parse_result(text):
    """The result column: literals, tuples, and `all 3` for a tensor."""
    tree = ast.parse(re.sub(r"\ball (-?[\d.]+)", r"All(\1)", text), mode="eval").body

    def build(node):
        if isinstance(node, ast.Tuple):
            return tuple(build(e) for e in node.elts)
        if isinstance(node, ast.Call):
            return All(ast.literal_eval(node.args[0]))
        return ast.literal_eval(node)

    return build(tree)


def check_number(found, expected, dtype):
    if dtype == "bool":
        assert found is expected
    elif dtype.startswith(("int", "uint")):
        assert type(found) is int and found == expected
    else:
        assert type(found) in (int, float) and math.isclose(found, expected, rel_tol=1e-5, abs_tol=1e-5)


def check_value(found, expected, type_):
    if isinstance(type_, list):
        assert isinstance(found, list) and len(found) == len(type_) == len(expected)
        for part in zip(found, expected, type_):
            check_value(*part)
        return
    shape, dtype = type_
    if not shape:
        check_number(found, expected, dtype)
        return
    assert isinstance(expected, All)
    assert isinstance(found, list) and len(found) == shape[0]
    for element in found:
        check_value(element, expected if shape[1:] else expected.value, (shape[1:], dtype))


# Diagnostics


class Diagnostic:
    """One error or warning: its message, its places as (line, column), and everything down to the next one."""

    def __init__(self, severity, message):
        self.severity = severity
        self.message = message
        self.places = []
        self.text = message


def diagnostics(text, file):
    found = []
    for line in re.sub(r"\x1b\[[\d;]*m", "", text).splitlines():
        start = re.match(r"(error|warning)(?:\[\w+\])?: (.*)", line)
        if start:
            found.append(Diagnostic(*start.groups()))
        elif found:
            found[-1].text += "\n" + line
            place = re.match(r"\s*--> (.*):(\d+):(\d+)$", line)
            if place:
                assert pathlib.Path(place.group(1)).name == file.name, line
                found[-1].places.append((int(place.group(2)), int(place.group(3))))
    for one in found:
        assert one.places, f"no place: {one.text}"
    return found


def place_of(file, marked):
    """(line, column) of the one occurrence of the text before and after `^`, where the `^` stands."""
    before, after = marked.split("^")
    text = file.read_text()
    assert text.count(before + after) == 1, marked
    at = text.index(before + after) + len(before)
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def rejected(name):
    """The errors of a seed program that must be rejected, by check and by run alike."""
    file = SEED / f"{name}.rly"
    done = relay("check", file)
    assert done.returncode == 1, done.stdout + done.stderr
    errors = [d for d in diagnostics(done.stdout + done.stderr, file) if d.severity == "error"]
    assert errors
    assert relay("run", file).returncode == 1
    return file, errors


# The seed programs

with open(SEED / "expect.tsv", newline="", encoding="utf-8") as table:
    ROWS = {row["file"]: row for row in csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE)}

# The arguments column as the command takes it.
ARGUMENTS = {
    "annotated_function": ["ones(10,10)", "full(2, 10,10)"],
    "ackermann": ["2", "3"],
    "tuples": ["ones(10,10)", "2.0", "zeros(100,100)"],
    "let_independent": ["1", "2", "3", "4"],
    "graph_bindings": ["ones(2,3)", "full(2, 2,3)"],
    "if_inline": ["3", "3"],
    "module_calls": ["5"],
    "module_recursion": ["5"],
    "shared_node": [f"full({math.e!r}, 10)"],
    "graph_node_in_closure": ["1.0"],
}
ERRORS = {name for name, row in ROWS.items() if row["type"] == "error"}
VALUES = [name for name, row in ROWS.items() if name not in ERRORS and row["result"] != "<closure>"]


def test_the_table_and_the_programs_are_whole():
    assert {p.stem for p in SEED.glob("*.rly")} == set(ROWS) and len(ROWS) == 28
    assert set(ARGUMENTS) == {name for name, row in ROWS.items() if row["arguments"]}
    assert ERRORS == {"factorial_tensor_condition", "kind_error", "where_relation_violated"}
    assert len(VALUES) == len(ROWS) - len(ERRORS) - 1


@pytest.mark.parametrize("name", VALUES)
def test_seed_value(name):
    row = ROWS[name]
    # @main is the default; naming it must not change anything.
    entries = [None, "main"] if row["entry"] == "main" else [row["entry"]]
    for entry in entries:
        type_, value = run_json(SEED / f"{name}.rly", *ARGUMENTS.get(name, []), entry=entry)
        assert normal_type(type_) == normal_type(row["type"])
        check_value(value, parse_result(row["result"]), parse_type(row["type"]))


@pytest.mark.parametrize("name", [name for name in ROWS if name not in ERRORS])
def test_seed_checks(name):
    done = relay("check", SEED / f"{name}.rly")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "error:" not in done.stdout + done.stderr


@pytest.mark.parametrize("name, entry, arguments, type_, value", [
    ("ackermann", "ackermann", ["3", "6"], "int32", 509),
    ("module_calls", "myfunc", ["0.5"], "float32", 8.0),
    ("module_calls", "myfunc", ["0.5:float32"], "float32", 8.0),
    ("module_calls", "myfunc", ["5:int64"], "int64", 17),
    ("module_recursion", "myfunc", ["5:int64"], "int64", 16),
    ("module_recursion", "myfunc", ["5:float32"], "float32", 16.0),
    ("module_recursion", "myfunc", ["5.0"], "float32", 16.0),
    ("if_inline", "main", ["3", "4"], "int32", 40),
])
def test_seed_notes_with_other_arguments(name, entry, arguments, type_, value):
    found_type, found = run_json(SEED / f"{name}.rly", *arguments, entry=entry)
    assert normal_type(found_type) == type_
    check_value(found, value, ((), type_))


def test_arguments_bind_by_name():
    type_, value = run_json(SEED / "tuples.rly", "c=zeros(100,100)", "a=ones(10,10)", "b=2.0")
    check_value(value, (All(3), All(0)), parse_type(type_))


def test_graph_node_in_closure():
    file = SEED / "graph_node_in_closure.rly"
    type_, value = run_json(file, "1.0")
    assert value == "<fn>"
    plain = re.fullmatch(r"(?:fn|fun)<(\w+):Shape>\(Tensor\[\1,float32\]\)->Tensor\[\1,float32\]", normal_type(type_))
    assert plain or ("where" in type_ and "Broadcast" in type_), type_

    program = f"let %make = {file.read_text()};\nlet %add_log = %make(1.0);\n%add_log(2.0)\n"
    type_, value = run_json("-", stdin=program)
    assert normal_type(type_) == "float32"
    check_number(value, 2.0, "float32")


@pytest.mark.parametrize("name, counts", [("shared_node", {"log": 1, "add": 1}),
                                          ("graph_bindings", {"add": 2, "multiply": 1})])
def test_a_shared_node_runs_once(name, counts):
    done = relay("opt", SEED / f"{name}.rly", "--passes", "ToANormalForm")
    assert done.returncode == 0, done.stdout + done.stderr
    assert {op: len(re.findall(rf"\b{op}\(", done.stdout)) for op in counts} == counts, done.stdout


def test_nat_clause_order_warns_of_each_clause_that_never_runs():
    file = SEED / "nat_clause_order.rly"
    done = relay("check", file)
    assert done.returncode == 0, done.stdout + done.stderr
    found = diagnostics(done.stdout + done.stderr, file)
    assert [d.severity for d in found] == ["warning"] * 3
    for warning, pattern in zip(found, ["S(S(%n)) { S(%n) }", "S(%n) { %n }", "Z() { S(Z()) }"]):
        # The clause from its keyword or from its pattern.
        assert warning.places[0] in (place_of(file, f"^case {pattern}"), place_of(file, f"case ^{pattern}"))
        assert "never" in warning.message


def test_factorial_tensor_condition():
    file, errors = rejected("factorial_tensor_condition")
    assert len(errors) == 1
    error = errors[0]
    assert "if" in error.message and "Tensor[(10, 10), bool]" in error.message
    # The type that is needed, apart from the one that was found; a rank-0 tensor is printed as its dtype.
    assert re.search(r"Tensor\[\(\), bool\]|(?<!, )\bbool\b", error.message)
    assert error.places[0] in (place_of(file, "if (^%x == Constant"), place_of(file, "if ^(%x == Constant"))
    assert len(error.places) >= 2 and error.places[1] != error.places[0]
    assert error.places[1][0] in (1, 2)
    assert "all(" in error.text

    # The proposal works: it is what the sibling program does.
    text = file.read_text()
    proposed = text.replace("(%x == Constant(0, (10, 10), float32))", "(all(%x == Constant(0, (10, 10), float32)))", 1)
    assert proposed != text
    type_, value = run_json("-", stdin=proposed)
    check_value(value, All(3628800), parse_type(type_))


def test_kind_error():
    file, errors = rejected("kind_error")
    assert len(errors) == 2
    errors.sort(key=lambda error: error.places[0])
    for error, name, kind, needed, marked in [(errors[0], "bt", "BaseType", "Shape", "Tensor[^bt, s]"),
                                              (errors[1], "s", "Shape", "BaseType", "Tensor[bt, ^s]")]:
        assert error.places[0] == place_of(file, marked)
        assert re.search(rf"\b{name}\b.*\b{kind}\b.*\b{needed}\b", error.message), error.message


def test_where_relation_violated():
    file, errors = rejected("where_relation_violated")
    assert len(errors) == 1
    assert place_of(file, "\n^%f(Constant(1, (3, 2), float32)") in errors[0].places
    for word in ("Broadcast", "(3, 2)", "(4, 5)"):
        assert word in errors[0].message


# The examples with real input


def reference(example):
    spec = importlib.util.spec_from_file_location(f"{example}_reference", EXAMPLES / example / "reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("example", ["digits", "tree_lstm"])
def test_references_hold(example):
    done = subprocess.run([sys.executable, EXAMPLES / example / "reference.py"], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=TIMEOUT, check=False)
    assert done.returncode == 0, done.stdout


def test_digits(tmp_path):
    folder = EXAMPLES / "digits"
    numpy_version = reference("digits")
    weights, images, labels = numpy_version.load()
    expected_classes, expected_probabilities = numpy_version.forward(images, weights)
    argument = f"images=@{folder / 'test.npz'}:images"
    options = ["--params", folder / "weights.npz"]
    type_, value = run_json(folder / "digits.rly", argument, options=[*options, "--time"])
    assert normal_type(type_) == "(Tensor[(360),int32],Tensor[(360,10),float32])"
    classes, probabilities = map(np.array, value)
    assert np.mean(classes == labels) >= 0.97
    assert np.array_equal(classes, expected_classes)
    assert np.abs(probabilities - expected_probabilities).max() <= 1e-5

    output = tmp_path / "output.npz"
    done = relay("run", folder / "digits.rly", *options, "--arg", argument, "--output", output)
    assert done.returncode == 0, done.stdout + done.stderr
    with np.load(output) as stored:
        arrays = {array.shape: array for array in (stored[name] for name in stored.files)}
    assert set(arrays) == {(360,), (360, 10)}
    assert arrays[360,].dtype == np.int32 and np.array_equal(arrays[360,], classes)
    assert arrays[360, 10].dtype == np.float32 and np.abs(arrays[360, 10] - probabilities).max() <= 1e-6


@pytest.mark.parametrize("count", [1, 3])
def test_digits_of_another_number(tmp_path, count):
    folder = EXAMPLES / "digits"
    numpy_version = reference("digits")
    weights, images, _ = numpy_version.load()
    np.save(tmp_path / "images.npy", images[:count])
    type_, value = run_json(folder / "digits.rly", f"@{tmp_path / 'images.npy'}",
                            options=["--params", folder / "weights.npz"])
    assert normal_type(type_) == f"(Tensor[({count}),int32],Tensor[({count},10),float32])"
    classes, probabilities = numpy_version.forward(images[:count], weights)
    assert value[0] == classes.tolist()
    assert np.abs(np.array(value[1]) - probabilities).max() <= 1e-5


def test_digits_demo():
    done = subprocess.run([EXAMPLES / "digits" / "demo.sh", relay_binary()], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, encoding="utf-8", timeout=TIMEOUT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    accuracy = re.search(r"^accuracy: ([\d.]+) \((\d+) of 360 ", done.stdout, re.MULTILINE)
    assert accuracy and float(accuracy.group(1)) >= 0.97
    assert re.search(r"^time per image: [\d.]+ ms", done.stdout, re.MULTILINE)
    assert done.stdout.count("@@") > 20  # something was drawn


def test_digits_demo_fails_when_relay_fails():
    done = subprocess.run([EXAMPLES / "digits" / "demo.sh", "false"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=TIMEOUT, check=False)
    assert done.returncode != 0


def test_tree_lstm():
    folder = EXAMPLES / "tree_lstm"
    expected = json.loads((folder / "expected.json").read_text())
    type_, value = run_json(folder / "tree_lstm.rly", options=["--params", folder / "weights.npz"])
    assert normal_type(type_) == normal_type(expected["type"])

    from_list_value = reference("tree_lstm").from_list_value
    found, wanted = from_list_value(value), from_list_value(expected["value"])
    assert len(found) == len(wanted) == 7
    for (truth, probability), (wanted_truth, wanted_probability) in zip(found, wanted):
        assert truth is wanted_truth
        check_number(probability, wanted_probability, "float32")
        assert abs(probability - wanted_probability) <= 1e-5


# The network from PyTorch


def test_onnx_digits_score_as_in_pytorch(tmp_path):
    folder = EXAMPLES / "onnx"
    images = EXAMPLES / "digits/test.npz"
    done = relay("run", folder / "digits.onnx", "--arg", f"images=@{images}:images", "--output", tmp_path / "out.npz")
    assert done.returncode == 0, done.stderr
    with np.load(tmp_path / "out.npz") as stored:
        (scores,) = [stored[name] for name in stored.files]
    with np.load(folder / "scores.npz") as stored:
        expected = stored["scores"]
    np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-4)
    with np.load(images) as stored:
        accuracy = np.mean(scores.argmax(1) == stored["labels"])
    assert accuracy == np.mean(expected.argmax(1) == np.load(images)["labels"]) >= 0.97
