"""Calls of functions in other processes, which may take a limited time and may die."""

from __future__ import annotations

import collections
import concurrent.futures
import enum
import functools
import math
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .. import _absent
from ..exec import popen_worker
from ..exec.popen_worker import HEAD, TIME, framed
from . import _by_value

__all__ = ["MapResult", "PopenPoolExecutor", "PopenWorker", "StatusKind", "kill_child_processes"]

_PIECE = 1 << 16


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


class _Pipes:
    """The pipes to and from a worker. Neither direction ever waits for the other: what comes while a message goes is kept for `receive`."""

    def __init__(self, calls: int, answers: int) -> None:
        self._calls, self._answers = os.fdopen(calls, "wb", 0), os.fdopen(answers, "rb", 0)
        for pipe in (self._calls, self._answers):
            os.set_blocking(pipe.fileno(), False)
        self._came = bytearray()
        self._ended = False

    @property
    def has_calls(self) -> bool:
        """True until `close_calls`."""
        return not self._calls.closed

    def close_calls(self) -> None:
        """Says that no message follows."""
        self._calls.close()

    def close(self) -> None:
        """Closes both."""
        self._calls.close()
        self._answers.close()

    def _step(self, sending: bool, deadline: float | None) -> bool:
        """Waits until something came, or until a message can go on: True for the latter. Raises TimeoutError."""
        if self._answers.closed:  # another thread ended the process
            self._ended = True
            raise BrokenPipeError
        poll, answers = select.poll(), self._answers.fileno()
        if not self._ended:
            poll.register(answers, select.POLLIN)
        if sending:
            poll.register(self._calls.fileno(), select.POLLOUT)
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        ready = dict(poll.poll(None if left is None else min(math.ceil(1000 * left), popen_worker.LONGEST)))
        if not ready and deadline is not None and time.monotonic() >= deadline:
            raise TimeoutError
        if ready.pop(answers, 0):
            part = self._answers.read(_PIECE)
            self._came += part or b""
            self._ended = self._ended or part == b""
        return bool(ready)

    def send(self, message: bytes, timeout: float | None) -> None:
        """Writes a message to a process that may take `timeout` seconds for reading it, from when it first answered. Raises TimeoutError, and
        BrokenPipeError where the process died."""
        rest, deadline = memoryview(framed(message)), None
        while rest:
            if deadline is None and timeout is not None and self._came:
                deadline = time.monotonic() + timeout
            if self._step(True, deadline):
                rest = rest[self._calls.write(rest) or 0 :]

    def receive(self, deadline: float | None = None) -> bytes | None:
        """The next message; None at the end of the pipe. Raises TimeoutError."""
        while not self._ended and len(self._came) < self._needed():
            self._step(False, deadline)
        needed = self._needed()
        if len(self._came) < needed:
            return None
        message = bytes(self._came[HEAD.size : needed])
        del self._came[:needed]
        return message

    def _needed(self) -> int:
        """How many bytes the next message takes, as far as is known."""
        return HEAD.size + (HEAD.unpack_from(self._came)[0] if len(self._came) >= HEAD.size else 0)


def kill_child_processes(pid: int) -> None:
    """Ends a worker's process and those that it started."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


class PopenWorker:
    """One process that calls functions, one at a time. It starts with the first call, and anew after it died or took too long.

    `initializer(*initargs)` is called first in each process; one that raises ends it, and `send` raises what it raised. `maximum_uses`: how many
    calls a process takes; None: any number. Functions and classes may be those of the script itself, and lambdas: the package cloudpickle sends
    them with what they read of the script's globals. A process ends with the one that started it.
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
        self._pipes: _Pipes | None = None
        self._limits: collections.deque[float | None] = collections.deque()  # of the calls that were sent, and not received

    def __del__(self) -> None:
        try:
            self.kill()
        except (AttributeError, TypeError, ImportError):  # at the end of the interpreter
            pass

    def kill(self) -> None:
        """Ends the process, and what it runs. A later call starts another one."""
        process, self._process = self._process, None
        pipes, self._pipes = self._pipes, None
        self._limits.clear()
        if pipes is not None:
            pipes.close()
        if process is not None:
            kill_child_processes(process.pid)
            process.wait()

    def join(self, timeout: float | None = None) -> None:
        """Lets the process finish what it runs, and waits for its end. Raises subprocess.TimeoutExpired after `timeout` seconds; the process takes
        no further calls then, and the next `send` ends it and starts another one."""
        if self._process is not None:
            if self._pipes is not None:
                self._pipes.close_calls()
            self._process.wait(timeout)

    def is_alive(self) -> bool:
        """True if the process is there."""
        return self._process is not None and self._process.poll() is None

    def _start(self) -> None:
        calls_read, calls_write = os.pipe()
        answers_read, answers_write = os.pipe()
        try:
            self._process = subprocess.Popen(
                [sys.executable, str(Path(popen_worker.__file__).absolute()), str(calls_read), str(answers_write)],
                pass_fds=(calls_read, answers_write), stdout=self._stdout, stderr=self._stderr, start_new_session=True, env=_environment(),
            )  # fmt: skip
        except BaseException:
            os.close(calls_write)
            os.close(answers_read)
            raise
        finally:
            os.close(calls_read)
            os.close(answers_write)
        self._pipes = _Pipes(calls_write, answers_read)
        self._uses = 0
        self._write(self._pipes, _by_value.dumps(list(sys.path)), None)

    def send(self, fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None, timeout: float | None = None) -> None:
        """Begins a call, which may take `timeout` seconds; `recv` gives its result.

        The time begins when the process has read the call, so the start of the process takes none of it. The process ends itself after that time.
        Raises TimeoutError where the process, which runs another call, does not read this one in time.
        """
        if timeout is not None and math.isnan(timeout):
            raise ValueError("the timeout of a call is a number of seconds, not nan")
        call = _by_value.dumps((fn, tuple(args), dict(kwargs or {})))
        if self._process is not None and (not self.is_alive() or self._uses == self._maximum_uses or self._pipes is None or not self._pipes.has_calls):
            self.kill()
        if self._pipes is None:
            self._start()
            if self._initializer is not None:
                self._initialize(self._initializer)
        self._uses += 1
        self._write_call(call, timeout)

    def _initialize(self, initializer: Callable[..., Any]) -> None:
        """Runs the initializer, and ends a process in which it raised."""
        try:
            self._write_call(_by_value.dumps((initializer, self._initargs, {})), None)
            self.recv()
        except BaseException:
            self.kill()
            raise

    def _write_call(self, call: bytes, timeout: float | None) -> None:
        assert self._pipes is not None
        self._limits.append(timeout)
        try:
            self._write(self._pipes, TIME.pack(math.inf if timeout is None else timeout) + call, timeout)
        except TimeoutError:
            self.kill()
            raise TimeoutError("the process did not read the call in the time that it may take") from None

    @staticmethod
    def _write(pipes: _Pipes, message: bytes, timeout: float | None) -> None:
        try:
            pipes.send(message, timeout)
        except BrokenPipeError:
            pass  # the process died; recv says so

    def recv(self) -> Any:
        """The result of the call that `send` began. Raises what the function raised, TimeoutError where it took too long, ChildProcessError
        where the process died; after these two the process is another one."""
        if self._pipes is None or self._process is None:
            raise RuntimeError("Process is not running: send begins a call, and recv gives its result")
        if not self._limits:
            raise RuntimeError("there is no call whose result recv could give: send begins one")
        limit, process, deadline = self._limits.popleft(), self._process, math.inf
        late = False
        try:
            data = self._pipes.receive()  # when the call began
            if data is not None:
                deadline = math.inf if limit is None else TIME.unpack(data)[0] + limit
                data = self._pipes.receive(None if deadline == math.inf else deadline)
        except TimeoutError:
            data, late = None, True
        except BrokenPipeError:
            data = None
        if data is None:
            self.kill()
            if late or (process.returncode == -signal.SIGKILL and time.monotonic() >= deadline):
                raise TimeoutError("the call took longer than it may")
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
