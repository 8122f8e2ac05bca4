"""Quantised numbers."""

from . import op
from .op import *  # noqa: F403
