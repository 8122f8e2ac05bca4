"""Nodes and edges of a drawing; what makes them of a program, and what draws them."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import Any

from ... import relay

UNKNOWN_TYPE = "unknown"


class VizNode:
    """A node of a drawing: its number as text, its kind, and a description of any number of lines."""

    def __init__(self, node_id: str, node_type: str, node_detail: str) -> None:
        self._identity, self._type, self._detail = node_id, node_type, node_detail

    @property
    def identity(self) -> str:
        return self._identity

    @property
    def type_name(self) -> str:
        return self._type

    @property
    def detail(self) -> str:
        return self._detail

    def __repr__(self) -> str:
        detail = ", ".join(self._detail.splitlines())
        return f"VizNode(identity: {self._identity}, type_name: {self._type}, detail: {detail})"


class VizEdge:
    """An edge from a node to one that uses it, both by their numbers."""

    def __init__(self, start_node: str, end_node: str) -> None:
        self._start, self._end = start_node, end_node

    @property
    def start(self) -> str:
        return self._start

    @property
    def end(self) -> str:
        return self._end


class VizParser(abc.ABC):
    """Says what is drawn of a node of a program."""

    @abc.abstractmethod
    def get_node_edges(self, node: Any, relay_param: Mapping[str, Any], node_to_id: Mapping[Any, str]) -> tuple[VizNode | None, list[VizEdge]]:
        """The node of the drawing, or None if it has none, and the edges that lead to it."""


class VizGraph(abc.ABC):
    """The drawing of one function."""

    @abc.abstractmethod
    def node(self, viz_node: VizNode) -> None:
        """Adds a node."""

    @abc.abstractmethod
    def edge(self, viz_edge: VizEdge) -> None:
        """Adds an edge, between nodes of which one may come later."""


class Plotter(abc.ABC):
    """Draws the functions of a module."""

    @abc.abstractmethod
    def create_graph(self, name: str) -> VizGraph:
        """The drawing of a function of this name, empty at first."""

    @abc.abstractmethod
    def render(self, filename: str | None) -> None:
        """Draws all that it was given."""


def _type_of(node: Any) -> str:
    """The type of a node as text, where it is known."""
    try:
        return str(node.checked_type)
    except (ValueError, AttributeError):
        return UNKNOWN_TYPE


def _annotation(var: Any) -> str:
    annotation = var.type_annotation
    return UNKNOWN_TYPE if annotation is None else str(annotation)


def _constant(node: Any) -> str:
    array = node.data.numpy()
    text = f"shape: {tuple(array.shape)}, dtype: {array.dtype}"
    return text + (f"\nvalue: {array.item()}" if array.ndim == 0 else "")


class DefaultVizParser(VizParser):
    """Draws every node but operators and constructors, whose names stand in the calls."""

    def get_node_edges(self, node: Any, relay_param: Mapping[str, Any], node_to_id: Mapping[Any, str]) -> tuple[VizNode | None, list[VizEdge]]:
        if isinstance(node, (relay.Op, relay.Constructor)):
            return None, []
        kind, detail = self._describe(node, relay_param)
        own = node_to_id[node]
        edges = [VizEdge(node_to_id[operand], own) for operand in self._operands(node) if operand in node_to_id]
        return VizNode(own, kind, detail), edges

    def _describe(self, node: Any, relay_param: Mapping[str, Any]) -> tuple[str, str]:
        if isinstance(node, relay.Var):
            kind = "Var(Param)" if node.name_hint in relay_param else "Var(Input)"
            return kind, f"name_hint: {node.name_hint}\ntype: {_annotation(node)}"
        if isinstance(node, relay.GlobalVar):
            return "GlobalVar", f"name_hint: {node.name_hint}"
        if isinstance(node, relay.Constant):
            return "Const", _constant(node)
        if isinstance(node, relay.Call):
            name = getattr(node.op, "name", None) or getattr(node.op, "name_hint", None)
            lines = [] if node.attrs is None else [f"{key}: {node.attrs[key]}" for key in node.attrs.keys()]
            return f"Call {name}" if name else "Call", "\n".join(lines)
        if isinstance(node, relay.TupleGetItem):
            return "TupleGetItem", f"index: {node.index}"
        if isinstance(node, relay.Function):
            attrs = dict(node.attrs or {})
            return "Function", "\n".join([f"params: {', '.join(p.name_hint for p in node.params)}", *(f"{k}: {v}" for k, v in attrs.items())])
        return type(node).__name__, f"type: {_type_of(node)}"

    def _operands(self, node: Any) -> list[Any]:
        """What a node is made of, without its callee if that is a name."""
        if isinstance(node, relay.Call):
            named = isinstance(node.op, (relay.Op, relay.Constructor))
            return list(node.args) if named else [node.op, *node.args]
        if isinstance(node, relay.Tuple):
            return list(node.fields)
        if isinstance(node, relay.TupleGetItem):
            return [node.tuple_value]
        if isinstance(node, relay.Function):
            return [node.body]
        if isinstance(node, relay.Let):
            return [node.var, node.value, node.body]
        if isinstance(node, relay.If):
            return [node.cond, node.true_branch, node.false_branch]
        if isinstance(node, relay.Match):
            return [node.data, *(clause.rhs for clause in node.clauses)]
        if isinstance(node, relay.RefCreate):
            return [node.value]
        if isinstance(node, relay.RefRead):
            return [node.ref]
        if isinstance(node, relay.RefWrite):
            return [node.ref, node.value]
        return []
