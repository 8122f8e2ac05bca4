"""Operators as functions: `relay.op.add`, `relay.op.nn.conv2d`, …"""

from . import annotation, dyn, image, nn, random, vision
from .._core import op as get
from .facts import columns, get_attr, has_attr, reset_attr, set_attr
from .description import describe, names
from .registration import REQUIRED, Attr, Input, Output, function, gradients, register, registered, unregister
from .tensor import *  # noqa: F403
