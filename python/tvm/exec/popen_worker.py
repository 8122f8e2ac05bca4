"""The process of a `PopenWorker`: it reads calls from one pipe and writes what they gave to another, until the first ends.

It is run as a file: it imports nothing big before it has split off the process that watches it.
"""

from __future__ import annotations

import math
import os
import select
import signal
import struct
import sys
import time
from typing import Any, BinaryIO

__all__ = ["main"]

# In front of a message: how many bytes it has.
HEAD = struct.Struct("<q")
# Seconds: of a limit, or a moment of `time.monotonic`, which all processes share.
TIME = struct.Struct("<d")
# The most milliseconds that poll can wait.
LONGEST = 2**31 - 1


def framed(message: bytes) -> bytes:
    """A message with its number of bytes in front."""
    return HEAD.pack(len(message)) + message


def _read(pipe: BinaryIO) -> bytes | None:
    """The next message; None at the end of the pipe."""
    head = pipe.read(HEAD.size)
    if len(head) < HEAD.size:
        return None
    size = HEAD.unpack(head)[0]
    message = pipe.read(size)
    return message if len(message) == size else None


def _watch(answers: int, limits: int) -> None:
    """Ends the worker, and all that it started, when a call takes longer than it may, or when nobody is left to read the answers. `limits` has a
    number of seconds for each call that begins, and infinity after it."""
    poll = select.poll()
    poll.register(answers, 0)  # poll tells of a pipe without a reader unasked
    poll.register(limits, select.POLLIN)
    deadline = math.inf
    while True:
        left = deadline - time.monotonic()
        ready = dict(poll.poll(None if left == math.inf else max(0, min(math.ceil(1000 * left), LONGEST)) if left > 0 else 0))
        if answers in ready or (not ready and time.monotonic() >= deadline):
            os.killpg(0, signal.SIGKILL)
        if limits in ready:
            found = os.read(limits, TIME.size)
            if len(found) < TIME.size:  # the worker ended
                return
            deadline = time.monotonic() + TIME.unpack(found)[0]


def _watched(answers: int) -> int:
    """Starts the process that watches this one; gives the pipe for limits. It is a process, since a thread waits for the lock of Python."""
    limits_read, limits_write = os.pipe()
    if os.fork() == 0:
        code = 1
        try:
            os.close(limits_write)
            _watch(answers, limits_read)
            code = 0
        finally:
            os._exit(code)
    os.close(limits_read)
    return limits_write


def _sent(status: Any, value: Any) -> bytes:
    from tvm.contrib import _by_value

    return _by_value.dumps((status.value, value))


def _raised(error: Exception) -> bytes:
    """An exception; one that cannot be sent, or cannot be read again, becomes a RuntimeError of its text."""
    from tvm.contrib import _by_value
    from tvm.contrib.popen_pool import StatusKind

    error.__traceback__ = None
    try:
        made = _sent(StatusKind.EXCEPTION, error)
        _by_value.loads(made)
        return made
    except Exception:
        return _sent(StatusKind.EXCEPTION, RuntimeError(f"{type(error).__name__}: {error}"))


def _answer(call: bytes) -> bytes:
    """What a call gave, or raised, with its status."""
    from tvm.contrib import _by_value
    from tvm.contrib.popen_pool import StatusKind

    try:
        function, args, kwargs = _by_value.loads(call)
        return _sent(StatusKind.COMPLETE, function(*args, **kwargs))
    except Exception as error:
        return _raised(error)


def main(arguments: list[str]) -> int:
    """Runs until the pipe of calls ends. Its first message has where modules are found; each call has its limit in front."""
    calls, answers = os.fdopen(int(arguments[0]), "rb"), os.fdopen(int(arguments[1]), "wb")
    limits = _watched(answers.fileno())
    first = _read(calls)
    if first is None:
        return 0
    from tvm.contrib import _by_value, popen_pool  # noqa: F401  before the first call, whose time it would take

    sys.path[:] = _by_value.loads(first)
    while (call := _read(calls)) is not None:
        os.write(limits, call[: TIME.size])
        answers.write(framed(TIME.pack(time.monotonic())))
        answers.flush()
        made = _answer(call[TIME.size :])
        os.write(limits, TIME.pack(math.inf))
        answers.write(framed(made))
        answers.flush()
    return 0


if __name__ == "__main__":
    del sys.path[0]  # the folder of this file: its modules are those of a package
    sys.exit(main(sys.argv[1:]))
