"""Operators `vision`."""

from relay import Constant, Expr, const
from relay.op.vision import *  # noqa: F403
