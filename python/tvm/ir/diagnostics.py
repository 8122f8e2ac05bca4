"""How diagnostics are shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relay import Diagnostic, RelayError

from .. import _absent


class DiagnosticRenderer:
    """Shows the diagnostics of an error; the default gives the text that the error has."""

    def __init__(self, render_func: Callable[[Any], Any] | None = None) -> None:
        self._render = render_func

    def render(self, ctx: RelayError) -> Any:
        """Shows an error's diagnostics by the function that was given, else as text."""
        return self._render(ctx) if self._render is not None else str(ctx)


def get_renderer() -> DiagnosticRenderer:
    """The renderer in force."""
    return DiagnosticRenderer()


def override_renderer(render_func: Callable[[Any], Any] | None) -> None:
    """Back to the default for None. Raises NotImplementedError for a function: errors carry their text and `diagnostics`."""
    if render_func is not None:
        raise NotImplementedError("override_renderer: an error has its rendered text and its diagnostics; render those where it is caught")


override_renderer.__relay_missing__ = "renderers that the compiler calls"  # type: ignore[attr-defined]

__all__ = ["Diagnostic", "DiagnosticRenderer", "get_renderer", "override_renderer"]


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
