"""Batches of columns through a compiled program: the class for `map_batches` of Ray Data."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import ray

import relay
from relay import _core

from .program import Program

if TYPE_CHECKING:
    from ray.data import Dataset

Columns = dict[str, Any]  # arrays by names


def _stacked(column: Any) -> Any:
    """A column of arrays or lists of one shape as one array; another column as it is."""
    array = np.asarray(column)
    if array.dtype == object and len(array) and isinstance(array[0], (np.ndarray, list)):
        rows = [np.asarray(row) for row in array]
        if rows[0].dtype != object and all(row.shape == rows[0].shape and row.dtype == rows[0].dtype for row in rows):
            return np.stack(rows)
    return array


class _Input:
    """A parameter: the column that it comes from, its dtype, and the shape of a row where that is known."""

    def __init__(self, name: str, type_: Any, column: str) -> None:
        if not isinstance(type_, _core.TensorType) or not type_.shape:
            raise relay.RelayError(f"the parameter {name} is {type_}: a batch goes into tensors whose first dimension is that of the rows")
        self.name, self.column, self.dtype = name, column, np.dtype(str(type_.dtype))
        extents: list[Any] = [int(text) if (text := str(dim)).isdigit() else None for dim in type_.shape]
        self.rows, self.row = extents[0], extents[1:]

    def array(self, batch: Columns) -> Any:
        """The column as the parameter wants it. Lists become arrays, and rows of so many numbers get the parameter's shape."""
        if self.column not in batch:
            raise relay.RelayError(f"the batch has no column {self.column} for the parameter {self.name}; it has {', '.join(map(str, batch)) or 'none'}")
        array = np.asarray(batch[self.column])
        if array.dtype == object:
            array = _stacked(array)
        if array.dtype == object:
            raise relay.RelayError(f"rows of the column {self.column} do not make one tensor: they are {type(array[0]).__name__ if len(array) else 'nothing'} of several shapes or kinds")
        if array.dtype != self.dtype:
            if not np.can_cast(array.dtype, self.dtype, "same_kind"):
                raise relay.RelayError(f"the column {self.column} is {array.dtype}, and the parameter {self.name} wants {self.dtype}")
            array = array.astype(self.dtype)
        if array.ndim == 2 and len(self.row) != 1 and None not in self.row and math.prod(self.row) == array.shape[1]:
            array = array.reshape(-1, *self.row)
        return np.ascontiguousarray(array)


class Batches:
    """Runs a compiled program on batches: a class for `Dataset.map_batches`; `infer` fills in the rest.

    Args:
        program: What to run; its file on the node is mapped, and shared by all workers there.
        columns: By parameter, the column that it comes from; a parameter that is not named comes from the column of its own name.
        outputs: Names of the columns of results, in the order in which the program returns them; by default those of the model, else `output_0`, ….
        keep: Columns that stay in the output; by default all that do not go into the program.
        threads: How many threads one call uses.
        prepare: A function of the batch (a dictionary of arrays; rows of one shape are one array) before the program, such as one that decodes pictures.
        finish: A function of the columns of results after the program, such as one that makes texts of numbers.
        entry: The function of the program to run, `main` by default.

    The first dimension of each parameter is that of the rows. If its extent is a number, batches are cut and filled up to it. Raises RelayError
    for columns that do not fit the parameters, and for a result whose name from the model is that of a column that stays.
    """

    def __init__(
        self,
        program: Program,
        columns: Mapping[str, str] | None = None,
        outputs: Sequence[str] | None = None,
        keep: Sequence[str] | None = None,
        threads: int = 1,
        prepare: Callable[[Columns], Columns] | None = None,
        finish: Callable[[Columns], Columns] | None = None,
        entry: str | None = None,
    ) -> None:
        self.executable = program.load(threads)
        entries: Mapping[str, Any] = self.executable.signatures
        self.entry = entry if entry is not None else "main" if "main" in entries else next(iter(entries))
        if self.entry not in entries:
            raise relay.RelayError(f"the program has no function {self.entry}; it has {', '.join(entries)}")
        parameters, result = entries[self.entry]
        places = dict(columns or {})
        if unknown := sorted(set(places) - {name for name, _ in parameters}):
            raise relay.RelayError(f"the program has no parameter {unknown[0]}; it has {', '.join(name for name, _ in parameters)}")
        self.inputs = [_Input(name, relay.parse_type(text), places.get(name, name)) for name, text in parameters]
        if not self.inputs:
            raise relay.RelayError("the program has no parameters, so no columns go into it")
        self.single = not isinstance(relay.parse_type(result), _core.TupleType)
        self.names_of_model = outputs is None  # so nobody meant to replace a column
        named = [name for name, _ in self.executable.results[self.entry]]
        self.outputs = named if outputs is None else list(outputs)
        if len(self.outputs) != len(named):
            raise relay.RelayError(f"the program returns {len(named)} tensors, and outputs names {len(self.outputs)}")
        self.keep = None if keep is None else list(keep)
        self.prepare, self.finish = prepare, finish
        fixed = {given.rows for given in self.inputs if given.rows is not None}
        if len(fixed) > 1:
            raise relay.RelayError(f"the parameters want {' and '.join(map(str, sorted(fixed)))} rows at once, so their rows do not belong together")
        self.rows = fixed.pop() if fixed else None

    def _run(self, arrays: list[Any]) -> list[Any]:
        result = self.executable.run(arrays, entry=self.entry)
        rows = len(arrays[0])
        results = [np.asarray(part) for part in ((result,) if self.single else result)]
        for name, array in zip(self.outputs, results):
            if array.ndim == 0 or len(array) != rows:
                raise relay.RelayError(f"{name} is of shape {array.shape} for {rows} rows: it does not have one result for each")
        return results

    def _run_fixed(self, arrays: list[Any], size: int) -> list[Any]:
        """In parts of the size that the program has; the last row fills up the last part."""
        count, parts = len(arrays[0]), []
        for begin in range(0, count, size):
            part = [array[begin : begin + size] for array in arrays]
            missing = size - len(part[0])
            if missing:
                part = [np.concatenate([array, np.repeat(array[-1:], missing, 0)]) for array in part]
            parts.append([result[: size - missing] for result in self._run(part)])
        return [np.concatenate(column) for column in zip(*parts)]

    def __call__(self, batch: Columns) -> Columns:
        """The columns that stay, and those of results."""
        columns = {name: _stacked(column) for name, column in batch.items()}
        prepared = columns if self.prepare is None else self.prepare(columns)
        arrays = [given.array(prepared) for given in self.inputs]
        if len({len(array) for array in arrays}) != 1:
            raise relay.RelayError(f"the columns have different numbers of rows: {', '.join(f'{g.column} {len(a)}' for g, a in zip(self.inputs, arrays))}")
        results = self._run(arrays) if self.rows is None or self.rows == len(arrays[0]) else self._run_fixed(arrays, self.rows)
        made: Columns = dict(zip(self.outputs, results))
        if self.finish is not None:
            made = self.finish(made)
        used = {given.column for given in self.inputs}
        kept = [name for name in batch if name not in used] if self.keep is None else self.keep
        if absent := [name for name in kept if name not in batch]:
            raise relay.RelayError(f"the batch has no column {absent[0]} to keep; it has {', '.join(map(str, batch))}")
        if self.names_of_model and (replaced := [name for name in kept if name in made and name in self.outputs]):
            raise relay.RelayError(
                f"the result {replaced[0]} of the program has the name of a column that stays: give outputs=, the names of the columns of results, "
                "or keep=, the columns that stay"
            )
        return {**{name: batch[name] for name in kept}, **made}


def most_workers(threads: int) -> int:
    """How many workers of so many threads the cluster has cores for; at least one."""
    return max(1, int(ray.cluster_resources().get("CPU", 1)) // threads)


def infer(
    dataset: Dataset,
    program: Program | relay.Executable | str,
    *,
    columns: Mapping[str, str] | None = None,
    outputs: Sequence[str] | None = None,
    keep: Sequence[str] | None = None,
    threads: int = 1,
    workers: int | None = None,
    batch_size: int = 256,
    prepare: Callable[[Columns], Columns] | None = None,
    finish: Callable[[Columns], Columns] | None = None,
    entry: str | None = None,
) -> Dataset:
    """A dataset of Ray Data with the results of a program: a `map_batches` of `Batches`, whose arguments these are.

    Args:
        workers: How many processes run the program. By default from one to as many as the cluster has cores for at `threads` each; Ray starts
            and ends them as the other steps of the pipeline need cores. A number that leaves no core to readers stops the pipeline.
        batch_size: Rows of a call.

    Ray starts a worker that dies again and repeats what it had begun; rows come neither twice nor never. Rows come in any order, so keep a
    column that names them.
    """
    from ray.data import ActorPoolStrategy

    compute = ActorPoolStrategy(min_size=1, max_size=most_workers(threads)) if workers is None else ActorPoolStrategy(size=workers)
    arguments: dict[str, Any] = {
        "program": Program.of(program), "columns": columns, "outputs": outputs, "keep": keep, "threads": threads, "prepare": prepare, "finish": finish,
        "entry": entry,
    }  # fmt: skip
    Batches(**arguments)  # refuses what does not fit before any work begins
    return dataset.map_batches(
        Batches, fn_constructor_kwargs=arguments, batch_size=batch_size, batch_format="numpy", compute=compute, num_cpus=threads
    )  # fmt: skip
