"""Operators whose extents are expressions: `relay.reshape` and its like call them where they must."""

from ..generated.dyn import *  # noqa: F403
from ..generated.dyn import __all__ as __all__
from . import image as image
from . import nn as nn
