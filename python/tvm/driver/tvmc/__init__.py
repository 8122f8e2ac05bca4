"""`tvm.driver.tvmc` in Python: load a model, compile it, run it. The command line of Relay is `relay`."""

from __future__ import annotations

from typing import Any

from ... import _absent
from . import model
from .compiler import compile_model as compile
from .frontends import load_model as load
from .model import TVMCException, TVMCModel, TVMCPackage, TVMCResult
from .runner import run_module as run

__all__ = ["TVMCException", "TVMCModel", "TVMCPackage", "TVMCResult", "compile", "load", "model", "run", "tune"]


def tune(tvmc_model: TVMCModel, target: Any, *args: Any, **kwargs: Any) -> None:
    """None, the path of no log: kernels are generated without schedules, so nothing can be tuned."""
    return None


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
