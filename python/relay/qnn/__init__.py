"""Quantised numbers."""

from . import op as op
from .op import *  # noqa: F403
