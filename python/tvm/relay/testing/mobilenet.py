"""MobileNet (Howard et al., 2017)."""

from __future__ import annotations

from typing import Any

import relay

from . import layers
from .init import create_workload


def conv_block(data: Any, name: str, channels: int, kernel_size: Any = (3, 3), strides: Any = (1, 1), padding: Any = (1, 1),
               epsilon: float = 1e-05, layout: str = "NCHW") -> Any:  # fmt: skip
    """A convolution, normalised and cut off below 0."""
    out = layers.conv2d(data, channels=channels, kernel_size=kernel_size, strides=strides, padding=padding, data_layout=layout,
                        kernel_layout=layers.conv_kernel_layout(layout), name=name + "_conv")  # fmt: skip
    return relay.nn.relu(layers.batch_norm_infer(out, epsilon=epsilon, axis=layout.index("C"), name=name + "_bn"))


def separable_conv_block(data: Any, name: str, depthwise_channels: int, pointwise_channels: int, kernel_size: Any = (3, 3),
                         downsample: bool = False, padding: Any = (1, 1), epsilon: float = 1e-05, layout: str = "NCHW",
                         dtype: str = "float32") -> Any:  # fmt: skip
    """A convolution of each channel, then one of 1 by 1."""
    steps = (2, 2) if downsample else (1, 1)
    per_channel = (depthwise_channels, 1) if layout == "NCHW" else (depthwise_channels, 1)
    shape = (*per_channel, *kernel_size) if layout == "NCHW" else (*kernel_size, *per_channel)
    out = layers.conv2d(data, relay.var(name + "_weight", shape=shape, dtype=dtype), channels=depthwise_channels, groups=depthwise_channels,
                        kernel_size=kernel_size, strides=steps, padding=padding, data_layout=layout,
                        kernel_layout=layers.conv_kernel_layout(layout, True), name=name + "_depthwise_conv1")  # fmt: skip
    out = relay.nn.relu(layers.batch_norm_infer(out, epsilon=epsilon, axis=layout.index("C"), name=name + "_bn1"))
    return conv_block(out, name + "_conv2", pointwise_channels, (1, 1), (1, 1), (0, 0), epsilon, layout)


def mobile_net(num_classes: int = 1000, data_shape: Any = (1, 3, 224, 224), dtype: str = "float32", alpha: float = 1.0,
               is_shallow: bool = False, layout: str = "NCHW") -> Any:  # fmt: skip
    """The function; `alpha` scales the widths, `is_shallow` leaves the five middle blocks out."""
    def wide(channels: int) -> int:
        return int(round(channels * alpha))

    out = conv_block(relay.var("data", shape=data_shape, dtype=dtype), "conv_block_1", wide(32), strides=(2, 2), layout=layout)
    plan = [(32, 64, False), (64, 128, True), (128, 128, False), (128, 256, True), (256, 256, False), (256, 512, True)]
    plan += [] if is_shallow else [(512, 512, False)] * 5
    plan += [(512, 1024, True), (1024, 1024, False)]
    for number, (before, after, down) in enumerate(plan, 1):
        out = separable_conv_block(out, f"separable_conv_block_{number}", wide(before), wide(after), downsample=down, layout=layout, dtype=dtype)
    out = relay.nn.batch_flatten(relay.nn.global_avg_pool2d(out, layout=layout))
    out = relay.nn.bias_add(relay.nn.dense(out, relay.var("fc_weight"), units=num_classes), relay.var("fc_bias"))
    out = relay.nn.softmax(out)
    return relay.Function(relay._core.free_vars(out), out)


def get_workload(batch_size: int = 1, num_classes: int = 1000, image_shape: Any = (3, 224, 224), dtype: str = "float32", layout: str = "NCHW") -> Any:
    """The module and its parameters."""
    return create_workload(mobile_net(num_classes, (batch_size, *image_shape), dtype, layout=layout))
