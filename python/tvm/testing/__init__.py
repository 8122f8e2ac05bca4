"""`tvm.testing`: helpers and fixtures of tests."""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import _absent
from ..runtime.ndarray import Device, device
from ..runtime.module import enabled
from ..target import Target

try:
    import pytest
except ModuleNotFoundError:
    pytest = None  # type: ignore[assignment]

from . import features as _features
from .features import (
    CompareBeforeAfter, Feature, check_numerical_grads, has_cpu_feat, is_ampere_or_newer, requires_cuda_compute_version, requires_nvcc_version,
    requires_package, skip_if_32bit, skip_if_wheel_test, skip_parameterizations, slow, uses_gpu, uses_multi_gpu, xfail_parameterizations,
)  # fmt: skip

IS_IN_CI = os.environ.get("CI", "") == "true"
SKIP_SLOW_TESTS = os.environ.get("SKIP_SLOW_TESTS", "").lower() in ("1", "true", "yes", "on")

__all__ = [
    "CompareBeforeAfter", "Feature", "IS_IN_CI", "SKIP_SLOW_TESTS", "assert_allclose", "assert_prim_expr_equal", "check_numerical_grads", "device_enabled", "disable_span_filling", "enable_span_filling", "enabled_targets",
    "exclude_targets", "fixture", "has_cpu_feat", "identity_after", "is_ampere_or_newer", "known_failing_targets", "main", "object_use_count", "parameter",
    "parameters", "parametrize_targets", "requires_cuda_compute_version", "requires_nvcc_version", "requires_package", "skip_if_32bit",
    "skip_if_wheel_test", "skip_parameterizations", "slow", "uses_gpu", "uses_multi_gpu", "xfail_parameterizations",
]  # fmt: skip

requires_cuda, requires_gpu, requires_llvm, requires_x86 = (_features.FEATURES[_name] for _name in ("cuda", "gpu", "llvm", "x86"))
for _name, _feature in _features.FEATURES.items():
    globals()["requires_" + _name] = _feature
    __all__.append("requires_" + _name)


def assert_allclose(actual: Any, desired: Any, rtol: float = 1e-07, atol: float = 1e-07) -> None:
    """Raises AssertionError where arrays differ in shape, or by more than the tolerances."""
    actual, desired = np.asarray(actual), np.asarray(desired)
    np.testing.assert_allclose(actual.shape, desired.shape)
    np.testing.assert_allclose(actual, desired, rtol=rtol, atol=atol, verbose=True)


def device_enabled(target: Any) -> bool:
    """True if programs can be compiled for a target and run here."""
    kind = target["kind"] if isinstance(target, dict) else str(target).split(" ")[0]
    return enabled(kind)


def enabled_targets() -> list[tuple[str, Device]]:
    """The targets that tests run on, with their devices; the variable TVM_TEST_TARGETS chooses among them, separated by ``;``."""
    wanted = [text for text in os.environ.get("TVM_TEST_TARGETS", "llvm").split(";") if text]
    return [(text, device(text)) for text in wanted if device_enabled(text)]


def _need_pytest() -> Any:
    if pytest is None:
        raise RuntimeError("fixtures of tvm.testing want the package pytest")
    return pytest


def parameter(*values: Any, ids: Sequence[str] | None = None, by_dict: dict[str, Any] | None = None) -> Any:
    """A fixture that runs tests once for each value; assign it to the name that tests take."""
    if by_dict is not None:
        if values or ids:
            raise ValueError("give parameter either values or by_dict")
        ids, values = list(by_dict), tuple(by_dict.values())

    # In a class the fixture is a method of it.
    def _value(*_cls: Any, request: Any) -> Any:
        return request.param

    return _need_pytest().fixture(params=list(values), ids=ids, scope="session")(_value)


def parameters(*value_sets: Sequence[Any], ids: Sequence[str] | None = None) -> Any:
    """Several fixtures whose values go together: one tuple of values for each run. Give each a name by unpacking."""
    sets = list(value_sets)
    if not sets or len({len(values) for values in sets}) != 1:
        raise ValueError("parameters wants tuples of one length")
    numbers = list(range(len(sets)))
    names = ids or [str(number) for number in numbers]
    made = []
    key = object()
    for at in range(len(sets[0])):

        def _value(*_cls: Any) -> Any:
            raise RuntimeError("tvm.testing.parameters wants the plugin: pytest_plugins = ['tvm.testing.plugin'] in conftest.py")

        fixture: Any = _need_pytest().fixture(_value)
        _joined[_function(fixture)] = (key, at, sets, names)
        made.append(fixture)
    return tuple(made)


# Fixtures of `parameters` by their functions: their group, place, values and names. `plugin` makes them go together.
_joined: dict[Any, Any] = {}


def _function(fixture_made: Any) -> Any:
    """The function below a fixture, which a class binds to an object each time it is asked for."""
    found = getattr(fixture_made, "_get_wrapped_function", lambda: getattr(fixture_made, "__wrapped__", fixture_made))()
    return getattr(found, "__func__", found)


def joined(fixture_made: Any) -> Any:
    """The note of `parameters` about a fixture; None for everything else."""
    if fixture_made is None:
        return None
    try:
        return _joined.get(_function(fixture_made))
    except TypeError:
        return None


def fixture(func: Callable[..., Any] | None = None, *, cache_return_value: bool = False) -> Any:
    """A fixture; with `cache_return_value` it is made once for each set of its parameters, and tests get copies."""
    if func is None:
        return lambda wrapped: fixture(wrapped, cache_return_value=cache_return_value)
    if not cache_return_value:
        return _need_pytest().fixture(func)
    kept: dict[Any, Any] = {}

    @functools.wraps(func)
    def cached(*args: Any, **kwargs: Any) -> Any:
        import copy

        key = (repr(args), repr(sorted(kwargs.items())))
        if key not in kept:
            kept[key] = func(*args, **kwargs)
        return copy.deepcopy(kept[key])

    return _need_pytest().fixture(cached)


def parametrize_targets(*args: Any) -> Any:
    """Runs a test that takes `target` and `dev` once for each target that is there; with arguments, for those."""
    if len(args) == 1 and callable(args[0]):
        return parametrize_targets()(args[0])
    chosen = list(args) or [text for text, _ in enabled_targets()]

    def wrap(func: Any) -> Any:
        names = [name for name in ("target", "dev") if name in inspect.signature(func).parameters]
        rows, skip = [], _need_pytest().mark.skip(reason="programs are compiled for CPUs")
        for entry in chosen:
            given = isinstance(entry, type(pytest.param()))  # a target with marks of its own
            target = entry.values[0] if given else entry
            both = {"target": target, "dev": device(str(target).split(" ")[0])}
            row = [both[name] for name in names]
            name = entry.id if given and entry.id is not None else str(target)
            rows.append(pytest.param(*row, id=name, marks=[*(entry.marks if given else []), *([] if device_enabled(target) else [skip])]))
        return pytest.mark.parametrize(names, rows)(func) if names else func

    return wrap


def exclude_targets(*args: str) -> Any:
    """Leaves targets out of a test's."""

    def wrap(func: Any) -> Any:
        left = [text for text, _ in enabled_targets() if text.split(" ")[0] not in args]
        return parametrize_targets(*left)(func) if left else _need_pytest().mark.skip(reason="its targets are excluded")(func)

    return wrap


def known_failing_targets(*args: str) -> Any:
    """Expects a test to fail where a target of its is among these."""

    def wrap(func: Any) -> Any:
        hit = [text for text, _ in enabled_targets() if text.split(" ")[0] in args]
        return _need_pytest().mark.xfail(reason=f"known to fail on {', '.join(hit)}")(func) if hit else func

    return wrap


def _span_filling(filled: bool) -> Any:
    from ..ir.transform import PassContext

    return PassContext(config={"relay.frontend.fill_span": filled})


def enable_span_filling() -> Any:
    """A context; front ends always give places to nodes."""
    return _span_filling(True)


def disable_span_filling() -> Any:
    """A context that changes nothing: front ends always give places to nodes."""
    return _span_filling(False)


def assert_prim_expr_equal(lhs: Any, rhs: Any) -> None:
    """Raises ValueError where extents are not the same term."""
    if not lhs == rhs:
        raise ValueError(f"{lhs} and {rhs} are not equal")


def echo(x: Any) -> Any:
    """Its argument."""
    return x


def identity_after(x: Any, sleep: float) -> Any:
    """Its argument, after some seconds."""
    import time

    time.sleep(sleep)
    return x


def object_use_count(obj: Any) -> int:
    """How often Python refers to an object."""
    return sys.getrefcount(obj) - 2


def main() -> None:
    """Runs the tests of the file that calls it."""
    path = inspect.getsourcefile(sys._getframe(1)) or sys.argv[0]
    sys.exit(_need_pytest().main([path, "-p", "tvm.testing.plugin", *sys.argv[1:]]))


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
