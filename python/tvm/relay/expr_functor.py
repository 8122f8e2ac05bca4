"""The same as `relay.expr_functor`."""

from relay.expr_functor import *  # noqa: F403
