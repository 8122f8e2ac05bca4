"""`tvm.target.target`: where TVM defines its targets."""

from . import Target as Target, create as create
from .kinds import *  # noqa: F403
from .kinds import __all__ as _kinds

__all__ = ["Target", "create", *_kinds]
