"""`relay.testing`: helpers of tests, and networks to try things on."""

from __future__ import annotations

from typing import Any

import numpy as np
import relay as _relay
from relay import Expr, Function, IRModule, NDArray
from relay.transform import gradient

from ... import _absent
from ...ir.module import from_expr as module_of
from ...runtime.ndarray import array
from ...testing import enabled_targets
from ..prelude import Prelude
from . import dcgan, densenet, dqn, inception_v3, init, layers, lstm, mlp, mobilenet, resnet, resnet_3d, squeezenet, synthetic, temp_op_attr, vgg
from .config import ctx_list
from .init import create_workload
from .nat import add_nat_definitions, count, make_nat_expr, make_nat_value
from .py_converter import run_as_python

__all__ = ["OpCounter", "Prelude", "check_grad", "count", "count_ops", "create_workload", "ctx_list", "dcgan", "densenet", "dqn", "enabled_targets", "gradient", "inception_v3", "init", "layers", "lstm",
           "add_nat_definitions", "make_nat_expr", "make_nat_value", "mlp", "mobilenet", "rand", "resnet", "resnet_3d", "run_as_python", "run_infer_type", "run_opt_pass", "squeezenet",
           "synthetic", "temp_op_attr", "vgg"]  # fmt: skip


def run_opt_pass(expr: Any, opt_pass: Any, import_prelude: bool = False) -> Any:
    """The result of a pass on an expression, typed before: a function for a function, else its body."""
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
    """Raises AssertionError where a gradient is not what central differences of the sum of the result give.

    `inputs` are arrays, random ones near `mean` by default; `test_inputs` are those of them that are looked at, all by default. Works on float64,
    unless types that are written inside of the function say otherwise.
    """
    wide = _in_float64(func)
    if inputs is None:
        inputs = [_np_randn_from_type(param.type_annotation, 10 * eps if scale is None else scale, mean) for param in wide.params]
    values = [np.asarray(one.numpy() if hasattr(one, "numpy") else one) for one in inputs]
    kinds = [param.checked_type.dtype for param in wide.params] + [one.dtype for one in values[len(wide.params) :]]  # too many: a run says so
    values = [one.astype(kind) if one.dtype.kind == "f" else one for one, kind in zip(values, kinds)]
    looked = range(len(values)) if test_inputs is None else [k for k, one in enumerate(inputs) if any(one is other for other in test_inputs)]
    executor = _Executor(wide)
    _, grads = _relay.evaluate(_relay.IRModule.from_expr(_relay.transform.gradient(wide, mode=mode)), *values)
    for k in looked:
        expected = np.zeros_like(values[k])
        for place in np.ndindex(expected.shape):
            ends = []
            for step in (eps, -eps):
                moved = [one.copy() for one in values]
                moved[k][place] += step
                ends.append(executor(moved))
            expected[place] = (ends[0] - ends[1]) / (2 * eps)
        np.testing.assert_allclose(np.asarray(grads[k]), expected, atol=atol, rtol=rtol)


def _in_float64(func: Any) -> Any:
    """The function on float64: its parameters and constants of narrower floats get this dtype, and so do dtypes that operators name. The
    function as it is where types that are written inside of it say otherwise."""
    typed = run_infer_type(func)
    params, replacement = [], {}
    for param in typed.params:
        kind = param.checked_type
        params.append(_relay.var(param.name_hint, shape=kind.shape, dtype=_wide_dtype(kind.dtype)))
        replacement[param] = params[-1]
    try:
        return run_infer_type(_relay.Function(params, _relay.rewrite(_relay.bind(typed.body, replacement), _widened)))
    except _relay.RelayError:
        return typed


def _wide_dtype(dtype: Any) -> Any:
    return "float64" if str(dtype).startswith(("float", "bfloat")) else dtype


def _widened(node: Expr) -> Expr | None:
    """A constant or call on float64 in the place of one of narrower floats."""
    if isinstance(node, _relay.Constant):
        dtype = node.data.dtype
        return None if _wide_dtype(dtype) == dtype else _relay.const(node.data.numpy().astype("float64"), span=node.span)
    if not isinstance(node, _relay.Call) or node.attrs is None:
        return None
    given = dict(node.attrs.items())
    wide = {key: _wide_dtype(value) if key in ("dtype", "out_dtype") else value for key, value in given.items()}
    return None if wide == given else _relay.Call(node.op, node.args, _relay.Attrs(wide, node.attrs.type_key), None, node.span)


class _Executor:
    """The sum of a function's result."""

    def __init__(self, func: Any) -> None:
        self.run = _relay.compile(_relay.IRModule.from_expr(func))

    def __call__(self, values: list[Any]) -> float:
        result = self.run(*values)
        parts = result if isinstance(result, tuple) else (result,)
        return float(sum(np.asarray(part).sum() for part in parts))


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
