"""What converters of ONNX nodes use: types and shapes of values, names by the number of dimensions, padding, numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import relay as _relay
from relay import IRModule, NDArray, Var

from ...error import OpAttributeInvalid
from .. import op as _op
from .common import infer_shape

__all__ = [
    "GraphProto", "dimension_constraint", "dimension_picker", "flatten_to_nd", "get_info", "get_pad_pair", "get_scalar", "get_type", "onnx_default_layout",
    "onnx_storage_order2layout", "revert_caffe2_pad",
]  # fmt: skip


def get_type(elem_type: int) -> str:
    """The dtype of a number of `TensorProto.DataType`. Raises OpAttributeInvalid for those that have none. Needs the package onnx."""
    from onnx import helper

    try:
        return str(np.dtype(helper.tensor_dtype_to_np_dtype(int(elem_type))))
    except (KeyError, ValueError, TypeError):
        raise OpAttributeInvalid(f"{elem_type} is no number of a type of elements that there is") from None


def get_info(info_proto: Any) -> tuple[str, list[Any], str | None, list[Any]]:
    """The name, the extents, the dtype and the names of the extents of a value of a model; an extent that is not known is `relay.Any()`."""
    tensor = info_proto.type.tensor_type
    shape, names = [], []
    for dim in tensor.shape.dim:
        known = dim.HasField("dim_value") and dim.dim_value > 0
        shape.append(int(dim.dim_value) if known else _relay.Any())
        names.append(int(dim.dim_value) if known else str(dim.dim_param))
    return str(info_proto.name), shape, get_type(tensor.elem_type) if tensor.elem_type else None, names


def get_pad_pair(input1d: int, kernel1d: int, stride1d: int, mode: str = "SAME_UPPER") -> list[int]:
    """The elements before and after one dimension that give as many windows as steps, rounded up; an odd one stands where the mode says."""
    total = max(kernel1d - (input1d % stride1d or stride1d), 0)
    first, second = total // 2, total - total // 2
    return [second, first] if "LOWER" in mode else [first, second]


def revert_caffe2_pad(pads: Sequence[int]) -> list[int]:
    """One padding of each of two dimensions. Raises OpAttributeInvalid for other lists."""
    if len(pads) not in (2, 4):
        raise OpAttributeInvalid(f"Number of pads must be either 2 or 4, not {len(pads)}")
    return list(pads[:2])


def _dims(count: int, layouts: Mapping[int, str], what: str) -> str:
    if count not in layouts:
        raise OpAttributeInvalid(f"Only {', '.join(str(dims - 2) + 'd' for dims in layouts)} layouts are currently supported{what}")
    return layouts[count]


def onnx_default_layout(dims: int, op_name: str) -> str:
    """The layout of a tensor of so many axes. Raises OpAttributeInvalid for a number that has none."""
    return _dims(dims, {3: "NCW", 4: "NCHW", 5: "NCDHW"}, f" for operator {op_name}.")


def onnx_storage_order2layout(storage_order: int, dims: int = 2, op_name: str = "") -> str:
    """The layout of so many dimensions of space in a storage order, 0 or 1. Raises OpAttributeInvalid for others."""
    if storage_order not in (0, 1):
        raise OpAttributeInvalid("Mode of storage_order must be either 0 or 1")
    layouts = {3: "NCW", 4: "NCHW", 5: "NCDHW"} if storage_order == 0 else {3: "NWC", 4: "NHWC", 5: "NDHWC"}
    return _dims(dims + 2, layouts, f" for operator {op_name}." if op_name else ".")


def dimension_picker(prefix: str, suffix: str = "") -> Callable[[Mapping[str, Any]], str]:
    """A function that names an operator by the length of `kernel_shape`: ``conv2d``. It raises OpAttributeInvalid for more than three."""

    def named(attr: Mapping[str, Any]) -> str:
        count = len(attr["kernel_shape"])
        if count not in (1, 2, 3):
            raise OpAttributeInvalid(f"Only 1D, 2D and 3D kernels are supported for operator {prefix}{suffix or '[1/2/3]d'}.")
        return f"{prefix}{count}d{suffix}"

    return named


def dimension_constraint() -> tuple[Callable[[Mapping[str, Any]], bool], str]:
    """A check of attributes for `AttrCvt`, and what it says."""
    return lambda attrs: len(attrs["kernel_shape"]) in (1, 2, 3), "Only 1d, 2d and 3d kernel supported."


def get_scalar(x: Any, params: Mapping[str, Any], dtype: str = "float32") -> Any:
    """A tensor of one element as a scalar of a dtype; a parameter is a constant. Raises ValueError for one of more axes."""
    if isinstance(x, Var) and x.name_hint in params:
        x = _relay.const(np.asarray(params[x.name_hint].numpy()))
    rank = len(infer_shape(x))
    if rank > 1:
        raise ValueError(f"a scalar is wanted, and the tensor has {rank} axes")
    return _op.cast(_op.squeeze(x, axis=[0]) if rank == 1 else x, dtype)


def flatten_to_nd(x: Any, x_shape: Any, nd: int = 3) -> Any:
    """The tensor with its first axes joined, so that it has `nd`; `x_shape` is its shape as a tensor."""
    rank = int(infer_shape(x_shape)[0])
    if rank == nd:
        return x
    rest = _op.strided_slice(x_shape, [rank - nd + 1], [rank])
    dtype = _relay.transform.InferType()(IRModule.from_expr(x_shape))["main"].body.checked_type.dtype
    return _op.reshape(x, _op.concatenate([_relay.const(np.array([-1], dtype)), rest], axis=0))


class GraphProto:
    """Imports graphs of ONNX, without the model around them.

    Args:
        shape: Extents of inputs by name.
        dtype: Dtypes of inputs by name, or one for all.
        freeze_params: Whether the weights are constants.
        op_type_dict: Is not used: names of nodes are those of the graph.
    """

    current: GraphProto | None = None

    def __init__(self, shape: Any = None, dtype: Any = "float32", freeze_params: bool = True, op_type_dict: Any = None) -> None:
        self._shape, self._dtype, self._freeze_params = shape or None, dtype, freeze_params
        self.opset: int | None = None

    def __enter__(self) -> GraphProto:
        self._old, GraphProto.current = GraphProto.current, self
        return self

    def __exit__(self, *exc: Any) -> None:
        GraphProto.current = self._old

    def from_onnx(self, graph: Any, opset: int, get_output_expr: bool = False) -> tuple[IRModule, dict[str, NDArray]] | Any:
        """The graph as a module and its weights; with `get_output_expr`, its result as an expression of free variables. Needs the package onnx."""
        from onnx import helper

        from .onnx import from_onnx

        self.opset = opset
        domains = sorted({node.domain for node in graph.node} - {"", "ai.onnx"})
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), *(helper.make_opsetid(domain, 1) for domain in domains)])
        mod, params = from_onnx(model, self._shape, self._dtype, opset, self._freeze_params)
        return mod["main"].body if get_output_expr else (mod, params)
