"""Functions with a version for each kind of target: the innermost target that is entered chooses."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from . import Target

__all__ = ["GenericFunc", "generic_func", "get_native_generic_func", "override_native_generic_func"]

_named: dict[str, GenericFunc] = {}


class GenericFunc:
    """A function with versions by keys of targets ("llvm", "cpu"); without a target, or a version for it, the default runs."""

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.fdefault: Callable[..., Any] | None = None
        self.dispatch_dict: dict[str, Callable[..., Any]] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        target = Target.current(allow_none=True)
        keys = () if target is None else (target.kind.name, *target.keys)
        found = next((self.dispatch_dict[key] for key in keys if key in self.dispatch_dict), self.fdefault)
        if found is None:
            raise ValueError(f"the generic function {self.name} has no version for {target} and no default")
        return found(*args, **kwargs)

    def get_packed_func(self) -> Callable[..., Any]:
        """The function itself, as something to call."""
        return self.__call__

    def set_default(self, func: Callable[..., Any], allow_override: bool = False) -> None:
        """Gives the default. Raises ValueError for a second one, unless it may replace the first."""
        if self.fdefault is not None and not allow_override:
            raise ValueError(f"the generic function {self.name} has a default already")
        self.fdefault = func

    def register(self, func: Any = None, key_list: Any = None, allow_override: bool = True) -> Any:
        """Gives a version for keys of targets. With the keys alone, as ``@f.register("llvm")``, it is a decorator."""
        if not callable(func):
            keys = _keys(func if func is not None else key_list)
            return lambda version: self._add(version, keys, allow_override)
        return self._add(func, _keys(key_list), allow_override)

    def _add(self, func: Callable[..., Any], keys: list[str], allow_override: bool) -> Callable[..., Any]:
        for key in keys:
            if key in self.dispatch_dict and not allow_override:
                raise ValueError(f"the generic function {self.name} has a version for {key} already")
            self.dispatch_dict[key] = func
        return func


def _keys(given: str | Iterable[str] | None) -> list[str]:
    return [given] if isinstance(given, str) else list(given or ())


def get_native_generic_func(name: str) -> GenericFunc:
    """The generic function of a name, made where there is none."""
    return _named.setdefault(name, GenericFunc(name))


def generic_func(fdefault: Callable[..., Any]) -> GenericFunc:
    """Decorates the default of a function with versions by targets."""
    made = GenericFunc(fdefault.__name__)
    made.set_default(fdefault)
    return made


def override_native_generic_func(func_name: str) -> Callable[[Callable[..., Any]], GenericFunc]:
    """Decorates the default of the generic function of a name. The compiler asks none of them: it has one way to compute an operator."""

    def decorate(fdefault: Callable[..., Any]) -> GenericFunc:
        made = get_native_generic_func(func_name)
        made.set_default(fdefault, allow_override=True)
        return made

    return decorate
