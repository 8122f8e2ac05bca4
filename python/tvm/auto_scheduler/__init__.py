"""`tvm.auto_scheduler`: kernels have no schedules that could be tuned, so there are no tasks, and logs of tuning change nothing."""

from __future__ import annotations

from typing import Any

from .. import _absent
from ..autotvm.task import ApplyHistoryBest as _Log, DispatchContext, FallbackContext

__all__ = ["ApplyHistoryBest", "ApplyHistoryBestOrSample", "DispatchContext", "FallbackContext", "TuningOptions", "extract_tasks", "is_auto_scheduler_enabled"]


def extract_tasks(
    mod: Any, params: Any, target: Any, target_host: Any = None, hardware_params: Any = None, include_simple_tasks: bool = False,
    dump_workload_to_dag_log: Any = None, opt_level: int = 3, other_targets: Any = None,
) -> tuple[list[Any], list[int]]:  # fmt: skip
    """No tasks, and no weights of tasks."""
    return [], []


class ApplyHistoryBest(_Log):
    """The best schedules of a log. A log that is a path must be there; what it says changes nothing."""

    def __init__(self, records: Any, n_lines: int | None = None, include_compatible: bool = False) -> None:
        super().__init__(records)


class ApplyHistoryBestOrSample(_Log):
    """The same."""

    def __init__(self, records: Any, sample_simple_workloads: bool = False, cost_model_file: Any = None, num_measure: int = -1) -> None:
        super().__init__(records)


class TuningOptions:
    """Keeps what it was made with."""

    def __init__(self, num_measure_trials: int = 0, early_stopping: Any = None, num_measures_per_round: int = 64, verbose: int = 1,
                 builder: Any = "local", runner: Any = "local", measure_callbacks: Any = None) -> None:  # fmt: skip
        self.num_measure_trials, self.early_stopping, self.num_measures_per_round = num_measure_trials, early_stopping, num_measures_per_round
        self.verbose, self.builder, self.runner, self.measure_callbacks = verbose, builder, runner, list(measure_callbacks or [])


def is_auto_scheduler_enabled() -> bool:
    """False, also under ``relay.backend.use_auto_scheduler``."""
    return False


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
