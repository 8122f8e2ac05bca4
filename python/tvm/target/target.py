"""`tvm.target.target`: where TVM defines its targets."""

from . import Target as Target, create as create

__all__ = ["Target", "create"]
