"""Residual networks over videos: convolutions in three dimensions (Tran et al., "A closer look at spatiotemporal convolutions", 2018)."""

from __future__ import annotations

from typing import Any

import relay

from . import layers
from .init import create_workload
from .resnet import _activated, _plan, _unit


def residual_unit(data: Any, num_filter: int, stride: Any, dim_match: bool, name: str, bottle_neck: bool = True, data_layout: str = "NCDHW",
                  kernel_layout: str = "OIDHW") -> Any:  # fmt: skip
    """A sum of the data, or a projection of it, and two or three convolutions."""

    def conv(value: Any, called: str, channels: int, kernel: int, steps: Any) -> Any:
        return layers.conv3d(value, channels=channels, kernel_size=(kernel,) * 3, strides=steps, padding=(kernel // 2,) * 3,
                             data_layout=data_layout, kernel_layout=kernel_layout, name=called)  # fmt: skip

    return _unit(data, num_filter, stride, dim_match, name, bottle_neck, data_layout.index("C"), conv)


def resnet(units: Any, num_stages: int, filter_list: Any, num_classes: int, data_shape: Any, bottle_neck: bool = True, layout: str = "NCDHW",
           dtype: str = "float32") -> Any:  # fmt: skip
    """The function of a plan of stages."""
    axis, kernel = layout.index("C"), layers.conv_kernel_layout(layout)
    out = layers.batch_norm_infer(relay.var("data", shape=data_shape, dtype=dtype), epsilon=2e-5, axis=axis, scale=False, name="bn_data")
    small = data_shape[layout.index("H")] <= 32
    # Large pictures are halved at once; the number of them stays.
    out = layers.conv3d(out, channels=filter_list[0], kernel_size=(3, 3, 3) if small else (3, 7, 7), strides=(1, 1, 1) if small else (1, 2, 2),
                        padding=(1, 1, 1) if small else (1, 3, 3), name="conv0", data_layout=layout, kernel_layout=kernel)  # fmt: skip
    if not small:
        out = _activated(out, "bn0", axis)
    for stage in range(num_stages):
        for unit in range(units[stage]):
            steps = (2, 2, 2) if unit == 0 and stage else (1, 1, 1)
            out = residual_unit(out, filter_list[stage + 1], steps, unit > 0, f"stage{stage + 1}_unit{unit + 1}", bottle_neck, layout, kernel)
    out = relay.nn.batch_flatten(relay.nn.global_avg_pool3d(_activated(out, "bn1", axis), layout=layout))
    out = relay.nn.softmax(layers.dense_add_bias(out, units=num_classes, name="fc1"))
    return relay.Function(relay._core.free_vars(out), out)


def get_net(batch_size: int, num_classes: int, num_layers: int = 50, image_shape: Any = (3, 16, 112, 112), layout: str = "NCDHW",
            dtype: str = "float32", **kwargs: Any) -> Any:  # fmt: skip
    """The function of a depth; pictures of up to 28 rows get the networks for small images. Raises ValueError for other depths."""
    units, filters, bottle_neck = _plan(num_layers, image_shape[layout.index("H") - 1])
    return resnet(units, len(units), filters, num_classes, (batch_size, *image_shape), bottle_neck, layout, dtype)


def get_workload(batch_size: int = 1, num_classes: int = 1000, num_layers: int = 18, image_shape: Any = (3, 16, 112, 112), layout: str = "NCDHW",
                 dtype: str = "float32", **kwargs: Any) -> Any:  # fmt: skip
    """The module and its parameters."""
    return create_workload(get_net(batch_size, num_classes, num_layers, image_shape, layout, dtype, **kwargs))
