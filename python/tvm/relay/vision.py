"""Operators `vision`."""

from relay import Constant as Constant, Expr as Expr, const as const
from relay.op.generated.vision import *  # noqa: F403
from relay.op.vision import *  # noqa: F403
