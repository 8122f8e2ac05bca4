"""Operators `image`."""

from relay import Constant as Constant, Expr as Expr, const as const
from relay.op.generated.image import *  # noqa: F403
from relay.op.image import *  # noqa: F403
