"""Programs as graphs, drawn as text (`TermPlotter`) or by Graphviz (`DotPlotter`).

    RelayVisualizer(mod).render()
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ... import relay
from .dot import DotPlotter as DotPlotter, DotVizParser as DotVizParser
from .interface import DefaultVizParser as DefaultVizParser, Plotter as Plotter, VizEdge as VizEdge, VizGraph as VizGraph
from .interface import VizNode as VizNode, VizParser as VizParser
from .terminal import TermPlotter as TermPlotter, TermVizParser as TermVizParser


class RelayVisualizer:
    """Gives the nodes of each function of a module to a parser, and what that makes of them to a plotter.

    A plotter of another kind comes with a parser of its own; without one, nodes are described as text.
    """

    def __init__(
        self, relay_mod: Any, relay_param: Mapping[str, Any] | None = None, plotter: Plotter | None = None, parser: VizParser | None = None
    ) -> None:
        self._plotter = plotter if plotter is not None else TermPlotter()
        if parser is None:
            parser = DotVizParser() if isinstance(self._plotter, DotPlotter) else TermVizParser()
        self._parser = parser
        self._params = dict(relay_param or {})
        for name, function in relay_mod.functions.items():
            self._add(getattr(name, "name_hint", str(name)), function)

    def _add(self, name: str, function: Any) -> None:
        nodes: list[Any] = []
        relay.analysis.post_order_visit(function, nodes.append)
        numbers = {node: str(number) for number, node in enumerate(nodes)}
        graph = self._plotter.create_graph(name)
        for node in nodes:
            viz_node, edges = self._parser.get_node_edges(node, self._params, numbers)
            if viz_node is not None:
                graph.node(viz_node)
            for edge in edges:
                graph.edge(edge)

    def render(self, filename: str | None = None) -> None:
        """Draws all functions: into a file, or to where the plotter draws without one."""
        self._plotter.render(filename)
