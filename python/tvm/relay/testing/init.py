"""Values of parameters of the networks."""

from __future__ import annotations

from typing import Any

import numpy as np
import relay as _relay
from relay import Function, IRModule

from ...ir.module import from_expr as module_of

from ...runtime.ndarray import array


class Initializer:
    """Fills an array by the end of the parameter's name."""

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = kwargs

    def __call__(self, desc: str, arr: np.ndarray[Any, Any]) -> None:
        ends = {"weight": self._init_weight, "bias": self._zero, "gamma": self._one, "beta": self._zero, "mean": self._zero,
                "var": self._one}  # fmt: skip
        for end, fill in ends.items():
            if desc.endswith(end):
                fill(desc, arr)
                return
        self._init_default(desc, arr)

    def _zero(self, _: str, arr: np.ndarray[Any, Any]) -> None:
        arr[...] = 0

    def _one(self, _: str, arr: np.ndarray[Any, Any]) -> None:
        arr[...] = 1

    def _init_weight(self, name: str, arr: np.ndarray[Any, Any]) -> None:
        raise NotImplementedError("a subclass says how weights begin")

    def _init_default(self, name: str, arr: np.ndarray[Any, Any]) -> None:
        raise ValueError(f"it is not known what {name} begins as: names end in weight, bias, gamma, beta, mean or var")


class Xavier(Initializer):
    """Weights of a spread that keeps the size of signals (Glorot and Bengio, 2010)."""

    def __init__(self, rnd_type: str = "uniform", factor_type: str = "avg", magnitude: float = 3) -> None:
        super().__init__(rnd_type=rnd_type, factor_type=factor_type, magnitude=magnitude)
        factors: dict[str, Any] = {"avg": lambda i, o: (i + o) / 2, "in": lambda i, o: i, "out": lambda i, o: o}
        if factor_type not in factors or rnd_type not in ("uniform", "gaussian"):
            raise ValueError(f"Xavier({rnd_type!r}, {factor_type!r}): uniform or gaussian; avg, in or out")
        self._factor, self.rnd_type, self.magnitude = factors[factor_type], rnd_type, float(magnitude)

    def _init_weight(self, name: str, arr: np.ndarray[Any, Any]) -> None:
        window = float(np.prod(arr.shape[2:])) if arr.ndim > 2 else 1.0
        fan_in = arr.shape[1] * window if arr.ndim > 1 else arr.shape[0]
        scale = np.sqrt(self.magnitude / self._factor(fan_in, arr.shape[0] * window))
        arr[...] = np.random.uniform(-scale, scale, arr.shape) if self.rnd_type == "uniform" else np.random.normal(0, scale, arr.shape)


class Constant(Initializer):
    """Weights that are all the same, and sum to 1."""

    def _init_weight(self, name: str, arr: np.ndarray[Any, Any]) -> None:
        arr[...] = 1.0 / arr.size


def create_workload(net: Function, initializer: Initializer | None = None, seed: int = 0) -> tuple[IRModule, dict[str, Any]]:
    """A typed module of a network, and values for all its parameters but `data`."""
    mod = _relay.transform.create("InferType")(module_of(net))
    begin = initializer or Xavier()
    np.random.seed(seed)
    params = {}
    for param in mod["main"].params:
        if param.name_hint == "data":
            continue
        declared: Any = param.type_annotation or param.checked_type
        values = np.zeros([int(extent) for extent in declared.shape], declared.dtype)
        begin(param.name_hint, values)
        params[param.name_hint] = array(values)
    return mod, params
