"""SqueezeNet (Iandola et al., 2016), versions 1.0 and 1.1."""

from __future__ import annotations

from typing import Any

import relay

from . import layers
from .init import create_workload


def _conv(data: Any, name: str, channels: int, kernel: int, stride: int = 1, pad: int = 0) -> Any:
    out = layers.conv2d(data, channels=channels, kernel_size=(kernel, kernel), strides=(stride, stride), padding=(pad, pad), name=name)
    return relay.nn.relu(relay.nn.bias_add(out, relay.var(name + "_bias")))


def _fire(data: Any, name: str, squeeze: int, expand: int) -> Any:
    narrow = _conv(data, name + "_squeeze", squeeze, 1)
    return relay.concatenate((_conv(narrow, name + "_left", expand, 1), _conv(narrow, name + "_right", expand, 3, pad=1)), axis=1)


def get_net(batch_size: int, image_shape: Any, num_classes: int, version: str, dtype: str) -> Any:
    """The function. Raises ValueError for other versions."""
    if version not in ("1.0", "1.1"):
        raise ValueError(f"SqueezeNet has the versions 1.0 and 1.1, not {version!r}")
    out: Any = relay.var("data", shape=(batch_size, *image_shape), dtype=dtype)
    out = _conv(out, "conv1", 96, 7, 2, 3) if version == "1.0" else _conv(out, "conv1", 64, 3, 2, 1)
    pools = {1, 4, 8} if version == "1.0" else {1, 3, 5}
    for number, (squeeze, expand) in enumerate(((16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (48, 192), (64, 256), (64, 256)), 2):
        if number - 1 in pools:
            out = relay.nn.max_pool2d(out, pool_size=(3, 3), strides=(2, 2))
        out = _fire(out, f"fire{number}", squeeze, expand)
    out = _conv(relay.nn.dropout(out, rate=0.5), "conv10", num_classes, 1)
    out = relay.nn.softmax(relay.nn.batch_flatten(relay.nn.global_avg_pool2d(out)))
    return relay.Function(relay._core.free_vars(out), out)


def get_workload(batch_size: int = 1, num_classes: int = 1000, version: str = "1.0", image_shape: Any = (3, 224, 224), dtype: str = "float32") -> Any:
    """The module and its parameters."""
    return create_workload(get_net(batch_size, image_shape, num_classes, version, dtype))
