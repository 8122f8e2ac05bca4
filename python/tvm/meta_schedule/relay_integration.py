"""Tasks of programs, of which there are none."""

from __future__ import annotations

from typing import Any

from .. import _absent

__all__ = ["extract_tasks", "is_meta_schedule_enabled"]


def extract_tasks(
    mod: Any, target: Any, params: Any, *, opt_level: int = 3, pass_config: Any = None, executor: Any = None, runtime: Any = None,
    module_equality: str = "structural", disabled_pass: Any = None, instruments: Any = None,
) -> list[Any]:  # fmt: skip
    """No tasks: kernels are generated without schedules, so nothing can be tuned."""
    return []


def is_meta_schedule_enabled() -> bool:
    """False, also under ``relay.backend.use_meta_schedule``."""
    return False


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
