"""The backend "relay" of torch.compile."""

from __future__ import annotations

import warnings
from typing import Any, Callable

import torch

from ..._core import RelayError
from ...execution import compile as compile_module
from .convert import decompositions
from .program import convert_graph

__all__ = ["relay"]

_warned: set[str] = set()


def relay(graph_module: torch.fx.GraphModule, example_inputs: list[Any], **_: Any) -> Callable[..., Any]:
    """Compiles a graph of Dynamo; with gradients, the graphs of AOTAutograd for forward and backward.

    A graph that Relay does not support runs in PyTorch, after one warning that says why.
    """
    from torch._dynamo.backends.common import aot_autograd
    from torch._functorch.aot_autograd import make_boxed_func

    def compiler(graph: torch.fx.GraphModule, inputs: list[Any]) -> Callable[..., Any]:
        try:
            return make_boxed_func(_compiled(graph))
        except (RelayError, NotImplementedError) as error:
            _warn(str(error))
            return make_boxed_func(graph.forward)

    backend = aot_autograd(fw_compiler=compiler, bw_compiler=compiler, decompositions=dict(decompositions().items()))
    return backend(graph_module, example_inputs)


def _warn(reason: str) -> None:
    if reason not in _warned:
        _warned.add(reason)
        warnings.warn(f"a part of the model runs in PyTorch, because Relay cannot take it:\n{reason}", stacklevel=3)


def _compiled(graph: torch.fx.GraphModule) -> Callable[..., Any]:
    mod, places = convert_graph(graph)
    used = [
        isinstance(node.meta.get("val"), (torch.Tensor, torch.SymInt)) for node in graph.graph.nodes if node.op == "placeholder"
    ]
    metas = _metas(graph)
    if all(position is None for position, _ in places):
        return graph.forward
    program = compile_module(mod)
    single = sum(position is not None for position, _ in places) == 1

    def run(*inputs: Any) -> list[Any]:
        given = [_argument(item) for item, takes in zip(inputs, used) if takes]
        result = program(*given)
        results = [result] if single else result
        return [value if at is None else _result(results[at], meta) for (at, value), meta in zip(places, metas)]

    return run


def _metas(graph: torch.fx.GraphModule) -> list[Any]:
    output = next(node for node in graph.graph.nodes if node.op == "output").args[0]
    return [item.meta.get("val") if isinstance(item, torch.fx.Node) else item for item in output]


def _argument(item: Any) -> Any:
    if not isinstance(item, torch.Tensor):
        return int(item)
    return item.detach() if item.is_contiguous() else item.detach().contiguous()


def _result(item: Any, meta: Any) -> Any:
    if isinstance(meta, torch.SymInt):
        return int(item.numpy() if hasattr(item, "numpy") else item)
    return torch.from_dlpack(item)
