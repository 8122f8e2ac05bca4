"""The network of Mnih et al., "Human-level control through deep reinforcement learning" (2015)."""

from __future__ import annotations

from typing import Any

import relay

from . import layers
from .init import create_workload


def get_net(batch_size: int, num_actions: int = 18, image_shape: Any = (4, 84, 84), dtype: str = "float32", layout: str = "NCHW") -> Any:
    """Three convolutions and two dense layers."""
    out: Any = relay.var("data", shape=(batch_size, *image_shape), dtype=dtype)
    axis = layout.index("C")
    for number, (channels, kernel, stride) in enumerate(((32, 8, 4), (64, 4, 2), (64, 3, 1)), 1):
        out = layers.conv2d(out, name=f"conv{number}", channels=channels, kernel_size=(kernel, kernel), strides=(stride, stride),
                            data_layout=layout, kernel_layout=layers.conv_kernel_layout(layout))  # fmt: skip
        out = relay.nn.relu(relay.nn.bias_add(out, relay.var(f"conv{number}_bias"), axis))
    out = relay.nn.relu(layers.dense_add_bias(relay.nn.batch_flatten(out), units=512, name="dense1"))
    out = layers.dense_add_bias(out, units=num_actions, name="dense2")
    return relay.Function(relay._core.free_vars(out), out)


def get_workload(batch_size: int, num_actions: int = 18, image_shape: Any = (4, 84, 84), dtype: str = "float32", layout: str = "NCHW") -> Any:
    """The module and its parameters."""
    return create_workload(get_net(batch_size, num_actions, image_shape, dtype, layout))
