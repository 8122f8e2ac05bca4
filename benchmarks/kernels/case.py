"""One measured kernel: a Relay program and the same computation of a peer."""

import dataclasses
from typing import Callable, Optional


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    relay: str  # program text with @main
    inputs: tuple  # shapes, in the order of @main's parameters
    torch: Callable  # of the module torch, gives a function of the inputs
    params: tuple = ()  # the names of the last parameters of @main, which are constants of the compile
    bytes: int = 0  # read and written at least once, for the comparison with streaming bandwidth
    prepare: Optional[Callable] = None  # of a random generator, gives the inputs; float32 in [-0.5, 0.5) without
    adapt: Optional[Callable] = None  # of torch and the peer's inputs, gives what it is timed on
    ours: Callable = list  # of the results' arrays, gives those that are compared
    theirs: Callable = list
    tolerance: float = 1e-5  # relative to the greatest element

    def arrays(self, rng):
        """The inputs as NumPy arrays."""
        if self.prepare:
            return self.prepare(rng)
        return [(rng.random(shape, dtype="float32") - 0.5) for shape in self.inputs]


def tensor(shape, dtype="float32"):
    return f"Tensor[({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''}), {dtype}]"
