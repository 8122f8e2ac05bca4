"""Runs of compiled models."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import relay as _relay

from ... import _absent
from ...runtime.ndarray import device as device_of
from .arguments import refuse
from .model import TVMCException, TVMCPackage, TVMCResult

__all__ = ["generate_tensor_data", "make_inputs_dict", "run_module"]


def generate_tensor_data(shape: tuple[int, ...], dtype: str, fill_mode: str) -> Any:
    """An array: "zeros", "ones" or "random" numbers. Raises TVMCException for another mode."""
    if fill_mode == "zeros":
        return np.zeros(shape, dtype)
    if fill_mode == "ones":
        return np.ones(shape, dtype)
    if fill_mode != "random":
        raise TVMCException(f"no fill mode is called {fill_mode!r}: there are zeros, ones and random")
    whole = np.dtype(dtype).kind in "iu"
    return np.random.randint(0, 128, shape).astype(dtype) if whole else np.random.uniform(size=shape).astype(dtype)


def make_inputs_dict(shape_dict: Mapping[str, Any], dtype_dict: Mapping[str, str], inputs: Mapping[str, Any] | None = None, fill_mode: str = "random") -> dict[str, Any]:
    """Arrays for all inputs: those that are given, others made up. Raises TVMCException for a name that is no input."""
    for name in inputs or {}:
        if name not in shape_dict:
            raise TVMCException(f"the model has no input {name!r}; it has {', '.join(shape_dict) or 'none'}")
    given = dict(inputs or {})
    return {name: given[name] if name in given else generate_tensor_data(tuple(shape), dtype_dict[name], fill_mode) for name, shape in shape_dict.items()}


def close_shapes(shape_dict: Mapping[str, Any], inputs: Mapping[str, Any], wanted: Mapping[str, Any]) -> tuple[dict[str, list[int]], list[str]]:
    """Extents for inputs that are made up, and a note for each extent that the program leaves open and nothing decides: it is 1.

    An open extent is what `wanted`, shapes by name, or an array of `inputs` has where the program has the same extent.
    Raises TVMCException for shapes of `wanted` that do not fit.
    """
    decided: dict[str, int] = {}
    # Extents that are not known, which the text of shapes has as -1, are open.
    wanted = {name: [-1 if isinstance(extent, _relay.Dim) else extent for extent in extents] for name, extents in wanted.items()}
    for name, extents in wanted.items():
        if name not in shape_dict:
            raise TVMCException(f"the model has no input {name!r}; it has {', '.join(shape_dict) or 'none'}")
        if len(extents) != len(shape_dict[name]) or any(isinstance(own, int) and own != int(each) for own, each in zip(shape_dict[name], extents)):
            raise TVMCException(f"the input {name!r} takes the shape ({', '.join(map(str, shape_dict[name]))}), not ({', '.join(map(str, extents))})")
    for name, own in shape_dict.items():
        given = wanted.get(name) or (np.shape(inputs[name]) if name in inputs else ())
        decided.update({str(extent): int(each) for extent, each in zip(own, given) if not isinstance(extent, int) and str(extent) != "?" and int(each) >= 0})
    closed: dict[str, list[int]] = {}
    notes: dict[str, None] = {}
    for name, own in shape_dict.items():
        closed[name] = []
        for axis, extent in enumerate(own):
            if isinstance(extent, int):
                closed[name].append(extent)
                continue
            given = wanted.get(name)
            known = int(given[axis]) if given and int(given[axis]) >= 0 else decided.get(str(extent))
            if known is None and name not in inputs:
                notes[f"extent {extent} of the input {name} is open, and 1 in the values that are made up: give --inputs or --input-shapes for another"] = None
                if str(extent) != "?":
                    decided[str(extent)] = 1
            closed[name].append(1 if known is None else known)
    return closed, list(notes)


def run_module(
    tvmc_package: TVMCPackage, device: str, hostname: str | None = None, port: Any = 9090, rpc_key: str | None = None,
    inputs: Mapping[str, Any] | None = None, fill_mode: str = "random", benchmark: bool = False, repeat: int = 10, number: int = 10, profile: bool = False,
    end_to_end: bool = False, options: Any = None, input_shapes: Mapping[str, Any] | None = None,
) -> TVMCResult:  # fmt: skip
    """Runs a compiled model on inputs, made up where they are not given. With `profile` it prints a table of kernels.

    An extent that the program leaves open is 1 in what is made up, which a warning says, unless `input_shapes` or another input has it.
    Raises NotImplementedError for other machines and devices.
    """
    from ...contrib.debugger.debug_executor import GraphModuleDebug
    from ...contrib.graph_executor import GraphModule

    if not isinstance(tvmc_package, TVMCPackage):
        raise TVMCException(f"tvmc_package is a TVMCPackage, not {type(tvmc_package).__name__}")
    for name, value in {"hostname": hostname, "rpc_key": rpc_key}.items():
        if value:
            refuse(name, f"tvmc.run({name}=…)")
    dev = device_of(device)
    module = GraphModule(tvmc_package.lib["default"](dev))
    shapes, dtypes = module.get_input_info()
    closed, notes = close_shapes(shapes, inputs or {}, input_shapes or {})
    for note in notes:
        warnings.warn(note, stacklevel=2)
    arrays = make_inputs_dict(closed, dtypes, inputs, fill_mode)
    module.set_input(**arrays)
    if profile:
        print(GraphModuleDebug(tvmc_package.lib["default"](dev), dev).profile(**arrays))
    times = module.benchmark(dev, number=number, repeat=repeat, end_to_end=end_to_end) if benchmark else None
    module.run()
    return TVMCResult({f"output_{i}": module.get_output(i).numpy() for i in range(module.get_num_outputs())}, times)


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
