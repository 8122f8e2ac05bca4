"""`tvm.target.target`: where TVM defines its targets."""

from . import Target as Target, TargetFeatures as TargetFeatures, TargetKind as TargetKind, create as create
from .kinds import *  # noqa: F403
from .kinds import __all__ as _kinds

__all__ = ["Target", "TargetFeatures", "TargetKind", "create", *_kinds]
