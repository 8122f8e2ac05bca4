"""`relay.testing`: helpers of tests, and networks to try things on."""

from __future__ import annotations

from typing import Any

import numpy as np
import relay as _relay
from relay import Expr, Function, IRModule, NDArray

from ... import _absent
from ...ir.module import from_expr as module_of
from ...runtime.ndarray import array
from ...testing import enabled_targets
from ..prelude import Prelude
from . import dcgan, densenet, dqn, inception_v3, init, layers, lstm, mlp, mobilenet, resnet, resnet_3d, squeezenet, synthetic, temp_op_attr, vgg
from .init import create_workload
from .nat import count, make_nat_expr, make_nat_value
from .py_converter import run_as_python

__all__ = ["OpCounter", "Prelude", "check_grad", "count", "count_ops", "create_workload", "dcgan", "densenet", "dqn", "enabled_targets", "inception_v3", "init", "layers", "lstm",
           "make_nat_expr", "make_nat_value", "mlp", "mobilenet", "rand", "resnet", "resnet_3d", "run_as_python", "run_infer_type", "run_opt_pass", "squeezenet",
           "synthetic", "temp_op_attr", "vgg"]  # fmt: skip


def run_opt_pass(expr: Any, opt_pass: Any, import_prelude: bool = False) -> Any:
    """What a pass makes of an expression, typed before: a function for a function, else its body."""
    mod = module_of(expr)
    if import_prelude:
        Prelude(mod)
    mod = opt_pass(_relay.transform.create("InferType")(mod))
    main = mod["main"]
    return main if isinstance(expr, Function) else main.body


def run_infer_type(expr: Any) -> Any:
    """The expression with types. Raises RelayError for one that has none."""
    return run_opt_pass(expr, _relay.transform.create("InferType"))


def _np_randn_from_type(t: Any, scale: float = 1, mean: float = 0) -> NDArray:
    shape = tuple(int(extent) for extent in t.shape)
    return array(np.asarray(mean + scale * np.random.randn(*shape)).astype(t.dtype))


def check_grad(
    func: Any, inputs: Any = None, test_inputs: Any = None, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3, scale: Any = None,
    mean: float = 0, mode: str = "higher_order", target_devices: Any = None, executor_kind: str = "debug",
) -> None:  # fmt: skip
    """Raises NotImplementedError: there are no gradients of whole programs yet."""
    raise NotImplementedError("check_grad wants gradients of whole programs, which are not there yet")


check_grad.__relay_missing__ = "gradients of whole programs"  # type: ignore[attr-defined]


def rand(dtype: str, *shape: int) -> NDArray:
    """Random numbers from 0 to 1."""
    return array(np.asarray(np.random.rand(*shape)).astype(dtype))


def count_ops(expr: Expr) -> dict[str, int]:
    """How often each operator is called."""
    return dict(_relay._core.op_frequencies(expr))


class OpCounter:
    """Counts the calls of operators."""

    def count(self, expr: Expr) -> dict[str, int]:
        """How often each operator is called."""
        return count_ops(expr)


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
