"""Operators `nn`."""

from ..nn import *  # noqa: F403
from ..nn import Constant as Constant, Expr as Expr  # noqa: PLC0414
from ..expr import const as const  # noqa: PLC0414

from ... import _absent


# A package without files: imports of what TVM has below it give the reason why it is not there.
__path__: list[str] = []


def __getattr__(name: str) -> object:
    return _absent.lookup(__name__, name)
