"""Values between scripts and executors: arguments in, results by TVM's classes out."""

from __future__ import annotations

from typing import Any

import relay as _relay
from relay import Constructor, IRModule, NDArray, Value

from ...runtime.container import ADT
from ...runtime.ndarray import array


class ConstructorValue:
    """A value of a data type: the constructor, its number, and the fields."""

    def __init__(self, tag: int, fields: Any, constructor: Any) -> None:
        self.tag = int(tag)
        self.fields = list(fields)
        self.constructor = constructor

    def __getitem__(self, index: int) -> Any:
        return self.fields[index]

    def __len__(self) -> int:
        return len(self.fields)

    def __iter__(self) -> Any:
        return iter(self.fields)

    def __repr__(self) -> str:
        name = getattr(self.constructor, "name_hint", self.constructor)
        return f"{name}({', '.join(map(repr, self.fields))})"


class RefValue:
    """A mutable cell and what it holds."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Closure:
    """A function that a program gave: call it."""

    def __init__(self, value: Value, mod: IRModule) -> None:
        self._value = value
        self._mod = mod

    def __call__(self, *args: Any) -> Any:
        return from_program(self._value(*(to_program(arg) for arg in args)), self._mod)


def from_program(result: Any, mod: IRModule) -> Any:
    """What `relay` gave, as scripts know it: arrays as NDArray, tuples as ADT, data values as ConstructorValue."""
    root: list[Any] = [None]
    work: list[tuple[Any, list[Any], int]] = [(result, root, 0)]
    while work:
        value, place, at = work.pop()
        if isinstance(value, (tuple, list)):
            made = ADT(0, [None] * len(value))
            place[at] = made
            work += [(field, made._fields, i) for i, field in enumerate(value)]
        elif isinstance(value, Value) and value.kind == "data":
            fields = value.fields
            data = ConstructorValue(value.tag, [None] * len(fields), _constructor(mod, value.constructor))
            place[at] = data
            work += [(field, data.fields, i) for i, field in enumerate(fields)]
        elif isinstance(value, Value):
            place[at] = Closure(value, mod) if value.kind == "closure" else RefValue(from_program(value.value, mod))
        else:
            place[at] = value if isinstance(value, NDArray) else array(value)
    return root[0]


def _constructor(mod: IRModule, name: str) -> Any:
    try:
        return mod.get_constructor(name)
    except (KeyError, _relay.RelayError):
        return name


def to_program(arg: Any) -> Any:
    """What a script passes, as `relay` takes it."""
    if isinstance(arg, (ConstructorValue, RefValue)):
        return _build(arg)
    if isinstance(arg, Closure):
        return arg._value
    if isinstance(arg, (ADT, tuple)):
        return tuple(to_program(field) for field in arg)
    if isinstance(arg, _relay.Constant):
        return arg.data
    return arg


def _build(value: ConstructorValue | RefValue) -> Any:
    """A value made by a script, made again by the evaluator: an expression of constructors around its arrays."""
    if isinstance(value, RefValue):
        raise NotImplementedError("a reference made by a script as an argument: write it in the program")
    order: list[ConstructorValue] = []
    stack = [value]
    while stack:
        top = stack.pop()
        order.append(top)
        stack += [field for field in top.fields if isinstance(field, ConstructorValue)]
    made: dict[int, Any] = {}
    for node in reversed(order):
        if not isinstance(node.constructor, Constructor):
            raise TypeError(f"the constructor of {node!r} is a name: give the relay.Constructor")
        fields = [made[id(f)] if isinstance(f, ConstructorValue) else to_program(f) for f in node.fields]
        made[id(node)] = _Data(node.constructor, fields)
    return made[id(value)]


def _Data(constructor: Constructor, fields: list[Any]) -> Any:  # noqa: N802
    make = getattr(_relay._core, "data_value", None)
    if make is None:
        raise NotImplementedError("data values made by a script as arguments: write them as expressions in the program")
    return make(constructor, fields)
