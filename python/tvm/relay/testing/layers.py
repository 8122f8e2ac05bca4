"""Layers whose parameters are made by name."""

from __future__ import annotations

from typing import Any

import relay

from relay import Expr


def _given(value: Any, name: str) -> Expr:
    made: Expr = value if value is not None else relay.var(name)
    return made


def batch_norm_infer(data: Any, gamma: Any = None, beta: Any = None, moving_mean: Any = None, moving_var: Any = None, **kwargs: Any) -> Any:
    """Normalisation of a batch; parameters are called ``<name>_gamma`` and so on."""
    name = kwargs.pop("name")
    stats: list[Any] = [_given(value, f"{name}_{end}") for value, end in
             ((gamma, "gamma"), (beta, "beta"), (moving_mean, "moving_mean"), (moving_var, "moving_var"))]  # fmt: skip
    return relay.nn.batch_norm(data, *stats, **kwargs)[0]


def _window(op: Any, data: Any, weight: Any, kwargs: dict[str, Any]) -> Any:
    name = kwargs.pop("name")
    return op(data, _given(weight, name + "_weight"), **kwargs)


def conv2d(data: Any, weight: Any = None, **kwargs: Any) -> Any:
    """A convolution in two dimensions; the weight is called ``<name>_weight``."""
    return _window(relay.nn.conv2d, data, weight, kwargs)


def conv3d(data: Any, weight: Any = None, **kwargs: Any) -> Any:
    """A convolution in three dimensions."""
    return _window(relay.nn.conv3d, data, weight, kwargs)


def conv2d_transpose(data: Any, weight: Any = None, **kwargs: Any) -> Any:
    """A transposed convolution in two dimensions."""
    return _window(relay.nn.conv2d_transpose, data, weight, kwargs)


def dense_add_bias(data: Any, weight: Any = None, bias: Any = None, units: Any = None, **kwargs: Any) -> Any:
    """A product and a bias; parameters are called ``<name>_weight`` and ``<name>_bias``."""
    name = kwargs.pop("name")
    made = relay.nn.dense(data, _given(weight, name + "_weight"), units, **kwargs)
    return relay.nn.bias_add(made, _given(bias, name + "_bias"), axis=-1)


def conv_kernel_layout(data_layout: str, is_depthwise: bool = False) -> str:
    """The layout of weights that goes with one of data. Raises KeyError for others."""
    return {"NCHW": "OIHW", "NCDHW": "OIDHW", "NHWC": "HWOI" if is_depthwise else "HWIO", "NDHWC": "DHWOI" if is_depthwise else "DHWIO"}[data_layout]
