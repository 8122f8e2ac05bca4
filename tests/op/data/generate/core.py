"""The tools that every family shares: how values, types and attributes are written, and the book that collects cases.

A case is one program with one call (after tuples are built), its inputs, its result type and outputs. The outputs
come from a reference function, registered by operator name with `reference`; references take the tensors as positional
arguments and the attributes as keywords, with the operator's defaults.
"""

import json
import math
import zlib

import numpy as np

FLOATS = ("float32", "float64", "float16")
INTS = ("int8", "int16", "int32", "int64", "uint8")
NUMBERS = FLOATS + INTS

# |a - b| <= tolerance * max(1, |b|). References are computed in float64 and rounded once.
TOLERANCE = {"float16": 4e-3, "float32": 1e-5, "float64": 1e-10}

REFERENCE = {}


def reference(*names):
    """Registers a function as the reference of the named operators."""

    def register(function):
        for name in names:
            REFERENCE[name] = function
        return function

    return register


def wide(array):
    """Floats as float64, so that a reference rounds once, at the end; anything else unchanged."""
    array = np.asarray(array)
    return array.astype(np.float64) if array.dtype.kind == "f" else array


def narrow(array, dtype):
    """Rounds floats to `dtype`, wraps integers into it."""
    with np.errstate(all="ignore"):
        return np.asarray(array).astype(dtype)


# Text ------------------------------------------------------------------------------------------------------------


def type_text(dtype, shape):
    """A tensor type as it is printed: rank 0 is the dtype alone."""
    if len(shape) == 0:
        return str(dtype)
    return f"Tensor[({', '.join(map(str, shape))}), {dtype}]"


def result_type(outputs):
    if isinstance(outputs, tuple):
        return f"({', '.join(result_type(o) for o in outputs)})"
    return type_text(outputs.dtype, outputs.shape)


def attribute_text(value):
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(attribute_text(v) for v in value)}]"
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, float):
        return f"{int(value)}f" if value == int(value) else f"{value!r}f"
    return str(value)


SUFFIX = {
    "float32": "f",
    "float64": "f64",
    "float16": "f16",
    "int32": "",
    "int64": "i64",
    "int16": "i16",
    "int8": "i8",
    "uint8": "u8",
    "bool": "",
}


class Literal:
    """A number written in the program instead of passed as an input."""

    def __init__(self, value, dtype):
        self.value = np.asarray(value, dtype)
        number = self.value[()].item()
        text = (
            str(int(number)) if isinstance(number, float) and number == int(number) else str(number)
        )
        self.text = text + SUFFIX[dtype]


class Type:
    """An argument of a program that is never run: only its type matters."""

    def __init__(self, dtype, *shape):
        self.dtype, self.shape = dtype, shape


class Program:
    """Writes `op(args, attributes)` as a program and remembers the inputs in the order of the parameters."""

    NAMES = "xyzwvu"

    def __init__(self, op, args, attributes, project):
        self.inputs, self.parameters, bindings = [], [], []
        texts = []
        for argument in args:
            if isinstance(argument, list):
                texts.append(f"%{len(bindings)}")
                bindings.append(
                    f"({', '.join(self.argument(a) for a in argument)}"
                    + (",)" if len(argument) == 1 else ")")
                )
            else:
                texts.append(self.argument(argument))
        texts += [f"{name}={attribute_text(value)}" for name, value in attributes.items()]
        call = f"{op}({', '.join(texts)})"
        if project is not None:
            bindings.append(call)
            call = f"%{len(bindings) - 1}.{project}"
        lines = [f"  %{i} = {b};\n" for i, b in enumerate(bindings)] + [f"  {call}\n"]
        self.text = f'#[version = "0.0.5"]\ndef @main({", ".join(self.parameters)}) {{\n{"".join(lines)}}}\n'

    def argument(self, argument):
        if isinstance(argument, Literal):
            return argument.text
        index = len(self.inputs)
        name = self.NAMES[index] if index < len(self.NAMES) else f"p{index}"
        self.inputs.append(argument)
        self.parameters.append(f"%{name}: {type_text(argument.dtype, argument.shape)}")
        return f"%{name}"


# Values ----------------------------------------------------------------------------------------------------------


def number(value):
    """One element as JSON: the shortest decimal that identifies it in its dtype; not-a-number and infinities as text."""
    if value.dtype.kind == "f":
        if math.isnan(value):
            return "nan"
        if math.isinf(value):
            return "inf" if value > 0 else "-inf"
        return float(str(value))
    return value.item()


def tensor_json(array):
    return {
        "shape": list(array.shape),
        "dtype": str(array.dtype),
        "values": [number(v) for v in array.reshape(-1)],
    }


def parse_values(record):
    """The array that `tensor_json` wrote."""
    values = [float(v) if isinstance(v, str) else v for v in record["values"]]
    return np.array(values, dtype=record["dtype"]).reshape(record["shape"])


def draw(key, shape, dtype, low=None, high=None):
    """Values that depend on `key` alone: short decimals for floats (eighths for float16), small integers."""
    random = np.random.default_rng(zlib.crc32(str(key).encode()))
    if dtype == "bool":
        return np.asarray(random.integers(0, 2, shape), bool)
    if dtype in FLOATS:
        low, high = -2.0 if low is None else low, 2.0 if high is None else high
        grid = 8.0 if dtype == "float16" else 100.0
        return np.asarray(
            random.integers(math.ceil(low * grid), math.floor(high * grid) + 1, shape) / grid
        ).astype(dtype)
    low, high = (0 if dtype == "uint8" else -9) if low is None else low, 9 if high is None else high
    return np.asarray(random.integers(low, high + 1, shape)).astype(dtype)


def distinct(key, shape, dtype):
    """Distinct values in random order, so that results do not depend on how ties are broken."""
    random = np.random.default_rng(zlib.crc32(str(key).encode()))
    count = int(np.prod(shape, dtype=int))
    start = 0 if dtype == "uint8" else -(count // 2)
    return (
        ((random.permutation(count) + start) / (4 if dtype in FLOATS else 1))
        .astype(dtype)
        .reshape(shape)
    )


def steps(shape, dtype="float32"):
    """0, 1, 2, …: for operators that only move elements."""
    return np.arange(int(np.prod(shape, dtype=int))).astype(dtype).reshape(shape)


# The book --------------------------------------------------------------------------------------------------------


class Book:
    """The cases of one family, in order; names are unique."""

    def __init__(self, family):
        self.family, self.records, self.names = family, [], set()

    def record(self, record):
        if record["name"] in self.names:
            raise ValueError(f"two cases are called {record['name']}")
        self.names.add(record["name"])
        self.records.append(record)

    def add(
        self,
        op,
        label,
        args,
        source="numpy",
        tolerance=None,
        exact=False,
        project=None,
        type=None,
        **attributes,
    ):
        """A case whose outputs the reference of `op` computes; `type` where the result's is not known to the last
        extent."""
        program = Program(op, args, attributes, project)
        bare = lambda x: x.value if isinstance(x, Literal) else x
        values = [[bare(a) for a in x] if isinstance(x, list) else bare(x) for x in args]
        values = [tuple(v) if isinstance(v, list) else v for v in values]
        with np.errstate(all="ignore"):
            outputs = REFERENCE[op](*values, **attributes)
        if project is not None:
            outputs = outputs[project]
        flat = outputs if isinstance(outputs, tuple) else (outputs,)
        if tolerance is None:
            tolerance = 0 if exact else max(TOLERANCE.get(str(o.dtype), 0) for o in flat)
        self.record(
            {
                "name": f"{op}/{label}",
                "program": program.text,
                "inputs": [tensor_json(i) for i in program.inputs],
                "type": type or result_type(outputs),
                "outputs": [tensor_json(o) for o in flat],
                "tolerance": tolerance,
                "source": source,
            }
        )

    def fail(self, op, label, why, args, **attributes):
        """A program that must be rejected before it runs."""
        program = Program(op, args, attributes, None)
        self.record({"name": f"{op}/{label}", "program": program.text, "error": why})

    def fail_running(self, op, label, why, args, **attributes):
        """A program that must be rejected, when it is checked or at the latest when it runs on these inputs."""
        program = Program(op, args, attributes, None)
        self.record(
            {
                "name": f"{op}/{label}",
                "program": program.text,
                "inputs": [tensor_json(i) for i in program.inputs],
                "error": why,
                "when": "run",
            }
        )

    def write(self, folder):
        with open(folder / f"{self.family}.jsonl", "w", encoding="utf-8") as file:
            for record in self.records:
                file.write(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n")


def shape_label(shape):
    return "scalar" if len(shape) == 0 else "x".join(map(str, shape))
