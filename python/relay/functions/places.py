"""Places in the user's Python: the line that an operation comes from, and errors that begin there."""

from __future__ import annotations

import contextlib
import linecache
import os
import sys
import threading
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from .._core import Diagnostic, RelayError, Source, Span, source, span_in

__all__ = ["TraceError", "held", "line_span", "located", "place", "shorten", "span"]

_OURS = (os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep, os.path.dirname(os.path.abspath(np.__file__)) + os.sep,
         os.path.dirname(os.path.abspath(os.__file__)) + os.sep + "functools.py", "<frozen")  # fmt: skip
# For those who look for a defect in this package.
_SHOW_ALL = os.environ.get("RELAY_FULL_TRACEBACKS", "") not in ("", "0")
_inner: dict[str, bool] = {}


def _is_ours(name: str) -> bool:
    known = _inner.get(name)
    if known is None:
        known = _inner[name] = os.path.abspath(name).startswith(_OURS) if not name.startswith("<") else name.startswith("<frozen")
    return known


def place() -> tuple[str, int, str]:
    """File, line and function of the innermost frame that is not of this package; ("", 0, "") if all are."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not _is_ours(code.co_filename):
            return code.co_filename, frame.f_lineno or 0, code.co_name
        frame = frame.f_back
    return "", 0, ""


# Texts of the user's files, with the offset of each line: spans into them live as long as they.
_sources: dict[str, tuple[Source, list[int], list[str]] | None] = {}


def _source(name: str) -> tuple[Source, list[int], list[str]] | None:
    if name not in _sources:
        lines = linecache.getlines(name)
        offsets, at = [], 0
        for text in lines:
            offsets.append(at)
            at += len(text.encode())
        _sources[name] = (source(name, "".join(lines).encode()), offsets, lines) if lines else None
    return _sources[name]


class _State(threading.local):
    span: Span | None = None


_state = _State()


@contextlib.contextmanager
def held(place_: Span) -> Iterator[None]:
    """All nodes of a with block have one place: that of a line which was read before, such as a model's."""
    before, _state.span = _state.span, place_
    try:
        yield
    finally:
        _state.span = before


def span() -> Span:
    """The place as a span, for nodes: the line of the user's file."""
    if _state.span is not None:
        return _state.span
    name, line, _ = place()
    return line_span(name, line) if line else Span()


def line_span(name: str, line: int) -> Span:
    """A line of a Python file, with its text where the file can be read."""
    found = _source(name)
    if found is None or line > len(found[1]):
        return Span(name, line, line, 1, 1)
    text, offsets, lines = found
    whole = lines[line - 1]
    left = len(whole) - len(whole.lstrip())
    return span_in(text, offsets[line - 1] + len(whole[:left].encode()), len(whole.strip().encode()))


def _quoted(name: str, line: int, function: str) -> str:
    text = linecache.getline(name, line).strip()
    where = f'\n  File "{name}", line {line}, in {function}'
    return where + (f"\n    {text}" if text else "")


class TraceError(TypeError):
    """A Python function does with a traced array what needs its value. The text begins with the reason and names the user's line."""

    def __init__(self, message: str, at: tuple[str, int, str] | None = None) -> None:
        found = place() if at is None else at
        super().__init__(message + (_quoted(*found) if found[1] else ""))


TraceError.__module__ = "relay"


def located(error: RelayError) -> RelayError:
    """An error of an operator, with the line of the user's Python that called it."""
    name, line, function = place()
    if not line:
        return error
    messages = [Diagnostic(found.message + _quoted(name, line, function), Span(), found.severity, list(found.notes))
                for found in error.diagnostics]  # fmt: skip
    return RelayError.of(messages) if messages else error


def shorten(error: BaseException) -> BaseException:
    """The error with a traceback of the user's frames alone; the frame that raises it again stands above them."""
    kept = []
    step = error.__traceback__
    while step is not None:
        if not _is_ours(step.tb_frame.f_code.co_filename):
            kept.append(step)
        step = step.tb_next
    if _SHOW_ALL:
        return error
    chain: Any = None
    for one in reversed(kept):
        chain = types.TracebackType(chain, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return error.with_traceback(chain)
