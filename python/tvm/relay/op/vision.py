"""Operators `vision`."""

from ..vision import *  # noqa: F403
from ..vision import Constant as Constant, Expr as Expr  # noqa: PLC0414
from ..expr import const as const  # noqa: PLC0414
