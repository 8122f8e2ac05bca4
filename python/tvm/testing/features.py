"""Features that tests may need: decorators that skip a test where it is missing."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["Feature", "has_cpu_feat"]


def _cpu_features() -> set[str]:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as stream:
            line = next((text for text in stream if text.startswith("flags")), "")
    except OSError:
        return set()
    return set(line.partition(":")[2].split())


def has_cpu_feat(features: Any) -> bool:
    """True if this processor has a feature, or all of a list, by the names of Linux."""
    wanted = [features] if isinstance(features, str) else list(features)
    return set(wanted) <= _cpu_features()


def _marked(func: Any, mark: str, **kwargs: Any) -> Any:
    from . import _need_pytest

    return getattr(_need_pytest().mark, mark)(**kwargs)(func)


class Feature:
    """Something that a test needs: a decorator that skips tests where it is missing."""

    def __init__(self, name: str, there: Callable[[], bool] | None = None, missing: str = "", **kwargs: Any) -> None:
        self.name = name
        self._there = there or kwargs.get("run_time_check") or kwargs.get("compile_time_check") or (lambda: True)
        self.missing = missing or f"{name} is not there"

    def is_present(self) -> bool:
        """True if it is there."""
        found = self._there()
        return found if isinstance(found, bool) else False

    def __call__(self, func: Any = None, *, support_required: str = "compile-and-run") -> Any:
        """The test, skipped where the feature is missing; without a test, the decorator."""
        if func is None or support_required == "optional":
            return self if func is None else func
        return func if self.is_present() else _marked(func, "skip", reason=self.missing)

    def marks(self, support_required: str = "compile-and-run") -> list[Any]:
        """The marks that a test or a parameter gets: one that skips it, where the feature is missing."""
        from . import _need_pytest

        return [] if self.is_present() or support_required == "optional" else [_need_pytest().mark.skip(reason=self.missing)]

    @classmethod
    def require(cls, name: str, support_required: str = "compile-and-run") -> Feature:
        """The decorator of a feature by its name."""
        found = FEATURES.get(name)
        if found is None:
            raise ValueError(f"no feature is called {name!r}")
        return found


def _yes() -> bool:
    return True


def _no() -> bool:
    return False


def requires_package(*packages: str) -> Feature:
    """Skips tests where one of the packages cannot be imported."""
    wants = ", ".join(packages)
    return Feature("package", lambda: all(importlib.util.find_spec(name) is not None for name in packages), f"wants {wants}")


def _never(name: str) -> Feature:
    return Feature(name, _no, f"{name} is not there: programs run on the CPU")


def requires_nvcc_version(major_version: int, minor_version: int = 0, release_version: int = 0) -> Feature:
    """Skips tests: no compiler of CUDA is used."""
    return _never("cuda")


def requires_cuda_compute_version(major_version: int, minor_version: int = 0) -> Feature:
    """Skips tests: no program runs on a GPU."""
    return _never("cuda")


# Alone without GPUs, vendors' libraries and boards, by TVM's names; `requires_…` of each is a decorator.
FEATURES: dict[str, Feature] = {
    "llvm": Feature("llvm", _yes),
    "x86": Feature("x86", lambda: os.uname().machine == "x86_64", "wants an x86-64 processor"),
    "x86_avx512": Feature("avx512", lambda: has_cpu_feat("avx512bw"), "wants AVX-512"),
    "x86_vnni": Feature("vnni", lambda: has_cpu_feat("avx512_vnni"), "wants VNNI"),
    "x86_amx": Feature("amx", lambda: has_cpu_feat("amx_int8"), "wants AMX"),
    **{name: _never(name) for name in (
        "gpu", "cuda", "cudnn", "cublas", "cudagraph", "rocm", "matrixcore", "vulkan", "opencl", "openclml", "metal", "tensorcore", "cutlass", "hexagon",
        "rpc", "micro", "arm_dot", "aarch64_sve", "ethosn", "ethosu", "vitis_ai", "cmsisnn", "corstone300", "nvptx", "opengl", "libtorch", "multi_gpu",
    )},
}  # fmt: skip


def uses_gpu(func: Any) -> Any:
    """Gives the test back: it takes what targets there are."""
    return func


uses_multi_gpu = uses_gpu


def slow(func: Any) -> Any:
    """Skips a test where SKIP_SLOW_TESTS is set."""
    return _marked(func, "skip", reason="slow, and SKIP_SLOW_TESTS is set") if _flag("SKIP_SLOW_TESTS") else func


def _flag(name: str) -> bool:
    return os.environ.get(name, "").lower() in ("1", "true", "yes", "on")


def skip_if_32bit(reason: str = "skips on 32 bits") -> Any:
    """Gives the test back: programs run on 64 bits."""
    return reason if callable(reason) else lambda func: func


def skip_if_wheel_test(func: Any) -> Any:
    """Gives the test back."""
    return func


def is_ampere_or_newer() -> bool:
    """False: no program runs on a GPU."""
    return False


def _for_parameters(mark: str, skipped: tuple[Any, ...], reason: Any, kwargs: dict[str, Any]) -> Any:
    def wrap(func: Any) -> Any:
        import functools

        @functools.wraps(func)
        def wrapper(request: Any, *args: Any, **named: Any) -> Any:
            import pytest

            callspec = getattr(request.node, "callspec", None)
            ids = set(callspec.id.split("-")) | {callspec.id} if callspec is not None else set()
            if ids & {str(value) for value in skipped}:
                (pytest.skip if mark == "skip" else pytest.xfail)(str(reason or "chosen by its parameters"))
            return func(*args, **named)

        import inspect

        signature = inspect.signature(func)
        request = inspect.Parameter("request", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        setattr(wrapper, "__signature__", signature.replace(parameters=[request, *signature.parameters.values()]))
        return wrapper

    return wrap


def skip_parameterizations(*skip_params: Any, reason: Any) -> Any:
    """Skips a test where one of its parameters has one of these ids."""
    return _for_parameters("skip", skip_params, reason, {})


def xfail_parameterizations(*xfail_params: Any, reason: Any, **kwargs: Any) -> Any:
    """Expects a test to fail where one of its parameters has one of these ids."""
    return _for_parameters("xfail", xfail_params, reason, kwargs)


def check_numerical_grads(
    function: Callable[..., Any], input_values: Any, grad_values: Any, function_value: Any = None, delta: float = 1e-3, atol: float = 1e-2, rtol: float = 0.1
) -> None:
    """Raises AssertionError where gradients are not those that differences of values give.

    `function` takes arrays, by position or by name as `input_values` is a list or a dictionary, and gives a number.
    """
    names = list(input_values) if isinstance(input_values, dict) else None
    values = [np.array(value, "float64") for value in (input_values.values() if names is not None else input_values)]
    gradients = [np.asarray(grad_values[name]) for name in names] if names is not None else [np.asarray(value) for value in grad_values]

    def call(arrays: Any) -> Any:
        return function(*arrays) if names is None else function(**dict(zip(names, arrays)))

    for number, (value, gradient) in enumerate(zip(values, gradients)):
        found = np.zeros(value.shape)
        for at in np.ndindex(*value.shape):
            old = value[at]
            results = []
            for moved in (old + delta, old - delta):
                value[at] = moved
                results.append(float(np.asarray(call(values)).sum()))
            value[at] = old
            found[at] = (results[0] - results[1]) / (2 * delta)
        if not np.allclose(found, gradient, atol=atol * max(1.0, float(np.abs(found).mean())), rtol=rtol):
            which = names[number] if names is not None else number
            worst = float(np.abs(found - gradient).max())
            raise AssertionError(f"the gradient of input {which} is off by up to {worst:.3g} from what differences of values give")


class CompareBeforeAfter:
    """A base of test classes: `transform` makes `expected` of `before`. Modules, expressions, or functions that give such."""

    check_well_formed = True

    def transform(self) -> Any:
        """The pass. Raises NotImplementedError where a class does not say."""
        raise NotImplementedError("transform of a subclass")

    @staticmethod
    def _made(thing: Any, owner: Any) -> Any:
        return thing(owner) if callable(thing) and not hasattr(thing, "checked_type") else thing

    def _pass(self) -> Any:
        """`transform` of a class is a method that gives a pass, or a pass."""
        import inspect

        from ..ir.transform import Pass

        found = inspect.getattr_static(type(self), "transform")
        return found if isinstance(found, Pass) else self.transform()

    def test_compare(self) -> None:
        """Fails where the pass makes something else."""
        import tvm

        before = self._made(type(self).before, self)  # type: ignore[attr-defined]
        wanted = self._made(type(self).expected, self)  # type: ignore[attr-defined]
        module = before if isinstance(before, tvm.IRModule) else tvm.IRModule.from_expr(before)
        after = self._pass()(module)
        if isinstance(wanted, type) and issubclass(wanted, Exception):
            raise AssertionError(f"the pass raised no {wanted.__name__}")
        tvm.ir.assert_structural_equal(after, wanted if isinstance(wanted, tvm.IRModule) else tvm.IRModule.from_expr(wanted))
