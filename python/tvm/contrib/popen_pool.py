"""Calls of functions in other processes, which may take a limited time and may die."""

from __future__ import annotations

import concurrent.futures
import enum
import functools
import os
import select
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from .. import _absent
from . import _by_value

__all__ = ["MapResult", "PopenPoolExecutor", "PopenWorker", "StatusKind", "kill_child_processes"]

_HEAD = struct.Struct("<q")
_PIECE = 1 << 20


class StatusKind(enum.Enum):
    """What became of a call."""

    RUNNING = 0
    COMPLETE = 1
    EXCEPTION = 2
    TIMEOUT = 3


class MapResult(NamedTuple):
    """What became of one call of `map_with_error_catching`: its result, or the exception."""

    status: StatusKind
    value: Any


def write_message(pipe: Any, data: bytes) -> None:
    """Writes bytes with their number in front."""
    view = memoryview(_HEAD.pack(len(data)) + data)
    while view:
        view = view[pipe.write(view) :]


def read_message(pipe: Any, deadline: float | None = None) -> bytes | None:
    """The next bytes that `write_message` wrote; None at the end of the pipe. Raises TimeoutError after `deadline`, as `time.monotonic` counts."""
    head = _read(pipe, _HEAD.size, deadline)
    return None if head is None else _read(pipe, _HEAD.unpack(head)[0], deadline)


def _read(pipe: Any, count: int, deadline: float | None) -> bytes | None:
    parts: list[bytes] = []
    while count > 0:
        if deadline is not None and not select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))[0]:
            raise TimeoutError
        part = pipe.read(min(count, _PIECE))
        if not part:
            return None
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def kill_child_processes(pid: int) -> None:
    """Ends a worker's process and those that it started."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


class PopenWorker:
    """One process that calls functions, one at a time. It starts with the first call, and anew after it died or took too long.

    `initializer(*initargs)` is called first in each process. `maximum_uses`: how many calls a process takes; None: any number. Functions may
    be lambdas and those of the script itself; what they read of its globals goes along.
    """

    def __init__(
        self, initializer: Callable[..., Any] | None = None, initargs: Sequence[Any] = (), maximum_uses: int | None = None, stdout: Any = None,
        stderr: Any = None,
    ) -> None:  # fmt: skip
        if initializer is not None and not callable(initializer):
            raise TypeError("initializer must be callable for PopenWorker")
        self._initializer, self._initargs = initializer, tuple(initargs)
        self._maximum_uses, self._uses = maximum_uses, 0
        self._stdout, self._stderr = stdout, stderr
        self._process: subprocess.Popen[bytes] | None = None
        self._calls: Any = None
        self._answers: Any = None
        self._deadline: float | None = None

    def __del__(self) -> None:
        try:
            self.kill()
        except (AttributeError, TypeError, ImportError):  # at the end of the interpreter
            pass

    def kill(self) -> None:
        """Ends the process, and what it runs. A later call starts another one."""
        process, self._process = self._process, None
        for pipe in (self._calls, self._answers):
            if pipe is not None:
                pipe.close()
        self._calls = self._answers = None
        if process is not None:
            kill_child_processes(process.pid)
            process.wait()

    def join(self, timeout: float | None = None) -> None:
        """Lets the process finish what it runs, and waits for its end. Raises subprocess.TimeoutExpired after `timeout` seconds."""
        if self._process is not None:
            if self._calls is not None:
                self._calls.close()
                self._calls = None
            self._process.wait(timeout)

    def is_alive(self) -> bool:
        """True if the process is there."""
        return self._process is not None and self._process.poll() is None

    def _start(self) -> None:
        calls_read, calls_write = os.pipe()
        answers_read, answers_write = os.pipe()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tvm.exec.popen_worker", str(calls_read), str(answers_write)],
                pass_fds=(calls_read, answers_write), stdout=self._stdout, stderr=self._stderr, start_new_session=True, env=_environment(),
            )  # fmt: skip
        except BaseException:
            os.close(calls_write)
            os.close(answers_read)
            raise
        finally:
            os.close(calls_read)
            os.close(answers_write)
        self._calls, self._answers = os.fdopen(calls_write, "wb", 0), os.fdopen(answers_read, "rb", 0)
        self._uses = 0
        write_message(self._calls, _by_value.dumps(list(sys.path)))

    def send(self, fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None, timeout: float | None = None) -> None:
        """Begins a call, which may take `timeout` seconds; `recv` gives its result."""
        data = _by_value.dumps((fn, tuple(args), dict(kwargs or {})))
        if self._process is not None and (not self.is_alive() or self._uses == self._maximum_uses):
            self.kill()
        if self._process is None:
            self._start()
            if self._initializer is not None:
                write_message(self._calls, _by_value.dumps((self._initializer, self._initargs, {})))
                self.recv()
        self._uses += 1
        try:
            write_message(self._calls, data)
        except BrokenPipeError:
            pass  # the process died; recv says so
        self._deadline = None if timeout is None else time.monotonic() + timeout

    def recv(self) -> Any:
        """The result of the call that `send` began. Raises what the function raised, TimeoutError where it took too long, ChildProcessError
        where the process died; after these two the process is another one."""
        if self._answers is None:
            raise RuntimeError("Process is not running: send begins a call, and recv gives its result")
        deadline, self._deadline = self._deadline, None
        try:
            data = read_message(self._answers, deadline)
        except TimeoutError:
            self.kill()
            raise TimeoutError("the call took longer than it may") from None
        if data is None:
            self.kill()
            raise ChildProcessError("Subprocess terminated")
        status, value = _by_value.loads(data)
        if status == StatusKind.EXCEPTION.value:
            raise value
        return value


def _environment() -> dict[str, str]:
    """The environment of a worker, which finds this package where this process found it."""
    home = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    places = [home, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(places)}


class PopenPoolExecutor:
    """Calls in several processes at a time; `timeout` is how many seconds each may take.

    `max_workers`: how many processes; None: one for each core. The others are those of PopenWorker.
    """

    def __init__(
        self, max_workers: int | None = None, timeout: float | None = None, initializer: Callable[..., Any] | None = None,
        initargs: Sequence[Any] = (), maximum_process_uses: int | None = None, stdout: Any = None, stderr: Any = None,
    ) -> None:  # fmt: skip
        if initializer is not None and not callable(initializer):
            raise TypeError("initializer must be callable for PopenPoolExecutor")
        self._threads = concurrent.futures.ThreadPoolExecutor(max_workers if max_workers is not None else os.cpu_count())
        self._timeout = timeout
        self._make: Callable[[], PopenWorker] = functools.partial(PopenWorker, initializer, initargs, maximum_process_uses, stdout, stderr)
        self._workers: dict[int, PopenWorker] = {}
        self._lock = threading.Lock()

    def __del__(self) -> None:
        try:
            self._end()
        except (AttributeError, TypeError, ImportError, RuntimeError):  # at the end of the interpreter
            pass

    def _end(self) -> None:
        with self._lock:
            workers, self._workers = list(self._workers.values()), {}
        for worker in workers:
            worker.kill()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _worker(self) -> PopenWorker:
        """The one of this thread."""
        with self._lock:
            return self._workers.setdefault(threading.get_ident(), self._make())

    def _call(self, fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        worker = self._worker()
        worker.send(fn, args, kwargs, self._timeout)
        return worker.recv()

    def _caught(self, fn: Callable[..., Any], value: Any) -> MapResult:
        try:
            return MapResult(StatusKind.COMPLETE, self._call(fn, (value,), {}))
        except TimeoutError as error:
            return MapResult(StatusKind.TIMEOUT, error)
        except Exception as error:
            return MapResult(StatusKind.EXCEPTION, error)

    def submit(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> concurrent.futures.Future[Any]:
        """Begins a call as soon as a process is free. The future raises what `PopenWorker.recv` raises."""
        return self._threads.submit(self._call, fn, args, kwargs)

    def map_with_error_catching(self, fn: Callable[[Any], Any], iterator: Iterable[Any]) -> Iterator[MapResult]:
        """Calls a function of each value; gives in their order what became of the calls."""
        futures = [self._threads.submit(self._caught, fn, value) for value in iterator]
        for future in futures:
            yield future.result()


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
