"""Compiled programs on many machines, by Ray (the extra `relay-lang[ray]`).

    import ray
    from relay.ray import infer

    infer(ray.data.read_parquet("images"), "digits.rlx", columns={"images": "image"}).write_parquet("answers")

`infer` is a step of a pipeline of Ray Data, `infer_parquet` a job over Parquet files that goes on where it was stopped, `deployment` an application
of Ray Serve, `validate` and `tune` work on many models at once. Each node keeps one file of a program, which all processes on it map.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .batches import Batches as Batches, infer as infer
    from .models import tune as tune, validate as validate
    from .parquet import JobError as JobError, Result as Result, infer_parquet as infer_parquet
    from .program import Program as Program
    from .serving import deployment as deployment

__all__ = ["Batches", "JobError", "Program", "Result", "deployment", "infer", "infer_parquet", "tune", "validate"]

# Found when they are first used: each needs another part of Ray.
_PLACES = {
    "Batches": "batches", "infer": "batches", "tune": "models", "validate": "models", "JobError": "parquet", "Result": "parquet",
    "infer_parquet": "parquet", "Program": "program", "deployment": "serving",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        import importlib

        return getattr(importlib.import_module(f".{_PLACES[name]}", __name__), name)
    raise AttributeError(f"module 'relay.ray' has no attribute {name!r}")
