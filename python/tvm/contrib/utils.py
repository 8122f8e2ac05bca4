"""Temporary folders, and locks of files."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from typing import Any


class TempDirectory:
    """A folder that goes away with the object."""

    _kept_for_debug = False

    @classmethod
    @contextlib.contextmanager
    def set_keep_for_debug(cls, set_to: bool = True) -> Iterator[None]:
        """While this is entered, folders stay that do not say otherwise."""
        before, cls._kept_for_debug = cls._kept_for_debug, set_to
        try:
            yield
        finally:
            cls._kept_for_debug = before

    def __init__(self, custom_path: Any = None, keep_for_debug: bool | None = None) -> None:
        if keep_for_debug is None:
            keep_for_debug = self._kept_for_debug
        if custom_path:
            os.makedirs(custom_path, exist_ok=True)
            self.temp_dir = str(custom_path)
        else:
            self.temp_dir = tempfile.mkdtemp(prefix="relay-")
        self._finalizer = None if keep_for_debug else weakref.finalize(self, shutil.rmtree, self.temp_dir, True)

    @property
    def path(self) -> str:
        """The folder."""
        return self.temp_dir

    def relpath(self, name: str) -> str:
        """The path of a file inside it."""
        return os.path.join(self.temp_dir, name)

    def listdir(self) -> list[str]:
        """The names of the files in it."""
        return os.listdir(self.temp_dir)

    def remove(self) -> None:
        """Deletes it now."""
        if self._finalizer is not None:
            self._finalizer()

    def __enter__(self) -> TempDirectory:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.remove()

    def __truediv__(self, other: str) -> Any:
        from pathlib import Path

        return Path(self.temp_dir) / other


class FileLock:
    """A lock that one process at a time has, by a file that is made where it is not there. Makes who asks for it wait."""

    def __init__(self, path: Any) -> None:
        self.lock_file = open(path, "a", encoding="utf-8")  # noqa: SIM115
        fcntl.flock(self.lock_file, fcntl.LOCK_EX)

    def release(self) -> None:
        """Lets others have it."""
        self.lock_file.close()

    def __enter__(self) -> FileLock:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.release()


def is_source_path(path: str) -> bool:
    """True for what names a file, which is there or could be, and is not the text of one: a line whose end is one of a file's name."""
    suffix = os.path.splitext(path)[1]
    return "\n" not in path and (os.path.exists(path) or len(suffix) > 1 and not any(letter.isspace() for letter in suffix))


def which(exec_name: str) -> str | None:
    """The path of a command, if it can be found."""
    return shutil.which(exec_name)


def filelock(path: Any) -> FileLock:
    """The lock of a file, which is had from here on until `release`, or until a ``with`` of it ends."""
    return FileLock(path)


def tempdir(custom_path: Any = None, keep_for_debug: bool | None = None) -> TempDirectory:
    """A new temporary folder."""
    return TempDirectory(custom_path, keep_for_debug)
