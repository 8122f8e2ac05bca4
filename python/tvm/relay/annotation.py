"""Operators that annotate."""

from typing import Any

from relay.op.annotation import *  # noqa: F403

from .. import _absent


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
