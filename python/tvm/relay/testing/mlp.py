"""A perceptron of three layers."""

from __future__ import annotations

from typing import Any

import relay

from .init import create_workload


def get_net(batch_size: int, num_classes: int = 10, image_shape: Any = (1, 28, 28), dtype: str = "float32") -> Any:
    """The function: 128, 64 and `num_classes` units."""
    out = relay.nn.batch_flatten(relay.var("data", shape=(batch_size, *image_shape), dtype=dtype))
    for number, units in enumerate((128, 64, num_classes), 1):
        out = relay.nn.dense(out, relay.var(f"fc{number}_weight"), units=units)
        out = relay.nn.bias_add(out, relay.var(f"fc{number}_bias"), axis=-1)
        out = relay.nn.softmax(out) if number == 3 else relay.nn.relu(out)
    return relay.Function(relay._core.free_vars(out), out)


def get_workload(batch_size: int, num_classes: int = 10, image_shape: Any = (1, 28, 28), dtype: str = "float32") -> Any:
    """The module and its parameters."""
    return create_workload(get_net(batch_size, num_classes, image_shape, dtype))
