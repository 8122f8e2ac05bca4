"""Diagnostics: what is wrong with a program and where, and how it is shown."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import relay as _relay
from relay import RelayError, _core

from .. import _absent
from ..runtime.object import make_objects

__all__ = ["Diagnostic", "DiagnosticContext", "DiagnosticLevel", "DiagnosticRenderer", "get_renderer", "override_renderer", "rendered"]


class DiagnosticLevel(enum.IntEnum):
    """How bad something is."""

    BUG = 10
    ERROR = 20
    WARNING = 30
    NOTE = 40
    HELP = 50


class _Meta(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return type.__instancecheck__(cls, instance) or cls is Diagnostic and isinstance(instance, _relay.Diagnostic)


class Diagnostic(metaclass=_Meta):
    """Something to say of a place of a program. Those of errors are instances of it."""

    def __init__(self, level: int, span: Any, message: str) -> None:
        self.level, self.span, self.message = DiagnosticLevel(level), span, str(message)

    def __repr__(self) -> str:
        return f"{self.level.name.lower()}: {self.message}"


class DiagnosticRenderer:
    """Shows the diagnostics of a context; the default prints the text of each."""

    def __init__(self, render_func: Callable[[Any], Any] | None = None) -> None:
        self._render = render_func

    def render(self, ctx: Any) -> Any:
        """Shows the diagnostics of a context, or of an error, by the function that was given, else as text, which it gives."""
        if self._render is not None:
            return self._render(ctx)
        if isinstance(ctx, BaseException):
            return str(ctx)
        text = "\n".join(f"{diagnostic.level.name.lower()}: {diagnostic.message}" for diagnostic in ctx.diagnostics)
        print(text)
        return text


class DiagnosticContext:
    """Diagnostics of a module, which are collected and then shown together."""

    def __init__(self, mod: Any, renderer: DiagnosticRenderer | None = None) -> None:
        self.mod = self.module = mod
        self.renderer = renderer if renderer is not None else get_renderer()
        self.diagnostics: list[Any] = []

    def emit(self, diagnostic: Any) -> None:
        """Adds a diagnostic. Raises TypeError for something else."""
        if not isinstance(diagnostic, Diagnostic):
            raise TypeError(f"a context takes a Diagnostic, not {type(diagnostic).__name__}")
        self.diagnostics.append(diagnostic)

    def get_renderer(self) -> DiagnosticRenderer:
        """The renderer that shows the diagnostics."""
        return self.renderer

    def render(self) -> None:
        """Shows what was collected. Raises DiagnosticError where an error is among it."""
        self.renderer.render(self)
        wrong = [diagnostic for diagnostic in self.diagnostics if diagnostic.level <= DiagnosticLevel.ERROR]
        if wrong:
            raise RelayError.of([_relay.Diagnostic(each.message, each.span or _relay.Span()) for each in wrong])


# The function that shows diagnostics in the place of the default.
_chosen: Callable[[Any], Any] | None = None


def get_renderer() -> DiagnosticRenderer:
    """The renderer in force."""
    return DiagnosticRenderer(_chosen)


def override_renderer(render_func: Callable[[Any], Any] | None) -> None:
    """Calls a function with the context of each error that reading a program, a pass or a build raises, before it is raised; back to the default
    for None. Raises TypeError for what cannot be called."""
    global _chosen
    if render_func is not None and not callable(render_func):
        raise TypeError(f"override_renderer takes a function of a context, or None, not {type(render_func).__name__}")
    if render_func is not None:
        _watch_passes()
    _chosen = render_func


@contextmanager
def rendered(mod: Any = None) -> Iterator[None]:
    """Shows an error of the block by the function that a script chose; once, however many blocks it leaves."""
    try:
        yield
    except RelayError as error:
        if _chosen is not None and getattr(error, "diagnostics", None) and not getattr(error, "_shown", False):
            setattr(error, "_shown", True)
            ctx = DiagnosticContext(mod)
            ctx.diagnostics = list(error.diagnostics)
            ctx.renderer.render(ctx)
        raise


@functools.cache
def _watch_passes() -> None:
    """Lets passes show their errors; where no script chose a renderer, they cost nothing more."""
    call = _core.Pass.__call__

    @functools.wraps(call)
    def watched(self: Any, mod: Any, *args: Any, **kwargs: Any) -> Any:
        with rendered(mod):
            return call(self, mod, *args, **kwargs)

    setattr(_core.Pass, "__call__", watched)


_LEVELS = {"error": DiagnosticLevel.ERROR, "warning": DiagnosticLevel.WARNING, "note": DiagnosticLevel.NOTE}

setattr(_relay.Diagnostic, "level", property(lambda self: _LEVELS.get(str(self.severity), DiagnosticLevel.ERROR)))
make_objects(Diagnostic, DiagnosticContext, DiagnosticRenderer)


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
