"""The generator of Radford et al., "Unsupervised representation learning with deep convolutional GANs" (2015)."""

from __future__ import annotations

from typing import Any

import relay

from . import layers
from .init import create_workload


def deconv2d(data: Any, ishape: Any, oshape: Any, kshape: Any, layout: str, name: str, stride: Any = (2, 2)) -> Any:
    """A transposed convolution that makes `oshape` of `ishape`; shapes without the batch."""
    height, width = (oshape[1], oshape[2]) if layout == "NCHW" else (oshape[0], oshape[1])
    begins = (ishape[1], ishape[2]) if layout == "NCHW" else (ishape[0], ishape[1])
    # How much of the full result is cut off, at both sides together.
    cut = [(begin - 1) * step + kernel - end for begin, end, kernel, step in zip(begins, (height, width), kshape, stride)]
    pads = [(both + 1) // 2 for both in cut]
    extra = [2 * pad - both for pad, both in zip(pads, cut)]
    return layers.conv2d_transpose(data, kernel_size=kshape, strides=stride, channels=oshape[0] if layout == "NCHW" else oshape[2],
                                   padding=pads, output_padding=extra, data_layout=layout,
                                   kernel_layout="IOHW" if layout == "NCHW" else "HWIO", name=name)  # fmt: skip


def deconv2d_bn_relu(data: Any, prefix: str, **kwargs: Any) -> Any:
    """The same, normalised and cut off below 0."""
    eps = kwargs.pop("eps", 1e-5 + 1e-12)
    out = deconv2d(data, name=prefix + "_deconv", **kwargs)
    axis = 1 if kwargs.get("layout") == "NCHW" else 3
    return relay.nn.relu(layers.batch_norm_infer(out, epsilon=eps, scale=False, axis=axis, name=prefix + "_batch_norm"))


def get_net(batch_size: int, random_len: int = 100, oshape: Any = (3, 64, 64), ngf: int = 128, code: Any = None, layout: str = "NCHW",
            dtype: str = "float32") -> Any:  # fmt: skip
    """From a random code to an image of 64 by 64."""
    if oshape[-2 if layout == "NCHW" else 0] != 64:
        raise ValueError(f"the generator makes images of 64 by 64, not {oshape}")
    code = relay.var("data", dtype=dtype, shape=(batch_size, random_len)) if code is None else code
    out = relay.nn.relu(relay.nn.dense(code, relay.var("dense_weight"), units=4 * 4 * ngf * 8))

    def shape(channels: int, extent: int) -> tuple[int, int, int]:
        return (channels, extent, extent) if layout == "NCHW" else (extent, extent, channels)

    before = shape(ngf * 8, 4)
    out = relay.reshape(out, (batch_size, *before))
    for number, (times, extent) in enumerate(((4, 8), (2, 16), (1, 32)), 2):
        after = shape(ngf * times, extent)
        out = deconv2d_bn_relu(out, f"g{number}", ishape=before, oshape=after, kshape=(4, 4), layout=layout)
        before = after
    out = deconv2d(out, before, oshape, (4, 4), layout, "g5_deconv")
    out = relay.tanh(out)
    return relay.Function(relay._core.free_vars(out), out)


def get_workload(batch_size: int, oshape: Any = (3, 64, 64), ngf: int = 128, random_len: int = 100, layout: str = "NCHW", dtype: str = "float32") -> Any:
    """The module and its parameters."""
    return create_workload(get_net(batch_size, random_len, oshape, ngf, None, layout, dtype))
