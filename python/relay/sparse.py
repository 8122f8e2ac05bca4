"""Dense weights made sparse: which weights have enough zeros (`process_params`), and programs that use them as sparse matrices.

A sparse matrix is of blocks (BSR): elements, the column of each block, and the beginning of each row of blocks.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any

import numpy as np

from ._checks import require_int, require_type
from . import _core, transform
from ._core import Call, Expr, Function, NDArray, Op, Pass, Var
from .analysis import post_order_visit
from .expr import bind, const

__all__ = ["Conv2dToSparse", "Conv2dToSparse2", "DenseToSparse", "DenseToSparse2", "SparseAnalysisResult", "bsr_matrix", "convert_conv2d", "convert_conv2d2",
           "convert_dense", "process_conv2d_params", "process_dense_params"]

SparseAnalysisResult = namedtuple("SparseAnalysisResult", ["weight_name", "weight_shape"])


def bsr_matrix(matrix: Any, blocksize: Sequence[int]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Elements (blocks, height, width), columns and beginnings of rows of the blocks of a matrix that are not all zeros.

    Raises ValueError for blocks that do not divide the matrix.
    """
    values = np.asarray(matrix)
    if values.ndim != 2 or len(blocksize) != 2 or min(blocksize) < 1:
        raise ValueError(f"a matrix is cut into blocks of two extents, not an array of shape {values.shape} into {tuple(blocksize)}")
    height, width = (_extent("blocksize", extent) for extent in blocksize)
    rows, columns = values.shape
    if rows % height or columns % width:
        raise ValueError(f"blocks of {height}x{width} do not divide a matrix of {rows}x{columns}")
    if rows // height * (columns // width) >= 2**31:
        raise ValueError(f"a matrix is cut into at most 2^31 - 1 blocks, not {rows // height * (columns // width)}")
    elements, places, beginnings = _core.block_matrix(const(np.ascontiguousarray(values)).data, height, width)
    return elements.numpy(), places.numpy(), beginnings.numpy()


def _extent(name: str, value: Any) -> int:
    return require_int(name, value, 0, 2**63 - 1)


def _sparsity(values: np.ndarray[Any, Any]) -> float:
    return 1.0 - np.count_nonzero(values) / values.size if values.size else 0.0


def _array(value: Any) -> np.ndarray[Any, Any]:
    return np.asarray(value.numpy() if hasattr(value, "numpy") else value)


def _weights(expr: Expr, op: str) -> list[str]:
    """Names of variables that are the weights of an operator, each once."""
    found: dict[str, None] = {}

    def look(node: Expr) -> None:
        if _is_call(node, op) and isinstance(node.args[1], Var):  # type: ignore[attr-defined]
            found[node.args[1].name_hint] = None  # type: ignore[attr-defined]

    post_order_visit(expr, look)
    return list(found)


def dense_weights(expr: Expr) -> list[str]:
    """Names of variables that are weights of nn.dense."""
    return _weights(expr, "nn.dense")


def conv2d_weights(expr: Expr) -> list[str]:
    """Names of variables that are weights of nn.conv2d."""
    return _weights(expr, "nn.conv2d")


def _is_call(expr: Expr, op: str) -> bool:
    return isinstance(expr, Call) and isinstance(expr.op, Op) and expr.op.name == op


def _store(params: MutableMapping[str, Any], name: str, parts: Sequence[np.ndarray[Any, Any]], like: Any) -> list[int]:
    """Puts a sparse matrix in the place of a weight; the extents of its parts."""
    make = type(like).from_numpy if hasattr(type(like), "from_numpy") else (lambda array: const(array).data) if isinstance(like, NDArray) else None
    del params[name]
    for suffix, part in zip(("data", "indices", "indptr"), parts):
        params[f"{name}.{suffix}"] = part if make is None else make(part)
    return [extent for part in parts for extent in part.shape]


def _process(expr: Expr, params: MutableMapping[str, Any], block_size: Sequence[int], threshold: float, op: str, matrix: Any) -> Any:
    names, shapes = [], []
    for name in _weights(expr, op):
        if name not in params:
            continue
        values = _array(params[name])
        rows = matrix(values)
        if rows is None or _sparsity(values) < threshold:
            continue
        shapes.append(_store(params, name, bsr_matrix(rows, block_size), params[name]))
        names.append(name)
    return SparseAnalysisResult(names, shapes)


def process_dense_params(expr: Expr, params: MutableMapping[str, Any], block_size: Sequence[int], sparsity_threshold: float) -> Any:
    """Makes weights of ``nn.dense`` sparse that have a share of zeros of at least `sparsity_threshold`.

    `params` gets ``w.data``, ``w.indices`` and ``w.indptr`` for such a ``w``. Gives the names, and the extents of the three parts behind
    one another. Raises ValueError for blocks that do not divide a weight.
    """
    return _process(expr, params, block_size, sparsity_threshold, "nn.dense", lambda values: values if values.ndim == 2 else None)


def _rows_of_kernel(values: np.ndarray[Any, Any], layout: str, kernel_size: int) -> np.ndarray[Any, Any] | None:
    """A row for each output channel; columns by kernel row, kernel column and input channel."""
    if layout not in ("NHWC", "NCHW"):
        raise ValueError(f"layout is NHWC or NCHW, not {layout}")
    if values.ndim != 4:
        return None
    kernel = values.transpose(3, 0, 1, 2) if layout == "NHWC" else values.transpose(0, 2, 3, 1)
    if kernel.shape[1:3] != (kernel_size, kernel_size):
        return None
    return np.ascontiguousarray(kernel).reshape(kernel.shape[0], -1)


def process_conv2d_params(expr: Expr, params: MutableMapping[str, Any], block_size: Sequence[int], sparsity_threshold: float, layout: str,
                          kernel_size: int, reg_task_input: bool = True) -> Any:
    """The same for weights of ``nn.conv2d``: ``HWIO`` with layout NHWC, ``OIHW`` with NCHW."""
    return _process(expr, params, block_size, sparsity_threshold, "nn.conv2d", lambda values: _rows_of_kernel(values, layout, kernel_size))


Conv2dToSparse: Callable[..., Pass] = transform.Conv2dToSparse
Conv2dToSparse2: Callable[..., Pass] = transform.Conv2dToSparse2
DenseToSparse: Callable[..., Pass] = transform.DenseToSparse
DenseToSparse2: Callable[..., Pass] = transform.DenseToSparse2


def _applied(made: Pass, func: Function) -> Function:
    from .module import _from_expr
    from .transform import PassContext

    with PassContext(opt_level=5):
        result: Function = made(_from_expr(require_type("func", func, Function)))["main"]
    return result


def convert_dense(func: Function, params: MutableMapping[str, Any], blocksize: Sequence[int], sparsity_threshold: float) -> Any:
    """A function with sparse weights, and its parameters, which are changed in place."""
    info = process_dense_params(func, params, blocksize, sparsity_threshold)
    return _applied(DenseToSparse(info.weight_name, info.weight_shape), func), params


def convert_conv2d(func: Function, params: MutableMapping[str, Any], blocksize: Sequence[int], sparsity_threshold: float, layout: str = "NHWC",
                   kernel_size: int = 1) -> Any:
    """The same for convolutions."""
    info = process_conv2d_params(func, params, blocksize, sparsity_threshold, layout, kernel_size)
    return _applied(Conv2dToSparse(info.weight_name, info.weight_shape, layout, kernel_size), func), params


def convert_conv2d2(func: Function, params: Mapping[str, Any], blocksize: Sequence[int], sparsity_threshold: float, layout: str,
                    kernel_size: int) -> Any:
    """The same with weights that become constants of the function."""
    values = {param: const(_array(params[param.name_hint])) for param in func.params if param.name_hint in params}
    bound = bind(func, values)
    assert isinstance(bound, Function)
    return _applied(Conv2dToSparse2(layout, kernel_size, blocksize, sparsity_threshold), bound), params
