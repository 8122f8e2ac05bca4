"""Operators that scripts declare bit by bit, as TVM's registry takes them: `register`, then `get(name).add_type_rel(...)` and the like.

Each bit changes the operator in place, so that whoever holds it sees all of them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import relay
from relay import Op, Type
from relay.op import registration


@dataclasses.dataclass
class Staged:
    """The statements about an operator so far."""

    name: str
    doc: str
    num_inputs: int | None = None
    arguments: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    attrs_type: str | None = None
    relation: str | Callable[..., Type | None] | None = None
    stateful: bool = False
    level: int = 10
    op: Op | None = None
    compute: Callable[..., Any] | None = None
    strategy: Callable[..., Any] | None = None

    def inputs(self) -> list[relay.op.Input]:
        """Its inputs, those without a name numbered."""
        count = self.num_inputs if self.num_inputs is not None else len(self.arguments)
        names = [name for name, _ in self.arguments[:count]]
        names += [f"arg{i}" for i in range(len(names), count)]
        docs = dict(self.arguments)
        return [relay.op.Input(name, docs.get(name, "")) for name in names]

    def type_of(self, call: Any, *types: Type, **attrs: Any) -> Type | None:
        """The type of a call's result, by the script's function."""
        if self.relation is None:
            raise ValueError(f"{self.name} has no type relation: relay.op.get({self.name!r}).add_type_rel gives it one")
        assert callable(self.relation)
        return self.relation(list(types), call.attrs)

    def definition(self, builder: relay.te.Builder, *_: Any, **attrs: Any) -> Any:
        """The computation of a call, by what the script attached as FTVMStrategy or FTVMCompute."""
        from ...ir import make_node
        from ...target import Target
        from ...te import expressions
        from .implementations import chosen

        def by_strategy(attrs: Any, inputs: Any, out_type: Any) -> Any:
            assert self.strategy is not None
            with Target.current(allow_none=True) or Target("llvm") as target:
                return chosen(self.strategy(attrs, inputs, out_type, target), self.name).compute(attrs, inputs, out_type)

        given = make_node(self.attrs_type, **attrs) if self.attrs_type is not None else None
        function = self.compute if self.strategy is None else by_strategy
        assert function is not None
        return expressions.build(function, builder, given, [one.name for one in self.inputs()], self.name)

    def declare(self) -> None:
        """Makes it the operator of its name."""

        def kernel(*_: Any, **attrs: Any) -> Any:
            raise NotImplementedError(f"{self.name} has no definition: declare it by register of the package relay to run it")

        made = relay.op.register(self.name, inputs=self.inputs(), relation=self.type_of, kernel=kernel, level=self.level, doc=self.doc)
        self.op = made.op  # type: ignore[attr-defined]
        STAGED[self.name] = self

    def amend(self) -> None:
        """Says anew what it is."""
        relation = self.relation if isinstance(self.relation, str) else self.type_of
        registration._amend(
            self.name, inputs=self.inputs(), attrs_type=self.attrs_type, relation=relation, level=self.level, pure=not self.stateful,
            doc=self.doc, compute=self.definition if self.compute is not None or self.strategy is not None else None,
        )


STAGED: dict[str, Staged] = {}


def set_compute(op: Op, value: Any, level: int) -> None:
    """Defines an operator that a script registers by what is attached to it as FTVMCompute. Others have definitions."""
    if is_staged(op.name) and value is not None:
        record = staged(op)
        record.compute = value
        record.amend()


def set_strategy(op: Op, value: Any, level: int) -> None:
    """Defines an operator that a script registers by what is attached to it as FTVMStrategy. Others have definitions."""
    if is_staged(op.name) and value is not None:
        record = staged(op)
        record.strategy = value
        record.amend()


def is_staged(name: str) -> bool:
    """True if an operator is one that a script registers bit by bit, and is still registered."""
    record, declared = STAGED.get(name), registration._declared.get(name)
    return record is not None and declared is not None and declared.op is record.op


def staged(op: Op) -> Staged:
    """The record of an operator that a script registers. Raises TypeError for others."""
    found = STAGED.get(op.name)
    if found is None or found.op is not op or not is_staged(op.name):
        raise TypeError(f"operator {op.name} is declared already: only what relay.op.register has made takes more")
    return found


def set_num_inputs(self: Op, n: int) -> None:
    """How many inputs it has."""
    record = staged(self)
    record.num_inputs = n
    record.amend()


def add_argument(self: Op, name: str, type: str, description: str) -> None:
    """The next input."""
    record = staged(self)
    record.arguments.append((name, description))
    record.amend()


def add_type_rel(self: Op, rel_name: str, type_rel_func: Callable[..., Type | None] | None = None) -> None:
    """The type relation: a shared one by name, or a function of the input types and the attributes."""
    record = staged(self)
    old, record.relation = record.relation, rel_name if type_rel_func is None else type_rel_func
    try:
        record.amend()
    except ValueError:
        record.relation = old
        raise


def set_support_level(self: Op, level: int) -> None:
    """TVM's support level."""
    record = staged(self)
    record.level = level
    record.amend()


def set_attrs_type_key(self: Op, key: str) -> None:
    """The type of its attributes: ``DictAttrs``, or that of an operator's, such as ``relay.attrs.SoftmaxAttrs``. Raises ValueError for others."""
    record = staged(self)
    old, record.attrs_type = record.attrs_type, key
    try:
        record.amend()
    except Exception:
        record.attrs_type = old
        raise
