"""Operators whose attributes are known only when a program runs."""

from relay.op.dyn import *  # noqa: F403
