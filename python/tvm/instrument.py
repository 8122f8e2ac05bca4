"""`tvm.instrument`: the same as `tvm.ir.instrument`."""

from .ir.instrument import *  # noqa: F403
from .ir.instrument import __all__ as __all__
