"""Operators `image`."""

from relay import Constant, Expr, const
from relay.op.image import *  # noqa: F403
