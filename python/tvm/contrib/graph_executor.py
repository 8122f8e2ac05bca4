"""Programs with inputs and outputs that are set and read one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import relay as _relay
from relay import NDArray

from .._errors import UnknownInputError
from ..runtime.container import ADT
from ..runtime.module import BenchmarkResult, Module, measure
from ..runtime.ndarray import array, require_cpu
from ..runtime.params import digest, load_param_dict

__all__ = ["GraphModule", "create"]


class GraphModule:
    """A compiled program, its inputs and its last outputs."""

    def __init__(self, module: Any) -> None:
        if not isinstance(module, Module):
            raise TypeError(f"a GraphModule is made of lib['default'](device), not of {type(module).__name__}")
        self.module = _Library(module, self)
        self._weights = module.weights
        self._kept = {} if self._weights is not None else module.kept_weights()
        self._replaced: dict[str, Any] = {}
        self._outputs: list[Any] | None = None
        self._shared: dict[int, Any] = {}  # arrays that get the outputs
        self._take(module.program, {})

    def _take(self, program: _relay.Executable, inputs: dict[str, Any]) -> None:
        self._program = program
        self._constants: dict[str, Any] | None = None
        self._names = [name for name, _ in program.parameters]
        self._types = [_relay.parse_type(text) for _, text in program.parameters]
        self._inputs = [inputs.get(name) for name in self._names]

    def _folded(self) -> dict[str, Any]:
        """Constants by their names in the graph, as p0, behind the inputs; without values where the program is from a file, which does not keep
        them apart."""
        if self._constants is None:
            if self._weights is not None:
                found = self._weights.constants({name for name in self._names if name in self._weights.values})
            else:
                found = dict.fromkeys(self.module.names_of_graph())
            self._constants = {name: value for name, value in found.items() if name not in self._names and not self._is_weight(name)}
        return self._constants

    def _name_of_folded(self, key: Any) -> str | None:
        """The name of a constant of the graph that a name or number means; None for others."""
        if isinstance(key, str):
            return key if key not in self._names and not self._is_weight(key) and key in self._folded() else None
        at = int(key) - len(self._names)
        return list(self._folded())[at] if 0 <= at < len(self._folded()) else None

    def _check_folded(self, name: str, given: Any) -> None:
        """Raises ValueError for another value of a constant of the graph than it has."""
        value = self._folded()[name]
        if value is None or not _relay.structural_equal(_relay.const(array(given)), _relay.const(value)):
            raise ValueError(f"{name!r} is a constant of the graph, which the build computed: set what it was given as params, or build without it")

    def _at(self, key: Any) -> int:
        if isinstance(key, str):
            if key not in self._names:
                raise UnknownInputError(
                    f"the program has no input {key!r}; it has {', '.join(self._names) or 'none'}"
                    + ("" if self._weights else ". What was given as params when it was built is a constant of it")
                )
            return self._names.index(key)
        if not 0 <= int(key) < len(self._names):
            raise IndexError(f"input {key} of a program with {len(self._names)} inputs")
        return int(key)

    def set_input(self, key: Any = None, value: Any = None, **params: Any) -> None:
        """One input by name or number, further ones by name. The array is copied. Raises ValueError for names that are none and for
        shapes that do not fit.

        Values that became constants when the program was built in this process can be replaced, by others of their shape: the next run
        compiles a program that takes them as inputs. A program from a file keeps its constants, and takes the same values alone.
        """
        given = dict(params) if key is None else {key: value, **params}
        for name in [name for name in given if self._name_of_folded(name) is not None]:
            self._check_folded(str(self._name_of_folded(name)), given.pop(name))
        for name in given:
            if not self._is_weight(name):
                self._at(name)
        for name, data in given.items():
            if self._is_weight(name):
                self._replace(name, data)
                continue
            at = self._at(name)
            made = array(data)
            wanted = self._types[at]
            if isinstance(wanted, _relay.TensorType):
                _require_shape(self._names[at], made, wanted)
                if made.dtype != wanted.dtype:
                    made = made.astype(wanted.dtype)
            self._inputs[at] = made

    def set_input_zero_copy(self, key: Any = None, value: Any = None, **params: Any) -> None:
        """Like set_input, but runs read the array itself: what is written to it later counts. Raises TypeError for what is no tvm.nd.array or has
        another dtype.
        """
        for name, data in (dict(params) if key is None else {key: value, **params}).items():
            at = self._at(name)
            wanted = self._types[at]
            if not isinstance(data, NDArray):
                raise TypeError(f"set_input_zero_copy takes a tvm.nd.array, not {type(data).__name__}")
            if isinstance(wanted, _relay.TensorType):
                _require_shape(self._names[at], data, wanted)
                if data.dtype != wanted.dtype:
                    raise TypeError(f"input {self._names[at]!r} is {wanted.dtype}, the array {data.dtype}: only set_input converts")
            self._inputs[at] = data

    def set_output_zero_copy(self, index: int, value: Any) -> None:
        """Each run also writes an output to this array, which needs the output's shape and dtype."""
        if not isinstance(value, NDArray):
            raise TypeError(f"set_output_zero_copy takes a tvm.nd.array, not {type(value).__name__}")
        if index < 0:
            raise IndexError(f"output {index}")
        self._shared[index] = value

    def _is_weight(self, name: Any) -> bool:
        return name in (self._kept if self._weights is None else self._weights.values) and name not in self._names

    def _replace(self, name: str, data: Any) -> None:
        if self._weights is None:
            if digest(array(data)) != self._kept[name]:
                raise ValueError(f"the value of {name!r} is not the one that the program of this file has as a constant; "
                                 "lib['remove_params']() makes a program that takes such values")  # fmt: skip
            return
        bound, made = self._weights.values[name], array(data)
        if tuple(made.shape) != tuple(bound.shape):
            raise ValueError(f"the value of {name!r} has shape {tuple(made.shape)}, what the program was built with has {tuple(bound.shape)}")
        if made.dtype != bound.dtype:
            made = made.astype(bound.dtype)
        if _relay.structural_equal(_relay.const(made), _relay.const(bound)):
            self._replaced.pop(name, None)
        else:
            self._replaced[name] = made

    def run(self, **input_dict: Any) -> None:
        """Runs on the inputs; one that was never set is zeros. Raises ValueError for such a one whose shape is not known, RelayError for one that
        does not fit."""
        if input_dict:
            self.set_input(**input_dict)
        if self._replaced and self._weights is not None:
            opened = {name for name in self._names if name in self._weights.values} | self._replaced.keys()
            inputs = {**dict(zip(self._names, self._inputs)), **self._replaced}
            self._take(self._weights.program(opened), inputs)
            self._replaced = {}
        self._fill()
        for name, data, wanted in zip(self._names, self._inputs, self._types):
            if data is None:
                raise ValueError(f"the input {name!r} was not set, and its type {wanted} has no one shape")
        result = self._program(*self._inputs)
        self._outputs = _flatten(result)
        for index, shared in self._shared.items():
            self.get_output(index, shared)

    def _signature(self) -> list[Any] | None:
        """The types of the outputs; None where a tuple's or data type's fields are known only when it is computed."""
        types: list[Any] = []
        for _, text in self._program.results["main"]:
            try:
                types += _leaves(_relay.parse_type(text))
            except _relay.RelayError:  # a data type of the program's own
                return None
        return types if all(isinstance(each, _relay.TensorType) for each in types) else None

    def get_num_outputs(self) -> int:
        """How many outputs there are. Raises RuntimeError before the first run for a program that returns data types."""
        known = self._signature() if self._outputs is None else None
        return len(self._required() if known is None else known)

    def get_num_inputs(self) -> int:
        """How many inputs there are. Where weights were given when it was built, the constants of the graph (p0, …) count among them, as in TVM."""
        bound = self._weights.values if self._weights is not None else self._kept
        return len(self._names) + (len(self._folded()) if bound else 0)

    def _required(self) -> list[Any]:
        if self._outputs is None:
            raise RuntimeError("the program did not run yet")
        return self._outputs

    def get_input(self, index: Any, out: Any = None) -> Any:
        """The value that an input was set to, or that of a constant of the graph. One that was not set is zeros; ValueError where its shape is not
        known, and for a constant of a program from a file.
        """
        if self._is_weight(index) and self._weights is not None:
            return self._hand(self._replaced.get(index, self._weights.values[index]), out)
        folded = self._name_of_folded(index)
        if folded is not None:
            if self._folded()[folded] is None:
                raise ValueError(f"{folded!r} is a constant of the graph, and the file of the program does not keep its value apart")
            return self._hand(self._folded()[folded], out)
        at = self._at(index)
        if self._inputs[at] is None:
            self._inputs[at] = _zeros(self._types[at])
        if self._inputs[at] is None:
            raise ValueError(f"the input {self._names[at]!r} was not set, and its type {self._types[at]} has no one shape")
        return self._hand(self._inputs[at], out)

    def get_output(self, index: int, out: Any = None) -> Any:
        """An output of the last run, copied to `out` if that is given. Before the first run it is zeros of the output's shape; RuntimeError where
        that is not known.
        """
        known = self._signature() if self._outputs is None else None
        outputs = self._required() if known is None else [_zeros(each) for each in known]
        if not 0 <= index < len(outputs):
            raise IndexError(f"output {index} of a program with {len(outputs)} outputs")
        if outputs[index] is None:
            raise RuntimeError(f"the program did not run yet, and output {index} has a shape that a run finds: {(known or ())[index]}")
        return self._hand(outputs[index], out)

    @staticmethod
    def _hand(value: Any, out: Any) -> Any:
        if out is None:
            return value
        if isinstance(out, NDArray):
            target: Any = out
            return target.copyfrom(value)
        return np.copyto(out, np.asarray(value))

    def get_input_index(self, name: str) -> int:
        """The number of an input or constant of the graph; -1 if there is none of that name."""
        if name in self._names:
            return self._names.index(name)
        return len(self._names) + list(self._folded()).index(name) if self._name_of_folded(name) is not None else -1

    def get_input_info(self) -> tuple[dict[str, Any], dict[str, str]]:
        """Shapes and dtypes of the inputs by name."""
        tensors = {name: t for name, t in zip(self._names, self._types) if isinstance(t, _relay.TensorType)}
        return {name: tuple(t.shape) for name, t in tensors.items()}, {name: t.dtype for name, t in tensors.items()}

    def load_params(self, params_bytes: bytes) -> None:
        """Sets inputs, and what became constants (`set_input`), of the arrays of a `.params` file. Raises ValueError for other names."""
        given = load_param_dict(params_bytes)
        for name in given:
            if not self._is_weight(name):
                self._at(name)
        for name, value in given.items():
            self.set_input(name, value)

    def share_params(self, other: GraphModule, params_bytes: bytes) -> None:
        """The inputs and weights that a `.params` file names get the values that another program has of them: all of them, or none where it
        raises for one. What is a constant in the other's file is shared where it is the same here; otherwise ValueError."""
        names = [name for name in load_param_dict(params_bytes) if self._is_weight(name) or name in self._names]
        constants = {name for name in names if other._weights is None and other._is_weight(name)}
        for name in constants:
            own = self._kept.get(name) if self._weights is None else digest(self.get_input(name))
            if name in self._names or own != other._kept[name]:
                raise ValueError(f"{name!r} is a constant of the other program's file, and not the same here")
        for name, value in [(name, other.get_input(name)) for name in names if name not in constants]:
            self.set_input(name, value)

    def __getitem__(self, key: str) -> Any:
        return getattr(self, key)

    def benchmark(
        self, device: Any, func_name: str = "run", repeat: int = 5, number: int = 5, min_repeat_ms: Any = None,
        limit_zero_time_iterations: int = 100, end_to_end: bool = False, cooldown_interval_ms: int = 0, repeats_to_cooldown: int = 1,
        **kwargs: Any,
    ) -> BenchmarkResult:  # fmt: skip
        """Seconds of one run, `repeat` means of `number` runs each."""
        require_cpu(device, "a measurement")
        if kwargs:
            self.set_input(**kwargs)
        self._fill()
        return measure(self.run, number, repeat)

    def _fill(self) -> None:
        """Zeros for inputs that were never set: TVM's runs read the memory as it is. Inputs of shapes that are not known stay unset."""
        for at, (data, wanted) in enumerate(zip(self._inputs, self._types)):
            if data is None:
                self._inputs[at] = _zeros(wanted)


# Functions that scripts ask a module of an executor for.
_FUNCTIONS = ("run", "set_input", "get_input", "get_output", "get_num_outputs", "get_num_inputs", "get_input_index", "get_input_info", "load_params",
              "set_input_zero_copy", "set_output_zero_copy")  # fmt: skip


class _Library(Module):
    """The program of a GraphModule, as scripts measure it (``module.module.time_evaluator("run", device)()``) and drive it by itself
    (``lib["default"](device)["run"]()``)."""

    def __init__(self, module: Module, owner: GraphModule | None = None) -> None:
        super().__init__(module)
        self._driver = owner

    @property
    def type_key(self) -> str:
        """The kind of the module."""
        return "GraphExecutor"

    @property
    def _owner(self) -> GraphModule:
        if self._driver is None:
            self._driver = GraphModule(self)
        return self._driver

    def __getitem__(self, name: str) -> Any:
        return getattr(self._owner, name) if name in _FUNCTIONS else super().__getitem__(name)

    def time_evaluator(self, func_name: str, dev: Any, number: int = 10, repeat: int = 1, **kwargs: Any) -> Any:
        """Something to call that measures runs on the inputs that are set."""
        if func_name != "run":
            return super().time_evaluator(func_name, dev, number, repeat, **kwargs)

        def evaluate(*args: Any) -> BenchmarkResult:
            self._owner._fill()
            return measure(self._owner.run, number, repeat)

        return evaluate


def runner(module: Module, devices: Any) -> Module:
    """A program on devices: something to make a GraphModule of, or to drive by its functions. Raises NotImplementedError for a GPU."""
    require_cpu(list(devices), "a program")
    return _Library(module)


def _require_shape(name: str, given: NDArray, wanted: _relay.TensorType) -> None:
    """Extents that are numbers are compared here, those that are names when the program runs."""
    shape, extents = tuple(given.shape), list(wanted.shape)
    if len(shape) != len(extents) or any(isinstance(b, int) and a != b for a, b in zip(shape, extents)):
        text = ", ".join(map(str, extents))
        raise ValueError(f"the input {name!r} takes the shape ({text}), and was given an array of shape {shape}")


def _leaves(result: Any) -> list[Any]:
    """The types of the outputs that a result of a type is taken apart into."""
    return [leaf for field in result.fields for leaf in _leaves(field)] if isinstance(result, _relay.TupleType) else [result]


def _zeros(wanted: Any) -> NDArray | None:
    """An array of zeros of a type; None where its shape is not known."""
    if not isinstance(wanted, _relay.TensorType) or not all(isinstance(extent, int) for extent in wanted.shape):
        return None
    try:
        return array(np.zeros(tuple(wanted.shape), str(wanted.dtype)))
    except TypeError:  # a dtype that NumPy does not have
        return array(np.zeros(tuple(wanted.shape), "float32")).astype(wanted.dtype)


def _flatten(result: Any) -> list[Any]:
    if isinstance(result, (tuple, list, ADT)):
        return [leaf for field in result for leaf in _flatten(field)]
    return [result if isinstance(result, (NDArray, _relay.Value)) else array(result)]


def get_device(libmod: Any, device: Any) -> tuple[list[Any], int, list[int]]:
    """The devices as a list, how many there are, and their types and numbers one after another."""
    devices = list(device) if isinstance(device, (list, tuple)) else [device]
    require_cpu(devices, "a program")
    return devices, devices[0].device_type, [number for dev in devices for number in (dev.device_type, dev.device_id)]


def require_graph(graph_json: Any) -> None:
    """Raises ValueError for what is no graph as text."""
    if not isinstance(graph_json, (str, bytes)) and getattr(graph_json, "_tvm_graph_json", None) is None:
        raise ValueError(f"a graph is text of JSON, not {type(graph_json).__name__}")


def create(graph_json_str: Any, libmod: Any, device: Any) -> GraphModule:
    """A GraphModule of what `relay.build` unpacks to. Raises ValueError for a graph that is no text."""
    require_graph(graph_json_str)
    require_cpu(device, "a program")
    return GraphModule(libmod)
