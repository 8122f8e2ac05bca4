"""Names of TVM that have nothing behind them here: they can be imported, looked at and written into signatures, and say what is missing
when a script uses them.

`_surface` knows which names TVM had, `_reasons` why each is not here. A name that TVM never had is an AttributeError or ImportError.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import opcode
import sys
from collections.abc import Sequence
from types import FrameType, ModuleType
from typing import Any

from . import _surface
from ._reasons import REASONS as REASONS, reason as reason


class OutOfScope(NotImplementedError):
    """A name of TVM was used that has nothing behind it; the text says what is missing."""


class OutOfScopeName(OutOfScope, AttributeError):
    """A member of an object is missing: `hasattr`, and `getattr` with a default, take it for absent."""


def explanation(full: str) -> str:
    """The text of the error for a name."""
    return f"{full} is not there. It needs: {reason(full)}"


def is_absent(thing: Any) -> bool:
    """True for what stands for a name of TVM's that is not here."""
    return isinstance(thing, (Stand, AbsentModule, AbsentClass)) or isinstance(thing, type) and "__relay_absent__" in vars(thing)


_IMPORT_FROM = opcode.opmap["IMPORT_FROM"]


def _importing() -> bool:
    """True if the innermost frame outside of the `__getattr__` that this is called from is at a ``from … import``."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_name != "__getattr__":
        frame = frame.f_back
    if frame is None or frame.f_back is None:
        return False
    asking = frame.f_back
    return asking.f_lasti >= 0 and asking.f_code.co_code[asking.f_lasti] == _IMPORT_FROM


def lookup(module: str, name: str) -> Any:
    """The object that a module's `__getattr__` gives for a name that it has not: it stands for a name of TVM's.

    Raises AttributeError, or ImportError in an import, for a name that TVM never had; the text has the nearest name.
    """
    if name.startswith("__"):
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    found = _surface.find(module, name)
    if found is None:
        known = {*_surface.names(module), *(word for word in dir(sys.modules[module]) if not word.startswith("_"))}
        if name.startswith("_"):
            text = f"{module}.{name} is private to TVM, and nothing public needs it here"
            raise ImportError(text, name=module) if _importing() else AttributeError(text)
        near = _surface.nearest(name, known)
        if _importing():
            raise ImportError(f"cannot import name {name!r} from {module!r}, and TVM has no such name{near}", name=module)
        raise AttributeError(f"module {module!r} has no attribute {name!r}, and TVM has none, either{near}")
    if (module, name) in _made:
        return _made[module, name]
    kind, source = found
    made = _elsewhere(module, name, kind, source)
    if made is None:
        above = [place for place in _surface.takers(source, name) if source.startswith(place + ".")]
        places = [f"{place}.{name}" for place in sorted([module, *above], key=len)]
        public = next((place for place in places if place in REASONS), places[0])
        made = _stand_for(public, kind, f"{source}.{name}")
    # Not into the module itself: its own code may mean a builtin by the name.
    _made[module, name] = made
    return made


_made: dict[tuple[str, str], Any] = {}


def _elsewhere(module: str, name: str, kind: str, source: str) -> Any:
    """The name as another module has it that is here: the one that defines it, or a package that takes it from there."""
    if kind == "m":
        return importlib.import_module(f"{source}.{name}")
    for other in ([source] if source != module else []) + _surface.takers(source, name):
        if other == module:
            continue
        try:
            loaded = importlib.import_module(other)
        except ImportError:
            continue
        found = vars(loaded).get(name)
        if found is not None and not isinstance(loaded, AbsentModule) and not (isinstance(found, ModuleType) or is_absent(found)):
            return found
    # The package above may have taken the name from another of its modules in another release.
    package = module.rpartition(".")[0]
    above = sys.modules.get(package)
    if above is None or isinstance(above, AbsentModule) or not isinstance(sys.modules.get(module), AbsentModule) or _surface.find(package, name) is None:
        return None
    found = vars(above).get(name)
    return found if callable(found) and not is_absent(found) else None


def _stand_for(full: str, kind: str, defined: str) -> Any:
    from . import _uses

    answer = _uses.decided(full)
    if answer is not None:
        return answer
    if kind == "e":
        return type(full.rpartition(".")[2], (Exception,), {"__module__": full.rpartition(".")[0], "__doc__": explanation(full), "__relay_absent__": full})
    if kind == "c" and not _uses.is_symbolic(full):
        return AbsentClass(full.rpartition(".")[2], (), {"__relay_absent__": full, "__relay_defined__": defined, "__doc__": explanation(full)})
    return Stand(full, kind)


class AbsentClass(type):
    """The type of classes that are not here: a script may name one in a signature, ask `isinstance` (nothing is one) and derive from it.

    Making an object of it, or of a class that derives from it, raises OutOfScope.
    """

    __relay_absent__: str
    __relay_defined__: str

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        raise OutOfScope(explanation(cls.__relay_absent__))

    def __instancecheck__(cls, instance: Any) -> bool:
        return False

    def __getattr__(cls, name: str) -> Any:
        full = f"{cls.__relay_absent__}.{name}"
        known = _surface.members(cls.__relay_defined__)
        if name.startswith("_") or known is not None and name not in known:
            near = _surface.nearest(name, known or ())
            raise AttributeError(f"TVM's class {cls.__relay_absent__}, which is not there, has no member {name!r}{near}")
        return Stand(full, "v")

    def __getitem__(cls, item: Any) -> Any:
        raise OutOfScope(explanation(cls.__relay_absent__))

    def __iter__(cls) -> Any:
        raise OutOfScope(explanation(cls.__relay_absent__))

    def __len__(cls) -> int:
        raise OutOfScope(explanation(cls.__relay_absent__))

    def __enter__(cls) -> Any:
        raise OutOfScope(explanation(cls.__relay_absent__))

    def __exit__(cls, *exc: Any) -> None:
        """Is never reached."""

    def __repr__(cls) -> str:
        return f"<class {cls.__relay_absent__} of TVM, which is not here: it needs {reason(cls.__relay_absent__)}>"


class Stand:
    """Stands for a function or value of TVM's that is not here: every use raises OutOfScope."""

    def __init__(self, full: str, kind: str) -> None:
        vars(self).update(_full=full, _kind=kind, __name__=full.rpartition(".")[2], __doc__=explanation(full))

    def __repr__(self) -> str:
        full = self._full
        return f"<{_surface.KINDS[self._kind]} {full} of TVM, which is not here: it needs {reason(full)}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from . import _uses

        return _uses.call(self, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"{self._full} has no attribute {name!r}")
        from . import _uses

        if self._kind == "f" and not _uses.is_symbolic(self._full):
            return _uses.member_of_function(self, name)
        return Stand(f"{self._full}.{name}", self._kind)

    def __getitem__(self, item: Any) -> Any:
        from . import _uses

        if _uses.is_symbolic(self._full):
            return self
        raise OutOfScope(explanation(self._full))

    def __setattr__(self, name: str, value: Any) -> None:
        raise OutOfScope(explanation(self._full))

    def __eq__(self, other: object) -> bool:
        if self is other or self._kind == "f":
            return self is other
        raise OutOfScope(explanation(self._full))

    def __hash__(self) -> int:
        return id(self)

    def __bool__(self) -> bool:
        if self._kind == "f":
            return True
        raise OutOfScope(explanation(self._full))

    def __or__(self, other: Any) -> Any:
        """A part of a type in a signature: ``T | None``."""
        from typing import Union

        return Union[self, other] if other is None or isinstance(other, type) else self._use()

    __ror__ = __or__

    def _use(self, *args: Any) -> Any:
        raise OutOfScope(explanation(self._full))

    __iter__ = __len__ = __contains__ = __setitem__ = __enter__ = __lt__ = __le__ = __gt__ = __ge__ = _use
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = _use
    __mod__ = __rmod__ = __pow__ = __rpow__ = __and__ = __rand__ = __xor__ = __rxor__ = __lshift__ = __rshift__ = __neg__ = __invert__ = _use
    __int__ = __float__ = __index__ = __matmul__ = __rmatmul__ = _use

    def __exit__(self, *exc: Any) -> None:
        """Is never reached: entering raises."""


class AbsentModule(ModuleType):
    """A module of TVM's that is not here, with the names that it has there."""

    def __init__(self, name: str) -> None:
        super().__init__(name, explanation(name))
        self.__path__: list[str] = []
        self.__all__ = _surface.names(name)

    def __getattr__(self, name: str) -> Any:
        return lookup(self.__name__, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function of the same name that TVM has in the place of the module (`tvm.target.generic_func`)."""
        return lookup(self.__name__, self.__name__.rpartition(".")[2])(*args, **kwargs)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *_surface.names(self.__name__)})

    def __repr__(self) -> str:
        return f"<module {self.__name__} of TVM, which is not here: it needs {reason(self.__name__)}>"


def missing_property(full: str, needs: str) -> property:
    """A member that raises what is missing, as a property."""

    def get(self: Any) -> Any:
        raise OutOfScopeName(f"{full} is not there. It needs: {needs}")

    get.__doc__ = f"Raises NotImplementedError. It needs: {needs}."
    get.__relay_missing__ = needs  # type: ignore[attr-defined]
    return property(get)


def missing_method(full: str, needs: str) -> Any:
    """The same as a method, which can be looked at and raises when it is called."""

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise OutOfScope(f"{full} is not there. It needs: {needs}")

    call.__name__ = call.__qualname__ = full.rpartition(".")[2]
    call.__doc__ = f"Raises NotImplementedError. It needs: {needs}."
    call.__relay_missing__ = needs  # type: ignore[attr-defined]
    return call


class _Package(ModuleType):
    """A module that keeps its functions where a module of TVM's that has a function's name is imported (`tvm.topi.testing.dilate_python`)."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (isinstance(value, AbsentModule) and name in vars(self)):
            super().__setattr__(name, value)


class _Loader(importlib.abc.Loader):
    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return AbsentModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing: names are made when they are asked for."""


class _Finder(importlib.abc.MetaPathFinder):
    """Finds modules of TVM's that no file is there for."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.startswith("tvm.") and _surface.is_module(fullname):
            parent = sys.modules.get(fullname.rpartition(".")[0])
            if type(parent) is ModuleType:
                parent.__class__ = _Package
            return importlib.machinery.ModuleSpec(fullname, _Loader(), is_package=True)
        return None


class _FileLoader(importlib.machinery.SourceFileLoader):
    """Loads a module of this package, and completes its names."""

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        _complete(module)


class _FileFinder(importlib.abc.MetaPathFinder):
    """Finds the modules of this package that scripts import later than the package itself."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not fullname.startswith("tvm.") or fullname.rpartition(".")[2].startswith("_"):
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and type(spec.loader) is importlib.machinery.SourceFileLoader:
            spec.loader = _FileLoader(fullname, spec.loader.path)
        return spec


def install_finder() -> None:
    """Puts the finder behind all others, once."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())


def open_modules() -> None:
    """Lets every module of the package answer for TVM's names, and for TVM's modules below it."""
    for full, module in list(sys.modules.items()):
        if module is None or not (full == "tvm" or full.startswith("tvm.")) or full.rpartition(".")[2].startswith("_"):
            continue
        if not hasattr(module, "__path__"):
            module.__path__ = []
        _complete(module)
    if not any(isinstance(finder, _FileFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _FileFinder())


def _complete(module: ModuleType) -> None:
    """Lets a module answer for TVM's names, and ``from module import *`` give all of them: TVM's modules have no `__all__`."""
    own = vars(module)
    if "__getattr__" not in own:
        module.__getattr__ = _getter(module.__name__)  # type: ignore[method-assign]
    given = own.get("__all__")
    listed = [name for name in own if not name.startswith("_")] if given is None else list(given)
    known = set(listed)
    for name in _surface.names(module.__name__):
        found = _surface.find(module.__name__, name)
        if name not in known and (name in own or found is not None and found[0] != "m"):
            listed.append(name)
    own["__all__"] = listed


def _getter(full: str) -> Any:
    def __getattr__(name: str) -> Any:  # noqa: N807
        return lookup(full, name)

    return __getattr__
