"""The same as `relay.ty`."""

from relay.ty import *  # noqa: F403
