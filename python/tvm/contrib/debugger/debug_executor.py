"""A GraphModule that runs its graph node by node, measures nodes, and keeps what each gave."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from ...runtime.module import BenchmarkResult
from ...runtime.ndarray import require_cpu
from ...relay.backend.graph_nodes import Nodes
from ...runtime.profiling import Report, profile
from ..._errors import UnknownNodeError
from ..graph_executor import GraphModule, require_graph
from .debug_result import GRAPH_DUMP_FILE_NAME, DebugResult

__all__ = ["GraphModuleDebug", "create"]


def create(graph_json_str: Any, libmod: Any, device: Any, dump_root: Any = None) -> GraphModuleDebug:
    """A GraphModuleDebug of what `relay.build` unpacks to. Raises ValueError for a graph that is no text."""
    require_graph(graph_json_str)
    return GraphModuleDebug(libmod, device, graph_json_str, dump_root)


class GraphModuleDebug(GraphModule):
    """A compiled program, its inputs and outputs, and the nodes of its graph (`get_graph_json`) with what each takes and gives.

    Nodes run one by one, each compiled by itself; the outputs of `run` are those of the program as a whole. With `dump_root` there is a folder
    `_tvmdbg_device_CPU_0` in it until `exit`: the graph is `_tvmdbg_graph_dump.json`, and each run writes the results of all nodes to
    `output_tensors.params` and their times to `_tvmdbg_execution_trace.json`. A program from a file keeps the graph's text, and not the functions of
    its nodes: `run` prints the times of its kernels.
    """

    def __init__(self, module: Any, device: Any, graph_json_str: Any = None, dump_root: Any = None) -> None:
        require_cpu(device, "a program")
        super().__init__(module)
        self._nodes: Nodes | None = None
        # The weights that are inputs: of the nodes, and of the graph that `debug_datum` is about, which is that of the last run.
        self._opened: frozenset[str] = frozenset()
        self._shown: frozenset[str] = frozenset()
        self._dump_path: str | None = None
        if dump_root is not None:
            folder = Path(dump_root) / "_tvmdbg_device_CPU_0"
            folder.mkdir(parents=True, exist_ok=True)
            self._dump_path = str(folder)
        graph = graph_json_str if isinstance(graph_json_str, str) else self._weights.graph().text() if self._weights is not None else '{"nodes": []}'
        self.debug_datum = DebugResult(graph, self._dump_path)
        if self._dump_path is not None and isinstance(graph_json_str, str):
            self.debug_datum.write(GRAPH_DUMP_FILE_NAME, graph_json_str.encode())

    def run(
        self, number: int = 10, repeat: int = 1, min_repeat_ms: int = 1, limit_zero_time_iterations: int = 100, cooldown_interval_ms: int = 0,
        repeats_to_cooldown: int = 1, sort_by_time: bool = True, **input_dict: Any,
    ) -> None:  # fmt: skip
        """Runs once, then measures the nodes, and prints a table of them."""
        super().run(**input_dict)
        if self._weights is None:
            self.debug_datum.report = self._measured()
        else:
            nodes = self._set_nodes()
            if self._shown != self._opened:
                self.debug_datum, self._shown = DebugResult(nodes.graph.text(), self._dump_path), self._opened
            self.debug_datum.update_output_tensors(nodes.run_all())
            self.debug_datum.update_times([nodes.times(at, number, repeat).results for at in range(len(nodes.graph.nodes))])
        if self._dump_path is not None:
            self.debug_datum.dump_output_tensor()
            self.debug_datum.dump_chrome_trace()
        self.debug_datum.display_debug_result(sort_by_time)

    def _set_nodes(self) -> Nodes:
        """The nodes, with the inputs that are set; others are zeros. Raises ValueError for one that is not set and has no one shape, RuntimeError for a program from a file."""
        if self._weights is None:
            raise RuntimeError("a program from a file has no functions of nodes: only one that was built in this process runs node by node")
        opened = frozenset(name for name in self._names if name in self._weights.values) | self._replaced.keys()
        self._fill()
        if self._nodes is None or opened != self._opened:
            self._nodes, self._opened = self._weights.nodes(opened), opened
        self._nodes.take({**dict(zip(self._names, self._inputs)), **self._replaced})
        return self._nodes

    def _index(self, node: int | str) -> int:
        """The number of a node by its number or name. Raises AttributeError, which is a ValueError, for what is none."""
        if isinstance(node, bool) or not isinstance(node, (int, str)):
            raise RuntimeError("Require node index or name only.")
        assert self._nodes is not None
        try:
            return self._nodes.graph.index(node)
        except ValueError as error:
            raise UnknownNodeError(str(error)) from None

    def _measured(self) -> Report:
        return profile(lambda: self._program.profile(*self._inputs))

    def profile(self, collectors: Any = None, **input_dict: Any) -> Report:
        """One run of the program, its kernels measured. Raises NotImplementedError for collectors of further figures."""
        if collectors:
            raise NotImplementedError("profile measures seconds, operations and bytes: there are no collectors of further figures")
        super().run(**input_dict)
        return self._measured()

    def get_debug_result(self, sort_by_time: bool = True) -> str:
        """The table of the last run. Raises RuntimeError before the first."""
        return self.debug_datum.get_debug_result(sort_by_time)

    def run_individual(
        self, number: int, repeat: int = 1, min_repeat_ms: int = 0, limit_zero_time_iterations: int = 100, cooldown_interval_ms: int = 0,
        repeats_to_cooldown: int = 1,
    ) -> list[list[float]]:  # fmt: skip
        """Seconds of each node, in their order: `repeat` means of `number` runs. Inputs take none. Those that are not set are zeros."""
        nodes = self._set_nodes()
        nodes.run_all()
        return [nodes.times(at, number, repeat).results for at in range(len(nodes.graph.nodes))]

    def run_individual_node(
        self, index: int, number: int = 10, repeat: int = 1, min_repeat_ms: int = 0, limit_zero_time_iterations: int = 100,
        cooldown_interval_ms: int = 0, repeats_to_cooldown: int = 1,
    ) -> BenchmarkResult:  # fmt: skip
        """Seconds of one node, `repeat` means of `number` runs. Raises IndexError."""
        nodes = self._set_nodes()
        if not 0 <= index < len(nodes.graph.nodes):
            raise IndexError(f"node {index} of a graph with {len(nodes.graph.nodes)} nodes")
        nodes.run_up_to(index)
        return nodes.times(index, number, repeat)

    def debug_get_output(self, node: int | str, out: Any = None) -> Any:
        """The first result of a node, by number or name, after it and those that it needs ran on the inputs that are set.

        Raises AttributeError, which is also a ValueError, for nodes that are none, ValueError for inputs that are not set, RuntimeError for a
        program from a file.
        """
        nodes = self._set_nodes()
        return self._hand(nodes.run_up_to(self._index(node))[0], out)

    def execute_node(self, node: int | str) -> Any:
        """The same as `debug_get_output`."""
        return self.debug_get_output(node)

    def execute_next_node(self, node_index: int, output_index: int = 0) -> Any:
        """A result of a node that runs now, those before it as they are: node 0 begins anew with the inputs. Raises RuntimeError where a node
        before it did not run."""
        if node_index == 0 or self._nodes is None:
            self._set_nodes()
        assert self._nodes is not None
        at = self._index(node_index)
        self._nodes.run(at)
        return self._nodes.value(at, output_index)

    execute_next_node_get_output = execute_next_node

    def get_node_output(self, index: int, output_index: int = 0) -> Any:
        """A result of a node as the last run left it. Raises RuntimeError for a node that did not run."""
        if self._nodes is None:
            raise RuntimeError("the program did not run yet")
        return self._nodes.value(self._index(index), output_index)

    def exit(self) -> None:
        """Removes what was written."""
        if self._dump_path is not None:
            shutil.rmtree(self._dump_path, ignore_errors=True)
            self._dump_path = None
