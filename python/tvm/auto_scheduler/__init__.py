"""`tvm.auto_scheduler`: kernels have no schedules that could be tuned, so there are no tasks, and logs of tuning change nothing."""

from __future__ import annotations

from typing import Any

from .. import _absent
from ..autotvm.measure import LocalBuilder, LocalRunner, RPCRunner
from ..autotvm.task import ApplyHistoryBest as _Log, DispatchContext, FallbackContext

__all__ = [
    "ApplyHistoryBest", "ApplyHistoryBestOrSample", "DispatchContext", "FallbackContext", "LocalBuilder", "LocalRunner", "RPCRunner", "RecordToFile", "TaskScheduler",
    "TuningOptions", "extract_tasks", "is_auto_scheduler_enabled",
]  # fmt: skip


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


class RecordToFile:
    """Would write what was measured to a file, which is there from the start."""

    def __init__(self, filename: str) -> None:
        self.filename = filename


class TaskScheduler:
    """Tunes the tasks of `extract_tasks`, of which there are none.

    Raises NotImplementedError for tasks that come from elsewhere.
    """

    def __init__(self, tasks: Any, task_weights: Any = None, objective_func: Any = None, strategy: str = "gradient", load_model_file: Any = None,
                 load_log_file: Any = None, alpha: float = 0.2, beta: float = 2, gamma: float = 0.5, backward_window_size: int = 3,
                 callbacks: Any = None) -> None:  # fmt: skip
        if tasks:
            raise NotImplementedError("there are no schedules that could be tuned: extract_tasks gives no tasks")
        self.tasks, self.task_weights = list(tasks), list(task_weights or [])

    def tune(self, tune_option: TuningOptions, search_policy: Any = "default", search_policy_params: Any = None, adaptive_training: bool = False,
             per_task_early_stopping: int | None = None) -> None:  # fmt: skip
        """Measures nothing; files that callbacks would write are made empty if they are not there."""
        for callback in tune_option.measure_callbacks or []:
            if isinstance(callback, RecordToFile):
                with open(callback.filename, "a", encoding="utf-8"):
                    pass


def is_auto_scheduler_enabled() -> bool:
    """False, also under ``relay.backend.use_auto_scheduler``."""
    return False


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
