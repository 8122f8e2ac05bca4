"""VGG (Simonyan and Zisserman, 2014)."""

from __future__ import annotations

from typing import Any

import relay

from . import layers
from .init import create_workload

_DEPTHS = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}


def get_feature(internal_layer: Any, layers: Any, filters: Any, batch_norm: bool = False) -> Any:
    """Blocks of convolutions, each followed by a pool."""
    from .layers import batch_norm_infer, conv2d

    out = internal_layer
    for block, (count, channels) in enumerate(zip(layers, filters), 1):
        for number in range(1, count + 1):
            out = conv2d(out, kernel_size=(3, 3), padding=(1, 1), channels=channels, name=f"conv{block}_{number}")
            out = relay.nn.bias_add(out, relay.var(f"conv{block}_{number}_bias"))
            if batch_norm:
                out = batch_norm_infer(out, name=f"bn{block}_{number}")
            out = relay.nn.relu(out)
        out = relay.nn.max_pool2d(out, pool_size=(2, 2), strides=(2, 2))
    return out


def get_classifier(input_data: Any, num_classes: int) -> Any:
    """Three dense layers."""
    out = relay.nn.batch_flatten(input_data)
    for number in (6, 7):
        out = relay.nn.dropout(relay.nn.relu(layers.dense_add_bias(out, units=4096, name=f"fc{number}")), rate=0.5)
    return layers.dense_add_bias(out, units=num_classes, name="fc8")


def get_net(batch_size: int, image_shape: Any, num_classes: int, dtype: str, num_layers: int = 11, batch_norm: bool = False) -> Any:
    """The function. Raises ValueError for depths other than 11, 13, 16 and 19."""
    if num_layers not in _DEPTHS:
        raise ValueError(f"VGG has 11, 13, 16 or 19 layers, not {num_layers}")
    data = relay.var("data", shape=(batch_size, *image_shape), dtype=dtype)
    out = relay.nn.softmax(get_classifier(get_feature(data, _DEPTHS[num_layers], (64, 128, 256, 512, 512), batch_norm), num_classes))
    return relay.Function(relay._core.free_vars(out), out)


def get_workload(batch_size: int, num_classes: int = 1000, image_shape: Any = (3, 224, 224), dtype: str = "float32", num_layers: int = 11,
                 batch_norm: bool = False) -> Any:  # fmt: skip
    """The module and its parameters."""
    return create_workload(get_net(batch_size, image_shape, num_classes, dtype, num_layers, batch_norm))
