"""Generates every family, or checks what is there."""

import collections
import importlib
import json
import pathlib
import pkgutil

import numpy as np

from . import evaluate
from .core import Book, parse_values, result_type

# Every module that has cases.
MODULES = [
    module
    for found in sorted(pkgutil.iter_modules([str(pathlib.Path(__file__).parent)]), key=lambda m: m.name)
    if hasattr(module := importlib.import_module(f".{found.name}", __package__), "build")
]
FOLDER = pathlib.Path(__file__).resolve().parent.parent
ORACLE = FOLDER.parent.parent / "conformance" / "oracle"


def books(families=()):
    for module in MODULES:
        book = Book(module.__name__.split(".")[-1])
        if families and book.family not in families:
            continue
        module.build(book)
        yield book


def disagreement(record):
    """Why the small evaluator does not get the record's result, or None."""
    value = evaluate.run(record["program"], [parse_values(i) for i in record["inputs"]])
    outputs = [np.asarray(o) for o in evaluate.flatten(value)]
    if len(outputs) != len(record["outputs"]):
        return f"{len(outputs)} outputs instead of {len(record['outputs'])}"
    if (
        "?" not in record["type"]
        and not record["type"].startswith("T.")
        and result_type(tuple(outputs) if isinstance(value, tuple) else outputs[0])
        != record["type"]
    ):
        return f"type {result_type(value)} instead of {record['type']}"
    for output, expected in zip(outputs, record["outputs"]):
        if not evaluate.close(parse_values(expected), output, max(record["tolerance"], 2e-7)):
            return f"{output.reshape(-1)[:8]} instead of {expected['values'][:8]}"
    return None


def same(written, record):
    """True if a stored record is the generated one; computed floats may differ in the last bits."""
    outputs = [[parse_values(o) for o in r.get("outputs", [])] for r in (written, record)]
    if {**written, "outputs": None} != {**record, "outputs": None}:
        return False
    slack = min(record.get("tolerance", 0), 1e-6)
    return len(outputs[0]) == len(outputs[1]) and all(
        evaluate.close(a, b, slack) for a, b in zip(*outputs)
    )


def check(oracle):
    problems = 0
    for book in books():
        path = FOLDER / f"{book.family}.jsonl"
        written = (
            [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
            if path.exists()
            else []
        )
        if len(written) != len(book.records) or not all(map(same, written, book.records)):
            problems += 1
            print(f"{path.name} is not what the generator writes")
        for record in book.records:
            if "error" not in record:
                why = disagreement(record)
                if why:
                    problems += 1
                    print(f"{record['name']}: the text means something else: {why}")
    agreed, skipped = collections.Counter(), collections.Counter()
    for path in sorted(oracle.glob("ops-*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            if "error" in record:
                continue
            op = record["name"].split("/")[0]
            try:
                why = disagreement(record)
            except evaluate.NotUnderstood:
                skipped[op] += 1
                continue
            except Exception as error:  # A reference that breaks on a case disagrees with it.
                why = f"{type(error).__name__}: {error}"
            if why:
                problems += 1
                print(f"oracle {record['name']}: {why}")
            else:
                agreed[op] += 1
    print(
        f"oracle: {sum(agreed.values())} cases of {len(agreed)} operators agree, {sum(skipped.values())} use what is not here"
    )
    return problems


def main(arguments):
    if arguments[:1] == ["--check"]:
        return 1 if check(pathlib.Path(arguments[1]) if len(arguments) > 1 else ORACLE) else 0
    unknown = set(arguments) - {module.__name__.split(".")[-1] for module in MODULES}
    if unknown:
        print("usage: generate.py [--check [ORACLE_FOLDER] | FAMILY…]")
        return 2
    counts, errors = collections.Counter(), collections.Counter()
    for book in books(arguments):
        book.write(FOLDER)
        for record in book.records:
            op = record["name"].split("/")[0]
            counts[op] += 1
            errors[op] += "error" in record
    for op in sorted(counts):
        print(f"{op:28} {counts[op] - errors[op]:4} results {errors[op]:3} errors")
    print(
        f"{sum(counts.values()) - sum(errors.values())} results, {sum(errors.values())} errors, {len(counts)} operators"
    )
    return 0
