"""Answers about results of runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import _absent
from .model import TVMCResult

__all__ = ["get_top_results"]


def get_top_results(result: TVMCResult, max_results: int = 5) -> Any:
    """The numbers of the classes with the greatest scores in the first row of the first output, and below them the scores."""
    scores = np.asarray(result.outputs["output_0"])
    row = scores.reshape(scores.shape[0], -1)[0] if scores.ndim else scores.reshape(-1)
    best = np.argsort(row, kind="stable")[::-1][: max(0, int(max_results))]
    return np.array([best, row[best]])


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
