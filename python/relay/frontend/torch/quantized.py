"""Quantised tensors and packed weights of scripts, as PyTorch has them in eager mode.

torch.export does not know them. Here a quantised tensor is its integers with their scale and zero point, which scripts fix; packed weights are
tensors again; and operators become those of `quantized_operators`, or the ones on floats between a dequantisation and a quantisation.
"""

from __future__ import annotations

import contextlib
import re
from typing import Any, Callable, Iterator, Sequence

import torch
import torch.nn.functional as F
from torch.utils import _pytree as pytree

from . import quantized_operators  # noqa: F401 (it declares operators)
from .quantized_operators import RANGES

with contextlib.suppress(ImportError):  # what declares PyTorch's operators of exported programs; without it there are no quantised models
    import torch.ao.quantization.fx._decomposed  # noqa: F401

__all__ = ["Packed", "Quantized", "has_packed", "integers", "known", "run", "unpacked"]

_INTEGERS = {torch.quint8: torch.uint8, torch.qint8: torch.int8, torch.qint32: torch.int32}
# The numbers that scripts have for dtypes.
_DTYPES = {12: torch.qint8, 13: torch.quint8, 14: torch.qint32}


class Quantized:
    """A quantised tensor: integers, their scale and zero point, and along an axis where these are vectors."""

    def __init__(self, data: torch.Tensor, scale: Any, zero_point: Any, axis: int | None = None) -> None:
        self.data, self.scale, self.zero_point, self.axis = data, scale, zero_point, axis

    @property
    def shape(self) -> Any:
        """The extents."""
        return self.data.shape

    @property
    def dtype(self) -> torch.dtype:
        """PyTorch's dtype of quantised tensors."""
        return next(dtype for dtype, integers in _INTEGERS.items() if integers == self.data.dtype)

    @property
    def device(self) -> torch.device:
        """Where it is."""
        return self.data.device

    @property
    def layout(self) -> torch.layout:
        """The layout."""
        return self.data.layout

    def is_floating_point(self) -> bool:
        """False, as PyTorch says."""
        return False

    def numbers(self) -> tuple[float, int]:
        """Scale and zero point. Raises NotImplementedError if they are tensors."""
        if isinstance(self.scale, torch.Tensor) or isinstance(self.zero_point, torch.Tensor):
            raise NotImplementedError("a quantised tensor whose scale is a tensor can be dequantised only")
        return float(self.scale), int(self.zero_point)

    def floats(self) -> torch.Tensor:
        """What the integers stand for."""
        given = (self.data, self.scale, self.zero_point)
        ends = (*RANGES[self.data.dtype], self.data.dtype)
        operators = torch.ops.quantized_decomposed
        if self.axis is not None:
            return operators.dequantize_per_channel.default(*given[:3], self.axis, *ends)
        return (operators.dequantize_per_tensor.tensor if isinstance(self.scale, torch.Tensor) else operators.dequantize_per_tensor.default)(*given, *ends)


pytree.register_pytree_node(
    Quantized, lambda item: ([item.data], (item.scale, item.zero_point, item.axis)), lambda parts, rest: Quantized(*parts, *rest),
    serialized_type_name="relay.frontend.torch.Quantized", to_dumpable_context=repr, from_dumpable_context=repr,
)  # fmt: skip


def quantize(values: torch.Tensor, scale: Any, zero_point: Any, dtype: Any, axis: int | None = None) -> Quantized:
    """Floats in a scale."""
    dtype = _DTYPES.get(dtype, dtype)
    if dtype not in _INTEGERS:
        raise NotImplementedError(f"quantised tensors of {dtype} are not supported")
    integers = _INTEGERS[dtype]
    operators, ends = torch.ops.quantized_decomposed, (*RANGES[integers], integers)
    if axis is not None:
        return Quantized(operators.quantize_per_channel.default(values, scale, zero_point, axis, *ends), scale, zero_point, axis)
    if isinstance(scale, torch.Tensor) != isinstance(zero_point, torch.Tensor):
        scale, zero_point = torch.as_tensor(scale, dtype=torch.float64), torch.as_tensor(zero_point, dtype=torch.int64)
    operator = operators.quantize_per_tensor.tensor if isinstance(scale, torch.Tensor) else operators.quantize_per_tensor.default
    return Quantized(operator(values, scale, zero_point, *ends), scale, zero_point)


class Packed:
    """A weight and bias that PyTorch packed for its kernels. `weight` and `bias` become names of the script's tensors."""

    def __init__(self, kind: str, packed: Any) -> None:
        base = re.match(r"quantized::(linear|conv_transpose\dd|conv\dd)", kind)
        assert base is not None
        operators = torch.ops.quantized
        tensor, self.bias_tensor = getattr(operators, f"{base[1]}_unpack")(packed)
        self.is_per_channel = tensor.qscheme() == torch.per_channel_affine
        self.scales: list[float] = tensor.q_per_channel_scales().tolist() if self.is_per_channel else [tensor.q_scale()]
        self.zero_points: list[int] = tensor.q_per_channel_zero_points().tolist() if self.is_per_channel else [tensor.q_zero_point()]
        self.axis = tensor.q_per_channel_axis() if self.is_per_channel else 0
        self.tensor = tensor
        self.weight, self.bias = "", ""
        self.rank = 0 if base[1] == "linear" else int(base[1][-2])
        self.is_transposed = "transpose" in base[1]
        if self.rank:
            def option(word: str) -> Any:
                return getattr(operators, f"{base[1].replace('1d', '2d')}_{word}")(packed)

            self.stride, self.padding, self.dilation, self.output_padding = (
                list(option(word))[-self.rank :] for word in ("stride", "padding", "dilation", "output_padding")
            )  # fmt: skip
            self.groups = int(option("groups"))

    def floats(self, weight: torch.Tensor) -> torch.Tensor:
        """The weight as floats, given the script's tensor."""
        if weight.is_floating_point():
            return weight
        if not self.is_per_channel:
            return Quantized(weight, self.scales[0], self.zero_points[0]).floats()
        return Quantized(weight, torch.tensor(self.scales), torch.tensor(self.zero_points), self.axis).floats()


def _nodes(graph: Any) -> Iterator[Any]:
    blocks = [graph]
    while blocks:
        for node in blocks.pop().nodes():
            yield node
            blocks += node.blocks()


def _path(value: Any) -> str | None:
    """The attribute of the module that a value is."""
    names: list[str] = []
    while value.node().kind() == "prim::GetAttr":
        names.append(value.node().s("name"))
        value = next(value.node().inputs())
    return ".".join(reversed(names)) if names and value.node().kind() == "prim::Param" else None


def known(kind: str) -> bool:
    """True for an operator of PyTorch's on quantised tensors that is supported here."""
    return kind.partition("::")[2] in _TABLE


def unpacked(graph: Any, module: Any) -> tuple[dict[str, Packed], dict[str, Any], list[Any]]:
    """Packed weights of a script by their names, numbers by the values of the graph that are read of tensors of the module for them, and the
    nodes whose operators are not supported."""
    packed: dict[str, Packed] = {}
    numbers: dict[str, Any] = {}
    unsupported = []
    outermost = {str(node) for node in graph.nodes() if node.kind().startswith("quantized::")}
    for node in _nodes(graph):
        kind = node.kind()
        if kind.startswith("quantized::") and not known(kind):
            if str(node) in outermost:  # in a branch it counts only if that is taken
                unsupported.append(node)
        elif kind.startswith("quantized::") or kind == "aten::quantize_per_tensor":
            for place, value in enumerate(node.inputs()):
                source = value
                while source.node().kind() in ("aten::Float", "aten::Int", "aten::item"):
                    source = next(source.node().inputs())
                path = _path(source)
                if path is None:
                    continue
                found = module
                for name in path.split("."):
                    found = getattr(found, name)
                if isinstance(found, torch.ScriptObject):
                    if path not in packed:
                        packed[path] = Packed(kind, found)
                elif isinstance(found, torch.Tensor) and found.numel() == 1 and (source is not value or (place and kind.startswith("aten::"))):
                    numbers[value.debugName()] = found.item()
    return packed, numbers, unsupported


def has_packed(module: torch.nn.Module) -> bool:
    """True for a module that torch.export does not take because it has layers on quantised tensors."""
    for each in module.modules():
        if type(each).__module__.startswith("torch.ao.nn.") and ".quantized" in type(each).__module__:
            return True
        if isinstance(each, torch.fx.GraphModule) and any(node.target in _CALLS for node in each.graph.nodes):
            return True
    return False


_CALLS = (torch.quantize_per_tensor, torch.quantize_per_channel)


# Lowering

def run(script: Any, node: Any, args: list[Any], floats: Callable[[Any, list[Any]], Sequence[Any]]) -> Sequence[Any] | None:
    """The results of a node on quantised tensors or packed weights; None if it is none. `floats` runs the node on other arguments."""
    namespace, _, name = node.kind().partition("::")
    if namespace == "quantized" or (namespace == "aten" and name in _ATEN):
        made = (_TABLE if namespace == "quantized" else _ATEN)[name](script, node, args, floats)
        return [made] if made is not None else None
    if namespace != "aten" or not any(isinstance(leaf, Quantized) for leaf in _leaves(args)):
        return None
    return _general(node, args, floats)


def integers(results: list[Any]) -> list[Any]:
    """Results with the integers of those that are quantised."""
    found: list[Any] = _mapped(lambda item: item.data, results)
    return found


def _leaves(args: Any) -> list[Any]:
    return pytree.tree_leaves(args, is_leaf=lambda item: isinstance(item, Quantized))


def _mapped(function: Callable[[Quantized], Any], args: Any) -> Any:
    return pytree.tree_map(lambda item: function(item) if isinstance(item, Quantized) else item, args, is_leaf=lambda item: isinstance(item, Quantized))


# Operators that move elements, or choose among them, so that integers stay what they are.
_MOVING = frozenset((
    "view", "reshape", "flatten", "unflatten", "squeeze", "unsqueeze", "permute", "transpose", "t", "movedim", "slice", "select", "narrow", "expand",
    "expand_as", "repeat", "contiguous", "clone", "detach", "chunk", "split", "split_with_sizes", "unbind", "index_select", "pixel_shuffle",
    "pixel_unshuffle", "channel_shuffle", "flip", "roll", "max_pool1d", "max_pool2d", "max_pool3d", "adaptive_max_pool2d", "alias", "view_as",
    "reshape_as", "swapaxes", "swapdims", "dropout", "feature_dropout",
))  # fmt: skip
# Operators that ask for something that the integers have, too.
_ASKING = frozenset(("dim", "numel", "stride", "is_contiguous", "ndimension", "storage_offset"))


def _general(node: Any, args: list[Any], floats: Callable[[Any, list[Any]], Sequence[Any]]) -> Sequence[Any]:
    name = node.kind().partition("::")[2]
    quantised = [leaf for leaf in _leaves(args) if isinstance(leaf, Quantized)]
    first = quantised[0]
    if name in _ASKING:
        return floats(node, _mapped(lambda item: item.data, args))
    same = all(item.numbers() == first.numbers() and item.data.dtype == first.data.dtype for item in quantised)
    if same and (name in _MOVING or name in ("cat", "stack")):
        return [_like(item, first.numbers(), first.data.dtype) for item in floats(node, _mapped(lambda item: item.data, args))]
    scales = _example(node, args)
    made = floats(node, _mapped(lambda item: item.floats(), args))
    return [item if scale is None else quantize(item, *scale) for item, scale in zip(made, scales)]


def _like(item: Any, numbers: tuple[float, int], dtype: torch.dtype) -> Any:
    """What an operator made of integers, in their scale."""
    if isinstance(item, (list, tuple)):
        return type(item)(_like(each, numbers, dtype) for each in item)
    return Quantized(item, *numbers) if isinstance(item, torch.Tensor) and item.dtype == dtype else item


def _example(node: Any, args: list[Any]) -> list[Any]:
    """Scale, zero point and dtype that PyTorch gives the results of an operator, None for those that are not quantised: its kernel runs on an example."""

    def sample(item: Any) -> Any:
        if isinstance(item, Quantized):
            scale, zero = item.numbers()
            values = torch.zeros([_size(extent) for extent in item.shape])
            return torch.quantize_per_tensor(values, scale, zero, item.dtype)
        if isinstance(item, torch.Tensor):
            return torch.zeros([_size(extent) for extent in item.shape], dtype=item.dtype)
        return _size(item) if isinstance(item, torch.SymInt) else item

    namespace, _, name = node.kind().partition("::")
    schema = torch._C.parse_schema(node.schema())
    overload = getattr(getattr(getattr(torch.ops, namespace), name), schema.overload_name or "default")
    # Nothing of an export around it looks on, nor takes the operator apart.
    modes = torch.utils._python_dispatch._disable_current_modes()
    with modes, torch._C.DisableTorchFunction(), torch._C._DisablePythonDispatcher(), torch.no_grad():
        given = pytree.tree_map(sample, args, is_leaf=lambda item: isinstance(item, Quantized))
        plain = [arg for arg, argument in zip(given, schema.arguments) if not argument.kwarg_only]
        named = {argument.name: arg for arg, argument in zip(given, schema.arguments) if argument.kwarg_only}
        result = overload(*plain, **named)
        results = [result] if len(schema.returns) == 1 else list(result)
        return [(item.q_scale(), item.q_zero_point(), item.dtype) if isinstance(item, torch.Tensor) and item.is_quantized else None for item in results]


def _size(extent: Any) -> int:
    return int(extent.node.hint) if isinstance(extent, torch.SymInt) else int(extent)


def _weights(script: Any, packed: Packed) -> tuple[Any, Any]:
    return getattr(script, packed.weight), getattr(script, packed.bias) if packed.bias else None


def _linear(script: Any, node: Any, args: list[Any], _: Any) -> Any:
    x, packed, scale, zero = args[:4]
    weight, bias = _weights(script, packed)
    made = torch.ops.relay_quantized.linear(
        x.data, *x.numbers(), weight, packed.scales, packed.zero_points, bias, float(scale), int(zero), x.data.dtype, "relu" in node.kind()
    )
    return Quantized(made, float(scale), int(zero))


def _conv(script: Any, node: Any, args: list[Any], _: Any) -> Any:
    x, packed, scale, zero = args[:4]
    weight, bias = _weights(script, packed)
    relu = "relu" in node.kind()
    if packed.rank == 2 and not (packed.is_transposed and packed.is_per_channel):
        made = torch.ops.relay_quantized.conv(
            x.data, *x.numbers(), weight, packed.scales, packed.zero_points, bias, packed.stride, packed.padding, packed.dilation, packed.is_transposed,
            packed.output_padding, packed.groups, float(scale), int(zero), x.data.dtype, relu,
        )  # fmt: skip
        return Quantized(made, float(scale), int(zero))
    values = torch.convolution(x.floats(), packed.floats(weight), bias, packed.stride, packed.padding, packed.dilation, packed.is_transposed,
                               packed.output_padding, packed.groups)  # fmt: skip
    return quantize(torch.relu(values) if relu else values, float(scale), int(zero), x.dtype)


def _linear_dynamic(script: Any, node: Any, args: list[Any], _: Any) -> Any:
    x, packed = args[:2]
    weight, bias = _weights(script, packed)
    ends = (0, 127 if len(args) > 2 and args[2] else 255)
    scale, zero = torch.ops.quantized_decomposed.choose_qparams.tensor(x, *ends, torch.finfo(torch.float32).eps, torch.uint8)
    data = torch.ops.quantized_decomposed.quantize_per_tensor.tensor(x, scale, zero, *ends, torch.uint8)
    sums = torch.ops.relay_quantized.product(data, zero, weight, packed.scales, packed.zero_points)
    made = sums.float() * (scale.float() * torch.tensor(packed.scales))
    made = made if bias is None else made + bias
    return torch.relu(made) if "relu" in node.kind() else made


def _binary(script: Any, node: Any, args: list[Any], _: Any) -> Any:
    a, b, scale, zero = args
    name = node.kind().partition("::")[2]
    if not name.endswith("_relu") and a.data.dtype == b.data.dtype:
        return Quantized(torch.ops.relay_quantized.binary(name, a.data, *a.numbers(), b.data, *b.numbers(), float(scale), int(zero)), float(scale), int(zero))
    values = (torch.add if name.startswith("add") else torch.mul)(a.floats(), b.floats())
    return quantize(torch.relu(values) if name.endswith("_relu") else values, float(scale), int(zero), a.dtype)


def _cat(script: Any, node: Any, args: list[Any], _: Any) -> Any:
    items, axis, scale, zero = args
    wanted = (float(scale), int(zero)) if scale is not None else items[0].numbers()
    relu = node.kind().endswith("_relu")
    if not relu and all(item.numbers() == wanted for item in items):
        return Quantized(torch.cat([item.data for item in items], axis), *wanted)
    values = torch.cat([item.floats() for item in items], axis)
    return quantize(torch.relu(values) if relu else values, *wanted, items[0].dtype)


def _scaled(function: Callable[..., Any], at: int = -2) -> Callable[..., Any]:
    """The lowering of an operator that takes the scale and zero point of its result, at a place among its arguments: `function` is it on floats."""

    def lower(script: Any, node: Any, args: list[Any], _: Any) -> Any:
        start = at % len(args)
        scale, zero = args[start : start + 2]
        first = next(leaf for leaf in _leaves(args) if isinstance(leaf, Quantized))
        values = function(*_mapped(lambda item: item.floats(), args[:start]), *args[start + 2 :])
        return quantize(values, float(scale), int(zero), first.dtype)

    return lower


def _kept(function: Callable[..., Any]) -> Callable[..., Any]:
    """The lowering of an operator whose result has the scale that PyTorch's kernel gives it."""

    def lower(script: Any, node: Any, args: list[Any], _: Any) -> Any:
        (numbers,) = _example(node, args)
        return quantize(function(*_mapped(lambda item: item.floats(), args)), *numbers)

    return lower


def _max_pool(script: Any, node: Any, args: list[Any], _: Any) -> Any:
    x, *rest = args
    return Quantized((F.max_pool1d if node.kind().endswith("1d") else F.max_pool2d)(x.data, *rest), *x.numbers())


def _norm(x: Any, weight: Any, bias: Any, mean: Any, var: Any, eps: float) -> Any:
    return F.batch_norm(x, mean, var, weight, bias, False, 0.0, eps)


def _with_relu(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: torch.relu(function(*args))


_TABLE: dict[str, Callable[..., Any]] = {
    "linear": _linear, "linear_relu": _linear, "linear_dynamic": _linear_dynamic, "linear_relu_dynamic": _linear_dynamic,
    **{f"{name}{end}": _conv for name in ("conv1d", "conv2d", "conv3d") for end in ("", "_relu")},
    **{f"conv_transpose{rank}d": _conv for rank in (1, 2, 3)},
    **{name: _binary for name in ("add", "add_relu", "mul", "mul_relu")}, "cat": _cat, "cat_relu": _cat,
    "add_scalar": _kept(torch.add), "add_scalar_relu": _kept(_with_relu(torch.add)),
    "mul_scalar": _kept(torch.mul), "mul_scalar_relu": _kept(_with_relu(torch.mul)),
    "relu6": _kept(lambda x, inplace=False: F.relu6(x)), "clamp": _kept(torch.clamp), "threshold": _kept(F.threshold),
    "max_pool1d": _max_pool, "max_pool2d": _max_pool,
    "leaky_relu": _scaled(lambda x, slope, inplace: F.leaky_relu(x, slope)), "hardswish": _scaled(F.hardswish), "sigmoid": _scaled(torch.sigmoid),
    "elu": _scaled(lambda x, alpha=1, scale=1, input_scale=1: torch.ops.aten.elu(x, alpha, scale, input_scale), 1),
    "celu": _scaled(lambda x, alpha=1: F.celu(x, float(alpha)), 1), "softmax": _scaled(lambda x, axis: torch.softmax(x, axis)),
    "prelu": _scaled(F.prelu), "matmul": _scaled(torch.matmul), "dropout": _scaled(lambda x, *_: x, 1),
    "layer_norm": _scaled(F.layer_norm), "group_norm": _scaled(F.group_norm),
    "instance_norm": _scaled(lambda x, weight, bias, eps: F.instance_norm(x, None, None, weight, bias, True, 0.1, eps)),
    **{f"batch_norm{rank}": _scaled(_norm) for rank in ("", "1d", "2d", "3d")},
    **{f"batch_norm{rank}_relu": _scaled(_with_relu(_norm)) for rank in ("", "1d", "2d", "3d")},
}  # fmt: skip


def _quantize_per_tensor(script: Any, node: Any, args: list[Any], _: Any) -> Any:
    return quantize(args[0], args[1], args[2], args[3])


def _dequantize(script: Any, node: Any, args: list[Any], floats: Any) -> Any:
    return _mapped(lambda item: item.floats(), args[0])


def _property(name: str) -> Callable[..., Any]:
    """An operator that reads a quantised tensor; None for tensors of others, which have no such property."""
    return lambda script, node, args, floats: getattr(args[0], name) if isinstance(args[0], Quantized) else None


_ATEN: dict[str, Callable[..., Any]] = {
    "quantize_per_tensor": _quantize_per_tensor, "dequantize": _dequantize,
    "quantize_per_channel": lambda script, node, args, floats: quantize(args[0], args[1], args[2], args[4], args[3]),
    "int_repr": _property("data"), "q_scale": _property("scale"), "q_zero_point": _property("zero_point"),
}  # fmt: skip
