"""Runs of models: which request runs when, and with which others."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Callable

import numpy as np

import relay

from .errors import HttpError, ModelError
from .models import Model, Tensor

# A run that takes less is done on the event loop, since handing it to another thread would take longer.
_SHORT = 200e-6
# A run that was short may take long with other numbers: it ends then, and begins again on another thread.
_PATIENCE = 10e-3
_KNOWN_SHAPES = 64


@dataclass(frozen=True)
class Batching:
    """Requests that are there together run as one along the open dimension `dimension`, at most `rows` of it.

    A request waits at most `wait` seconds for others; with 0 it waits only while all workers are busy.
    """

    dimension: str | None = None
    rows: int = 32
    wait: float = 0.0


class Request:
    """Arrays of one request, and where its results go."""

    __slots__ = ("arrays", "key", "rows", "future", "arrived", "ends")

    def __init__(self, arrays: list[Any], key: Any, rows: int, future: asyncio.Future[list[Any]], arrived: float, ends: float) -> None:
        self.arrays, self.key, self.rows, self.future, self.arrived, self.ends = arrays, key, rows, future, arrived, ends


def _axis(tensor: Tensor, dimension: str, unknown: bool = False) -> int:
    """Where the dimension is; for an output with `unknown`, the first one where its type does not say. `Axes` then tries if that is right."""
    axes = [axis for axis, extent in enumerate(tensor.shape) if extent == dimension]
    if unknown and not axes and tensor.shape[:1] == (None,):
        return 0
    if len(axes) != 1:
        shape = ", ".join("?" if extent is None else str(extent) for extent in tensor.shape)
        raise ModelError(f"{tensor.name} is ({shape}) and does not have the dimension {dimension} once: requests cannot be batched along it")
    return axes[0]


def _example(tensor: Tensor, dimension: str, rows: int, random: np.random.Generator) -> Any:
    shape = tuple(rows if extent == dimension else extent if isinstance(extent, int) else 2 for extent in tensor.shape)
    if tensor.dtype.kind == "f":
        return random.standard_normal(shape).astype(tensor.dtype)
    return random.integers(0, 2, shape).astype(tensor.dtype)


class Axes:
    """Where the batch lies in the tensors of a model. Raises ModelError if the rows of a batch are not independent."""

    def __init__(self, model: Model, dimension: str) -> None:
        self.inputs = [_axis(tensor, dimension) for tensor in model.inputs]
        self.outputs = [_axis(tensor, dimension, True) for tensor in model.outputs]
        if not self.inputs:
            raise ModelError(f"{model.name} has no inputs to batch")
        self._try(model, dimension)

    def _try(self, model: Model, dimension: str) -> None:
        random = np.random.default_rng(0)
        arrays = [_example(tensor, dimension, 3, random) for tensor in model.inputs]
        try:
            together = model.run(arrays)
            parts = [model.run(self.cut(arrays, self.inputs, i, i + 1)) for i in range(3)]
        except relay.RelayError as error:
            raise ModelError(f"{model.name} cannot be tried on made-up arrays, so it is not known if its rows are independent:\n{error}") from None
        for output, axis, whole in zip(model.outputs, self.outputs, together):
            own = [part[model.outputs.index(output)] for part in parts]
            one = (*whole.shape[:axis], 1, *whole.shape[axis + 1 :])
            alone = np.concatenate(own, axis) if all(part.shape == one for part in own) else own[0]
            if alone.shape != whole.shape or not _close(alone, whole):
                raise ModelError(f"{output.name} of {model.name}: the result of a row depends on others along {dimension}, so requests cannot be batched")

    @staticmethod
    def cut(arrays: list[Any], axes: list[int], begin: int, end: int) -> list[Any]:
        return [array[(slice(None),) * axis + (slice(begin, end),)] for array, axis in zip(arrays, axes)]


def _close(a: Any, b: Any) -> bool:
    if a.dtype.kind != "f":
        return bool(np.array_equal(a, b))
    scale = float(np.nanmax(np.abs(b), initial=0.0))
    tolerance = 1e-2 if a.dtype == np.float16 else 1e-3
    return bool(np.allclose(a, b, rtol=tolerance, atol=tolerance * (scale if np.isfinite(scale) else 1.0), equal_nan=True))


class Batcher:
    """The waiting requests of one model."""

    def __init__(self, model: Model, scheduler: Scheduler, batching: Batching) -> None:
        self.model = model
        self.scheduler = scheduler
        self.batching = batching
        self.axes = Axes(model, batching.dimension) if batching.dimension is not None else None
        self.queue: deque[Request] = deque()
        self.timer: asyncio.TimerHandle | None = None
        self.seconds: OrderedDict[Any, float] = OrderedDict()  # that a run of these shapes took
        self.running = 0

    def key(self, arrays: list[Any]) -> tuple[Any, int]:
        """What requests of one batch have in common, and how many rows these arrays are."""
        if self.axes is None:
            return tuple([array.shape for array in arrays]), 1
        shapes = [array.shape[:axis] + array.shape[axis + 1 :] for array, axis in zip(arrays, self.axes.inputs)]
        return tuple(shapes), arrays[0].shape[self.axes.inputs[0]]

    async def infer(self, arrays: list[Any]) -> list[Any]:
        """Results of one request. Raises HttpError."""
        key, rows = self.key(arrays)
        known = self.seconds.get((key, rows), 1.0)
        if known < _SHORT and not self.queue and self.scheduler.idle:
            begin = time.perf_counter()
            try:
                results = self.model.run(arrays, _PATIENCE)
            except relay.RunTimeout:
                del self.seconds[key, rows]
            except Exception as error:
                raise _told(error) from error
            else:
                self.ran((key, rows), time.perf_counter() - begin, rows)
                return results
        now = time.monotonic()
        self.scheduler.admit()
        request = Request(arrays, key, rows, asyncio.get_running_loop().create_future(), now, now + self.scheduler.timeout)
        self.queue.append(request)
        self.scheduler.wake(self)
        return await request.future

    def ran(self, key: Any, seconds: float, rows: int) -> None:
        before = self.seconds.get(key, seconds)
        self.seconds[key] = 0.8 * before + 0.2 * seconds
        if len(self.seconds) > _KNOWN_SHAPES:
            self.seconds.popitem(last=False)
        self.scheduler.observe(self.model.name, seconds, rows)

    def take(self, now: float) -> list[Request]:
        """The requests that run together now; none while the first one may still wait for others."""
        while self.queue and (self.queue[0].ends <= now or self.queue[0].future.done()):
            self.scheduler.drop(self.queue.popleft())
        if not self.queue:
            return []
        first = self.queue[0]
        if self.axes is None:
            return [self.scheduler.begin(self.queue.popleft())]
        chosen, rows = [first], first.rows
        for request in list(self.queue)[1:]:
            if rows >= self.batching.rows:
                break
            if request.key == first.key and rows + request.rows <= self.batching.rows and request.ends > now and not request.future.done():
                chosen.append(request)
                rows += request.rows
        left = first.arrived + self.batching.wait - now
        if rows < self.batching.rows and left > 0:
            if self.timer is None:
                self.timer = asyncio.get_running_loop().call_later(left, self._waited)
            return []
        taken = set(map(id, chosen))
        self.queue = deque(request for request in self.queue if id(request) not in taken)
        for request in chosen:
            self.scheduler.begin(request)
        return chosen

    def _waited(self) -> None:
        self.timer = None
        self.scheduler.wake(self)

    def run(self, requests: list[Request], timeout: float) -> tuple[list[list[Any]], float]:
        """On a thread of the scheduler: results of each request, and the seconds of the run."""
        begin = time.perf_counter()
        if self.axes is None or len(requests) == 1:
            results = [self.model.run(requests[0].arrays, timeout)]
            return results, time.perf_counter() - begin
        arrays = [np.concatenate(parts, axis) for parts, axis in zip(zip(*(request.arrays for request in requests)), self.axes.inputs)]
        outputs = self.model.run(arrays, timeout)
        seconds = time.perf_counter() - begin
        rows = sum(request.rows for request in requests)
        if any(output.shape[axis] != rows for output, axis in zip(outputs, self.axes.outputs)):
            raise ModelError("a result does not have a row for each row of the batch")  # then each request runs alone
        results, at = [], 0
        for request in requests:
            results.append(Axes.cut(outputs, self.axes.outputs, at, at + request.rows))
            at += request.rows
        return results, seconds


def _told(error: Exception) -> HttpError:
    """What a client hears of a failed run."""
    if isinstance(error, HttpError):
        return error
    if isinstance(error, relay.RunTimeout):
        return HttpError(504, str(error))
    if isinstance(error, (relay.ExecutionError, relay.RelayError, ValueError, TypeError)):
        return HttpError(400, str(error).strip())
    if isinstance(error, MemoryError):
        return HttpError(503, "the server has no memory left for this request")
    return HttpError(500, f"the run failed: {type(error).__name__}")


class Scheduler:
    """The threads that run models, and the models that have work for them, in turn."""

    def __init__(self, workers: int, max_queue: int, timeout: float, observe: Callable[[str, float, int], None]) -> None:
        self.pool = ThreadPoolExecutor(workers, "relay-serve")
        self.free = self.workers = workers
        self.max_queue = max_queue
        self.timeout = timeout
        self.observe = observe
        self.waiting = 0
        self.ready: OrderedDict[Batcher, None] = OrderedDict()

    @property
    def idle(self) -> bool:
        return self.free == self.workers

    def admit(self) -> None:
        if self.waiting >= self.max_queue:
            raise HttpError(503, f"{self.waiting} requests wait already, which is the limit", ((b"retry-after", b"1"),))
        self.waiting += 1

    def begin(self, request: Request) -> Request:
        self.waiting -= 1
        return request

    def drop(self, request: Request) -> None:
        self.waiting -= 1
        if not request.future.done():
            request.future.set_exception(HttpError(504, f"the request waited for {self.timeout:g} s"))

    def wake(self, batcher: Batcher) -> None:
        self.ready[batcher] = None
        self.pump()

    def pump(self) -> None:
        """Gives work to workers that have none."""
        while self.free > 0 and self.ready:
            batcher, _ = self.ready.popitem(last=False)
            now = time.monotonic()
            requests = batcher.take(now)
            if not requests:
                continue
            if batcher.queue:
                self.ready[batcher] = None
            self.free -= 1
            batcher.running += 1
            left = max(request.ends for request in requests) - now
            future = asyncio.get_running_loop().run_in_executor(self.pool, batcher.run, requests, left)
            future.add_done_callback(partial(self._done, batcher, requests))

    def _done(self, batcher: Batcher, requests: list[Request], done: asyncio.Future[Any]) -> None:
        self.free += 1
        batcher.running -= 1
        error = done.exception()
        if error is None:
            results, seconds = done.result()
            rows = sum(request.rows for request in requests)
            batcher.ran((requests[0].key, rows), seconds, rows)
            for request, result in zip(requests, results):
                if not request.future.done():
                    request.future.set_result(result)
        elif len(requests) > 1 and not isinstance(error, relay.RunTimeout):
            # One of them may be to blame: each runs again, alone.
            for request in requests:
                self._again(batcher, request)
        else:
            for request in requests:
                if not request.future.done():
                    request.future.set_exception(_told(error if isinstance(error, Exception) else RuntimeError()))
        self.pump()

    def _again(self, batcher: Batcher, request: Request) -> None:
        def told(done: asyncio.Future[Any]) -> None:
            error = done.exception()
            if request.future.done():
                return
            if error is None:
                request.future.set_result(done.result()[0][0])
            else:
                request.future.set_exception(_told(error if isinstance(error, Exception) else RuntimeError()))

        left = request.ends - time.monotonic()
        asyncio.get_running_loop().run_in_executor(self.pool, batcher.run, [request], left).add_done_callback(told)

    def close(self) -> None:
        self.pool.shutdown(wait=False, cancel_futures=True)
