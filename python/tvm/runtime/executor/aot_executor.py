"""The module of a program that was built for TVM's AOT executor. Every program is compiled ahead of time here, so it is a GraphModule."""

from __future__ import annotations

from typing import Any

from ... import _absent
from ...contrib.graph_executor import GraphModule

__all__ = ["AotModule"]


class AotModule(GraphModule):
    """A compiled program, its inputs and its last outputs: made of ``lib["default"](device)``."""

    def get_num_inputs(self) -> int:
        """How many inputs there are. Constants are none."""
        return len(self._names)

    def get_input_name(self, index: int) -> str:
        """The name of an input by its number. Raises IndexError."""
        return self._names[self._at(int(index))]


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
