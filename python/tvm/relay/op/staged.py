"""Operators that scripts declare bit by bit, as TVM's registry takes them: `register`, then `get(name).add_type_rel(...)` and the like.

An operator of relay is one declaration: each bit declares it anew.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import relay
from relay import Call, Op, Type


@dataclasses.dataclass
class Staged:
    """What has been said of an operator so far."""

    name: str
    doc: str
    num_inputs: int | None = None
    arguments: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    relation: str | Callable[..., Type | None] | None = None
    gradient: Callable[..., Any] | None = None
    level: int = 10

    def declare(self) -> None:
        """Makes it the operator of its name."""
        count = self.num_inputs if self.num_inputs is not None else len(self.arguments)
        names = [name for name, _ in self.arguments[:count]]
        names += [f"arg{i}" for i in range(len(names), count)]
        docs = dict(self.arguments)

        def relation(call: Any, *types: Type) -> Type | None:
            if self.relation is None:
                raise ValueError(f"{self.name} has no type relation: relay.op.get({self.name!r}).add_type_rel gives it one")
            assert callable(self.relation)
            return self.relation(list(types), call.attrs)

        def kernel(*_: Any) -> Any:
            raise NotImplementedError(f"{self.name} has no definition: declare it by register of the package relay to run it")

        def gradient(call: Any, *grads: Any) -> Any:
            assert self.gradient is not None
            return self.gradient(Call(call.op, call.args, call.attrs), grads[0] if len(grads) == 1 else relay.Tuple(list(grads)))

        if self.name in STAGED:
            relay.op.unregister(self.name)
            del STAGED[self.name]
        relay.op.register(
            self.name,
            inputs=[relay.op.Input(name, docs.get(name, "")) for name in names],
            relation=self.relation if isinstance(self.relation, str) else relation,
            kernel=kernel,
            gradient=gradient if self.gradient is not None else None,
            pure=True,
            level=self.level,
            doc=self.doc,
        )
        STAGED[self.name] = self


STAGED: dict[str, Staged] = {}


def staged(op: Op) -> Staged:
    """The record of an operator that a script registers. Raises TypeError for others."""
    found = STAGED.get(op.name)
    if found is None:
        raise TypeError(f"operator {op.name} is declared already: only what relay.op.register has made takes more")
    return found


def set_num_inputs(self: Op, n: int) -> None:
    """How many inputs it has."""
    record = staged(self)
    record.num_inputs = n
    record.declare()


def add_argument(self: Op, name: str, type: str, description: str) -> None:
    """The next input."""
    record = staged(self)
    record.arguments.append((name, description))
    record.declare()


def add_type_rel(self: Op, rel_name: str, type_rel_func: Callable[..., Type | None] | None = None) -> None:
    """The type relation: a shared one by name, or a function of the input types and the attributes."""
    record = staged(self)
    old, record.relation = record.relation, rel_name if type_rel_func is None else type_rel_func
    try:
        record.declare()
    except ValueError:
        record.relation = old
        record.declare()
        raise


def set_support_level(self: Op, level: int) -> None:
    """TVM's support level."""
    record = staged(self)
    record.level = level
    record.declare()


def add_gradient(op_name: str, fgradient: Callable[..., Any]) -> None:
    """Gives an operator of a script its gradient; nothing for others."""
    record = STAGED.get(op_name)
    if record is not None:
        record.gradient = fgradient
        record.declare()
