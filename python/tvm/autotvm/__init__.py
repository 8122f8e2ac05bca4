"""`tvm.autotvm`: kernels have no schedules that could be tuned, so there are no tasks, and logs of tuning change nothing.

What scripts only consult is here: tasks (there are none), contexts of logs, options of measuring. Tuners and templates are not.
"""

from __future__ import annotations

from typing import Any

from .. import _absent
from . import measure, task, tophub
from .measure import LocalBuilder, LocalRunner, MeasureErrorNo, MeasureInput, MeasureResult, RPCRunner, measure_option
from .task import (
    ApplyConfig, ApplyFixedConfig, ApplyGraphBest, ApplyHistoryBest, DispatchContext, FallbackContext, apply_fixed_config, apply_graph_best,
    apply_history_best,
)  # fmt: skip

__all__ = [
    "ApplyConfig", "ApplyFixedConfig", "ApplyGraphBest", "ApplyHistoryBest", "DispatchContext", "FallbackContext", "LocalBuilder", "LocalRunner",
    "MeasureErrorNo", "MeasureInput", "MeasureResult", "RPCRunner", "apply_fixed_config", "apply_graph_best", "apply_history_best", "measure", "measure_option", "task", "tophub",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
