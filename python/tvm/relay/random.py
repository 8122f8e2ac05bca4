"""Operators `random`."""

from relay import Constant, Expr, const
from relay.op.random import *  # noqa: F403
