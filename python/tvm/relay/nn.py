"""Operators `nn`."""

from typing import Any

from relay import Constant as Constant, Expr as Expr, const as const
from relay.op.generated.nn import *  # noqa: F403
from relay.op.nn import *  # noqa: F403

from .. import _absent


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
