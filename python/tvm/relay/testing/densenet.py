"""Densely connected networks (Huang et al., 2017), of 121, 161, 169 and 201 layers."""

from __future__ import annotations

from typing import Any

import relay

from . import layers
from .init import create_workload

# Channels of the first layer, channels that each layer adds, layers of each block.
_PLANS = {
    121: (64, 32, (6, 12, 24, 16)),
    161: (96, 48, (6, 12, 36, 24)),
    169: (64, 32, (6, 12, 32, 32)),
    201: (64, 32, (6, 12, 48, 32)),
}


def _activated(data: Any, name: str) -> Any:
    return relay.nn.relu(layers.batch_norm_infer(data, epsilon=1e-5, name=name))


def _conv(data: Any, channels: int, kernel: int, name: str) -> Any:
    return layers.conv2d(data, channels=channels, kernel_size=(kernel, kernel), padding=(kernel // 2, kernel // 2), name=name)


def _get_net(densenet_size: int, classes: int, batch_size: int, image_shape: Any, dtype: str) -> Any:
    if densenet_size not in _PLANS:
        raise ValueError(f"no DenseNet has {densenet_size} layers: there are {', '.join(map(str, _PLANS))}")
    channels, growth, blocks = _PLANS[densenet_size]
    out: Any = relay.var("data", shape=(batch_size, *image_shape), dtype=dtype)
    out = layers.conv2d(out, channels=channels, kernel_size=(7, 7), strides=(2, 2), padding=(3, 3), name="conv0")
    out = relay.nn.max_pool2d(_activated(out, "bn0"), pool_size=(3, 3), strides=(2, 2), padding=(1, 1))
    for block, count in enumerate(blocks, 1):
        for layer in range(1, count + 1):
            name = f"block{block}_layer{layer}"
            narrow = _conv(_activated(out, name + "_bn1"), 4 * growth, 1, name + "_conv1")
            out = relay.concatenate((out, _conv(_activated(narrow, name + "_bn2"), growth, 3, name + "_conv2")), axis=1)
        channels += count * growth
        if block < len(blocks):  # half the channels, half the rows and columns
            channels //= 2
            out = _conv(_activated(out, f"transition{block}_bn"), channels, 1, f"transition{block}_conv")
            out = relay.nn.avg_pool2d(out, pool_size=(2, 2), strides=(2, 2))
    out = relay.nn.batch_flatten(relay.nn.global_avg_pool2d(_activated(out, "bn1")))
    out = layers.dense_add_bias(out, units=classes, name="fc1")
    return relay.Function(relay._core.free_vars(out), out)


def get_workload(densenet_size: int = 121, classes: int = 1000, batch_size: int = 4, image_shape: Any = (3, 224, 224), dtype: str = "float32") -> Any:
    """The module, which gives scores before softmax, and its parameters. Raises ValueError for other sizes."""
    return create_workload(_get_net(densenet_size, classes, batch_size, image_shape, dtype))
