"""`tvm.driver.tvmc` in Python: load a model, compile it, run it. The command line of Relay is `relay`."""

from __future__ import annotations

import warnings
from typing import Any

from ... import _absent
from . import model
from .compiler import compile_model as compile
from .frontends import load_model as load
from .model import TVMCException, TVMCModel, TVMCPackage, TVMCResult
from .runner import run_module as run

__all__ = ["TVMCException", "TVMCModel", "TVMCPackage", "TVMCResult", "compile", "load", "model", "run", "tune"]


def tune(tvmc_model: TVMCModel, target: Any = None, tuning_records: str | None = None, *args: Any, **kwargs: Any) -> str:
    """The path of a log, `tuning_records` or a temporary file, that `compile` takes and that has nothing in it: kernels are generated without
    schedules, so nothing can be tuned, as a warning says.
    """
    path = str(tuning_records or tvmc_model.default_tuning_records_path())
    with open(path, "a", encoding="utf-8"):
        pass
    warnings.warn("tvmc.tune: kernels are generated without schedules, so nothing is tuned, and the log has no records", stacklevel=2)
    return path


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
