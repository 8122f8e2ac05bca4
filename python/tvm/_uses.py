"""Uses of absent names of TVM's: most raise, some can be answered, and decorators leave the file readable."""

from __future__ import annotations

import inspect
from typing import Any

from . import _absent

# Modules whose names stand inside functions that are read and never run: calls and indices of them are parts of signatures.
_SYMBOLIC = ("tvm.script.",)

# Decorators of functions in another language than Relay: the function cannot run here, and says so when it is called.
_OTHER_LANGUAGE = {
    "tvm.te.hybrid.script", "tvm.hybrid.script", "tvm.relay.op.script", "tvm.relay.script", "tvm.tir.hybrid.script",
    "tvm.tir.transform.prim_func_pass",
}  # fmt: skip

# Decorators that tell a table of TVM's something, which nothing here reads: the function stays what it is.
_TELLS_NOBODY = {
    "tvm.autotvm.template", "tvm.autotvm.task.template", "tvm.autotvm.task.task.template", "tvm.register_extension",
    "tvm.te.tag_scope", "tvm.te.tag.tag_scope", "tvm.tir.op_intrin",
    "tvm.meta_schedule.derived_object", "tvm.meta_schedule.utils.derived_object", "tvm.contrib.pickle_memoize.memoize",
}  # fmt: skip

# Questions with one answer here: no GPU, no library of a vendor, no board.
_NO = ("tvm.contrib.nvcc.have_", "tvm.contrib.rocm.have_")
_NO_ENDINGS = ("_runtime_enabled", "_compiler_enabled", "_codegen_enabled", "ethosn_available", "uma_available", "vitis_ai_available", "_executor_enabled",
               "_executor_build_enabled", "is_auto_scheduler_enabled", "is_meta_schedule_enabled", "is_meta_schedule_dispatch_enabled", "has_ethosn",
               "skip_ccompiler_tests", "is_tensorrt_available")  # fmt: skip

_NO_NAMES = {"tvm.relay.op.contrib.cmsisnn.enabled", "tvm.contrib.cudnn.exists", "tvm.contrib.miopen.exists"}


def decided(full: str) -> Any:
    """A function that gives the answer to a question that has only one here; None for other names."""
    name = full.rpartition(".")[2]
    if full not in _NO_NAMES and not full.startswith(_NO) and not name.endswith(_NO_ENDINGS):
        return None

    def answer(*args: Any, **kwargs: Any) -> bool:
        return False

    if name in ("have_fp16", "have_int8", "have_bf16", "have_fp8"):

        def answer(compute_version: Any) -> bool:  # type: ignore[misc]
            return False

    answer.__name__ = answer.__qualname__ = name
    answer.__module__ = full.rpartition(".")[0]
    answer.__doc__ = f"False: {_absent.reason(full)} is what it asks for."
    return answer


def is_symbolic(full: str) -> bool:
    """True for names of a language that is written as Python and not run as such."""
    return full.startswith(_SYMBOLIC)


def _is_decoration(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    return len(args) == 1 and not kwargs and (inspect.isfunction(args[0]) or inspect.isclass(args[0]))


def call(stand: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of a call: of a decorator what it decorates, of a piece of another language that piece; others raise OutOfScope."""
    full: str = stand._full
    name = full.rpartition(".")[2]
    if is_symbolic(full) or full in _OTHER_LANGUAGE:
        if _is_decoration(args, kwargs):
            return Foreign(full, args[0].__name__)
        if is_symbolic(full):
            return stand
        return lambda function: Foreign(full, function.__name__)
    if full in _TELLS_NOBODY or name.startswith("register_") and stand._kind == "f":
        if _is_decoration(args, kwargs):
            return args[0]
        given = [arg for arg in [*args, *kwargs.values()] if inspect.isfunction(arg) or inspect.isclass(arg)]
        return given[-1] if given else Decorator(full)
    raise _absent.OutOfScope(_absent.explanation(full))


def member_of_function(stand: Any, name: str) -> Any:
    """A member of a function: `register` of a strategy, a generic function, is a decorator; other members raise."""
    if name in ("register", "specialize"):
        return lambda *args, **kwargs: Decorator(stand._full)
    raise _absent.OutOfScopeName(_absent.explanation(stand._full))


class Decorator:
    """The result of a call of a decorator with arguments: it hands out what it decorates. Everything else that is done with it raises."""

    def __init__(self, full: str) -> None:
        self._full = full

    def __call__(self, function: Any = None, *args: Any, **kwargs: Any) -> Any:
        if args or kwargs or not callable(function):
            raise _absent.OutOfScope(_absent.explanation(self._full))
        return function

    def __enter__(self) -> Any:
        raise _absent.OutOfScope(_absent.explanation(self._full))

    def __exit__(self, *exc: Any) -> None:
        """Is never reached: entering raises."""


class Foreign(_absent.Stand):
    """A function of the script that is written in a language that is not here."""

    def __init__(self, decorator: str, name: str) -> None:
        super().__init__(decorator, "f")
        vars(self).update(__name__=name)

    def __repr__(self) -> str:
        return f"<{self.__name__}, which {self._full} made: it needs {_absent.reason(self._full)}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise _absent.OutOfScope(f"{self.__name__} cannot be used here: {_absent.explanation(self._full)}")

    def __getitem__(self, item: Any) -> Any:
        return self()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"{self.__name__} has no attribute {name!r}")
        return self()
