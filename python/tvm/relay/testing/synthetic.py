"""A small chain of convolutions and a sum, for tests of passes."""

from __future__ import annotations

from typing import Any

import relay

from . import layers
from .init import create_workload


def get_net(input_shape: Any = (1, 3, 24, 12), dtype: str = "float32", wtype: str | None = None) -> Any:
    """Two convolutions of which one is added to a dense product's shape-free sum."""
    data = relay.var("data", shape=input_shape, dtype=dtype)
    first = layers.conv2d(data, relay.var("conv1_weight", dtype=wtype or dtype), name="conv1", channels=8, kernel_size=(3, 3), padding=(1, 1))
    second = layers.conv2d(
        relay.nn.relu(first), relay.var("conv2_weight", dtype=wtype or dtype), name="conv2", channels=8, kernel_size=(1, 1)
    )
    body = relay.add(first, second)
    return relay.Function(relay._core.free_vars(body), body)


def get_workload(input_shape: Any = (1, 3, 24, 12), dtype: str = "float32", wtype: str | None = None) -> Any:
    """The module and its parameters."""
    return create_workload(get_net(input_shape, dtype, wtype))
