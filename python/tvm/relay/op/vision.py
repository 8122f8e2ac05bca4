"""Operators `vision`."""

from ..vision import *  # noqa: F403
from ..vision import Constant as Constant, Expr as Expr, const as const  # noqa: PLC0414
