#!/usr/bin/env python3
"""Converts whole models of PyTorch and compares what they compute: tests/torch/model_check.py [NAME]...

Prints a line for each architecture: how it was exported (open batch and size, open batch, or fixed), the seconds of conversion and
compilation, and the greatest difference relative to the range of PyTorch's result, at two sizes. Exit status 1 where one fails.
"""

from __future__ import annotations

import dataclasses
import sys
import time
from typing import Any

import models
import torch

import relay

__all__ = ["Outcome", "check", "difference", "exported"]

TOLERANCE = 1e-4


@dataclasses.dataclass
class Outcome:
    """The outcome of one model: the stage that it reached, what stayed open, seconds and difference."""

    stage: str = "export"
    open: str = "nothing"
    convert_s: float = 0.0
    compile_s: float = 0.0
    difference: float = float("nan")
    error: str = ""


def exported(module: torch.nn.Module, model: models.Model) -> tuple[Any, str]:
    """The exported program with as many open dimensions as the architecture and PyTorch's export allow."""
    x = model.inputs(*model.sizes[0])
    auto = torch.export.Dim.AUTO
    tries = [({0: auto}, "batch")]
    if model.axes:
        tries.insert(0, ({0: auto, **{axis: auto for axis in model.axes}}, "batch, size"))
    failure: Exception | None = None
    for dims, words in tries:
        try:
            with torch.no_grad():
                program = torch.export.export(module, (x,), dynamic_shapes=({**dims},))
        except Exception as error:  # noqa: BLE001 (the exporter raises many kinds; the next try or the caller has the answer)
            failure = error
            continue
        given = next(node for node in program.graph.nodes if node.name in program.graph_signature.user_inputs).meta["val"]
        kept = [axis for axis in dims if not isinstance(given.shape[axis], int)]
        if len(kept) == len(dims):
            return program, words
        if words == "batch":
            return program, "batch" if kept else "nothing"
    assert failure is not None
    raise failure


def difference(got: Any, want: Any) -> float:
    """The greatest difference of two results, relative to the range of the wanted one."""
    gots = list(got) if isinstance(got, (tuple, list)) else [got]
    wants = list(want) if isinstance(want, (tuple, list)) else [want]
    if len(gots) != len(wants):
        raise ValueError(f"{len(gots)} results instead of {len(wants)}")
    worst = 0.0
    for one, other in zip(gots, wants):
        one, other = torch.from_dlpack(one).double(), other.detach().double()
        if one.shape != other.shape:
            raise ValueError(f"the shape {tuple(one.shape)} instead of {tuple(other.shape)}")
        if not bool(torch.isfinite(other).all()):
            raise ValueError("PyTorch's own result is not finite, so it compares with nothing")
        spread = max(float(other.max() - other.min()), 1e-6)
        gap = float((one - other).abs().max())
        worst = max(worst, gap / spread if gap == gap else float("inf"))
    return worst


def check(name: str) -> Outcome:
    """Exports, converts, compiles and runs one model at its two sizes."""
    model, outcome = models.MODELS[name], Outcome()
    try:
        module = model.build()
        program, outcome.open = exported(module, model)
        outcome.stage, begin = "convert", time.perf_counter()
        mod, _ = relay.from_torch(program)
        outcome.convert_s = time.perf_counter() - begin
        outcome.stage, begin = "compile", time.perf_counter()
        run = relay.compile(mod)
        outcome.compile_s = time.perf_counter() - begin
        outcome.stage = "run"
        (batch, size), (other_batch, other_size) = model.sizes
        if outcome.open == "nothing":
            other_batch, other_size = batch, size
        elif outcome.open == "batch":
            other_size = size
        worst = 0.0
        for at in ((batch, size), (other_batch, other_size)):
            x = model.inputs(*at)
            with torch.no_grad():
                worst = max(worst, difference(run(x), module(x)))
        outcome.difference = worst
        outcome.stage = "agrees" if worst <= TOLERANCE else "differs"
    except Exception as error:  # noqa: BLE001 (the table says what became of each model and goes on)
        outcome.error = f"{type(error).__name__}: {error}"
    return outcome


def main(names: list[str]) -> int:
    """Prints the table for the models that are named, or all."""
    unknown = [name for name in names if name not in models.MODELS]
    if unknown:
        print(f"no model is named {', '.join(unknown)}; there are: {', '.join(models.MODELS)}", file=sys.stderr)
        return 2
    chosen = names or list(models.MODELS)
    good = 0
    print(f"{'model':42} {'stage':8} {'open':12} {'convert s':>9} {'compile s':>9} {'difference':>10}")
    for name in chosen:
        outcome = check(name)
        good += outcome.stage == "agrees"
        print(f"{name:42} {outcome.stage:8} {outcome.open:12} {outcome.convert_s:9.1f} {outcome.compile_s:9.1f} {outcome.difference:10.1e}", flush=True)
        if outcome.error:
            print(f"    {outcome.error[:600]}", flush=True)
    print(f"{good} of {len(chosen)} agree")
    return 0 if good == len(chosen) else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
