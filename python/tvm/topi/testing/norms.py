"""References of normalisations, products with a bias, recurrent cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def dense(x: Any, y: Any, bias: Any, use_bias: bool = False, use_relu: bool = False, out_dtype: Any = None) -> Any:
    """x yᵀ, with a bias and a relu where they are asked for."""
    dtype = out_dtype or x.dtype
    out = x.astype(dtype) @ y.astype(dtype).T
    out = out + bias if use_bias else out
    return np.maximum(out, 0) if use_relu else out


def _along(vector: Any, rank: int, axis: int) -> Any:
    shape = [1] * rank
    shape[axis] = -1
    return np.reshape(vector, shape)


def batch_norm(
    x: Any, gamma: Any, beta: Any, moving_mean: Any, moving_var: Any, axis: int, epsilon: float, center: bool, scale: bool,
    training: bool = False, momentum: float = 0.1,
) -> list[Any]:  # fmt: skip
    """The normalised data, and the moving mean and variance: those that were given, or blended with the batch's when training."""
    mean, var = moving_mean, moving_var
    if training:
        others = tuple(i for i in range(x.ndim) if i != axis % x.ndim)
        mean, var = x.mean(axis=others), x.var(axis=others)
    out = (x - _along(mean, x.ndim, axis)) / np.sqrt(_along(var, x.ndim, axis) + epsilon)
    out = out * _along(gamma, x.ndim, axis) if scale else out
    out = out + _along(beta, x.ndim, axis) if center else out
    if training:
        return [out, (1 - momentum) * moving_mean + momentum * mean, (1 - momentum) * moving_var + momentum * var]
    return [out, moving_mean, moving_var]


def _normalised(data: Any, axes: tuple[int, ...], epsilon: float) -> Any:
    mean, var = data.mean(axis=axes, keepdims=True), data.var(axis=axes, keepdims=True)
    return (data - mean) / np.sqrt(var + epsilon)


def layer_norm_python(data: Any, gamma: Any, beta: Any, axis: Any, epsilon: float = 1e-5) -> Any:
    """Mean and variance over the axes removed, then scaled and moved."""
    axes = tuple(a % data.ndim for a in ([axis] if isinstance(axis, int) else axis))
    shape = [data.shape[i] if i in axes else 1 for i in range(data.ndim)]
    out = _normalised(data, axes, epsilon) * np.reshape(gamma, shape)
    return out if beta is None else out + np.reshape(beta, shape)


def instance_norm_python(data: Any, gamma: Any, beta: Any, axis: Any, epsilon: float = 1e-5) -> Any:
    """Mean and variance over axes of space removed; gamma and beta belong to the channels, axis 1."""
    axes = tuple(a % data.ndim for a in ([axis] if isinstance(axis, int) else axis))
    return _normalised(data, axes, epsilon) * _along(gamma, data.ndim, 1) + _along(beta, data.ndim, 1)


def group_norm_python(data: Any, gamma: Any, beta: Any, num_groups: int, channel_axis: int, axes: Sequence[int], epsilon: float = 1e-5) -> Any:
    """Mean and variance of groups of channels over further axes removed."""
    channel = channel_axis % data.ndim
    split = data.reshape(*data.shape[:channel], num_groups, data.shape[channel] // num_groups, *data.shape[channel + 1 :])
    over = (channel + 1, *(a % data.ndim + (a % data.ndim > channel) for a in axes))
    out = _normalised(split, tuple(over), epsilon).reshape(data.shape)
    return out * _along(gamma, data.ndim, channel) + _along(beta, data.ndim, channel)


def rms_norm_python(data: Any, weight: Any, axis: Any, epsilon: float = 1e-5) -> Any:
    """Divided by the root of the mean square over the axes, then scaled."""
    axes = tuple(a % data.ndim for a in ([axis] if isinstance(axis, int) else axis))
    shape = [data.shape[i] if i in axes else 1 for i in range(data.ndim)]
    return data / np.sqrt(np.mean(np.square(data), axis=axes, keepdims=True) + epsilon) * np.reshape(weight, shape)


_ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "tanh": np.tanh, "relu": lambda x: np.maximum(x, 0),
}  # fmt: skip


def lstm_python(
    Xs: Any, Wi: Any, Wh: Any, Bi: Any = None, Bh: Any = None, h_init: Any = None, c_init: Any = None, proj: Any = None, p_i: Any = None,  # noqa: N803
    p_f: Any = None, p_o: Any = None, f_act: str = "sigmoid", g_act: str = "tanh", h_act: str = "tanh", reverse: bool = False,
    weight_layout: str = "IFGO",
) -> tuple[Any, Any]:  # fmt: skip
    """Hidden states and cells of all steps of (steps, batch, features); `weight_layout` says in which order the gates' weights stand."""
    steps, batch, _ = Xs.shape
    hidden = Wi.shape[0] // 4
    h = np.zeros((batch, hidden if proj is None else proj.shape[0]), Xs.dtype) if h_init is None else h_init
    c = np.zeros((batch, hidden), Xs.dtype) if c_init is None else c_init
    order = [weight_layout.index(gate) for gate in "IFGO"]
    f, g, out = _ACTIVATIONS[f_act], _ACTIVATIONS[g_act], _ACTIVATIONS[h_act]
    hs, cs = [], []
    for step in range(steps):
        x = Xs[steps - 1 - step if reverse else step]
        total = x @ Wi.T + h @ Wh.T + (0 if Bi is None else Bi) + (0 if Bh is None else Bh)
        gates = np.split(total, 4, axis=1)
        i, forget, cell, o = (gates[number] for number in order)
        i = f(i if p_i is None else i + p_i * c)
        forget = f(forget if p_f is None else forget + p_f * c)
        c = forget * c + i * g(cell)
        h = f(o if p_o is None else o + p_o * c) * out(c)
        h = h if proj is None else h @ proj.T
        hs.append(h)
        cs.append(c)
    return np.stack(hs), np.stack(cs)
