"""Options of measuring, which scripts make before they look for tasks; nothing is measured."""

from __future__ import annotations

import enum
from typing import Any, NamedTuple

from .. import _absent

__all__ = ["LocalBuilder", "LocalRunner", "MeasureErrorNo", "MeasureInput", "MeasureResult", "RPCRunner", "measure_option"]


class MeasureErrorNo(enum.IntEnum):
    """How a measurement ended."""

    NO_ERROR = 0
    INSTANTIATION_ERROR = 1
    COMPILE_HOST = 2
    COMPILE_DEVICE = 3
    RUNTIME_DEVICE = 4
    WRONG_ANSWER = 5
    BUILD_TIMEOUT = 6
    RUN_TIMEOUT = 7
    UNKNOWN_ERROR = 8


class MeasureInput(NamedTuple):
    """The subject of a measurement."""

    target: Any
    task: Any
    config: Any


class MeasureResult(NamedTuple):
    """The result of a measurement."""

    costs: Any
    error_no: int
    all_cost: float
    timestamp: float


class _Options:
    """Keeps what it was made with."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.args, self.kwargs = args, kwargs

    def __repr__(self) -> str:
        parts = [*map(repr, self.args), *(f"{key}={value!r}" for key, value in self.kwargs.items())]
        return f"{type(self).__name__}({', '.join(parts)})"


class LocalBuilder(_Options):
    """Would build on this machine."""


class LocalRunner(_Options):
    """Would run on this machine."""


class RPCRunner(_Options):
    """Would run on another machine."""


def measure_option(builder: Any, runner: Any) -> dict[str, Any]:
    """Both as a dictionary; "local" stands for this machine."""
    if builder == "local":
        builder = LocalBuilder()
    if runner == "local":
        runner = LocalRunner()
    return {"builder": builder, "runner": runner}


# A package without files: TVM has modules below it.
__path__: list[str] = []


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
