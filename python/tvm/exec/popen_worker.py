"""The process of a `PopenWorker`: it reads calls from one pipe and writes what they gave to another, until the first ends."""

from __future__ import annotations

import os
import sys
from typing import Any

from tvm.contrib import _by_value
from tvm.contrib.popen_pool import StatusKind, read_message, write_message

__all__ = ["main"]


def _answer(data: bytes) -> bytes:
    """What a call gave, or raised, with its status."""
    try:
        function, args, kwargs = _by_value.loads(data)
        return _by_value.dumps((StatusKind.COMPLETE.value, function(*args, **kwargs)))
    except Exception as error:
        error.__traceback__ = None
        try:
            return _by_value.dumps((StatusKind.EXCEPTION.value, error))
        except Exception:  # one that cannot be sent
            return _by_value.dumps((StatusKind.EXCEPTION.value, RuntimeError(f"{type(error).__name__}: {error}")))


def main(arguments: list[str]) -> int:
    """Runs until the pipe of calls ends. Its first message has where modules are found."""
    calls, answers = (os.fdopen(int(arguments[0]), "rb", 0), os.fdopen(int(arguments[1]), "wb", 0))
    first: Any = read_message(calls)
    if first is not None:
        sys.path[:] = _by_value.loads(first)
    while True:
        data = read_message(calls)
        if data is None:
            return 0
        write_message(answers, _answer(data))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
