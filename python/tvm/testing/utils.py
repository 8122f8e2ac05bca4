"""Where TVM defines its helpers of tests."""

from . import *  # noqa: F403
from . import __all__ as __all__
