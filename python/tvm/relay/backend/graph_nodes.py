"""The nodes of a graph, run one by one: what TVM's executor for debugging does. A compiled program runs kernels of several nodes instead."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import relay as _relay
from relay import Call, Constant, Executable, Function, IRModule, TupleType

from ...runtime.module import BenchmarkResult, measure
from ...runtime.ndarray import array
from .graph_json import Graph

__all__ = ["Nodes"]


class Nodes:
    """The nodes of a graph with the values that they have so far. Nodes of equal functions share one program, which is compiled when a first
    one of them runs."""

    def __init__(self, graph: Graph, compiled: Callable[[IRModule, str], Executable]) -> None:
        self.graph = graph
        self._compiled = compiled
        self._programs: dict[Any, Executable] = {}
        self._values: dict[int, list[Any]] = {}
        self._given: dict[Any, Any] = {}  # by parameter

    def take(self, inputs: Mapping[str, Any]) -> None:
        """Takes values of the inputs, by name. Nodes that depend on an input with another array than before lose their results; the others keep
        them. Raises ValueError for an input that is missing."""
        for param in self.graph.main.params:
            if inputs.get(param.name_hint) is None:
                raise ValueError(f"the input {param.name_hint!r} was not set")
        given: dict[Any, Any] = {param: inputs[param.name_hint] for param in self.graph.main.params}
        before, self._given = self._given, given
        changed: set[int] = set()
        for at, (row, expr) in enumerate(zip(self.graph.nodes, self.graph.exprs)):
            if row["op"] != "null":
                if any(source in changed for source, _, _ in row["inputs"]):
                    changed.add(at)
                    self._values.pop(at, None)
            elif isinstance(expr, Constant):
                self._values.setdefault(at, _leaves(expr.data))
            elif before.get(expr) is not given[expr]:
                changed.add(at)
                self._values[at] = _leaves(given[expr])

    def _program(self, at: int) -> Executable:
        """What runs a node."""
        expr = self.graph.exprs[at]
        shared = isinstance(expr, Call) and isinstance(expr.op, Function)
        key = self.graph.nodes[at]["attrs"]["func_name"] if shared else at
        if key not in self._programs:
            mod = self.graph.mod.copy()
            if isinstance(expr, Call) and not self.graph.is_whole:
                params = [_relay.Var(f"p{i}", arg.checked_type) for i, arg in enumerate(expr.args)]
                mod["main"] = Function(params, Call(expr.op, params, expr.attrs, list(expr.type_args)))
            self._programs[key] = self._compiled(mod, "main")
        return self._programs[key]

    def _of(self, at: int) -> list[Any]:
        """The types of a node's arguments: those of the call, or of the whole program where that is the node."""
        expr = self.graph.exprs[at]
        if isinstance(expr, Call) and not self.graph.is_whole:
            return [arg.checked_type for arg in expr.args]
        return [param.checked_type for param in self.graph.main.params]

    def _arguments(self, at: int) -> list[Any]:
        read = [self.value(source, result) for source, result, _ in self.graph.nodes[at]["inputs"]]
        return [_of_type(kind, read) for kind in self._of(at)]

    def run(self, at: int) -> list[Any]:
        """The results of a node, those of the nodes before it as they are. Raises RuntimeError where one of these did not run yet."""
        if self.graph.nodes[at]["op"] != "null":
            self._values[at] = _leaves(self._program(at)(*self._arguments(at)))
        elif at not in self._values:
            raise RuntimeError(f"the input {self.graph.nodes[at]['name']!r} was not set")
        return self._values[at]

    def run_up_to(self, at: int) -> list[Any]:
        """The results of a node, after those that it needs have run."""
        needed, stack = set(), [at]
        while stack:
            top = stack.pop()
            if top not in needed:
                needed.add(top)
                stack += [source for source, _, _ in self.graph.nodes[top]["inputs"]]
        for node in sorted(needed):
            self.run(node)
        return self._values[at]

    def run_all(self) -> list[Any]:
        """The results of all nodes, in their order."""
        return [value for at in range(len(self.graph.nodes)) for value in self.run(at)]

    def value(self, at: int, result: int) -> Any:
        """A result of a node that ran. Raises RuntimeError for one that did not, IndexError for a result that is none."""
        if at not in self._values:
            raise RuntimeError(f"the node {self.graph.nodes[at]['name']!r} did not run yet")
        if not 0 <= result < len(self._values[at]):
            raise IndexError(f"result {result} of the node {self.graph.nodes[at]['name']!r}, which has {len(self._values[at])}")
        return self._values[at][result]

    def times(self, at: int, number: int, repeat: int) -> BenchmarkResult:
        """Seconds of one run of a node, `repeat` means of `number` runs. Inputs take none."""
        if self.graph.nodes[at]["op"] == "null":
            return BenchmarkResult([0.0] * max(1, repeat))
        program, arguments = self._program(at), self._arguments(at)
        return measure(lambda: program(*arguments), number, repeat)


def _of_type(kind: Any, values: list[Any]) -> Any:
    """A value of a type, of the first of the tensors, which are taken away."""
    if isinstance(kind, TupleType):
        return tuple(_of_type(field, values) for field in kind.fields)
    return values.pop(0)


def _leaves(value: Any) -> list[Any]:
    """The tensors in a value."""
    if isinstance(value, (tuple, list)):
        return [leaf for field in value for leaf in _leaves(field)]
    return [value if isinstance(value, (_relay.NDArray, _relay.Value)) else array(value)]
