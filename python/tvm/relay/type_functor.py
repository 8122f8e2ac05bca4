"""The same as `relay.type_functor`."""

from relay.type_functor import *  # noqa: F403
