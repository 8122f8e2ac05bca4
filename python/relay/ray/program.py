"""A compiled program for many processes: one file on each node, which all processes there map."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import ray

import relay

# A file that no process has asked for in so long makes room for others.
_KEPT = 7 * 24 * 3600.0


def folder() -> Path:
    """Where this node keeps programs: `RELAY_RAY_DIR`, or a folder of this user's among the temporary files. Nobody else may write there.

    Raises RelayError if others may: the files hold machine code, which would run.
    """
    given = os.environ.get("RELAY_RAY_DIR")
    path = Path(given) if given else Path(tempfile.gettempdir()) / f"relay-ray-{os.getuid()}"
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = path.lstat()
    if path.is_symlink() or status.st_uid != os.getuid() or status.st_mode & 0o022:
        raise relay.RelayError(f"{path} belongs to another user, or others may write to it: programs are not kept there. Set RELAY_RAY_DIR to a folder of yours")
    return path


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _trim(path: Path) -> None:
    """Removes programs that nobody has asked for lately. Processes that have mapped one keep it."""
    for file in path.glob("*.rlx"):
        with contextlib.suppress(OSError):
            if time.time() - file.stat().st_mtime > _KEPT:
                file.unlink()


class Program:
    """A compiled program that tasks and actors of Ray take as an argument.

    Its bytes go once into Ray's object store and from there once to each node, where the first process writes them to a read-only file. All
    processes on the node map that file, so they share one copy of the weights.

    Args:
        source: A `relay.Executable`, or the path of a `.rlx` file.

    Raises RelayError for a file that is no compiled program. Compile with a `target` that all nodes have, such as "avx2": a node that lacks
    the instructions refuses the program.
    """

    def __init__(self, source: relay.Executable | str | os.PathLike[str]) -> None:
        if isinstance(source, relay.Executable):
            data: Any = np.frombuffer(source.bytes(), np.uint8)
        elif isinstance(source, (str, os.PathLike)):
            relay.load(source, 1)  # refuses what is no program here, and not on some node later
            data = np.fromfile(source, np.uint8)
        else:
            raise TypeError(f"a program is a relay.Executable or the path of a .rlx file, not {type(source).__name__}")
        self.digest = hashlib.sha256(data).hexdigest()
        self.size = int(data.size)
        self._reference: Any = ray.put(data)

    @staticmethod
    def of(source: Program | relay.Executable | str | os.PathLike[str]) -> Program:
        """The program itself, or a new one of what it is made of."""
        return source if isinstance(source, Program) else Program(source)

    def file(self) -> Path:
        """The program's file on this node, which is written if it is not there."""
        place = folder()
        path = place / f"{self.digest}.rlx"
        with _locked(place / "lock"):
            try:
                os.utime(path)
                return path
            except FileNotFoundError:
                pass
            _trim(place)
            made = place / f"{self.digest}.{os.getpid()}.tmp"
            try:
                with open(made, "wb") as file:
                    ray.get(self._reference).tofile(file)
                made.chmod(0o444)  # so that it is mapped
                made.replace(path)
            finally:
                made.unlink(missing_ok=True)
        return path

    def load(self, threads: int = 1) -> relay.Executable:
        """The program, mapped into this process; a call uses `threads` threads."""
        return relay.load(self.file(), threads)

    def __repr__(self) -> str:
        return f"relay.ray.Program({self.digest[:12]}, {self.size / 1e6:.1f} MB)"
