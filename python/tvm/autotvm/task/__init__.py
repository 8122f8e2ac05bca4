"""Tasks of tuning, of which there are none, and contexts of logs."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from ... import _absent

__all__ = [
    "ApplyConfig", "ApplyFixedConfig", "ApplyGraphBest", "ApplyHistoryBest", "DispatchContext", "FallbackContext", "apply_fixed_config", "apply_graph_best",
    "apply_history_best", "extract_from_multiple_program", "extract_from_program",
]  # fmt: skip


def extract_from_program(mod: Any, params: Any, target: Any, target_host: Any = None, ops: Any = None) -> list[Any]:
    """No tasks: kernels are generated without schedules, so nothing can be tuned."""
    return []


def extract_from_multiple_program(mods: Any, params: Any, target: Any, target_host: Any = None, ops: Any = None) -> list[Any]:
    """No tasks: kernels are generated without schedules, so nothing can be tuned."""
    return []


class DispatchContext:
    """A context in which TVM would take schedules from somewhere; here it changes nothing."""

    current: DispatchContext | None = None

    def __enter__(self) -> DispatchContext:
        self._old, DispatchContext.current = DispatchContext.current, self
        return self

    def __exit__(self, *exc: Any) -> None:
        DispatchContext.current = self._old


class FallbackContext(DispatchContext):
    """Schedules by default."""

    def clear_cache(self, target: Any, workload: Any) -> None:
        """Nothing is kept."""


class ApplyHistoryBest(DispatchContext):
    """The best schedules of a log. A log that is a path must be there; what it says changes nothing."""

    def __init__(self, records: Any) -> None:
        self.load(records)

    def load(self, records: Any) -> None:
        """A further log. Raises FileNotFoundError."""
        several = records if isinstance(records, Iterable) and not isinstance(records, (str, bytes, os.PathLike)) else [records]
        for record in several:
            if isinstance(record, (str, os.PathLike)):
                with open(record, "rb"):
                    pass


class ApplyGraphBest(ApplyHistoryBest):
    """The best schedules of a log of whole graphs."""


class ApplyConfig(DispatchContext):
    """One schedule for all kernels."""

    def __init__(self, config: Any) -> None:
        self._config = config


class ApplyFixedConfig(DispatchContext):
    """Schedules by name."""

    def __init__(self, tasks: Any, schedule_names: Any) -> None:
        self._schedule_names = schedule_names


apply_history_best, apply_graph_best, apply_fixed_config = ApplyHistoryBest, ApplyGraphBest, ApplyFixedConfig


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
