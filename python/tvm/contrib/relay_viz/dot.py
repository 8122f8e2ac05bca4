"""Drawings by Graphviz: its text always, a PDF where its command `dot` is installed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Mapping
from typing import Any

from .interface import DefaultVizParser, Plotter, VizEdge, VizGraph, VizNode

Attrs = Callable[[VizNode], Mapping[str, str]]


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _options(attrs: Mapping[str, Any]) -> str:
    return " [" + ", ".join(f"{key}={_quoted(str(value))}" for key, value in attrs.items()) + "]" if attrs else ""


class DotVizParser(DefaultVizParser):
    """Describes nodes for boxes of several lines."""


class DotGraph(VizGraph):
    """One function as text of Graphviz."""

    def __init__(
        self, name: str, graph_attr: Mapping[str, Any] | None = None, node_attr: Mapping[str, Any] | None = None,
        edge_attr: Mapping[str, Any] | None = None, get_node_attr: Attrs | None = None,
    ) -> None:  # fmt: skip
        self._name, self._get_node_attr = name, get_node_attr
        self._lines = [f"  {kind}{_options(attrs)};" for kind, attrs in (("graph", graph_attr), ("node", node_attr), ("edge", edge_attr)) if attrs]

    def node(self, viz_node: VizNode) -> None:
        attrs = {"label": f"{viz_node.type_name}\n{viz_node.detail}".rstrip()}
        attrs.update(self._get_node_attr(viz_node) if self._get_node_attr else {})
        self._lines.append(f"  {_quoted(viz_node.identity)}{_options(attrs)};")

    def edge(self, viz_edge: VizEdge) -> None:
        self._lines.append(f"  {_quoted(viz_edge.start)} -> {_quoted(viz_edge.end)};")

    @property
    def digraph(self) -> str:
        return "\n".join([f"digraph {_quoted(self._name)} {{", *self._lines, "}", ""])


class DotPlotter(Plotter):
    """Writes `FILENAME` (graphs one after another) and, where `dot` is installed, `FILENAME.pdf`. The name is that of the first function if none is given.

    Options are attributes of Graphviz for graphs, nodes and edges; `get_node_attr` gives those of a node.
    """

    def __init__(
        self, graph_attr: Mapping[str, Any] | None = None, node_attr: Mapping[str, Any] | None = None,
        edge_attr: Mapping[str, Any] | None = None, get_node_attr: Attrs | None = None,
    ) -> None:  # fmt: skip
        self._options = (graph_attr or {}, node_attr or {"shape": "box"}, edge_attr or {}, get_node_attr)
        self._name_to_graph: dict[str, DotGraph] = {}

    def create_graph(self, name: str) -> DotGraph:
        self._name_to_graph[name] = DotGraph(name, *self._options)
        return self._name_to_graph[name]

    def render(self, filename: str | None) -> None:
        filename = filename if filename is not None else next(iter(self._name_to_graph), "graph")
        with open(filename, "w", encoding="utf-8") as file:
            file.write("".join(graph.digraph for graph in self._name_to_graph.values()))
        if shutil.which("dot"):
            subprocess.run(["dot", "-Tpdf", filename, "-o", filename + ".pdf"], check=True)
