"""Operators `nn`."""

from relay import Constant, Expr, const
from relay.op.nn import *  # noqa: F403
