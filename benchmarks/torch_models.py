#!/usr/bin/env python3
"""Latency of Relay against PyTorch: benchmarks/torch_models.py [NAME]... [--rounds N] [--no-inductor] [--open] [--results FILE]

For each model of tests/torch/models.py (all of them, or those named) one call is timed in eager PyTorch, by `torch.compile` with inductor, by
`relay.from_torch` and by `torch.compile(backend="relay")`, in turn, so that all of them see the same machine. The figure is the median over
rounds of Relay's time divided by that of the better of eager and inductor in the same round. The last lines have geometric means. With `--open`,
`relay.from_torch` takes a program whose batch is open, and lengths and sizes of pictures where the architecture allows it.

With `--results FILE`, each model runs in a process of its own within `--limit` seconds, its figures are a line of the file, and models that have a
line are not measured again: a run that is stopped goes on. `--slice SECONDS` begins no model after so many seconds. `--prepare` measures nothing
and fills the caches of both compilers, which takes most of the time:

    benchmarks/torch_models.py --prepare --limit 200
    benchmarks/torch_models.py --results build/torch_models.jsonl --rounds 5 --slice 60      (again until all are there)
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Callable

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/torch"))
import model_check  # noqa: E402
import models  # noqa: E402

import relay  # noqa: E402
from relay.frontend.torch.backend import relay as backend  # noqa: E402

__all__ = ["main", "measure"]

# Calls of one round, at most, and the seconds that they may take.
CALLS, SECONDS = 20, 0.2


def _runs(model: models.Model, options: argparse.Namespace) -> dict[str, Callable[[], Any]]:
    module, x = model.build(), model.inputs(*model.sizes[0])
    mod, _ = relay.from_torch(model_check.exported(module, model)[0] if options.open else torch.export.export(module, (x,)))
    exported = relay.compile(mod)
    torch._dynamo.reset()
    compiled = torch.compile(module, backend=backend)
    runs: dict[str, Callable[[], Any]] = {"eager": lambda: module(x), "from_torch": lambda: exported(x), "compile": lambda: compiled(x)}
    if not options.no_inductor:
        other = torch.compile(module)
        runs["inductor"] = lambda: other(x)
    return runs


def _round(run: Callable[[], Any]) -> float:
    """The least time of a call in a round."""
    least, end, calls = math.inf, time.perf_counter() + SECONDS, 0
    while calls < CALLS and (calls == 0 or time.perf_counter() < end):
        begin = time.perf_counter()
        run()
        least = min(least, time.perf_counter() - begin)
        calls += 1
    return least


def measure(name: str, options: argparse.Namespace) -> dict[str, float]:
    """The median milliseconds of each way to run the model, and the ratios `from_torch/torch` and `compile/torch`."""
    with torch.no_grad():
        runs = _runs(models.MODELS[name], options)
        for run in runs.values():
            run()
            run()
        times: dict[str, list[float]] = {way: [] for way in runs}
        for _ in range(options.rounds):
            for way, run in runs.items():
                times[way].append(_round(run))
    found = {way: 1e3 * statistics.median(taken) for way, taken in times.items()}
    best = [min(pair) for pair in zip(*(times[way] for way in times if way in ("eager", "inductor")))]
    for way in ("from_torch", "compile"):
        found[f"{way}/torch"] = statistics.median(one / other for one, other in zip(times[way], best))
    return found


def prepare(name: str, options: argparse.Namespace) -> dict[str, float]:
    """Compiles the model in all ways, and calls it once: the compilers keep what they made."""
    begin = time.perf_counter()
    with torch.no_grad():
        for run in _runs(models.MODELS[name], options).values():
            run()
    return {"prepared": time.perf_counter() - begin}


def _apart(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """The figures of a model from a process of its own; `error` says why there are none."""
    words = [sys.executable, __file__, name, "--json", "--rounds", str(options.rounds), *(["--no-inductor"] if options.no_inductor else [])]
    words += [*(["--prepare"] if options.prepare else []), *(["--open"] if options.open else [])]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=options.limit)
    except subprocess.TimeoutExpired:
        return {"error": f"not done within {options.limit:g} s"}
    lines = done.stdout.strip().splitlines()
    return json.loads(lines[-1]) if done.returncode == 0 and lines else {"error": (done.stderr.strip().splitlines() or ["no output"])[-1][:300]}


def _figures(name: str, options: argparse.Namespace) -> dict[str, Any]:
    try:
        return prepare(name, options) if options.prepare else measure(name, options)
    except Exception as error:  # noqa: BLE001 (the other models are measured all the same)
        return {"error": f"{type(error).__name__}: {str(error)[:300]}"}


def _show(name: str, found: dict[str, Any], ways: list[str]) -> None:
    if "error" in found:
        print(f"{name:42} {found['error']}", flush=True)
    elif "prepared" in found:
        print(f"{name:42} prepared in {found['prepared']:.1f} s", flush=True)
    else:
        times = "".join(f" {found[way]:13.3f}" for way in ways)
        print(f"{name:42}{times} {found['from_torch/torch']:17.2f} {found['compile/torch']:14.2f}", flush=True)


def _kept(path: str | None) -> dict[str, dict[str, Any]]:
    if path is None or not Path(path).exists():
        return {}
    lines = [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]
    return {line["model"]: line for line in lines}


def main() -> int:
    """Prints a line for each model; exit status 1 where one does not run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="models of tests/torch/models.py; all by default")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--no-inductor", action="store_true", help="compare with eager PyTorch alone")
    parser.add_argument("--open", action="store_true", help="export for `relay.from_torch` with an open batch, length and size")
    parser.add_argument("--results", metavar="FILE", help="keep figures here, a line for each model, and measure only models that have none")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for a model, with --results or --prepare (default: %(default)g)")
    parser.add_argument("--slice", type=float, default=math.inf, help="begin no model after so many seconds")
    parser.add_argument("--prepare", action="store_true", help="fill the caches of the compilers alone")
    parser.add_argument("--json", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in models.MODELS]
    if unknown:
        parser.error(f"no model is named {', '.join(unknown)}")
    if options.json:
        print(json.dumps(_figures(options.names[0], options)))
        return 0
    ways = ["eager", *([] if options.no_inductor else ["inductor"]), "from_torch", "compile"]
    if not options.prepare:
        print(f"{'model':42}" + "".join(f" {way + ' ms':>13}" for way in ways) + f" {'from_torch/torch':>17} {'compile/torch':>14}")
    all_of = _kept(options.results)
    begin, left = time.monotonic(), 0
    for name in options.names or models.MODELS:
        found = all_of.get(name)
        if found is None and time.monotonic() - begin > options.slice:
            left += 1
            continue
        if found is None:
            found = all_of[name] = _apart(name, options) if options.results or options.prepare else _figures(name, options)
            if options.results:
                with open(options.results, "a", encoding="utf-8") as file:
                    file.write(json.dumps({"model": name, **found}) + "\n")
        _show(name, found, ways)
    for way in ("from_torch/torch", "compile/torch"):
        kept = {name: found[way] for name, found in all_of.items() if way in found}
        if kept:
            worst = max(kept, key=lambda name: kept[name])
            above = sum(ratio > 1.05 for ratio in kept.values())
            mean = math.exp(statistics.fmean(map(math.log, kept.values())))
            print(f"{way}: geometric mean {mean:.2f}, greatest {kept[worst]:.2f} ({worst}), {above} above 1.05, of {len(kept)} models")
    if left:
        print(f"{left} models are left")
    return 1 if left or any("error" in found for found in all_of.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
