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

__all__ = ["assert_allclose", "device_enabled", "enabled_targets", "fixture", "identity_after", "known_failing_targets", "main",
           "object_use_count", "parameter", "parameters", "parametrize_targets", "requires_cuda", "requires_gpu",
           "requires_llvm", "requires_x86", "uses_gpu"]  # fmt: skip


def assert_allclose(actual: Any, desired: Any, rtol: float = 1e-07, atol: float = 1e-07) -> None:
    """Raises AssertionError where arrays differ in shape, or by more than the tolerances."""
    actual, desired = np.asarray(actual), np.asarray(desired)
    np.testing.assert_allclose(actual.shape, desired.shape)
    np.testing.assert_allclose(actual, desired, rtol=rtol, atol=atol, verbose=True)


def device_enabled(target: Any) -> bool:
    """Whether programs can be compiled for a target and run here."""
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

    @_need_pytest().fixture(params=list(values), ids=ids, scope="session")
    def _value(request: Any) -> Any:
        return request.param

    return _value


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

        @_need_pytest().fixture
        def _value() -> Any:
            raise RuntimeError("tvm.testing.parameters wants the plugin: pytest_plugins = ['tvm.testing.plugin'] in conftest.py")

        _joined[_value] = (key, at, sets, names)
        made.append(_value)
    return tuple(made)


# Fixtures of `parameters`: their group, place, values and names. `plugin` makes them go together.
_joined: dict[Any, Any] = {}


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
        for target in chosen:
            both = {"target": target, "dev": device(str(target).split(" ")[0])}
            row = [both[name] for name in names]
            rows.append(pytest.param(*row, id=str(target), marks=[] if device_enabled(target) else [skip]))
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


def _cpu_features() -> set[str]:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as stream:
            line = next((text for text in stream if text.startswith("flags")), "")
    except OSError:
        return set()
    return set(line.partition(":")[2].split())


class Feature:
    """Something that a test needs: a decorator that skips tests where it is missing."""

    def __init__(self, name: str, there: Callable[[], bool], missing: str) -> None:
        self.name, self._there, self.missing = name, there, missing

    def is_present(self) -> bool:
        """Whether it is there."""
        return self._there()

    def __call__(self, func: Any = None) -> Any:
        if func is None:
            return self
        if self._there():
            return func
        return _need_pytest().mark.skip(reason=self.missing)(func)

    @staticmethod
    def marks() -> list[Any]:
        """No marks: features skip by themselves."""
        return []


def _yes() -> bool:
    return True


def _no() -> bool:
    return False


requires_llvm = Feature("llvm", _yes, "")
requires_x86 = Feature("x86", lambda: os.uname().machine == "x86_64", "wants an x86-64 processor")
requires_x86_avx512 = Feature("avx512", lambda: "avx512bw" in _cpu_features(), "wants AVX-512")
requires_x86_vnni = Feature("vnni", lambda: "avx512_vnni" in _cpu_features(), "wants VNNI")
requires_package = lambda *names: Feature(  # noqa: E731
    "package", lambda: all(__import__("importlib.util").util.find_spec(name) for name in names), f"wants {', '.join(names)}"
)
for _name in ("gpu", "cuda", "cudnn", "cublas", "rocm", "vulkan", "opencl", "metal", "tensorcore", "cutlass", "hexagon", "rpc", "micro",
              "arm_dot", "aarch64_sve", "ethosn", "vitis_ai", "cmsisnn", "corstone300", "nvptx", "opengl"):  # fmt: skip
    globals()["requires_" + _name] = Feature(_name, _no, f"{_name} is not there: programs run on the CPU")


def uses_gpu(func: Any) -> Any:
    """Gives the test back: it takes what targets there are."""
    return func


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
    sys.exit(_need_pytest().main([path, *sys.argv[1:]]))



def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
