"""Operators as functions: `relay.op.add`, `relay.op.nn.conv2d`, …"""

from . import annotation, dyn, image, nn, random, vision
from .._core import op as get
from .tensor import *  # noqa: F403
