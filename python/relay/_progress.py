"""Progress of long work: a bar with the time left on a terminal and in a notebook, nothing elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sized
from html import escape
from typing import Any, Generic, TypeVar

__all__ = ["Progress", "progress", "working"]

T = TypeVar("T")

_FIRST = 0.5  # seconds before a bar is shown
_BETWEEN = 0.1
_WIDTH = 24


def _notebook() -> bool:
    """True in a notebook, whose kernel shows HTML."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


def _terminal() -> bool:
    try:
        return sys.stderr is not None and sys.stderr.isatty()
    except ValueError:  # closed
        return False


def _time(seconds: float) -> str:
    whole = int(seconds + 0.5)
    hours, rest = divmod(whole, 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60}:{rest % 60:02}"


class _Screen:
    """A line that is written over again."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._length = 0

    def show(self, text: str, done: float | None) -> None:
        if _notebook():
            display: Any = sys.modules["IPython"].display
            bar = f'<progress max="1" value="{done:.3f}"></progress> ' if done is not None else ""
            html = display.HTML(f"<div>{bar}{escape(text)}</div>")
            if self._handle is None:
                self._handle = display.display(html, display_id=True)
            else:
                self._handle.update(html)
            return
        filled = "" if done is None else f"[{'#' * int(done * _WIDTH):{_WIDTH}}] "
        line = filled + text
        sys.stderr.write("\r" + line.ljust(self._length))
        sys.stderr.flush()
        self._length = len(line)

    def end(self) -> None:
        if self._handle is None and self._length:
            sys.stderr.write("\r" + " " * self._length + "\r")
            sys.stderr.flush()
        self._length = 0


class Progress(Generic[T]):
    """Goes through something and shows how far it is. `relay.progress` makes it; `note` is a text of yours behind the bar, such as a loss."""

    def __init__(self, items: Iterable[T], what: str, total: int | None) -> None:
        self._items = items
        self.what = what
        self.total = len(items) if total is None and isinstance(items, Sized) else total
        self.done = 0
        self.note = ""
        self._screen: _Screen | None = _Screen() if _notebook() or _terminal() else None
        self._start = self._shown = time.monotonic()

    def text(self, seconds: float) -> str:
        """What stands behind the bar after some seconds."""
        parts = [self.what] if self.what else []
        parts.append(f"{self.done}/{self.total}" if self.total is not None else str(self.done))
        parts.append(_time(seconds))
        if self.total is not None and self.done:
            parts.append(f"{_time(max(self.total - self.done, 0) * seconds / self.done)} left")
        return ", ".join(parts + ([self.note] if self.note else []))

    def update(self, count: int = 1) -> None:
        """Says that so many more are done."""
        self.done += count
        if self._screen is None:
            return
        now = time.monotonic()
        if now - self._start >= _FIRST and now - self._shown >= _BETWEEN:
            self._shown = now
            self._screen.show(self.text(now - self._start), min(self.done / self.total, 1.0) if self.total else None)

    def close(self) -> None:
        """Takes the bar away."""
        if self._screen is not None:
            self._screen.end()

    def __iter__(self) -> Iterator[T]:
        try:
            for item in self._items:
                yield item
                self.update()
        finally:
            self.close()

    def __len__(self) -> int:
        if self.total is None:
            raise TypeError("it is not known how many there are")
        return self.total

    def __enter__(self) -> Progress[T]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def progress(items: Iterable[T], what: str = "", total: int | None = None) -> Progress[T]:
    """Goes through `items` as they are, and shows a bar with the time left: on a terminal (standard error) and in a notebook, and nowhere else.

    ::

        for batch in (bar := relay.progress(batches, "training")):
            weights, loss = step(weights, batch)
            bar.note = f"loss {float(loss):.3f}"
    """
    return Progress(items, what, total)


class working:  # noqa: N801 (a with block)
    """Says on a terminal and in a notebook that something goes on, and for how long, once it takes a second."""

    def __init__(self, what: str) -> None:
        self.what = what

    def __enter__(self) -> None:
        self._stop: threading.Event | None = None
        if _notebook() or _terminal():
            self._stop = threading.Event()
            self._thread = threading.Thread(target=self._run, args=(self._stop,), daemon=True)
            self._thread.start()

    def _run(self, stop: threading.Event) -> None:
        start, screen = time.monotonic(), _Screen()
        if not stop.wait(1.0):
            while not stop.wait(0.2):
                screen.show(f"{self.what}, {_time(time.monotonic() - start)}", None)
        screen.end()

    def __exit__(self, *_: object) -> None:
        if self._stop is not None:
            self._stop.set()
            self._thread.join()
