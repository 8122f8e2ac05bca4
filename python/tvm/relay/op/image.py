"""Operators `image`."""

from ..image import *  # noqa: F403
from ..image import Constant as Constant, Expr as Expr  # noqa: PLC0414
from ..expr import const as const  # noqa: PLC0414
