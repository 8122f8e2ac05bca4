"""The backend "relay" of torch.compile."""

from __future__ import annotations

import operator
import warnings
from typing import Any, Callable

import torch

from ..._core import NDArray, RelayError
from ...execution import compile as compile_module
from .complexes import fixed as known
from .convert import decompositions
from .program import NodeError, convert_graph, is_token, taken
from .weights import Steady, still

__all__ = ["relay"]

_warned: set[str] = set()


def relay(graph_module: torch.fx.GraphModule, example_inputs: list[Any], **_: Any) -> Callable[..., Any]:
    """Compiles a graph of Dynamo; with gradients, the graphs of AOTAutograd for forward and backward.

    Without gradients, the weights are constants until somebody changes them. Operators that Relay does not support run in PyTorch, and the
    graph is compiled around them, after one warning that says why.
    """
    from torch._dynamo.backends.common import aot_autograd
    from torch._functorch.aot_autograd import make_boxed_func
    from torch._subclasses.fake_tensor import unset_fake_temporarily

    def compiler(graph: torch.fx.GraphModule, inputs: list[Any]) -> Callable[..., Any]:
        # Constants of the graph are real tensors, which PyTorch refuses to mix with those that it traces with.
        with unset_fake_temporarily():
            return make_boxed_func(_compiled(graph, {}))

    def inference(graph: torch.fx.GraphModule, inputs: list[Any]) -> Callable[..., Any]:
        places = still(len(inputs))
        if not places:
            return compiler(graph, inputs)
        # The weights' values are known at the first call.
        return make_boxed_func(Steady(lambda fixed: _compiled(graph, fixed), places))

    backend = aot_autograd(
        fw_compiler=compiler, bw_compiler=compiler, inference_compiler=inference, decompositions=dict(decompositions().items())
    )
    return backend(graph_module, example_inputs)


def _warn(reason: str) -> None:
    if reason not in _warned:
        _warned.add(reason)
        warnings.warn(f"a part of the model runs in PyTorch, because Relay cannot take it:\n{reason}", stacklevel=3)


# Graphs are taken apart anew so many times, each time without the operators that could not be converted.
_TRIES = 64


def _compiled(graph: torch.fx.GraphModule, fixed: dict[int, torch.Tensor]) -> Callable[..., Any]:
    """The graph compiled, with the inputs at the positions of `fixed` as constants."""
    unknown = [node for node in graph.graph.nodes if node.op == "call_function" and not taken(node)]
    left = {node.name for node in unknown}
    reasons = {f"the operator {node.target} of PyTorch is not supported": None for node in unknown}
    made: Callable[..., Any] | None = None
    for _ in range(_TRIES):
        try:
            made = _parts(graph, left, fixed) if left else _whole(graph, fixed)
            break
        except NodeError as error:
            left.add(error.name)
            reasons[str(error)] = None
        except (RelayError, NotImplementedError) as error:
            reasons[str(error)] = None
            break
    if reasons:
        _warn("\n".join(reasons))
    return graph.forward if made is None else made


def _parts(graph: torch.fx.GraphModule, left: set[str], fixed: dict[int, torch.Tensor]) -> Callable[..., Any]:
    """The graph as few compiled parts, and PyTorch's own operators for the nodes that are left between them."""
    from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
    from torch.fx.passes.operator_support import OperatorSupportBase

    class Support(OperatorSupportBase):  # type: ignore[misc]
        def is_node_supported(self, submodules: Any, node: Any) -> bool:
            source = node
            while source.op == "call_function" and source.target is operator.getitem:
                source = source.args[0]  # an element of a tuple stays with what makes the tuple
            return source.op == "call_function" and source.name not in left

    copied = torch.fx.Graph()
    copied.output(copied.graph_copy(graph.graph, {}))
    fused = CapabilityBasedPartitioner(torch.fx.GraphModule(graph, copied), Support(), allows_single_node_partition=False).partition_and_fuse()
    inputs = [node for node in fused.graph.nodes if node.op == "placeholder"]
    weights = {inputs[place]: tensor for place, tensor in fixed.items()}
    for node in list(fused.graph.nodes):
        if node.op == "call_module":
            part = getattr(fused, node.target)
            inner = {i: weights[given] for i, given in enumerate(node.args) if given in weights}
            single = not isinstance(next(iter(reversed(part.graph.nodes))).args[0], (tuple, list))
            setattr(fused, node.target, _Part(_whole(part, inner), single))
    fused.recompile()
    return fused.forward


class _Part(torch.nn.Module):
    """A compiled part of a graph, called as a module."""

    def __init__(self, run: Callable[..., Any], single: bool) -> None:
        super().__init__()
        self.run, self.single = run, single

    def forward(self, *inputs: Any) -> Any:
        results = self.run(*inputs)
        return results[0] if self.single else tuple(results)


def _whole(graph: torch.fx.GraphModule, fixed: dict[int, torch.Tensor]) -> Callable[..., Any]:
    inputs = [node for node in graph.graph.nodes if node.op == "placeholder"]
    weights = {inputs[place]: tensor for place, tensor in fixed.items()}
    mod, places = convert_graph(graph, lambda node, meta: known(weights[node], meta) if node in weights else None)
    used = [i for i, node in enumerate(inputs) if node not in weights and not is_token(node) and isinstance(node.meta.get("val"), (torch.Tensor, torch.SymInt))]
    metas = _metas(graph)
    if all(position is None for position, _ in places):
        return graph.forward
    program = compile_module(mod)
    single = sum(position is not None for position, _ in places) == 1
    arrays: dict[int, tuple[int, NDArray]] = {}

    def run(*inputs: Any) -> list[Any]:
        given = [_argument(inputs[place], place, arrays) for place in used]
        result = program(*given)
        results = [result] if single else result
        return [value if at is None else _result(results[at], meta) for (at, value), meta in zip(places, metas)]

    return run


def _metas(graph: torch.fx.GraphModule) -> list[Any]:
    outputs = next(node for node in graph.graph.nodes if node.op == "output").args[0]
    outputs = outputs if isinstance(outputs, (tuple, list)) else [outputs]
    return [item.meta.get("val") if isinstance(item, torch.fx.Node) else item for item in outputs]


def _argument(item: Any, place: int, arrays: dict[int, tuple[int, NDArray]]) -> Any:
    if not isinstance(item, torch.Tensor):
        return int(item)
    if item.is_complex():
        return torch.view_as_real(item.detach().resolve_conj()).contiguous()
    if not item.is_contiguous():
        return item.detach().contiguous()
    if not isinstance(item, torch.nn.Parameter):
        return item.detach() if item.requires_grad else item
    # A parameter mostly lies where it lay at the last call; its array shares that memory, so it has the newest values.
    at, (known, array) = item.data_ptr(), arrays.get(place, (0, None))
    if array is None or known != at:
        array = NDArray(item.detach())
        arrays[place] = at, array
    return array


def _result(item: Any, meta: Any) -> Any:
    if isinstance(meta, torch.SymInt):
        return int(item.numpy() if hasattr(item, "numpy") else item)
    result = torch.from_dlpack(item)
    return torch.view_as_complex(result) if isinstance(meta, torch.Tensor) and meta.is_complex() else result
