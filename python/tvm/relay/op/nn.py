"""Operators `nn`."""

from ..nn import *  # noqa: F403
from ..nn import Constant as Constant, Expr as Expr, const as const  # noqa: PLC0414
