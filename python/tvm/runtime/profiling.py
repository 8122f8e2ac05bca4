"""The times of a run's kernels."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import _absent
from .object import make_objects

__all__ = ["Count", "Duration", "Percent", "Ratio", "Report"]

# The beginning of kernels' names in TVM.
_PREFIX = "fused_"


class Count(int):
    """How many times something was."""

    @property
    def value(self) -> int:
        """The number."""
        return int(self)


class Duration(float):
    """A time."""

    @property
    def microseconds(self) -> float:
        """The time in microseconds."""
        return float(self)


class Percent(float):
    """A part of a whole."""

    @property
    def percent(self) -> float:
        """The part in percent."""
        return float(self)


class Ratio(float):
    """A quotient."""

    @property
    def ratio(self) -> float:
        """The number."""
        return float(self)


make_objects(Count, Duration, Percent, Ratio)

# The word that TVM's documents have for the figures of a class.
_WORDS: dict[type, str] = {Count: "count", Duration: "microseconds", Percent: "percent", Ratio: "ratio", str: "string"}


def _document(value: Any) -> Any:
    """A figure as TVM's documents have it, with the word of its class."""
    word = _WORDS.get(type(value))
    return value if word is None else {word: value if isinstance(value, str) else int(value) if isinstance(value, int) else float(value)}


def _figure(value: Any) -> Any:
    """The figure of a document; numbers and texts stay."""
    if isinstance(value, Mapping) and len(value) == 1:
        for kind, word in _WORDS.items():
            if word in value:
                return kind(value[word])
    return value


def _each(rows: Mapping[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    return {name: change(value) for name, value in rows.items()}


def _hash_of(row: Mapping[str, Any]) -> str:
    """The same text for kernels of one name that do the same work."""
    return hashlib.sha256(f"{row['name']} {row['flops']} {row['bytes']}".encode()).hexdigest()[:16]


def _shapes_of(launches: Sequence[Sequence[tuple[str, Sequence[int]]]]) -> str:
    """The tensors that a kernel gets and gives, as TVM writes them: ``float32[2, 3], int32[]``. Extents of a run are question marks; launches with
    other tensors follow after a semicolon."""
    tensors = [[f"{dtype}[{', '.join('?' if extent < 0 else str(extent) for extent in shape)}]" for dtype, shape in launch] for launch in launches]
    return "; ".join(", ".join(launch) for launch in tensors)


class Report:
    """The kernels of a run, with times: `calls` has a dictionary of each."""

    def __init__(self, calls: Sequence[Mapping[str, Any]], device_metrics: Mapping[str, Any] | None = None, configuration: Mapping[str, Any] | None = None) -> None:
        self.calls = [dict(call) for call in calls]
        self.device_metrics = dict(device_metrics or {})
        self.configuration = dict(configuration or {})

    @staticmethod
    def of(rows: Sequence[Mapping[str, Any]], seconds: float) -> Report:
        """A report of what `relay.Executable.profile` gave, and of how long the run took."""
        whole = max(seconds, 1e-12)
        calls = [
            {"Name": _PREFIX + row["name"], "Hash": _hash_of(row), "Count": Count(row["calls"]), "Duration (us)": Duration(row["seconds"] * 1e6),
             "Percent": Percent(100 * row["seconds"] / whole), "Device": "cpu0", "Argument Shapes": _shapes_of(row["arguments"]),
             "FLOPs": Count(row["flops"]), "Bytes": Count(row["bytes"])}
            for row in rows
        ]  # fmt: skip
        return Report(calls, {"cpu0": {"Duration (us)": Duration(seconds * 1e6)}}, {"Executor": "relay"})

    def csv(self) -> str:
        """The calls as comma-separated values, with a line of names."""
        out = io.StringIO()
        writer = csv.DictWriter(out, list(self.calls[0]) if self.calls else ["Name"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.calls)
        return out.getvalue()

    def json(self) -> str:
        """Everything as a JSON document, which `from_json` reads."""
        return json.dumps({
            "calls": [_each(call, _document) for call in self.calls],
            "device_metrics": {device: _each(metrics, _document) for device, metrics in self.device_metrics.items()},
            "configuration": _each(self.configuration, _document),
        })  # fmt: skip

    @classmethod
    def from_json(cls, s: str) -> Report:
        """The report whose text `json` gave."""
        found = json.loads(s)
        calls = [_each(call, _figure) for call in found["calls"]]
        return cls(calls, {device: _each(metrics, _figure) for device, metrics in found["device_metrics"].items()},
                   _each(found.get("configuration") or {}, _figure))  # fmt: skip

    def table(self, sort: bool = True, aggregate: bool = True, col_sums: bool = True) -> str:
        """The calls as lines of text: the slowest first, and a line of sums, and one for each device with the time of the whole run.

        Percentages are of the whole run: what the sum lacks is the time between kernels.
        """
        rows = sorted(self.calls, key=lambda call: -float(call.get("Duration (us)", 0))) if sort else self.calls
        width = max([len(str(call["Name"])) for call in rows], default=4)
        lines = [f"{'Name':<{width}}  {'Duration (us)':>14}  {'Percent':>8}  {'Count':>6}"]
        for call in rows:
            lines.append(f"{call['Name']:<{width}}  {call['Duration (us)']:>14.2f}  {call['Percent']:>8.2f}  {call['Count']:>6}")
        if col_sums:
            total = sum(call["Duration (us)"] for call in rows)
            lines.append(f"{'Sum':<{width}}  {total:>14.2f}  {sum(call['Percent'] for call in rows):>8.2f}  {sum(call['Count'] for call in rows):>6}")
            for device, metrics in self.device_metrics.items():
                whole = float(metrics.get("Duration (us)", total))
                lines.append(f"{'Total':<{width}}  {whole:>14.2f}  {100.0:>8.2f}  {'1':>6}  {device}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.table()

    __repr__ = __str__


def profile(call: Any) -> Report:
    """A report of one call of something that gives the rows of `relay.Executable.profile`."""
    import time

    start = time.perf_counter()
    rows = call()
    return Report.of(rows, time.perf_counter() - start)


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
