"""Runs of compiled models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ... import _absent
from ...runtime.ndarray import device as device_of
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


def run_module(
    tvmc_package: TVMCPackage, device: str, hostname: str | None = None, port: Any = 9090, rpc_key: str | None = None,
    inputs: Mapping[str, Any] | None = None, fill_mode: str = "random", benchmark: bool = False, repeat: int = 10, number: int = 10, profile: bool = False,
    end_to_end: bool = False, options: Any = None,
) -> TVMCResult:  # fmt: skip
    """Runs a compiled model on inputs, made up where they are not given. Raises NotImplementedError for other machines and devices."""
    from ...contrib.graph_executor import GraphModule

    if not isinstance(tvmc_package, TVMCPackage):
        raise TVMCException(f"tvmc_package is a TVMCPackage, not {type(tvmc_package).__name__}")
    if hostname:
        raise NotImplementedError("tvmc.run(hostname=…): programs run in this process")
    dev = device_of(device)
    module = GraphModule(tvmc_package.lib["default"](dev))
    shapes, dtypes = module.get_input_info()
    module.set_input(**make_inputs_dict(shapes, dtypes, inputs, fill_mode))
    times = module.benchmark(dev, number=number, repeat=repeat, end_to_end=end_to_end) if benchmark else None
    module.run()
    return TVMCResult({f"output_{i}": module.get_output(i).numpy() for i in range(module.get_num_outputs())}, times)


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
