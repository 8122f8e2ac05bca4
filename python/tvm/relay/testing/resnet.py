"""Residual networks with activation before each convolution (He et al., "Identity mappings in deep residual networks", 2016)."""

from __future__ import annotations

from typing import Any

import relay

from . import layers
from .init import create_workload

_UNITS = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3), 200: (3, 24, 36, 3),
          269: (3, 30, 48, 8)}  # fmt: skip


def _activated(data: Any, name: str, axis: int, **kwargs: Any) -> Any:
    return relay.nn.relu(layers.batch_norm_infer(data, epsilon=2e-5, axis=axis, name=name, **kwargs))


def _unit(data: Any, num_filter: int, stride: Any, dim_match: bool, name: str, bottle_neck: bool, axis: int, conv: Any) -> Any:
    """The unit, for any number of dimensions: `conv(value, name, channels, kernel, strides)` makes a convolution."""
    ones = (1,) * len(stride)
    plan = [(num_filter // 4, 1, ones), (num_filter // 4, 3, stride), (num_filter, 1, ones)] if bottle_neck else \
           [(num_filter, 3, stride), (num_filter, 3, ones)]  # fmt: skip
    first = out = _activated(data, name + "_bn1", axis)
    for number, (channels, kernel, steps) in enumerate(plan, 1):
        if number > 1:
            out = _activated(out, f"{name}_bn{number}", axis)
        out = conv(out, f"{name}_conv{number}", channels, kernel, steps)
    return relay.add(out, data if dim_match else conv(first, name + "_sc", num_filter, 1, stride))


def residual_unit(data: Any, num_filter: int, stride: Any, dim_match: bool, name: str, bottle_neck: bool = True, data_layout: str = "NCHW",
                  kernel_layout: str = "IOHW") -> Any:  # fmt: skip
    """A sum of the data, or a projection of it, and two or three convolutions."""

    def conv(value: Any, called: str, channels: int, kernel: int, steps: Any) -> Any:
        return layers.conv2d(value, channels=channels, kernel_size=(kernel, kernel), strides=steps, padding=(kernel // 2, kernel // 2),
                             data_layout=data_layout, kernel_layout=kernel_layout, name=called)  # fmt: skip

    return _unit(data, num_filter, stride, dim_match, name, bottle_neck, data_layout.index("C"), conv)


def resnet(units: Any, num_stages: int, filter_list: Any, num_classes: int, data_shape: Any, bottle_neck: bool = True, layout: str = "NCHW",
           dtype: str = "float32") -> Any:  # fmt: skip
    """The function of a plan of stages."""
    axis, kernel = layout.index("C"), layers.conv_kernel_layout(layout)
    out = layers.batch_norm_infer(relay.var("data", shape=data_shape, dtype=dtype), epsilon=2e-5, axis=axis, scale=False, name="bn_data")
    small = data_shape[layout.index("H")] <= 32
    out = layers.conv2d(out, channels=filter_list[0], kernel_size=(3, 3) if small else (7, 7), strides=(1, 1) if small else (2, 2),
                        padding=(1, 1) if small else (3, 3), name="conv0", data_layout=layout, kernel_layout=kernel)  # fmt: skip
    if not small:
        out = relay.nn.max_pool2d(_activated(out, "bn0", axis), (3, 3), (2, 2), padding=(1, 1), layout=layout)
    for stage in range(num_stages):
        for unit in range(units[stage]):
            steps = (2, 2) if unit == 0 and stage else (1, 1)
            out = residual_unit(out, filter_list[stage + 1], steps, unit > 0, f"stage{stage + 1}_unit{unit + 1}", bottle_neck, layout, kernel)
    out = relay.nn.batch_flatten(relay.nn.global_avg_pool2d(_activated(out, "bn1", axis), layout=layout))
    out = relay.nn.softmax(layers.dense_add_bias(out, units=num_classes, name="fc1"))
    return relay.Function(relay._core.free_vars(out), out)


def _plan(num_layers: int, height: int) -> tuple[list[int], list[int], bool]:
    """Units of each stage, filters, and whether units have a bottleneck. Raises ValueError for other depths."""
    if height <= 28:
        deep = num_layers >= 164
        per, rest = divmod(num_layers - 2, 9 if deep else 6)
        if rest:
            raise ValueError(f"no network for small images has {num_layers} layers")
        return [per] * 3, [16, 64, 128, 256] if deep else [16, 16, 32, 64], deep
    if num_layers not in _UNITS:
        raise ValueError(f"no network has {num_layers} layers: there are {', '.join(map(str, _UNITS))}")
    deep = num_layers >= 50
    return list(_UNITS[num_layers]), [64, 256, 512, 1024, 2048] if deep else [64, 64, 128, 256, 512], deep


def get_net(batch_size: int, num_classes: int, num_layers: int = 50, image_shape: Any = (3, 224, 224), layout: str = "NCHW",
            dtype: str = "float32", **kwargs: Any) -> Any:  # fmt: skip
    """The function of a depth; images of up to 28 rows get the networks for small images. Raises ValueError for other depths."""
    units, filters, bottle_neck = _plan(num_layers, image_shape[layout.index("H") - 1])
    return resnet(units, len(units), filters, num_classes, (batch_size, *image_shape), bottle_neck, layout, dtype)


def get_workload(batch_size: int = 1, num_classes: int = 1000, num_layers: int = 18, image_shape: Any = (3, 224, 224), layout: str = "NCHW",
                 dtype: str = "float32", **kwargs: Any) -> Any:  # fmt: skip
    """The module and its parameters."""
    return create_workload(get_net(batch_size, num_classes, num_layers, image_shape, layout, dtype, **kwargs))
