"""Converters of ONNX nodes, as scripts call, replace and derive from them: each takes the inputs of a node, its attributes and the values of
parameters, and gives an expression.

Those of the package stand for the importer: called, they import a model of one node.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import relay as _relay
from relay import Constant, Var, _core
from relay.frontend import OnnxNode

from ...error import OpNotImplemented
from .common import infer_type

__all__ = ["BuiltIn", "OnnxOpConverter", "converter_class", "convert_map", "custom_converters", "get_numpy", "onnx_input"]

_OLDEST, _NEWEST = 6, 28  # The operator sets that the importer reads.

# Operators whose converter has another name in TVM.
_OPERATORS = {
    "Absolute": "Abs", "BatchNorm": "BatchNormalization", "InstanceNorm": "InstanceNormalization", "Maximum": "Max", "Minimum": "Min",
    "Optional_": "Optional", "ParametricSoftPlus": "ParametricSoftplus", "Prelu": "PRelu",
}  # fmt: skip


class onnx_input(list[Any]):  # noqa: N801 (a name of TVM's)
    """The inputs of a node; None for those that it has not."""

    def __getitem__(self, item: Any) -> Any:
        if isinstance(item, slice):
            stop = len(self) if item.stop is None else item.stop
            return onnx_input(self[i] for i in range(*slice(item.start, stop, item.step).indices(max(len(self), stop))))
        if isinstance(item, int) and item >= len(self):
            return None
        return super().__getitem__(item)


def get_numpy(tensor_proto: Any) -> np.ndarray[Any, Any]:
    """A tensor of a model as an array. Needs the package onnx."""
    from onnx import numpy_helper

    found: np.ndarray[Any, Any] = numpy_helper.to_array(tensor_proto)
    return found


@functools.cache
def _forms() -> dict[str, dict[str, list[int]]]:
    """The first versions of each operator's forms, by name and domain."""
    found: dict[str, dict[str, list[int]]] = {}
    for domain, name, since in _core.onnx_operators():
        found.setdefault(name, {}).setdefault(domain, []).append(since)
    return found


class BuiltIn:
    """The importer's converter of an operator, at a version of the default operator set."""

    def __init__(self, op_type: str, opset: int) -> None:
        self.op_type, self.opset = op_type, max(int(opset), _OLDEST)
        domains = _forms().get(op_type, {})
        self.domain = "" if "" in domains or not domains else sorted(domains)[0]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BuiltIn) and (self.op_type, self.opset) == (other.op_type, other.opset)

    def __hash__(self) -> int:
        return hash((self.op_type, self.opset))

    def __repr__(self) -> str:
        return f"<converter of {self.op_type}, opset {self.opset}>"

    def __call__(self, inputs: Sequence[Any], attr: Mapping[str, Any], params: Mapping[str, Any] | None = None) -> Any:
        """The node's result, or a tuple of them. Needs the package onnx."""
        from onnx import ValueInfoProto, helper, numpy_helper

        given = {key: value for key, value in attr.items() if key != "tvm_custom"}
        count = dict(attr.get("tvm_custom") or {}).get("num_outputs", 1)
        names, declared, known, operands = [], [], [], {}
        for i, expr in enumerate(inputs):
            names.append("" if expr is None else f"x{i}")
            if expr is None:
                continue
            value = _known(expr, params or {})
            if value is not None:
                known.append(numpy_helper.from_array(value, f"x{i}"))
                continue
            declared.append(_declared(f"x{i}", expr))
            operands[f"x{i}"] = expr
        results = [f"y{i}" for i in range(int(count))]
        node = helper.make_node(self.op_type, names, results, domain=self.domain or None, **given)
        graph = helper.make_graph([node], self.op_type, declared, [ValueInfoProto(name=name) for name in results], known)
        imports = [helper.make_opsetid("", self.opset)] + ([helper.make_opsetid(self.domain, 1)] if self.domain else [])
        mod, _ = _relay.frontend.from_onnx(helper.make_model(graph, opset_imports=imports), fake_quantization=True)
        main = mod["main"]
        made = _relay.bind(main.body, {param: operands[param.name_hint] for param in main.params})
        return made if count == 1 else _relay.TupleWrapper(made, int(count))


def _known(expr: Any, params: Mapping[str, Any]) -> Any:
    """The elements of a constant, or of a parameter of integers, which may say shapes and axes."""
    if isinstance(expr, Constant):
        return expr.data.numpy()
    if isinstance(expr, Var) and expr.name_hint in params:
        value = np.asarray(params[expr.name_hint].numpy())
        return value if value.dtype.kind in "iub" else None
    return None


def _declared(name: str, expr: Any) -> Any:
    from onnx import helper

    kind: Any = infer_type(expr).checked_type
    if not isinstance(kind, _relay.TensorType):
        raise OpNotImplemented(f"a converter of ONNX takes tensors, not {kind}")
    shape = [int(extent) if isinstance(extent, int) else None if str(extent) == "?" else str(extent) for extent in kind.shape]
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(str(kind.dtype))), shape)


class OnnxOpConverter:
    """Derive from it, or from the class of an operator, and write ``_impl_vN(cls, inputs, attr, params)`` for the versions N of the operator
    sets that change the operator."""

    op_type = ""

    @classmethod
    def get_converter(cls, opset: int) -> Callable[..., Any]:
        """The converter of a version: that of the greatest N up to it which a script has written, else the importer's. Raises
        NotImplementedError if there is none."""
        written = {int(name[7:]): getattr(cls, name) for name in dir(cls) if re.fullmatch(r"_impl_v\d+", name)}
        fitting = [version for version, converter in written.items() if version <= opset and not isinstance(converter, BuiltIn)]
        if fitting:
            found: Callable[..., Any] = written[max(fitting)]
            return found
        if cls.op_type:
            return BuiltIn(cls.op_type, opset)
        raise NotImplementedError(f"opset version {opset} of {cls.__name__} not implemented")


@functools.cache
def converter_class(name: str) -> type[OnnxOpConverter] | None:
    """TVM's class of an operator, if the importer converts that; it has the importer's converter as ``_impl_vN`` for each version N."""
    op_type = _OPERATORS.get(name, name)
    if op_type not in _forms():
        return None
    versions = {f"_impl_v{version}": BuiltIn(op_type, version) for version in range(1, _NEWEST + 1)}
    return type(name, (OnnxOpConverter,), {"op_type": op_type, "__doc__": f"The importer's converter of {op_type}.", **versions})


def convert_map(opset: int) -> dict[str, Any]:
    """The importer's converters by operator, at a version of the default operator set."""
    return {
        name: BuiltIn(name, opset)
        for name, domains in sorted(_forms().items())
        if any(domain != "" or min(versions) <= max(int(opset), _OLDEST) for domain, versions in domains.items())
    }


def custom_converters(table: Mapping[str, Any], opset: int) -> dict[str, Callable[[OnnxNode], Any]]:
    """Those of a table that are not the importer's, for `relay.frontend.from_onnx`; a name that is gone is one that is not supported."""
    own = convert_map(opset)
    changed = {name: _adapted(converter) for name, converter in table.items() if own.get(name) != converter}
    return {**changed, **{name: _gone for name in own if name not in table}}


def _gone(node: OnnxNode) -> Any:
    raise OpNotImplemented(f"The following operators are not supported for frontend ONNX: {node.op_type}")


def _adapted(converter: Any) -> Callable[[OnnxNode], Any]:
    def convert(node: OnnxNode) -> Any:
        params = {
            expr.name_hint: value for expr, value in zip(node.inputs, node.values) if isinstance(expr, Var) and value is not None
        }
        attr = {name: _as_in_a_model(value) for name, value in node.attributes.items()}
        attr["tvm_custom"] = {"name": node.name, "num_outputs": len(node.outputs)}
        made = converter(onnx_input(node.inputs), attr, params)
        # Results behind the last that the node has are dropped, as TVM does.
        return list(made)[: len(node.outputs)] if isinstance(made, _relay.TupleWrapper) else made

    return convert


def _as_in_a_model(value: Any) -> Any:
    """An attribute as the package onnx gives it: texts are bytes, tensors are of its class."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    if isinstance(value, list):
        return [_as_in_a_model(item) for item in value]
    if isinstance(value, _relay.NDArray):
        from onnx import numpy_helper

        return numpy_helper.from_array(value.numpy())
    return value
