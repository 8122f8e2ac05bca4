"""Inception, version 3 (Szegedy et al., "Rethinking the Inception architecture for computer vision", 2016)."""

from __future__ import annotations

from typing import Any

import relay

from . import layers
from .init import create_workload


def Conv(data: Any, num_filter: int, kernel: Any = (1, 1), stride: Any = (1, 1), pad: Any = (0, 0), name: Any = None, suffix: str = "") -> Any:  # noqa: N802
    """A convolution, normalised, and relu."""
    called = f"{name}{suffix}"
    out = layers.conv2d(data, channels=int(num_filter), kernel_size=kernel, strides=stride, padding=pad, name=called + "_conv1")
    return relay.nn.relu(layers.batch_norm_infer(out, epsilon=2e-5, scale=False, name=called + "_bn"))


def Pooling(data: Any, kernel: Any, stride: Any, pad: Any, pool_type: str, name: str) -> Any:  # noqa: N802
    """Greatest ("max") or mean ("avg") values; means count padding. Raises ValueError for other kinds."""
    if pool_type == "max":
        return relay.nn.max_pool2d(data, pool_size=kernel, strides=stride, padding=pad)
    if pool_type == "avg":
        return relay.nn.avg_pool2d(data, pool_size=kernel, strides=stride, padding=pad, count_include_pad=True)
    raise ValueError(f"pooling {name} is max or avg, not {pool_type!r}")


def _chain(data: Any, name: str, *plan: tuple[int, tuple[int, int]], stride: int = 1) -> Any:
    """Convolutions of channels and kernels in a row, which keep the extents but for the last one, which may have a stride."""
    for at, (channels, kernel) in enumerate(plan):
        last = at == len(plan) - 1 and stride > 1
        pad = (0, 0) if last else (kernel[0] // 2, kernel[1] // 2)
        data = Conv(data, channels, kernel, (stride, stride) if last else (1, 1), pad, name, f"_{at}")
    return data


def _same_pool(data: Any, kind: str, name: str) -> Any:
    return Pooling(data, (3, 3), (1, 1), (1, 1), kind, name)


def _join(*towers: Any) -> Any:
    return relay.concatenate(towers, axis=1)


def _square(data: Any, name: str, pooled: int) -> Any:
    """Windows of 1, 5 and twice 3."""
    return _join(
        _chain(data, name + "_one", (64, (1, 1))),
        _chain(data, name + "_five", (48, (1, 1)), (64, (5, 5))),
        _chain(data, name + "_threes", (64, (1, 1)), (96, (3, 3)), (96, (3, 3))),
        _chain(_same_pool(data, "avg", name), name + "_pool", (pooled, (1, 1))),
    )


def _factored(data: Any, name: str, inner: int) -> Any:
    """Windows of 7 as rows and columns."""
    row, column = (1, 7), (7, 1)
    return _join(
        _chain(data, name + "_one", (192, (1, 1))),
        _chain(data, name + "_seven", (inner, (1, 1)), (inner, row), (192, column)),
        _chain(data, name + "_sevens", (inner, (1, 1)), (inner, column), (inner, row), (inner, column), (192, row)),
        _chain(_same_pool(data, "avg", name), name + "_pool", (192, (1, 1))),
    )


def _wide(data: Any, name: str, kind: str) -> Any:
    """Windows of 3 as a row beside a column."""
    three = _chain(data, name + "_three", (384, (1, 1)))
    threes = _chain(data, name + "_threes", (448, (1, 1)), (384, (3, 3)))
    split = [_chain(base, f"{name}_{called}", (384, kernel)) for base, tower in ((three, "three"), (threes, "threes"))
             for called, kernel in ((tower + "_row", (1, 3)), (tower + "_column", (3, 1)))]  # fmt: skip
    return _join(_chain(data, name + "_one", (320, (1, 1))), *split, _chain(_same_pool(data, kind, name), name + "_pool", (192, (1, 1))))


def get_net(batch_size: int, num_classes: int, image_shape: Any, dtype: str) -> Any:
    """The function."""
    out: Any = relay.var("data", shape=(batch_size, *image_shape), dtype=dtype)
    out = Conv(out, 32, (3, 3), (2, 2), name="conv")
    out = Conv(out, 32, (3, 3), name="conv_1")
    out = Conv(out, 64, (3, 3), pad=(1, 1), name="conv_2")
    out = Pooling(out, (3, 3), (2, 2), (0, 0), "max", "pool")
    out = Conv(out, 80, name="conv_3")
    out = Conv(out, 192, (3, 3), name="conv_4")
    out = Pooling(out, (3, 3), (2, 2), (0, 0), "max", "pool1")
    for name, pooled in (("mixed", 32), ("mixed_1", 64), ("mixed_2", 64)):
        out = _square(out, name, pooled)
    out = _join(
        _chain(out, "mixed_3_three", (384, (3, 3)), stride=2),
        _chain(out, "mixed_3_threes", (64, (1, 1)), (96, (3, 3)), (96, (3, 3)), stride=2),
        Pooling(out, (3, 3), (2, 2), (0, 0), "max", "mixed_3_pool"),
    )
    for name, inner in (("mixed_4", 128), ("mixed_5", 160), ("mixed_6", 160), ("mixed_7", 192)):
        out = _factored(out, name, inner)
    out = _join(
        _chain(out, "mixed_8_three", (192, (1, 1)), (320, (3, 3)), stride=2),
        _chain(out, "mixed_8_seven", (192, (1, 1)), (192, (1, 7)), (192, (7, 1)), (192, (3, 3)), stride=2),
        Pooling(out, (3, 3), (2, 2), (0, 0), "max", "mixed_8_pool"),
    )
    for name, kind in (("mixed_9", "avg"), ("mixed_10", "max")):
        out = _wide(out, name, kind)
    out = relay.nn.batch_flatten(relay.nn.global_avg_pool2d(out))
    out = relay.nn.softmax(layers.dense_add_bias(out, units=num_classes, name="fc1"))
    return relay.Function(relay._core.free_vars(out), out)


def get_workload(batch_size: int = 1, num_classes: int = 1000, image_shape: Any = (3, 299, 299), dtype: str = "float32") -> Any:
    """The module and its parameters."""
    return create_workload(get_net(batch_size, num_classes, image_shape, dtype))
