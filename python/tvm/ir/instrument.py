"""Instruments of passes."""

from relay.instrument import *  # noqa: F403
from relay.instrument import __all__ as __all__
