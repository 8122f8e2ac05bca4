"""Operators `random`."""

from relay import Constant as Constant, Expr as Expr, const as const
from relay.op.generated.random import *  # noqa: F403
from relay.op.random import *  # noqa: F403
