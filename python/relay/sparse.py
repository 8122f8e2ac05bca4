"""Dense weights made sparse: which weights have enough zeros (`process_params`), and programs that use them as sparse matrices.

A sparse matrix is of blocks (BSR): elements, the column of each block, and the beginning of each row of blocks.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any

import numpy as np

from ._checks import require_type
from ._core import Call, Constant, Expr, Function, IRModule, NDArray, Op, Pass, TensorType, Var
from .analysis import post_order_visit
from .expr import bind, const
from .expr_functor import rewrite
from .transform import function_pass

__all__ = ["Conv2dToSparse", "Conv2dToSparse2", "DenseToSparse", "SparseAnalysisResult", "bsr_matrix", "convert_conv2d", "convert_conv2d2",
           "convert_dense", "process_conv2d_params", "process_dense_params"]

SparseAnalysisResult = namedtuple("SparseAnalysisResult", ["weight_name", "weight_shape"])


def bsr_matrix(matrix: Any, blocksize: Sequence[int]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Elements (blocks, height, width), columns and beginnings of rows of the blocks of a matrix that are not all zeros.

    Raises ValueError for blocks that do not divide the matrix.
    """
    values = np.asarray(matrix)
    if values.ndim != 2 or len(blocksize) != 2 or min(blocksize) < 1:
        raise ValueError(f"a matrix is cut into blocks of two extents, not an array of shape {values.shape} into {tuple(blocksize)}")
    height, width = (int(extent) for extent in blocksize)
    rows, columns = values.shape
    if rows % height or columns % width:
        raise ValueError(f"blocks of {height}x{width} do not divide a matrix of {rows}x{columns}")
    blocks = values.reshape(rows // height, height, columns // width, width).transpose(0, 2, 1, 3)
    there = (blocks != 0).any(axis=(2, 3))
    indptr = np.concatenate([[0], np.cumsum(there.sum(axis=1))]).astype("int32")
    return np.ascontiguousarray(blocks[there]), np.nonzero(there)[1].astype("int32"), indptr


def _sparsity(values: np.ndarray[Any, Any]) -> float:
    return 1.0 - np.count_nonzero(values) / values.size if values.size else 0.0


def _array(value: Any) -> np.ndarray[Any, Any]:
    return np.asarray(value.numpy() if hasattr(value, "numpy") else value)


def _type_of(expr: Expr) -> TensorType:
    """That of a tensor in a program whose types are known."""
    found = expr.checked_type
    assert isinstance(found, TensorType)
    return found


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


def _parts(name: str, shape: Sequence[int], dtype: str) -> list[Var]:
    extents = [int(extent) for extent in shape]
    if len(extents) not in (3, 5):
        raise ValueError(f"the shape of weight {name} has the extents of elements, columns and beginnings, not {extents}")
    return [
        Var(f"{name}.data", TensorType(extents[:-2], dtype)),
        Var(f"{name}.indices", TensorType(extents[-2:-1], "int32")),
        Var(f"{name}.indptr", TensorType(extents[-1:], "int32")),
    ]


def _by_name(weight_name: Sequence[str], weight_shape: Sequence[Sequence[int]]) -> dict[str, list[int]]:
    names = [str(name) for name in weight_name]
    if len(names) != len(weight_shape):
        raise ValueError(f"{len(names)} weights have {len(weight_shape)} shapes")
    return {name: [int(extent) for extent in shape] for name, shape in zip(names, weight_shape)}


def _with_sparse(func: Function, shapes: Mapping[str, Sequence[int]], convert: Any) -> Function:
    """The function with parameters for sparse weights; `convert` gives a call on them, or None."""
    made: dict[str, list[Var]] = {}
    dtypes = {param.name_hint: str(_type_of(param).dtype) for param in func.params if param.name_hint in shapes}

    def visit(expr: Expr) -> Expr | None:
        if not isinstance(expr, Call) or len(expr.args) != 2 or not isinstance(expr.args[1], Var):
            return None
        name = expr.args[1].name_hint
        if name not in dtypes:
            return None
        parts = made.get(name) or _parts(name, shapes[name], dtypes[name])
        done: Expr | None = convert(expr, parts)
        if done is not None:
            made[name] = parts
        return done

    body = rewrite(func.body, visit)
    if not made:
        return func
    used: set[str] = set()
    post_order_visit(body, lambda node: used.add(node.name_hint) if isinstance(node, Var) else None)
    params = [param for param in func.params if param.name_hint not in made or param.name_hint in used]
    return Function([*params, *(part for parts in made.values() for part in parts)], body, None, func.type_params, func.attrs)


def DenseToSparse(weight_name: Sequence[str], weight_shape: Sequence[Sequence[int]]) -> Pass:  # noqa: N802
    """Makes ``nn.dense`` with these weights ``nn.sparse_dense``: names and shapes are those that `process_dense_params` gives."""
    shapes = _by_name(weight_name, weight_shape)

    def convert(call: Call, parts: list[Var]) -> Expr | None:
        from .op import nn

        if not _is_call(call, "nn.dense") or len(_type_of(call.args[0]).shape) != 2:
            return None
        return nn.sparse_dense(call.args[0], tuple(parts))

    return function_pass(lambda func, mod, ctx: _with_sparse(func, shapes, convert), opt_level=4, name="DenseToSparse")


def _keeps_size(call: Call, layout: str, kernel_size: int, channels: int) -> bool:
    """True for a convolution of stride 1 whose result is as large as the data."""
    attrs = call.attrs
    pad = kernel_size // 2
    same = all(value == 1 for value in [*attrs.strides, *attrs.dilation, attrs.groups]) and all(value == pad for value in attrs.padding)
    return same and attrs.data_layout == layout and attrs.kernel_layout == ("HWIO" if layout == "NHWC" else "OIHW") and kernel_size % 2 == 1


def _sparse_conv2d(data: Expr, parts: Sequence[Expr], layout: str, kernel_size: int) -> Expr:
    from .op import nn

    elements, columns, beginnings = parts
    return nn.sparse_conv2d(data, elements, columns, beginnings, layout=layout, kernel_size=(kernel_size, kernel_size))


def _kernel_extents(call: Call, layout: str) -> tuple[int, int]:
    shape = _type_of(call.args[1]).shape
    return tuple(int(extent) for extent in (shape[:2] if layout == "NHWC" else shape[2:]))  # type: ignore[return-value]


def Conv2dToSparse(weight_name: Sequence[str], weight_shape: Sequence[Sequence[int]], layout: str, kernel_size: int) -> Pass:  # noqa: N802
    """Makes ``nn.conv2d`` with these weights ``nn.sparse_conv2d``, where its result is as large as its data."""
    shapes = _by_name(weight_name, weight_shape)

    def convert(call: Call, parts: list[Var]) -> Expr | None:
        if not _is_call(call, "nn.conv2d") or not _keeps_size(call, layout, kernel_size, 0):
            return None
        if _kernel_extents(call, layout) != (kernel_size, kernel_size):
            return None
        return _sparse_conv2d(call.args[0], parts, layout, kernel_size)

    return function_pass(lambda func, mod, ctx: _with_sparse(func, shapes, convert), opt_level=4, name="Conv2dToSparse")


def Conv2dToSparse2(layout: str, kernel_size: int, blocksize: Sequence[int], sparsity_threshold: float) -> Pass:  # noqa: N802
    """The same for convolutions whose weights are constants with at least this share of zeros."""

    def visit(expr: Expr) -> Expr | None:
        if not _is_call(expr, "nn.conv2d") or not isinstance(expr.args[1], Constant):  # type: ignore[attr-defined]
            return None
        assert isinstance(expr, Call) and isinstance(expr.args[1], Constant)
        values = expr.args[1].data.numpy()
        if not _keeps_size(expr, layout, kernel_size, 0) or _sparsity(values) < sparsity_threshold:
            return None
        rows = _rows_of_kernel(values, layout, kernel_size)
        if rows is None or rows.shape[0] % blocksize[0] or rows.shape[1] % blocksize[1]:
            return None
        return _sparse_conv2d(expr.args[0], [const(part) for part in bsr_matrix(rows, blocksize)], layout, kernel_size)

    def run(func: Function, mod: IRModule, ctx: Any) -> Function:
        body = rewrite(func.body, visit)
        return func if body is func.body else Function(func.params, body, None, func.type_params, func.attrs)

    return function_pass(run, opt_level=5, name="Conv2dToSparse2")


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
