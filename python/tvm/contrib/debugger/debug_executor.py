"""A GraphModule that measures kernels. What TVM's class does with nodes, this one does with kernels, each of which computes several nodes."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from ..._absent import missing_method
from ...runtime.module import BenchmarkResult
from ...runtime.ndarray import require_cpu
from ...runtime.profiling import Report, profile
from ...runtime.params import save_param_dict
from ..graph_executor import GraphModule, _flatten, require_graph
from .debug_result import GRAPH_DUMP_FILE_NAME, DebugResult

__all__ = ["GraphModuleDebug", "create"]

_NODES = "runs node by node: kernels compute several nodes each; debug_get_output gives the value of a node, run_individual times kernels"


def create(graph_json_str: Any, libmod: Any, device: Any, dump_root: Any = None) -> GraphModuleDebug:
    """A GraphModuleDebug of what `relay.build` unpacks to. Raises ValueError for a graph that is no text."""
    require_graph(graph_json_str)
    return GraphModuleDebug(libmod, device, graph_json_str, dump_root)


class GraphModuleDebug(GraphModule):
    """A compiled program, its inputs and outputs, and what its kernels take.

    With `dump_root` there is a folder `_tvmdbg_device_CPU_0` in it until `exit`: the graph is `_tvmdbg_graph_dump.json`, and each run writes its
    outputs to `output_tensors.params` (`output_0`, …; `debug_get_output` gives the values of single nodes).
    """

    def __init__(self, module: Any, device: Any, graph_json_str: Any = None, dump_root: Any = None) -> None:
        require_cpu(device, "a program")
        super().__init__(module)
        self._report: Report | None = None
        self._values: dict[int, Any] = {}  # programs of nodes
        self._dump_path: str | None = None
        if dump_root is not None:
            folder = Path(dump_root) / "_tvmdbg_device_CPU_0"
            folder.mkdir(parents=True, exist_ok=True)
            self._dump_path = str(folder)
            if isinstance(graph_json_str, str):
                (folder / GRAPH_DUMP_FILE_NAME).write_text(graph_json_str, encoding="utf-8")
        graph = graph_json_str if isinstance(graph_json_str, str) else self._weights.graph().text() if self._weights is not None else '{"nodes": []}'
        self.debug_datum = DebugResult(graph, self._dump_path)

    def run(
        self, number: int = 10, repeat: int = 1, min_repeat_ms: int = 1, limit_zero_time_iterations: int = 100, cooldown_interval_ms: int = 0,
        repeats_to_cooldown: int = 1, sort_by_time: bool = True, **input_dict: Any,
    ) -> None:  # fmt: skip
        """Runs once, measures the kernels, and prints a table of them."""
        super().run(**input_dict)
        self._report = self._measured()
        self.debug_datum.report = self._report
        self.debug_datum.update_output_tensors(self._required())
        print(self._report.table(sort=sort_by_time))
        if self._dump_path is not None:
            outputs = {f"output_{i}": value for i, value in enumerate(self._required())}
            self._write("output_tensors.params", bytes(save_param_dict(outputs)))

    def _write(self, name: str, data: bytes) -> None:
        # A reader beside never sees half of a file.
        assert self._dump_path is not None
        with tempfile.NamedTemporaryFile(dir=self._dump_path, delete=False) as file:
            file.write(data)
        Path(file.name).replace(Path(self._dump_path) / name)

    def _measured(self) -> Report:
        return profile(lambda: self._program.profile(*self._inputs))

    def profile(self, collectors: Any = None, **input_dict: Any) -> Report:
        """One run, measured. Raises NotImplementedError for collectors of further figures."""
        if collectors:
            raise NotImplementedError("profile measures seconds, operations and bytes: there are no collectors of further figures")
        super().run(**input_dict)
        return self._measured()

    def get_debug_result(self, sort_by_time: bool = True) -> str:
        """The table of the last run. Raises RuntimeError before the first."""
        if self._report is None:
            raise RuntimeError("the program did not run yet")
        return self._report.table(sort=sort_by_time)

    def run_individual(
        self, number: int, repeat: int = 1, min_repeat_ms: int = 0, limit_zero_time_iterations: int = 100, cooldown_interval_ms: int = 0,
        repeats_to_cooldown: int = 1,
    ) -> list[float]:  # fmt: skip
        """Milliseconds of each kernel, in the order in which they run: the mean of `number` runs of the whole program."""
        runs = [[row["seconds"] for row in self._program.profile(*self._inputs)] for _ in range(max(1, number))]
        return [1000 * sum(seconds) / len(runs) for seconds in zip(*runs)]

    def run_individual_node(
        self, index: int, number: int = 10, repeat: int = 1, min_repeat_ms: int = 0, limit_zero_time_iterations: int = 100,
        cooldown_interval_ms: int = 0, repeats_to_cooldown: int = 1,
    ) -> BenchmarkResult:  # fmt: skip
        """Seconds of one kernel, `repeat` means of `number` runs of the whole program. Raises IndexError."""
        means = [self.run_individual(number) for _ in range(max(1, repeat))]
        if not 0 <= index < len(means[0]):
            raise IndexError(f"kernel {index} of a program with {len(means[0])} kernels")
        return BenchmarkResult([mean[index] / 1000 for mean in means])

    def debug_get_output(self, node: int | str, out: Any = None) -> Any:
        """The value of a node of the graph (`get_graph_json`), by number or name, for the inputs that are set; of several results the first.

        Each node that is asked for is compiled by itself. Raises ValueError for nodes that are none, RuntimeError for a program from a file,
        which keeps no graph.
        """
        weights = self._weights
        if weights is None:
            raise RuntimeError("a program from a file has no graph: debug_get_output asks for one that was built in this process")
        at = weights.graph().index(node)
        if at not in self._values:
            self._values[at] = weights.node(at)
        program = self._values[at]
        inputs = dict(zip(self._names, self._inputs))
        for name, _ in program.parameters:
            if inputs[name] is None:
                raise ValueError(f"the input {name!r} was not set")
        return self._hand(_flatten(program(*(inputs[name] for name, _ in program.parameters)))[0], out)

    execute_node = missing_method("GraphModuleDebug.execute_node", _NODES)
    execute_next_node = missing_method("GraphModuleDebug.execute_next_node", _NODES)
    execute_next_node_get_output = missing_method("GraphModuleDebug.execute_next_node_get_output", _NODES)
    get_node_output = missing_method("GraphModuleDebug.get_node_output", _NODES)

    def exit(self) -> None:
        """Removes what was written."""
        if self._dump_path is not None:
            shutil.rmtree(self._dump_path, ignore_errors=True)
            self._dump_path = None



