"""ONNX models, with the arguments of TVM's front end."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from typing import Any

import relay as _relay
from relay import Call, Dim, Expr, IRModule, NDArray, op
from relay.expr_functor import ExprMutator

from ... import _absent, _surface
from ..._errors import operators_not_implemented, raised_by_scripts
from .onnx_tools import *  # noqa: F403
from .onnx_tools import __all__ as _tools
from .onnx_converters import OnnxOpConverter, convert_map, converter_class, custom_converters, get_numpy, onnx_input

__all__ = ["OnnxOpConverter", "from_onnx", "get_numpy", "onnx_input", *_tools]

# The importer's message about operators without a converter.
_UNSUPPORTED = re.compile(r": \d+ operators? (is|are) not supported: ")


def from_onnx(
    model: Any,
    shape: Mapping[str, Any] | None = None,
    dtype: Any = "float32",
    opset: int | None = None,
    freeze_params: bool = True,
    convert_config: Mapping[str, Any] | None = None,
    export_node_renamed_model_path: str | None = None,
) -> tuple[IRModule, dict[str, NDArray]]:
    """A model as a module and its weights by name.

    Args:
        model: An `onnx.ModelProto`, a path or the bytes of a file.
        shape: Extents of inputs by name; `relay.Any()`, names and -1 leave one as the model has it.
        dtype: Dtypes of inputs by name, in place of the model's. One dtype for all inputs is taken where the model has no other.
        opset: The version of the operators, in place of the model's.
        freeze_params: Whether the weights are constants of the program and the dictionary is empty; else they are parameters of `main`.
        convert_config: Options of TVM's converter. ``use_nt_batch_matmul=True`` makes products of batches ``nn.batch_matmul`` with
            ``transpose_b=True`` of the second operand transposed; without the option they stay as the model has them.
        export_node_renamed_model_path: A folder that gets the model with names at all nodes, which places of the program refer to. Needs the
            package onnx.

    Products of matrices are `nn.dense`, by the second operand transposed. Tensors that a model dequantises stay floats (`qnn.dequantize`), for FakeQuantizationToInteger. Converters that a script puts into the table of
    `_get_convert_map` take the place of the importer's; what they raise is raised as it is.

    Raises OpNotImplemented for operators that are not supported, all of them at once; RelayError for a file that is not a model or a wrong one; ValueError for
    an unknown option.
    """
    if export_node_renamed_model_path is not None:
        model = _named(model, export_node_renamed_model_path)
    converters = {} if _get_convert_map is _importers_map else _changed_converters(model, opset)
    unknown = [key for key in convert_config or {} if key != "use_nt_batch_matmul"]
    if unknown:
        raise ValueError(f"from_onnx has no option {unknown[0]!r}: there is use_nt_batch_matmul")
    shapes = None if shape is None else {name: [_extent(extent) for extent in extents] for name, extents in shape.items()}
    with operators_not_implemented(_UNSUPPORTED), raised_by_scripts():
        found: tuple[IRModule, dict[str, NDArray]] = _relay.frontend.from_onnx(
            model, shapes, _dtypes(dtype), opset, freeze_params, fake_quantization=True, custom_convert_map=converters
        )
    mod = _relay.transform.InferType()(found[0])
    mod["main"] = _Products(batches=bool((convert_config or {}).get("use_nt_batch_matmul"))).visit(mod["main"])
    return _relay.transform.InferType()(mod), found[1]


def _get_convert_map(opset: int) -> dict[str, Any]:
    """The converters by operator, at a version of the default operator set. A script may replace this function."""
    return convert_map(opset)


_importers_map = _get_convert_map


def _changed_converters(model: Any, opset: int | None) -> dict[str, Any]:
    if opset is None:
        import onnx

        read = model if hasattr(model, "opset_import") else (
            onnx.load_from_string(bytes(model)) if isinstance(model, (bytes, bytearray, memoryview)) else onnx.load(os.fspath(model), load_external_data=False)
        )
        opset = max((entry.version for entry in read.opset_import if entry.domain in ("", "ai.onnx")), default=1)
    return custom_converters(_get_convert_map(opset), opset)


class _Products(ExprMutator):
    """Products of matrices are `nn.dense`, whose second operand is stored transposed; those of batches too, on request."""

    def __init__(self, batches: bool) -> None:
        super().__init__()
        self.operators = {op.get("nn.matmul"), *([op.get("nn.batch_matmul")] if batches else [])}

    def visit_call(self, call: Call) -> Expr:
        made = super().visit_call(call)
        if call.op not in self.operators or call.attrs["transpose_b"]:
            return made
        assert isinstance(made, Call)
        types: list[Any] = [arg.checked_type for arg in call.args]
        ranks = [len(type.shape) for type in types]
        dense = call.op == op.get("nn.matmul")
        if dense and (call.attrs["transpose_a"] or ranks != [2, 2]):
            return made
        rank = ranks[1]
        transposed = _relay.op.transpose(made.args[1], [*range(rank - 2), rank - 1, rank - 2])
        attrs: Any = {"out_dtype": call.attrs["out_dtype"] or None}
        if dense:
            product: Any = _relay.op.nn.dense(made.args[0], transposed, **attrs)
        else:
            product = _relay.op.nn.batch_matmul(made.args[0], transposed, transpose_a=call.attrs["transpose_a"], transpose_b=True, **attrs)
        return Call(product.op, product.args, product.attrs, span=call.span)


def _named(model: Any, folder: str) -> Any:
    """The model with names at all nodes, those in subgraphs too. It is written to the folder, as TVM names such files."""
    try:
        import onnx
    except ImportError:
        raise ImportError("from_onnx(export_node_renamed_model_path=…) writes the model by the package onnx, which is not installed") from None
    named = onnx.ModelProto()
    named.CopyFrom(model if hasattr(model, "graph") else onnx.load_from_string(model) if isinstance(model, bytes) else onnx.load(os.fspath(model)))
    graphs, nodes = [named.graph], []
    for graph in graphs:  # which grows meanwhile
        for node in graph.node:
            nodes.append(node)
            for attribute in node.attribute:
                graphs += [attribute.g] if attribute.HasField("g") else []
                graphs += attribute.graphs
    taken = {node.name for node in nodes}
    counts: dict[str, int] = {}
    for node in nodes:
        while not node.name:
            number = counts[node.op_type] = counts.get(node.op_type, -1) + 1
            node.name = f"{node.op_type}_{number}" if f"{node.op_type}_{number}" not in taken else ""
    os.makedirs(folder, exist_ok=True)
    onnx.save(named, os.path.join(folder, f"tvm_exported_model_{time.strftime('%Y_%m_%d_%H_%M_%S')}.onnx"))
    return named


def _extent(extent: Any) -> Any:
    # An extent that is not known stays as the model says it.
    return -1 if isinstance(extent, Dim) and not isinstance(extent, int) else extent


def _dtypes(dtype: Any) -> Any:
    if isinstance(dtype, (Mapping, os.PathLike)) or str(dtype) in ("float32", "None"):
        return dict(dtype) if isinstance(dtype, Mapping) else "float32"
    return dtype


def __getattr__(name: str) -> Any:
    known = None if name.startswith("_") else _surface.find(__name__, name)
    if known is not None and known[0] == "c":
        made = converter_class(name)
        if made is not None:
            return made
    return _absent.lookup(__name__, name)
