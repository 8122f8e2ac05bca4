"""A graph and its last run, as a GraphModuleDebug knows them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ... import _absent
from ...runtime.params import save_param_dict
from ...runtime.profiling import Report

__all__ = ["GRAPH_DUMP_FILE_NAME", "DebugResult", "save_tensors"]

GRAPH_DUMP_FILE_NAME = "_tvmdbg_graph_dump.json"


class DebugResult:
    """The nodes of a graph, each with its inputs by name, its function, its dtype and shape, and the outputs of the last run."""

    def __init__(self, graph_json: str, dump_path: str | None) -> None:
        graph = json.loads(graph_json)
        attrs = graph.get("attrs", {})
        self._shapes: list[Any] = attrs.get("shape", ["list_shape", []])[1]
        self._dtypes: list[str] = attrs.get("dltype", ["list_str", []])[1]
        self._first: list[int] = graph.get("node_row_ptr", [])
        self._dump_path = dump_path
        self._outputs: list[Any] = []
        self.report: Report | None = None
        names = [node["name"] for node in graph["nodes"]]
        self._nodes = [self._node(i, node, names) for i, node in enumerate(graph["nodes"])]

    def _node(self, index: int, node: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
        attrs = dict(node.get("attrs", {}))
        made = {**node, "inputs": [names[source[0]] for source in node["inputs"]], "op": attrs.get("func_name", "param"), "attrs": attrs}
        attrs["T"] = f"type: {self._dtypes[self._entry(index)]}"
        made["shape"] = self._shapes[self._entry(index)]
        return made

    def _entry(self, index: int) -> int:
        """The place of a node's first result among all results."""
        return self._first[index] if index < len(self._first) else index

    def get_graph_nodes(self) -> list[dict[str, Any]]:
        """The nodes, as dictionaries."""
        return self._nodes

    def get_graph_node_shapes(self) -> list[Any]:
        """The shapes of all results of nodes, in order."""
        return self._shapes

    def get_graph_node_output_num(self, node: Mapping[str, Any]) -> int:
        """How many results a node has."""
        return 1 if node["op"] == "param" else int(node["attrs"]["num_outputs"])

    def get_graph_node_dtypes(self) -> list[str]:
        """The dtypes of all results of nodes, in order."""
        return self._dtypes

    def get_output_tensors(self) -> dict[str, Any]:
        """The outputs of the last run by name, `output_0` first: kernels compute several nodes each, so that other nodes have no values."""
        return {f"output_{i}": value for i, value in enumerate(self._outputs)}

    def update_output_tensors(self, tensors: Sequence[Any]) -> None:
        """Takes the outputs of a run."""
        self._outputs = list(tensors)

    def dump_output_tensor(self) -> None:
        """Writes the outputs of the last run to `output_tensors.params` in the folder of the dump. Raises RuntimeError where there is none."""
        (self._folder() / "output_tensors.params").write_bytes(save_tensors(self.get_output_tensors()))

    def dump_graph_json(self, graph: Any) -> None:
        """Writes a graph to the folder of the dump. Raises RuntimeError where there is none."""
        (self._folder() / GRAPH_DUMP_FILE_NAME).write_text(json.dumps(graph, indent=4, sort_keys=False), encoding="utf-8")

    def get_debug_result(self, sort_by_time: bool = True) -> str:
        """The table of the last run. Raises RuntimeError before the first."""
        if self.report is None:
            raise RuntimeError("the program did not run yet")
        return self.report.table(sort=sort_by_time)

    def display_debug_result(self, sort_by_time: bool = True) -> None:
        """Prints the table of the last run."""
        print(self.get_debug_result(sort_by_time))

    dump_chrome_trace = _absent.missing_method("DebugResult.dump_chrome_trace", "times of single nodes: profile gives those of kernels")

    def _folder(self) -> Path:
        if self._dump_path is None:
            raise RuntimeError("the program has no dump_root")
        return Path(self._dump_path)


def save_tensors(params: Mapping[str, Any]) -> bytes:
    """Arrays by name as the bytes of a `.params` file."""
    return bytes(save_param_dict(dict(params)))


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
