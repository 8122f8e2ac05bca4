"""`tvm.transform`: the same as `tvm.ir.transform`."""

from .ir.transform import *  # noqa: F403
from .ir.transform import __all__ as __all__
from .ir.transform import ApplyPassToFunction as ApplyPassToFunction
