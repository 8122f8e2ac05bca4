"""Operators that annotate."""

from relay.op.annotation import *  # noqa: F403
