#!/usr/bin/env python3
"""Runs a folder of PyTorch graphs in the form of GraphNet's samples: benchmarks/torch_graphs.py FOLDER [--sample N] [--seed N]

A sample is a folder with `model.py` (a class `GraphModule` whose `forward` takes weights and inputs by name) and with `weight_meta.py` and
`input_meta.py` (a class for each tensor: name, shape, dtype, mean, std, range, or data). Each graph runs in PyTorch, by
`torch.compile(backend="relay")` and by `relay.from_torch`, in a process of its own with a time limit.

Prints a line for each graph and door, and at the end one number: the share of graphs that Relay runs whole, by both doors, with PyTorch's
results. A graph of which an operator runs in PyTorch counts as failed. `benchmarks/torch_capture.py` writes such a folder.
"""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import json
import math
import os
import random
import re
import select
import signal
import statistics
import sys
import time
import warnings
from pathlib import Path
from typing import Any, Callable

import torch

import relay
from relay.frontend.torch.backend import relay as backend
from relay.frontend.torch.convert import decompositions

__all__ = ["Outcome", "difference", "load", "main", "run_graph", "samples"]

# The greatest difference, relative to the range of PyTorch's result, by the coarsest dtype of floats in a graph.
TOLERANCE = {torch.float64: 1e-4, torch.float32: 1e-4, torch.float16: 2e-2, torch.bfloat16: 1e-1}


@dataclasses.dataclass
class Outcome:
    """The result of one door for one graph: the stage that it reached, the difference, seconds of PyTorch and Relay for a call, and of compilation."""

    stage: str = "load"
    difference: float = float("nan")
    eager_s: float = float("nan")
    relay_s: float = float("nan")
    compile_s: float = float("nan")
    error: str = ""


def samples(folder: Path) -> list[Path]:
    """The samples below a folder: each folder with a `model.py` and a `weight_meta.py`."""
    return sorted(path.parent for path in folder.rglob("model.py") if (path.parent / "weight_meta.py").exists())


def _namespace(path: Path) -> dict[str, Any]:
    # Some samples name devices of the machine that they come from; all tensors are on the CPU here.
    source = re.sub(r"\bdevice\(type\s*=\s*(['\"])cuda\1(,\s*index\s*=\s*\d+)?\)", "device(type='cpu')", path.read_text(encoding="utf-8"))
    source = re.sub(r"(['\"])cuda(:\d+)?\1", "'cpu'", source)
    space: dict[str, Any] = {"torch": torch, "device": torch.device, "inf": math.inf, "nan": math.nan, "__name__": "sample", "__file__": str(path)}
    exec(compile(source, str(path), "exec"), space)  # noqa: S102 (a sample is a program)
    return space


def _metas(path: Path) -> list[Any]:
    if not path.exists():
        return []
    return [value for value in _namespace(path).values() if isinstance(value, type) and value.__module__ == "sample" and hasattr(value, "shape")]


def _tensor(meta: Any, generator: torch.Generator) -> torch.Tensor:
    dtype = getattr(torch, str(getattr(meta, "dtype", "torch.float32")).rpartition(".")[2])
    shape, data = list(meta.shape), getattr(meta, "data", None)
    low, high = getattr(meta, "min_val", None), getattr(meta, "max_val", None)
    if data is not None:
        return torch.tensor(data, dtype=dtype).reshape(shape)
    if dtype is torch.bool:
        return torch.rand(shape, generator=generator) > 0.5
    if not dtype.is_floating_point and not dtype.is_complex:
        return torch.randint(int(low or 0), int(high if high is not None else 1) + 1, shape, generator=generator, dtype=dtype)
    mean, std = (float(getattr(meta, name, None) or otherwise) for name, otherwise in (("mean", 0.0), ("std", 0.0)))
    drawn = torch.randn(shape, generator=generator) * std + mean
    name = str(getattr(meta, "name", ""))
    if "running_var" in name:
        drawn = drawn.abs() + 1e-3  # a variance, which no normal distribution gives
    return drawn.clamp(low, high).to(dtype) if low is not None or high is not None else drawn.to(dtype)


def load(folder: Path, seed: int) -> tuple[torch.nn.Module, dict[str, Any]]:
    """The module of a sample and its arguments by name, drawn by the seed. Raises ValueError for an argument that no file describes."""
    module = _namespace(folder / "model.py")["GraphModule"]()
    generator = torch.Generator().manual_seed(seed)
    described = {meta.name: meta for file in ("input_meta.py", "weight_meta.py") for meta in _metas(folder / file)}
    given: dict[str, Any] = {}
    for name, parameter in inspect.signature(module.forward).parameters.items():
        if name in described:
            given[name] = _tensor(described[name], generator)
            if "SymInt" in str(parameter.annotation):
                given[name] = int(given[name])
        elif parameter.default is inspect.Parameter.empty:
            raise ValueError(f"neither input_meta.py nor weight_meta.py describes the argument {name}")
    return module.eval(), given


def _copies(given: dict[str, Any]) -> dict[str, Any]:
    return {name: value.clone() if isinstance(value, torch.Tensor) else value for name, value in given.items()}


def _leaves(result: Any) -> list[Any]:
    return [leaf for leaf in torch.utils._pytree.tree_leaves(result) if leaf is not None]


def difference(got: Any, want: Any) -> float:
    """The greatest difference of two results relative to the range of the wanted ones. Raises ValueError for other shapes or dtypes."""
    gots, wants = _leaves(got), _leaves(want)
    if len(gots) != len(wants):
        raise ValueError(f"{len(gots)} results instead of {len(wants)}")
    worst = 0.0
    for one, other in zip(gots, wants):
        one, other = (item if isinstance(item, torch.Tensor) else torch.as_tensor(item) for item in (one, other))
        if one.shape != other.shape or one.dtype != other.dtype:
            raise ValueError(f"a result {one.dtype} {tuple(one.shape)} instead of {other.dtype} {tuple(other.shape)}")
        if not other.numel():
            continue
        one, other = one.detach().double(), other.detach().double()
        known = torch.isfinite(other)
        if not bool(((one == other) | known | (one.isnan() & other.isnan())).all()):
            return math.inf
        one, other = one[known], other[known]
        if other.numel():
            spread = max(float(other.max() - other.min()), float(other.abs().max()) * 1e-2, 1e-6)
            gap = float((one - other).abs().max())
            worst = max(worst, gap / spread if gap == gap else math.inf)
    return worst


class _Bound(torch.nn.Module):
    """A sample whose weights are buffers, so that the exported program has them as constants. Inputs keep their order."""

    def __init__(self, inner: torch.nn.Module, weights: dict[str, torch.Tensor], names: list[str], rest: dict[str, Any]) -> None:
        super().__init__()
        self.inner, self.names, self.rest, self.weights = inner, names, rest, list(weights)
        for i, value in enumerate(weights.values()):
            self.register_buffer(f"weight{i}", value)

    def forward(self, *inputs: torch.Tensor) -> Any:
        weights = {name: getattr(self, f"weight{i}") for i, name in enumerate(self.weights)}
        return self.inner(**weights, **dict(zip(self.names, inputs)), **self.rest)


def _exported(module: torch.nn.Module, given: dict[str, Any]) -> Callable[[dict[str, Any]], Any]:
    weights = {name: value for name, value in given.items() if isinstance(value, torch.Tensor) and re.search(r"_(parameters|buffers)_", name)}
    names = [name for name, value in given.items() if isinstance(value, torch.Tensor) and name not in weights]
    if not names:
        names, weights = list(weights), {}
    rest = {name: value for name, value in given.items() if not isinstance(value, torch.Tensor)}
    program = torch.export.export(_Bound(module, weights, names, rest), tuple(given[name] for name in names))
    kinds = [spec.kind.name for spec in program.run_decompositions(decompositions()).graph_signature.output_specs]
    mod, _ = relay.from_torch(program)
    run = relay.compile(mod)

    def call(inputs: dict[str, Any]) -> Any:
        results = run(*(inputs[name] for name in names))
        results = list(results) if isinstance(results, (tuple, list)) else [results]
        return [torch.from_dlpack(item) for item, kind in zip(results, kinds) if kind == "USER_OUTPUT"]

    return call


def _compiled(module: torch.nn.Module, given: dict[str, Any]) -> Callable[[dict[str, Any]], Any]:
    run = torch.compile(module, backend=backend)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*runs? in PyTorch")
        run(**_copies(given))
    return lambda inputs: run(**inputs)


DOORS: dict[str, Callable[[torch.nn.Module, dict[str, Any]], Callable[[dict[str, Any]], Any]]] = {"compile": _compiled, "from_torch": _exported}


def _seconds(call: Callable[[], Any], budget: float) -> float:
    """The median time of a call within a budget of seconds, at least three calls."""
    times: list[float] = []
    end = time.perf_counter() + budget
    while len(times) < 3 or (time.perf_counter() < end and len(times) < 50):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def run_graph(folder: Path, door: str, seed: int, budget: float) -> Outcome:
    """Runs one sample through one door."""
    outcome = Outcome()
    try:
        with torch.no_grad():
            module, given = load(folder, seed)
            outcome.stage = "PyTorch"
            torch.manual_seed(seed)
            want = module(**_copies(given))
            dtypes = {leaf.dtype for leaf in (*_leaves(want), *given.values()) if isinstance(leaf, torch.Tensor)}
            tolerance = max((TOLERANCE[dtype] for dtype in dtypes if dtype in TOLERANCE), default=1e-4)
            outcome.stage, begin = "compile", time.perf_counter()
            run = DOORS[door](module, given)
            outcome.compile_s = time.perf_counter() - begin
            outcome.stage = "run"
            got = run(_copies(given))
            if door == "from_torch":  # one tensor that two results share comes once for each
                want = _leaves(want)
            outcome.difference = difference(got, want)
            outcome.stage = "agrees" if outcome.difference <= tolerance else "differs"
            if budget > 0:
                outcome.eager_s = _seconds(lambda: module(**given), budget)
                outcome.relay_s = _seconds(lambda: run(given), budget)
    except Exception as error:  # noqa: BLE001 (the report says what became of each graph and goes on)
        outcome.error = f"{type(error).__name__}: {error}"[:2000]
    return outcome


def _apart(folder: Path, door: str, seed: int, budget: float, limit: float) -> Outcome:
    """`run_graph` in a process of its own, so that a crash or a hang is the outcome of one graph."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        outcome = run_graph(folder, door, seed, budget)
        os.write(writer, json.dumps(dataclasses.asdict(outcome)).encode())
        os._exit(0)
    os.close(writer)
    ready, _, _ = select.select([reader], [], [], limit)
    told = os.read(reader, 1 << 16) if ready else b""
    os.close(reader)
    if not ready:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if told:
        return Outcome(**json.loads(told))
    return Outcome("time", error=f"no result after {limit:.0f} s") if not ready else Outcome("crash", error=f"the process ended with status {status}")


def _mean(ratios: list[float]) -> str:
    return f"{math.exp(statistics.fmean(map(math.log, ratios))):.2f}" if ratios else "-"


def main() -> int:
    """Prints the table and the share; exit status 1 where a graph fails."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sample", type=int, default=0, help="run so many graphs, drawn by the seed; 0 for all")
    parser.add_argument("--seed", type=int, default=0, help="of weights, inputs and the sample")
    parser.add_argument("--door", choices=[*DOORS, "both"], default="both")
    parser.add_argument("--limit", type=float, default=300, help="seconds for one graph by one door")
    parser.add_argument("--budget", type=float, default=1, help="seconds to measure a graph for; 0 measures nothing")
    options = parser.parse_args()
    found = samples(options.folder)
    if not found:
        parser.error(f"no folder below {options.folder} has a model.py and a weight_meta.py")
    if options.sample:
        found = sorted(random.Random(options.seed).sample(found, min(options.sample, len(found))))
    doors = list(DOORS) if options.door == "both" else [options.door]
    print(f"{'graph':60} {'door':10} {'outcome':8} {'difference':>10} {'compile s':>9} {'PyTorch ms':>10} {'Relay ms':>9} {'ratio':>6}")
    good, ratios = 0, []
    for folder in found:
        whole = True
        for door in doors:
            outcome = _apart(folder, door, options.seed, options.budget, options.limit)
            ratio = outcome.relay_s / outcome.eager_s
            name = str(folder.relative_to(options.folder))
            print(f"{name:60} {door:10} {outcome.stage:8} {outcome.difference:10.1e} {outcome.compile_s:9.1f} {1e3 * outcome.eager_s:10.2f} "
                  f"{1e3 * outcome.relay_s:9.2f} {ratio:6.2f}", flush=True)  # fmt: skip
            if outcome.error:
                print("    " + outcome.error.replace("\n", "\n    "), flush=True)
            whole &= outcome.stage == "agrees"
            if outcome.stage == "agrees" and ratio == ratio:
                ratios.append(ratio)
        good += whole
    print(f"{good} of {len(found)} graphs run whole in Relay and agree: {100 * good / len(found):.1f} %")
    print(f"time relative to PyTorch, geometric mean of {len(ratios)}: {_mean(ratios)}")
    return 0 if good == len(found) else 1


if __name__ == "__main__":
    sys.exit(main())
