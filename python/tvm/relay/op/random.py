"""Operators `random`."""

from ..random import *  # noqa: F403
from ..random import Constant as Constant, Expr as Expr, const as const  # noqa: PLC0414
