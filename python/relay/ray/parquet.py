"""A job over Parquet files that goes on where it was stopped, and loses nothing when workers or nodes die."""

from __future__ import annotations

import fcntl
import json
import os
import time
import uuid
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from glob import escape, glob
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import ray
from ray.exceptions import RayActorError, RayTaskError

import relay

from .._progress import Progress
from .batches import Batches, Columns, most_workers
from .program import Program

_ATTEMPTS = 4  # of a part whose worker dies
_RESTARTS = 64  # of a worker
_AHEAD = 2  # parts that a worker is given at a time, so that it does not wait for the next one
_LATE = 10.0  # seconds beyond which a part may be late
_PLAN = "_job.json"  # readers of Parquet leave out what begins so


class JobError(relay.RelayError):
    """A part of a job that cannot be done, or a folder that has the results of another job."""


@dataclass(frozen=True)
class Result:
    """What a job did: rows in its folder, those of them that were there before, its files, seconds, and workers that died."""

    rows: int
    rows_before: int
    files: list[str]
    seconds: float
    deaths: int


@dataclass(frozen=True)
class Part:
    """Some row groups of a file, which become one file of results."""

    file: str
    first: int
    last: int  # behind the last one
    rows: int

    def __str__(self) -> str:
        return f"{self.file}, row groups {self.first} to {self.last - 1}"


def _files(source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[str]:
    """The files of a folder, a pattern, a path, or a list of these, in order."""
    found: list[str] = []
    for item in [source] if isinstance(source, (str, os.PathLike)) else source:
        text = os.fspath(item)
        if os.path.isdir(text):
            names = sorted(glob(os.path.join(escape(text), "**", "*.parquet"), recursive=True))
            found += [name for name in names if not os.path.basename(name).startswith(("_", "."))]
        elif os.path.exists(text):
            found.append(text)
        else:
            found += sorted(glob(text, recursive=True))
    if not found:
        raise JobError(f"there is no Parquet file at {source}")
    return [os.path.abspath(name) for name in found]


def _parts(files: list[str], rows: int) -> list[Part]:
    """Row groups of each file, together until they have so many rows."""
    parts = []
    for file in files:
        try:
            metadata = pq.read_metadata(file)
        except (OSError, pa.ArrowException) as error:
            raise JobError(f"{file} is no Parquet file that can be read: {error}") from None
        first = count = 0
        for group in range(metadata.num_row_groups):
            count += metadata.row_group(group).num_rows
            if count >= rows or group + 1 == metadata.num_row_groups:
                if count:
                    parts.append(Part(file, first, group + 1, count))
                first, count = group + 1, 0
    return parts


def _column(array: Any) -> Any:
    """An array of results as a column: numbers as they are, a row of several numbers as a list, of more dimensions as a tensor."""
    if not isinstance(array, np.ndarray):
        return pa.array(array)
    if array.ndim == 1:
        return pa.array(array)
    if array.ndim == 2 and array.shape[1] > 0:
        return pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(array).reshape(-1)), array.shape[1])
    return pa.FixedShapeTensorArray.from_numpy_ndarray(np.ascontiguousarray(array))


def _numpy(column: Any) -> Any:
    """A column of Parquet as an array; lists of one length become a tensor."""
    type_ = column.type
    if isinstance(type_, pa.FixedShapeTensorType):
        return column.to_numpy_ndarray()
    if pa.types.is_fixed_size_list(type_) and column.null_count == 0:
        return column.flatten().to_numpy(zero_copy_only=False).reshape(len(column), type_.list_size)
    return column.to_numpy(zero_copy_only=False)


class _Worker:
    """An actor that does parts, one after the other."""

    @ray.method(max_task_retries=-1)  # type: ignore[untyped-decorator, unused-ignore]
    def start(self, arguments: dict[str, Any], batch_size: int) -> int:
        """Loads the program; no constructor, since Ray would repeat that with arguments that may be gone."""
        self.batches, self.batch_size = Batches(**arguments), batch_size
        return 0

    def run(self, part: Part, target: str) -> int:
        """Writes the results of a part in one step: its file is there as a whole, or not at all, however often the part is done."""
        made = os.path.join(os.path.dirname(target), f".{os.path.basename(target)}.{uuid.uuid4().hex}.tmp")
        writer, rows = None, 0
        try:
            with pq.ParquetFile(part.file) as file:
                for batch in file.iter_batches(self.batch_size, row_groups=range(part.first, part.last)):
                    results = self._results(batch)
                    writer = writer or pq.ParquetWriter(made, results.schema)
                    writer.write_table(results)
                    rows += len(results)
            if writer is None or rows != part.rows:
                raise relay.RelayError(f"{rows} rows were read where {part.rows} were")
            writer.close()
            with open(made, "rb") as file:
                os.fsync(file.fileno())
            os.replace(made, target)
        finally:
            if os.path.exists(made):
                os.unlink(made)
        return rows

    def _results(self, batch: Any) -> Any:
        columns: Columns = {name: _numpy(batch.column(i)) for i, name in enumerate(batch.schema.names)}
        results = self.batches(columns)
        # Columns that stay keep the type that they have in the file.
        arrays = {name: batch.column(name) if array is columns.get(name) else _column(array) for name, array in results.items()}
        return pa.table(arrays)


class _Folder:
    """The folder of results: its plan, and the files that are done."""

    def __init__(self, path: Path, plan: dict[str, Any], parts: list[Part]) -> None:
        self.path, self.parts = path, parts
        path.mkdir(parents=True, exist_ok=True)
        self.lock = open(path / "_lock", "a", encoding="ascii")  # noqa: SIM115 (held until `close`)
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.lock.close()
            raise JobError(f"another job writes to {path} now") from None
        try:
            self._open(plan)
        except BaseException:
            self.close()
            raise

    def _open(self, plan: dict[str, Any]) -> None:
        file = self.path / _PLAN
        if file.exists():
            try:
                known = json.loads(file.read_text(encoding="utf-8"))
            except ValueError:
                raise JobError(f"{file} is damaged: remove it and the other files of {self.path} to begin anew") from None
            plan = json.loads(json.dumps(plan))
            different = [name for name in plan if not isinstance(known, dict) or known.get(name) != plan[name]]
            if different:
                raise JobError(f"{self.path} has results of another job ({', '.join(different)} differ): give another folder, or remove this one to begin anew")
        else:
            if any(self.path.glob("*.parquet")):
                raise JobError(f"{self.path} has Parquet files that are not of this job: give another folder")
            made = file.with_suffix(".tmp")
            made.write_text(json.dumps(plan, indent=1), encoding="utf-8")
            made.replace(file)
        self.clean()

    def clean(self) -> None:
        """Removes what workers that died had begun."""
        for left in self.path.glob(".part-*.tmp"):
            left.unlink(missing_ok=True)

    def target(self, index: int) -> str:
        return str(self.path.resolve() / f"part-{index:06}.parquet")

    def done(self) -> set[int]:
        return {i for i in range(len(self.parts)) if os.path.exists(self.target(i))}

    def close(self) -> None:
        self.lock.close()


class _Job:
    """Gives parts to workers until all are done."""

    def __init__(self, folder: _Folder, arguments: dict[str, Any], batch_size: int, workers: int) -> None:
        self.folder = folder
        self.todo = deque(sorted(set(range(len(folder.parts))) - folder.done()))
        self.attempts = dict.fromkeys(self.todo, 0)
        self.missing = set(self.todo)
        self.running: dict[Any, tuple[int, int, float]] = {}  # part, worker and when; part -1 asks if the worker is there
        self.took: deque[float] = deque(maxlen=100)  # seconds of the last parts
        self.deaths = 0
        self.began = 0.0  # when the first worker was there
        made = ray.remote(_Worker).options(num_cpus=arguments["threads"], max_restarts=_RESTARTS, max_task_retries=0)
        self.arguments, self.batch_size = arguments, batch_size
        self.actors = [made.remote() for _ in range(min(workers, len(self.todo)))]
        self.given: list[set[int]] = [set() for _ in self.actors]
        self.there = [False] * len(self.actors)
        for worker in range(len(self.actors)):
            self._greet(worker)

    def _greet(self, worker: int) -> None:
        """Only a worker that answers is given parts: one that finds no core, now or after its death, holds nothing up."""
        self.running[self.actors[worker].start.remote(self.arguments, self.batch_size)] = (-1, worker, time.monotonic())

    def _feed(self) -> None:
        """Gives parts to the workers that have less than they may have, those with the fewest first."""
        for count in range(_AHEAD):
            for worker, given in enumerate(self.given):
                if self.todo and self.there[worker] and len(given) <= count:
                    self._give(self.todo.popleft(), worker)
        if not self.todo:
            self._repeat_late()

    def _repeat_late(self) -> None:
        """Workers without work repeat parts that others have had for long, as these may never answer: both write the same file."""
        limit = _LATE + 3 * _AHEAD * max(self.took, default=float("inf"))
        idle = [worker for worker, given in enumerate(self.given) if self.there[worker] and not given]
        for part, _, since in sorted(self.running.values(), key=lambda entry: entry[2]):
            if idle and part in self.missing and time.monotonic() - since > limit and sum(part in given for given in self.given) == 1:
                self._give(part, idle.pop())

    def _give(self, part: int, worker: int) -> None:
        self.given[worker].add(part)
        reference = self.actors[worker].run.remote(self.folder.parts[part], self.folder.target(part))
        self.running[reference] = (part, worker, time.monotonic())

    def _died(self, part: int, worker: int, error: RayActorError) -> None:
        if part < 0:
            raise JobError(f"a worker cannot start: {error}") from None
        self.there[worker] = False
        self.given[worker].discard(part)
        if part in self.missing:
            self.attempts[part] += 1
            if self.attempts[part] >= _ATTEMPTS:
                raise JobError(f"{self.folder.parts[part]}: {_ATTEMPTS} workers died of it: {error}") from None
            if not any(part in given for given in self.given):
                self.todo.appendleft(part)
        if not self.given[worker]:  # all that it had is known to be lost
            self.deaths += 1
            self._greet(worker)

    def _answered(self, reference: Any, finished: Callable[[int], None]) -> None:
        part, worker, since = self.running.pop(reference)
        try:
            rows = ray.get(reference)
        except RayActorError as error:
            self._died(part, worker, error)
            return
        except RayTaskError as error:
            where = "a worker cannot start" if part < 0 else str(self.folder.parts[part])
            raise JobError(f"{where}: {error.cause if error.cause is not None else error}") from None
        if part < 0:
            self.there[worker] = True
            self.began = self.began or time.monotonic()
            return
        self.given[worker].discard(part)
        self.took.append(time.monotonic() - since)
        if part in self.missing:
            self.missing.remove(part)
            finished(rows)

    def run(self, finished: Callable[[int], None]) -> None:
        """Until all parts are done; `finished` hears of the rows of each."""
        try:
            while self.missing:
                ready, _ = ray.wait(list(self.running), num_returns=1, timeout=1.0)
                for reference in ready:
                    self._answered(reference, finished)
                self._feed()
        finally:
            for actor, given in zip(self.actors, self.given):
                if given:  # it must not write any more; the others end by themselves without a handle
                    ray.kill(actor)
            self.actors.clear()
            self.folder.clean()


def _name(function: Any) -> str | None:
    return None if function is None else f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', repr(function))}"


def infer_parquet(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    folder: str | os.PathLike[str],
    program: Program | relay.Executable | str,
    *,
    columns: Mapping[str, str] | None = None,
    outputs: Sequence[str] | None = None,
    keep: Sequence[str] | None = None,
    threads: int = 1,
    workers: int | None = None,
    batch_size: int = 256,
    rows: int = 10_000,
    prepare: Callable[[Columns], Columns] | None = None,
    finish: Callable[[Columns], Columns] | None = None,
    entry: str | None = None,
    progress: Callable[[int, int, float], None] | None = None,
) -> Result:
    """Runs a program on all rows of Parquet files, and writes the results as Parquet files to a folder.

    The work is cut into parts of whole row groups. Each part becomes one file, which appears in one step and under a name of its own. So a job
    that was stopped (call again with the same arguments), and a worker or node that died, lose nothing but the parts that they had begun, and
    no row comes twice. Rows keep their order within a part, and parts theirs by name.

    Args:
        source: A folder, a file, a pattern, or a list of these; all nodes must see them under these paths.
        folder: For the results, which all nodes must see as well.
        columns, outputs, keep, threads, prepare, finish, entry: As of `Batches`.
        workers: How many processes run the program, `threads` cores each; by default as many as the cluster has cores for.
        batch_size: Rows of a call.
        rows: A part has at least so many rows, or all of its file.
        progress: Called after each part with rows that are done, rows of all, and seconds left. Without it a bar shows this on a terminal.

    Raises JobError, with the part, for rows that the program refuses, and for a folder of another job. What was done until then stays.
    """
    program = Program.of(program)
    files = _files(source)
    arguments: dict[str, Any] = {
        "program": program, "columns": columns, "outputs": outputs, "keep": keep, "threads": threads, "prepare": prepare, "finish": finish,
        "entry": entry,
    }  # fmt: skip
    Batches(**arguments)  # refuses what does not fit before any work begins
    parts = _parts(files, rows)
    plan = {
        "version": 1, "program": program.digest, "entry": entry, "columns": dict(columns or {}), "outputs": list(outputs) if outputs else None,
        "keep": list(keep) if keep is not None else None, "prepare": _name(prepare), "finish": _name(finish),
        "files": [[file, os.stat(file).st_size, os.stat(file).st_mtime_ns] for file in files],
        "parts": [[files.index(part.file), part.first, part.last, part.rows] for part in parts],
    }  # fmt: skip
    begin = time.monotonic()
    place = _Folder(Path(folder), plan, parts)
    try:
        total = sum(part.rows for part in parts)
        before = sum(parts[i].rows for i in place.done())
        bar = Progress[Any]((), f"{before} rows were there" if before else "", total - before)
        bar.what = ", ".join(filter(None, [bar.what, "rows"]))
        job = _Job(place, arguments, batch_size, workers if workers is not None else most_workers(threads))

        def finished(count: int) -> None:
            if progress is None:
                bar.update(count)
                return
            bar.done += count
            left = (total - before - bar.done) * (time.monotonic() - job.began) / bar.done
            progress(before + bar.done, total, left)

        with bar:
            job.run(finished)
        return Result(total, before, [place.target(i) for i in range(len(parts))], time.monotonic() - begin, job.deaths)
    finally:
        place.close()
