"""Work on many models at once: validation and tuning, a task of Ray for each."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import ray
from ray.exceptions import RayError, RayTaskError

import relay

Row = dict[str, Any]


def _module(path: str) -> relay.IRModule:
    if path.endswith(".onnx"):
        return relay.frontend.from_onnx(path)[0]
    return relay.parse(Path(path).read_text(encoding="utf-8"), path)


def _made_up(module: relay.IRModule, extent: int) -> list[Any]:
    """Random arguments for `main`: open dimensions get `extent`, the same for the same name."""
    random = np.random.default_rng(0)
    arrays = []
    for param in module["main"].params:
        type_ = param.checked_type
        if not isinstance(type_, relay.TensorType):
            raise relay.RelayError(f"the parameter {param.name_hint} is {type_}: give inputs for it")
        shape = [int(text) if (text := str(dim)).isdigit() else extent for dim in type_.shape]
        dtype = np.dtype(str(type_.dtype))
        arrays.append(random.standard_normal(shape).astype(dtype) if dtype.kind == "f" else random.integers(0, 2, shape).astype(dtype))
    return arrays


def _arrays(value: Any) -> list[Any]:
    if isinstance(value, (tuple, list)):
        return [array for part in value for array in _arrays(part)]
    return [np.asarray(value)]


def _difference(found: Any, expected: Any) -> float:
    """The greatest difference of two results, relative to the range of the expected one; infinity where they do not go together."""
    a, b = _arrays(found), _arrays(expected)
    if [x.shape for x in a] != [x.shape for x in b]:
        return float("inf")
    worst = 0.0
    for x, y in zip(a, b):
        if x.size == 0:
            continue
        x, y = x.astype("float64"), y.astype("float64")
        if not np.array_equal(np.isfinite(x), np.isfinite(y)):
            return float("inf")
        finite = np.isfinite(y)
        scale = float(np.abs(y[finite]).max(initial=0.0)) or 1.0
        worst = max(worst, float(np.abs(x - y)[finite].max(initial=0.0)) / scale)
    return worst


def _validate(path: str, inputs: Callable[[str], Any] | None, expected: Callable[[str, list[Any]], Any] | None, extent: int, threads: int) -> Row:
    module = _module(path)
    relay.check(module)
    arrays = _made_up(module, extent) if inputs is None else list(inputs(path))
    begin = time.perf_counter()
    program = relay.compile(module, threads=threads)
    compiled = time.perf_counter() - begin
    begin = time.perf_counter()
    found = program(*arrays)
    ran = time.perf_counter() - begin
    reference = relay.evaluate(module, *arrays) if expected is None else expected(path, arrays)
    return {"difference": _difference(found, reference), "compile_seconds": compiled, "run_seconds": ran}


def _collect(tasks: Mapping[Any, Row]) -> list[Row]:
    """Rows of tasks; one that fails, or whose process dies, has a row with the reason."""
    waiting, rows = dict(tasks), []
    while waiting:
        ready, _ = ray.wait(list(waiting), num_returns=1)
        row = waiting.pop(ready[0])
        try:
            row |= ray.get(ready[0])
        except RayTaskError as error:
            row["error"] = str(error.cause if error.cause is not None else error).strip()
        except RayError as error:
            row["error"] = f"its process died: {error}".strip()
        rows.append(row)
    return rows


def validate(
    models: Sequence[str | os.PathLike[str]],
    *,
    inputs: Callable[[str], Any] | None = None,
    expected: Callable[[str, list[Any]], Any] | None = None,
    tolerance: float = 1e-4,
    extent: int = 2,
    threads: int = 1,
    retries: int = 1,
) -> list[Row]:
    """Compiles and runs each model (`.onnx` or Relay text, under a path that all nodes have) in a task of its own, and compares the results.

    Args:
        inputs: Gives the arguments for a model, by its path; made-up numbers by default, with `extent` for open dimensions.
        expected: Gives the right results for a model and its arguments, such as by ONNX Runtime; by default Relay's reference evaluator, which
            is slow.
        tolerance: The greatest difference that is none, as a part of the range of the results.
        threads: Of a run; a task takes so many cores.
        retries: How often a task whose process dies is repeated.

    Returns a row for each model, in their order: `model`, `ok`, `error` (text, or None), and if it ran `difference`, `compile_seconds`,
    `run_seconds`. A model that fails, even by the death of its process, is a row and holds up no other one.
    """
    paths = [os.path.abspath(model) for model in models]
    task = ray.remote(_validate).options(num_cpus=threads, max_retries=retries)
    rows = _collect({task.remote(path, inputs, expected, extent, threads): {"model": path, "at": i, "error": None} for i, path in enumerate(paths)})
    for row in rows:
        if row["error"] is None and not row["difference"] <= tolerance:
            row["error"] = f"results differ by {row['difference']:.2g} of their range"
        row["ok"] = row["error"] is None
    return [{name: value for name, value in row.items() if name != "at"} for row in sorted(rows, key=lambda row: row["at"])]


def _tune(path: str, candidate: Mapping[str, Any], inputs: Callable[[str], Any] | None, extent: int, seconds: float) -> Row:
    module = _module(path)
    relay.check(module)
    arrays = _made_up(module, extent) if inputs is None else list(inputs(path))
    program = relay.compile(module, **candidate)
    program(*arrays)
    times: list[float] = []
    until = time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < until:
        begin = time.perf_counter()
        program(*arrays)
        times.append(time.perf_counter() - begin)
    return {"median": statistics.median(times), "minimum": min(times), "runs": len(times)}


def tune(
    models: Sequence[str | os.PathLike[str]],
    candidates: Sequence[Mapping[str, Any]],
    *,
    inputs: Callable[[str], Any] | None = None,
    extent: int = 1,
    seconds: float = 1.0,
) -> dict[str, list[Row]]:
    """Measures each model with each candidate, and gives the candidates by model, the quickest first.

    Args:
        models: `.onnx` files or Relay text, under paths that all nodes have.
        candidates: Arguments of `relay.compile`, such as `{"threads": 2, "opt_level": 3}`; a task takes `threads` cores, 1 by default.
        inputs: Gives the arguments for a model, by its path; made-up numbers by default, with `extent` for open dimensions.
        seconds: How long runs are repeated.

    A row has `candidate`, `median`, `minimum` (seconds) and `runs`, or `error`. Rows with an error come last. Candidates run beside each other
    where the cluster has the cores, so memory and caches are shared as they are when workers run beside each other.
    """
    candidates = [{"threads": 1, **candidate} for candidate in candidates]
    paths = [os.path.abspath(model) for model in models]
    tasks: dict[Any, Row] = {}
    for path in paths:
        for candidate in candidates:
            task = ray.remote(_tune).options(num_cpus=candidate["threads"] or os.cpu_count(), max_retries=1)
            tasks[task.remote(path, candidate, inputs, extent, seconds)] = {"model": path, "candidate": candidate, "error": None}
    found: dict[str, list[Row]] = {path: [] for path in paths}
    for row in _collect(tasks):
        found[row.pop("model")].append(row)
    for rows in found.values():
        rows.sort(key=lambda row: (row["error"] is not None, row.get("median", 0.0)))
    return found
