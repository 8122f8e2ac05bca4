"""How diagnostics are shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relay import Diagnostic, RelayError

_renderer: Callable[[Any], Any] | None = None


class DiagnosticRenderer:
    """Shows the diagnostics of an error; the default gives the text that the error has."""

    def __init__(self, render_func: Callable[[Any], Any] | None = None) -> None:
        self._render = render_func

    def render(self, ctx: RelayError) -> Any:
        """Shows an error's diagnostics by the function that was given, else as text."""
        return self._render(ctx) if self._render is not None else str(ctx)


def get_renderer() -> DiagnosticRenderer:
    """The renderer in force."""
    return DiagnosticRenderer(_renderer)


def override_renderer(render_func: Callable[[Any], Any] | None) -> None:
    """Puts another renderer in force, or the default one for None. `tvm.relay.testing` and scripts ask for it by `get_renderer`."""
    global _renderer
    _renderer = render_func


__all__ = ["Diagnostic", "DiagnosticRenderer", "get_renderer", "override_renderer"]
