#!/usr/bin/env python3
"""Latency of Relay against PyTorch: benchmarks/torch_models.py [NAME]... [--rounds N] [--no-inductor]

For each model of tests/torch/models.py (all of them, or those named) one call is timed in eager PyTorch, by `torch.compile` with inductor, by
`relay.from_torch` and by `torch.compile(backend="relay")`, in turn, so that all of them see the same machine. The figure is the median over
rounds of Relay's time divided by that of the better of eager and inductor in the same round. The last line has geometric means.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
from pathlib import Path
from typing import Any, Callable

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/torch"))
import models  # noqa: E402

import relay  # noqa: E402
from relay.frontend.torch.backend import relay as backend  # noqa: E402

__all__ = ["main", "measure"]

# Calls of one round, at most, and the seconds that they may take.
CALLS, SECONDS = 20, 0.2


def _runs(model: models.Model, inductor: bool) -> tuple[dict[str, Callable[[], Any]], torch.nn.Module]:
    module, x = model.build(), model.inputs(*model.sizes[0])
    mod, _ = relay.from_torch(torch.export.export(module, (x,)))
    exported = relay.compile(mod)
    torch._dynamo.reset()
    compiled = torch.compile(module, backend=backend)
    runs: dict[str, Callable[[], Any]] = {"eager": lambda: module(x), "from_torch": lambda: exported(x), "compile": lambda: compiled(x)}
    if inductor:
        other = torch.compile(module)
        runs["inductor"] = lambda: other(x)
    return runs, module


def _round(run: Callable[[], Any]) -> float:
    """The least time of a call in a round."""
    least, end, calls = math.inf, time.perf_counter() + SECONDS, 0
    while calls < CALLS and (calls == 0 or time.perf_counter() < end):
        begin = time.perf_counter()
        run()
        least = min(least, time.perf_counter() - begin)
        calls += 1
    return least


def measure(name: str, rounds: int, inductor: bool) -> dict[str, float]:
    """The median milliseconds of each way to run the model, and the ratios `from_torch/torch` and `compile/torch`."""
    with torch.no_grad():
        runs, _ = _runs(models.MODELS[name], inductor)
        for run in runs.values():
            run()
            run()
        times: dict[str, list[float]] = {way: [] for way in runs}
        for _ in range(rounds):
            for way, run in runs.items():
                times[way].append(_round(run))
    found = {way: 1e3 * statistics.median(taken) for way, taken in times.items()}
    best = [min(pair) for pair in zip(*(times[way] for way in times if way in ("eager", "inductor")))]
    for way in ("from_torch", "compile"):
        found[f"{way}/torch"] = statistics.median(one / other for one, other in zip(times[way], best))
    return found


def main() -> int:
    """Prints a line for each model; exit status 1 where one does not run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="models of tests/torch/models.py; all by default")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--no-inductor", action="store_true", help="compare with eager PyTorch alone")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in models.MODELS]
    if unknown:
        parser.error(f"no model is named {', '.join(unknown)}")
    ways = ["eager", *([] if options.no_inductor else ["inductor"]), "from_torch", "compile"]
    print(f"{'model':42}" + "".join(f" {way + ' ms':>13}" for way in ways) + f" {'from_torch/torch':>17} {'compile/torch':>14}")
    ratios: dict[str, list[float]] = {"from_torch/torch": [], "compile/torch": []}
    failed = 0
    for name in options.names or models.MODELS:
        try:
            found = measure(name, options.rounds, not options.no_inductor)
        except Exception as error:  # noqa: BLE001 (the other models are measured all the same)
            failed += 1
            print(f"{name:42} {type(error).__name__}: {str(error)[:300]}", flush=True)
            continue
        print(f"{name:42}" + "".join(f" {found[way]:13.3f}" for way in ways) + f" {found['from_torch/torch']:17.2f} {found['compile/torch']:14.2f}", flush=True)
        for way, kept in ratios.items():
            kept.append(found[way])
    for way, kept in ratios.items():
        if kept:
            print(f"{way}: geometric mean {math.exp(statistics.fmean(map(math.log, kept))):.2f}, greatest {max(kept):.2f}, of {len(kept)} models")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
