"""Weights as constants of a compiled graph, for as long as nobody changes them."""

from __future__ import annotations

import threading
from typing import Any, Callable, Sequence

import torch

from ..._core import NDArray, Watch

__all__ = ["Steady", "still"]

Run = Callable[..., Any]

_version = torch.Tensor._version.__get__  # type: ignore[attr-defined]
_address = torch.Tensor.data_ptr


def still(count: int) -> list[int]:
    """The positions of the inputs, of `count`, that are a model's parameters and buffers and that the graph does not change."""
    tracing = torch._guards.TracingContext.try_get()
    meta = tracing.fw_metadata if tracing is not None else None
    if meta is None:
        return []
    written = {*meta.mutated_inp_runtime_indices, *meta.mutated_graph_handled_indices}
    return [place for place in meta.static_input_indices if place < count and place not in written]


class Steady:
    """Runs a graph of inference. Its weights are constants, so the compiler folds and packs them once.

    `make(fixed)` compiles the graph with these inputs, by position, as constants. PyTorch counts the changes of a tensor, and each call
    compares the counts and the addresses. Changes through `tensor.data` are not counted, so each call also looks at some elements of
    each weight. After a change of most weights the graph runs with them as arguments; when they have not changed for some calls, they are
    constants again. If only few weights change, they stay arguments.
    """

    # A change costs a compilation, so weights that change again and again must be still for longer each time.
    FIRST_WAIT, LONGER = 8, 4

    def __init__(self, make: Callable[[dict[int, torch.Tensor]], Run], places: Sequence[int]) -> None:
        self.make = make
        self.places = list(places)
        self.marks: list[int] | None = None
        self.wait, self.calls = self.FIRST_WAIT, 0
        self.open: Run | None = None  # the program that takes weights as arguments
        self.run: Run | None = None
        self.watch = Watch([])
        self.lock = threading.Lock()

    def __call__(self, *inputs: Any) -> Any:
        held = [inputs[place] for place in self.places]
        try:
            marks = [*map(_version, held), *map(_address, held)]
        except RuntimeError:  # tensors of inference mode count no changes
            marks = None
        run = self.run
        if marks is None or marks != self.marks or run is self.open or self.watch.changed():
            with self.lock:
                run = self._chosen(inputs, marks)
        assert run is not None
        return run(*inputs)

    def _chosen(self, inputs: Sequence[Any], marks: list[int] | None) -> Run:
        """The program for these weights, compiled if there is none yet."""
        before, self.marks = self.marks, marks
        if marks is None:
            self.places, self.marks = [], []
            self.run = None
        elif before is None:
            self.run = self._constant(inputs)
        elif marks != before:
            self._changed(inputs, before, marks)
        elif self.watch.changed():
            self._opened()
        elif self.run is self.open:
            self.calls += 1
            if self.calls >= self.wait:
                self.wait *= self.LONGER
                self.run = self._constant(inputs)
        if self.run is None:
            if self.open is None:
                self.open = self.make({})
            self.run = self.open
        return self.run

    def _constant(self, inputs: Sequence[Any]) -> Run | None:
        fixed = {place: inputs[place] for place in self.places}
        self.watch = Watch([NDArray(_dense(tensor)) for tensor in fixed.values()])
        return self.make(fixed) if fixed else None

    def _changed(self, inputs: Sequence[Any], before: Sequence[int], marks: Sequence[int]) -> None:
        count = len(self.places)
        moved = [i for i in range(count) if (before[i], before[count + i]) != (marks[i], marks[count + i])]
        if self.run is not self.open and 2 * len(moved) <= count:
            kept = [i for i in range(count) if i not in set(moved)]
            self.places = [self.places[i] for i in kept]
            self.marks = [*(marks[i] for i in kept), *(marks[count + i] for i in kept)]
            self.run = self._constant(inputs)
        else:
            self._opened()

    def _opened(self) -> None:
        self.run, self.calls, self.watch = None, 0, Watch([])


def _dense(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor with its axes in the order of memory, so that a watch sees it without gaps."""
    data = tensor.detach()
    data = torch.view_as_real(data.resolve_conj()) if data.is_complex() else data
    return data.permute(sorted(range(data.dim()), key=data.stride, reverse=True))
