"""Random sparse weights, and models with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import relay as _relay
from relay import sparse as _sparse

from ... import _absent

__all__ = ["convert_model_dense_to_sparse", "random_bsr_matrix", "random_sparse_conv2d_params", "random_sparse_dense_params"]


def _blocks(m: int, n: int, bs_r: int, bs_c: int, density: float, dtype: str) -> np.ndarray[Any, Any]:
    """A matrix whose elements are zeros but for blocks at random places, which are this share of it and at least one."""
    if bs_r < 1 or bs_c < 1 or m % bs_r or n % bs_c:
        raise ValueError(f"blocks of {bs_r}x{bs_c} do not divide a matrix of {m}x{n}")
    if not 0 <= density <= 1:
        raise ValueError(f"density is a share, between 0 and 1, not {density}")
    places = (m // bs_r) * (n // bs_c)
    there = np.zeros(places, dtype)
    there[np.random.permutation(places)[: min(places, int(density * places) + 1)]] = 1
    mask = np.kron(there.reshape(m // bs_r, n // bs_c), np.ones((bs_r, bs_c), dtype))
    return (np.random.randn(m, n) * mask).astype(dtype)


def random_bsr_matrix(m: int, n: int, bs_r: int, bs_c: int, density: float, dtype: str = "float32") -> Any:
    """A random sparse matrix of blocks, as one of SciPy's. Raises ValueError for blocks that do not divide it."""
    import scipy.sparse  # type: ignore[import-untyped,unused-ignore]

    elements, columns, beginnings = _sparse.bsr_matrix(_blocks(m, n, bs_r, bs_c, density, dtype), (bs_r, bs_c))
    return scipy.sparse.bsr_matrix((elements, columns, beginnings), shape=(m, n))


def _with_random(params: Mapping[str, Any], names: list[str], axes: list[int], bs_r: int, bs_c: int, density: float) -> dict[str, Any]:
    made = dict(params)
    for name in names:
        if name not in made:
            continue
        old = np.asarray(made[name].numpy() if hasattr(made[name], "numpy") else made[name])
        if old.ndim != len(axes):
            continue
        turned = old.transpose(axes)
        matrix = _blocks(turned.shape[0], int(np.prod(turned.shape[1:])), bs_r, bs_c, density, str(old.dtype))
        new = np.ascontiguousarray(matrix.reshape(turned.shape).transpose(np.argsort(axes)))
        made[name] = _relay.const(new).data if hasattr(made[name], "numpy") else new
    return made


def random_sparse_dense_params(func: Any, params: Mapping[str, Any], bs_r: int, bs_c: int, density: float) -> dict[str, Any]:
    """Parameters with random sparse values for the weights of ``nn.dense``; the others, and `params`, stay."""
    return _with_random(params, _sparse.dense_weights(func), [0, 1], bs_r, bs_c, density)


def random_sparse_conv2d_params(func: Any, params: Mapping[str, Any], bs_r: int, bs_c: int, density: float, layout: str) -> dict[str, Any]:
    """The same for the weights of ``nn.conv2d``: ``HWIO`` with layout NHWC, ``OIHW`` with NCHW."""
    if layout not in ("NHWC", "NCHW"):
        raise ValueError(f"layout is NHWC or NCHW, not {layout}")
    axes = [3, 0, 1, 2] if layout == "NHWC" else [0, 2, 3, 1]
    return _with_random(params, _sparse.conv2d_weights(func), axes, bs_r, bs_c, density)


def convert_model_dense_to_sparse(mod: Any, params: Mapping[str, Any], random_params: bool = False, bs_r: int = 1, sparsity: float = 0.85,
                                  layout: str = "NHWC") -> tuple[Any, Any]:  # fmt: skip
    """A module with sparse weights of ``nn.dense`` and 1x1 ``nn.conv2d``, in blocks of `bs_r` rows, where 80% of a weight are zeros; and
    its parameters. With `random_params`, weights of ``nn.dense`` get random values of this sparsity before."""
    from ...relay.data_dep_optimization import simplify_fc_transpose

    func, given = simplify_fc_transpose.convert(mod["main"], dict(params))
    if random_params:
        given = random_sparse_dense_params(func, given, bs_r, 1, 1 - sparsity)
    func, given = _sparse.convert_dense(func, given, (bs_r, 1), 0.8)
    func, given = _sparse.convert_conv2d(func, given, (bs_r, 1), 0.8, layout)
    return _relay.IRModule.from_expr(func), given


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
