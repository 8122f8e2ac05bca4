"""Drawings as text: each function is a tree below its result, and a node that was drawn before is named by its number."""

from __future__ import annotations

from .interface import DefaultVizParser, Plotter, VizEdge, VizGraph, VizNode


class TermVizParser(DefaultVizParser):
    """Describes nodes for text, in one line each."""


class TermNode:
    """A node of the text: its kind and its description."""

    def __init__(self, viz_node: VizNode) -> None:
        self.type = viz_node.type_name
        self.other_info = ", ".join(viz_node.detail.splitlines())


class TermGraph(VizGraph):
    """The text of one function."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._nodes: dict[str, TermNode] = {}
        self._operands: dict[str, list[str]] = {}
        self._used: set[str] = set()

    def node(self, viz_node: VizNode) -> None:
        self._nodes[viz_node.identity] = TermNode(viz_node)

    def edge(self, viz_edge: VizEdge) -> None:
        self._operands.setdefault(viz_edge.end, []).append(viz_edge.start)
        self._used.add(viz_edge.start)

    def render(self) -> str:
        """A line for each use of a node, operands below what uses them."""
        lines = [f"@{self._name}"]
        numbers: dict[str, int] = {}
        roots = [identity for identity in self._nodes if identity not in self._used]
        stack = [(identity, 0) for identity in reversed(roots)]
        while stack:  # programs are deeper than Python's stack
            identity, depth = stack.pop()
            head = "  " * depth + "`--"
            node = self._nodes.get(identity)
            if node is None:
                continue
            if identity in numbers:
                lines.append(f"{head}#{numbers[identity]} {node.type}, as above")
                continue
            numbers[identity] = len(numbers) + 1
            lines.append(f"{head}#{numbers[identity]} {node.type}" + (f" ({node.other_info})" if node.other_info else ""))
            stack += [(operand, depth + 1) for operand in reversed(self._operands.get(identity, []))]
        return "\n".join(lines)


class TermPlotter(Plotter):
    """Prints the text of all functions, or writes it into a file."""

    def __init__(self) -> None:
        self._name_to_graph: dict[str, TermGraph] = {}

    def create_graph(self, name: str) -> TermGraph:
        self._name_to_graph[name] = TermGraph(name)
        return self._name_to_graph[name]

    def render(self, filename: str | None) -> None:
        text = "\n".join(graph.render() for graph in self._name_to_graph.values())
        if filename is None:
            print(text)
            return
        with open(filename, "w", encoding="utf-8") as file:
            file.write(text)
