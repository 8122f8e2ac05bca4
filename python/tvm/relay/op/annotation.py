"""Operators that annotate."""

from relay.op.annotation import *  # noqa: F403

from ... import _absent


def __getattr__(name: str) -> object:
    return _absent.lookup(__name__, name)
