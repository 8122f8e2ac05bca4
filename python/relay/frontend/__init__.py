"""Programs from files of other systems."""

from __future__ import annotations

import dataclasses
import importlib
import operator
import os
import warnings
from collections.abc import Callable, Iterable
from typing import Any, Mapping, Sequence

from .. import _core
from .._checks import require_int, require_type, shown
from .._core import Expr, IRModule, NDArray
from ..expr import TupleWrapper

__all__ = ["OnnxNode", "from_gguf", "from_onnx", "from_pytorch", "from_torch"]


def from_gguf(path: str | os.PathLike[str]) -> tuple[IRModule, Any]:
    """A language model in a GGUF file as a module and its weights, the last argument of its functions `read` and `write`.

    `relay.llm.load` gives the same with what writes texts: see there for the errors.
    """
    from ..llm import load

    model = load(path)
    return model.module, model.weights


def from_onnx(
    model: Any,
    shape: Mapping[str, Sequence[int]] | None = None,
    dtype: str | Mapping[str, str] = "float32",
    opset: int | None = None,
    freeze_node_params: bool = True,
    fake_quantization: bool = False,
    custom_convert_map: Mapping[str, Callable[[OnnxNode], Any]] | None = None,
) -> tuple[IRModule, dict[str, NDArray]]:
    """An ONNX model as a module and its parameters by name.

    Args:
        model: A path, the bytes of a file, or an `onnx.ModelProto`. Data beside the model are found for a path only.
        shape: Extents of inputs by name, in place of what the model says; -1 leaves one as it is.
        dtype: Dtypes of inputs by name, in place of what the model says; without, as "float32", those of the model count.
        opset: The version of the operators, in place of the model's.
        freeze_node_params: True makes the model's weights constants of the program; False makes them parameters of `main`, and returns them.
        fake_quantization: True leaves operators on dequantised tensors as they are, on floats between `qnn.dequantize` and `qnn.quantize`, for
            passes such as FakeQuantizationToInteger. Without it, products and sums of such tensors are those of their integers.
        custom_convert_map: A converter by name of an operator, of any domain (``"Gate"``) or one (``"my.domain::Gate"``, ``"ai.onnx::Relu"``), in
            place of the importer's and of functions of the model: it takes an `OnnxNode` and gives an expression for each output, or for the first of them.

    Raises RelayError for a file that is not a model or a wrong one, and for operators that are not supported, all of them at once. What the
    importer warns of is a Python warning.
    """
    if hasattr(model, "SerializeToString"):
        if type(model).__name__ != "ModelProto":
            raise TypeError(f"model is an onnx.ModelProto, not {type(model).__name__}; onnx.helper.make_model makes one of a graph")
        model = model.SerializeToString()
    elif isinstance(model, (bytearray, memoryview)):
        model = bytes(model)
    elif not isinstance(model, bytes):
        model = os.fspath(model)
    version = None if opset is None else require_int("opset", opset, 1, 2**31 - 1)
    require_type("fake_quantization", fake_quantization, bool)
    if custom_convert_map is not None and not isinstance(custom_convert_map, Mapping):
        raise TypeError(f"custom_convert_map is a dictionary of converters by names of operators, not {shown(custom_convert_map)}")
    converters = {require_type("a name in custom_convert_map", name, str): _converter(name, made) for name, made in (custom_convert_map or {}).items()}
    mod, params, notes = _core.from_onnx(model, _shapes(shape), _dtypes(dtype), version, bool(freeze_node_params), fake_quantization, converters)
    for note in notes:
        warnings.warn(note.message, stacklevel=2)
    return mod, params


@dataclasses.dataclass(frozen=True)
class OnnxNode:
    """One node of an ONNX model, for a converter of your own.

    `inputs`: constants, and variables with types that stand for other tensors; None for what is not given. `values`: the elements of those
    that are constants or weights, else None. `attributes`: numbers, texts, lists of them, and tensors as arrays, by name; defaults are not
    among them. `opset`: the version of the operator's domain. `outputs`: the names of the results, "" for one that nobody reads.
    """

    op_type: str
    domain: str
    name: str
    opset: int
    inputs: list[Expr | None]
    values: list[NDArray | None]
    attributes: dict[str, Any]
    outputs: list[str]


def _converter(name: str, function: Any) -> Callable[[Any], list[Any]]:
    if not callable(function):
        raise TypeError(f"custom_convert_map[{name!r}] is a function of an OnnxNode, not {shown(function)}")

    def convert(parts: Any) -> list[Any]:
        op_type, domain, label, opset, inputs, values, attributes, outputs = parts
        made = function(OnnxNode(op_type, domain, label, opset, inputs, values, {key: _text(value) for key, value in attributes.items()}, outputs))
        made = made.astuple() if isinstance(made, TupleWrapper) else made
        return list(made) if isinstance(made, (list, tuple)) else [made]

    return convert


def _text(value: Any) -> Any:
    # Bytes that are no UTF-8 come back from the text by `text.encode("utf-8", "surrogateescape")`.
    if isinstance(value, list):
        return [_text(item) for item in value]
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value


def _shapes(given: Any) -> dict[str, list[int]]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise TypeError(f"shape is a dictionary of extents by names of inputs, not {shown(given)}")
    shapes: dict[str, list[int]] = {}
    for name, extents in given.items():
        require_type("the name of an input in shape", name, str)
        if isinstance(extents, (str, bytes)) or not isinstance(extents, Iterable):
            raise TypeError(f"shape[{name!r}] is a list of extents, not {shown(extents)}")
        shapes[name] = []
        for extent in extents:
            if isinstance(extent, bool) or not hasattr(extent, "__index__") or operator.index(extent) < -1:
                raise TypeError(
                    f"shape[{name!r}]: an extent is a whole number of 0 or more, or -1 for what the model says, not {shown(extent)}"
                )
            shapes[name].append(operator.index(extent))
    return shapes


def _dtypes(given: Any) -> dict[str, str]:
    if isinstance(given, Mapping):
        for name, dtype in given.items():
            require_type("the name of an input in dtype", name, str)
            _core.TensorType((), dtype)  # raises what is wrong with it
        return dict(given)
    _core.TensorType((), given)
    if str(given) != "float32":
        raise ValueError(f"dtype {given!s} of all inputs: the model says their dtypes; give those to replace by name, as {{'x': {str(given)!r}}}")
    return {}


def from_torch(exported_program: Any, freeze_params: bool = True) -> tuple[IRModule, dict[str, NDArray]]:
    """A `torch.export.ExportedProgram` as a module and its parameters by name.

    Args:
        exported_program: What `torch.export.export` gave. It is decomposed into core ATen first.
        freeze_params: True makes weights and buffers constants of the program that share PyTorch's memory: do not write to them afterwards.
            False makes them parameters of `main`, before the user's inputs, and returns them.

    `main` takes the user's tensors in their order. It gives one tensor, or a tuple: first what each changed buffer or input is afterwards,
    in the order of the graph's signature, then the results of the model. Symbolic extents are named dimensions, and ranges that
    `torch.export.Dim` sets are checked when the program runs.

    Raises RelayError that lists all operators that are not supported, with the lines of the user's model, and ImportError without PyTorch.
    """
    converted: tuple[IRModule, dict[str, NDArray]] = _torch("from_torch").exported(exported_program, freeze_params)
    return converted


def from_pytorch(
    script_module: Any,
    input_infos: Sequence[Any],
    custom_convert_map: Mapping[str, Callable[..., Any]] | None = None,
    default_dtype: str = "float32",
    use_parser_friendly_name: bool = False,
    keep_quantized_weight: bool = False,
    export_renamed_c_graph_path: str | os.PathLike[str] | None = None,
    preserve_pytorch_scopes: bool = False,
) -> tuple[IRModule, dict[str, NDArray]]:
    """TVM's function for a traced or scripted module or function, or a plain module: a module and its weights by name.

    Args:
        script_module: The module or function. It is exported by `torch.export`.
        input_infos: (name, shape) or (name, (shape, dtype)) of each input; for an input that is a tuple, its parts in place of the shape. An
            extent that is `relay.Any()` is open.
        custom_convert_map: A converter by name of an operator, such as "aten::relu": a function of the operator's arguments, expressions and
            numbers, and of their dtypes.
        default_dtype: The dtype of inputs without one.
        use_parser_friendly_name: Writes `fc_weight` for `fc.weight`.
        keep_quantized_weight: Weights of quantised layers are int8; without, they are float32, and `main` quantises them.
        export_renamed_c_graph_path: A folder that gets the text of the exported graph.
        preserve_pytorch_scopes: Changes nothing: places are lines of the model.

    `main` takes the inputs, then the weights that the model uses under their names in the state dict, and gives the model's results; what buffers
    become is no result. The dictionary has copies of the weights. A loop of known length is unrolled; a loop or branch on values of tensors
    stays one.

    Raises RelayError for operators that are not supported, all of them at once, and for loops and branches that PyTorch does not record, and
    ImportError without PyTorch.
    """
    modules = _torch("from_pytorch", "modules")
    made: tuple[IRModule, dict[str, NDArray]] = modules.converted(
        script_module, input_infos, custom_convert_map, default_dtype, use_parser_friendly_name, bool(keep_quantized_weight), export_renamed_c_graph_path
    )
    return made


def _torch(function: str, module: str = "convert") -> Any:
    try:
        return importlib.import_module(f".torch.{module}", __name__)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ImportError(f"{function} needs PyTorch: pip install 'relay-lang[torch]'", name="torch") from None
