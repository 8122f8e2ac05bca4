"""The same as `relay.scope_builder`."""

from relay.scope_builder import *  # noqa: F403
