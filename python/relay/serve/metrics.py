"""Counts and times of a server, in the text format of Prometheus."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections import defaultdict, deque

# Seconds.
_BOUNDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_ROWS = (1, 2, 4, 8, 16, 32, 64, 128)


class Histogram:
    """How many values are up to each of some bounds, and their sum."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds, self.counts, self.sum = bounds, [0] * (len(bounds) + 1), 0.0

    def add(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value

    def lines(self, name: str, labels: str) -> list[str]:
        lines, total = [], 0
        for bound, count in zip((*map(str, self.bounds), "+Inf"), self.counts):
            total += count
            lines.append(f'{name}_bucket{{{labels},le="{bound}"}} {total}')
        return [*lines, f"{name}_sum{{{labels}}} {self.sum:.9g}", f"{name}_count{{{labels}}} {total}"]


class Metrics:
    """What a server counts. Names of models are known ones only, so that clients cannot make up labels."""

    def __init__(self) -> None:
        self.requests: defaultdict[tuple[str, int], int] = defaultdict(int)
        self.seconds: defaultdict[str, Histogram] = defaultdict(lambda: Histogram(_BOUNDS))
        self.runs: defaultdict[str, Histogram] = defaultdict(lambda: Histogram(_BOUNDS))
        self.rows: defaultdict[str, Histogram] = defaultdict(lambda: Histogram(_ROWS))
        self.loads: defaultdict[str, int] = defaultdict(int)
        self.recent: defaultdict[str, deque[float]] = defaultdict(lambda: deque(maxlen=1000))

    def answered(self, model: str, status: int, seconds: float) -> None:
        self.requests[model, status] += 1
        if model and status == 200:
            self.seconds[model].add(seconds)
            self.recent[model].append(seconds)

    def ran(self, model: str, seconds: float, rows: int) -> None:
        self.runs[model].add(seconds)
        self.rows[model].add(rows)

    def loaded(self, model: str) -> None:
        self.loads[model] += 1

    def latency(self, model: str) -> dict[str, float]:
        """Of the last requests of a model: how many, median and 99th part in a hundred, in milliseconds."""
        recent = sorted(self.recent.get(model, ()))
        if not recent:
            return {"count": 0}
        at = [recent[min(len(recent) - 1, int(len(recent) * part))] * 1e3 for part in (0.5, 0.99)]
        return {"count": len(recent), "p50_ms": round(at[0], 3), "p99_ms": round(at[1], 3)}

    def text(self, gauges: list[tuple[str, str, list[tuple[str, float]]]]) -> str:
        lines = ["# HELP relay_requests_total Answered requests.", "# TYPE relay_requests_total counter"]
        lines += [f'relay_requests_total{{model="{model}",code="{code}"}} {count}' for (model, code), count in sorted(self.requests.items())]
        lines += ["# HELP relay_model_loads_total Times that a model was loaded.", "# TYPE relay_model_loads_total counter"]
        lines += [f'relay_model_loads_total{{model="{model}"}} {count}' for model, count in sorted(self.loads.items())]
        for name, what, by_model in (
            ("relay_request_seconds", "Time from a whole request to its answer.", self.seconds),
            ("relay_run_seconds", "Time of a run, of one request or a batch.", self.runs),
            ("relay_batch_rows", "Rows of a run.", self.rows),
        ):
            lines += [f"# HELP {name} {what}", f"# TYPE {name} histogram"]
            for model, histogram in sorted(by_model.items()):
                lines += histogram.lines(name, f'model="{model}"')
        for name, what, values in [*gauges, ("process_resident_memory_bytes", "Memory of the process.", [("", _resident())])]:
            lines += [f"# HELP {name} {what}", f"# TYPE {name} gauge"]
            lines += [f"{name}{labels} {value:.15g}" for labels, value in values]
        return "\n".join(lines) + "\n"


def _resident() -> float:
    with open("/proc/self/statm", encoding="ascii") as file:
        return float(int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE"))
