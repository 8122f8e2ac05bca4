"""A graph and its last run, as a GraphModuleDebug knows them."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ... import _absent
from ...runtime.params import save_param_dict
from ...runtime.profiling import Report

__all__ = ["GRAPH_DUMP_FILE_NAME", "DebugResult", "save_tensors"]

GRAPH_DUMP_FILE_NAME = "_tvmdbg_graph_dump.json"
_TRACE = "_tvmdbg_execution_trace.json"
_COLUMNS = ["Node Name", "Ops", "Time(us)", "Time(%)", "Shape", "Inputs", "Outputs", "Measurements(us)"]


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
        self._times: list[list[float]] = []
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
        """The results of nodes in the last run, by the node's name, its number and which of its results it is."""
        found: dict[str, Any] = {}
        for at, node in enumerate(self._nodes):
            for result in range(self.get_graph_node_output_num(node)):
                if len(found) < len(self._outputs):
                    found[f"{node['name']}____topo-index:{at}____output-num:{result}"] = self._outputs[len(found)]
        return found

    def update_output_tensors(self, tensors: Sequence[Any]) -> None:
        """Takes the results of all nodes of a run, in order."""
        self._outputs = list(tensors)

    def update_times(self, times: Sequence[Sequence[float]]) -> None:
        """Takes the seconds of each node, several means of runs of one."""
        self._times = [list(each) for each in times]

    def dump_output_tensor(self) -> None:
        """Writes the results of nodes to `output_tensors.params` in the folder of the dump. Raises RuntimeError where there is none."""
        self.write("output_tensors.params", save_tensors(self.get_output_tensors()))

    def dump_chrome_trace(self) -> None:
        """Writes the times of nodes, one after another, to `_tvmdbg_execution_trace.json` in the folder of the dump, for viewers of Chrome's
        traces. Raises RuntimeError where there is none."""
        events: list[dict[str, Any]] = []
        now = 0.0
        for node, times in zip(self._nodes, self._times):
            for kind, moment in (("B", now), ("E", now + 1e6 * times[0])):
                events.append({"ts": moment, "ph": kind, "tid": 1, "pid": 1, "name": node["name"], "args": {}})
            now += 1e6 * times[0]
        self.write(_TRACE, json.dumps({"displayTimeUnit": "ns", "traceEvents": events}).encode())

    def dump_graph_json(self, graph: Any) -> None:
        """Writes a graph to the folder of the dump. Raises RuntimeError where there is none."""
        self.write(GRAPH_DUMP_FILE_NAME, json.dumps(graph, indent=4, sort_keys=False).encode())

    def get_debug_result(self, sort_by_time: bool = True) -> str:
        """The table of the last run, a line for each result of a node that is no input; that of kernels for a program without a graph. Raises
        RuntimeError before the first run."""
        if self.report is not None:
            return self.report.table(sort=sort_by_time)
        if not self._times:
            raise RuntimeError("the program did not run yet")
        means = [sum(each) / len(each) for each in self._times]
        total = sum(means)
        rows: list[list[Any]] = []
        for at, (node, mean, times) in enumerate(zip(self._nodes, means, self._times)):
            for result in range(0 if node["op"] == "param" else self.get_graph_node_output_num(node)):
                shape = str(tuple(self._outputs[self._entry(at) + result].shape))
                counts = [str(node["attrs"][count]) for count in ("num_inputs", "num_outputs")]
                percent = round(100 * mean / total, 3) if total > 0 else 0.0
                rows.append([node["name"], node["op"], round(1e6 * mean, 3), percent, shape, *counts, str([round(1e6 * time, 3) for time in times])])
        if sort_by_time:
            rows.sort(key=lambda row: row[2], reverse=True)
            rows.append(["Total_time", "-", round(1e6 * total, 3), *["-"] * (len(_COLUMNS) - 3)])
        lines = [_COLUMNS, ["-" * len(name) for name in _COLUMNS], *([str(cell) for cell in row] for row in rows)]
        widths = [2 + max(len(line[i]) for line in lines) for i in range(len(_COLUMNS))]
        return "\n".join("".join(f"{cell:<{width}}" for cell, width in zip(line, widths)) for line in lines)

    def display_debug_result(self, sort_by_time: bool = True) -> None:
        """Prints the table of the last run."""
        print(self.get_debug_result(sort_by_time))

    def write(self, name: str, data: bytes) -> None:
        """Writes a file of the dump at once, so that a reader beside never sees half of it. Raises RuntimeError where there is no folder."""
        folder = self._folder()
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            file.write(data)
        Path(file.name).replace(folder / name)

    def _folder(self) -> Path:
        if self._dump_path is None:
            raise RuntimeError("the program has no dump_root")
        return Path(self._dump_path)


def save_tensors(params: Mapping[str, Any]) -> bytes:
    """Arrays by name as the bytes of a `.params` file."""
    return bytes(save_param_dict(dict(params)))


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
