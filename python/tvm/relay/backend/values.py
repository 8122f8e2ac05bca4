"""Values between scripts and executors: arguments in, results by TVM's classes out."""

from __future__ import annotations

from typing import Any

import relay as _relay
from relay import Constructor, IRModule, NDArray, Value

from ...runtime.container import ADT
from ...runtime.ndarray import array


class _Text(str):
    """A piece of a representation, beside values that are texts."""


class ConstructorValue(ADT):
    """A value of a data type: the constructor, its number, and the fields. It is an ADT, as which TVM's virtual machine gives it."""

    def __init__(self, tag: int, fields: Any, constructor: Any) -> None:
        super().__init__(tag, fields)
        self.constructor = constructor

    @property
    def fields(self) -> list[Any]:
        """The fields, in order; the list is the value's own."""
        return self._fields

    def __repr__(self) -> str:
        """Constructors with their fields, outside in, as far as they fit a few lines: a list may be long, and deep."""
        most = 400
        parts: list[str] = []
        length = 0
        work: list[Any] = [self]
        while work and length < most:
            item = work.pop()
            if isinstance(item, ConstructorValue):
                fields = [part for field in item.fields for part in (_Text(", "), field)][1:]
                work += [_Text(")"), *reversed(fields), _Text("(")]
                text = str(getattr(item.constructor, "name_hint", item.constructor))
            else:
                text = str(item) if isinstance(item, _Text) else repr(item)
            parts.append(text)
            length += len(text)
        return "".join(parts) + ("…" if work else "")


class RefValue:
    """A mutable cell and what it holds: what a program writes to it is seen here."""

    def __init__(self, value: Any, _cell: Any = None, _mod: Any = None) -> None:
        self._held = value
        self._cell = _cell  # the program's own, once there is one
        self._mod = _mod

    @property
    def value(self) -> Any:
        """The value that it holds now."""
        return self._held if self._cell is None else from_program(self._cell.value, self._mod)

    @value.setter
    def value(self, new: Any) -> None:
        if self._cell is None:
            self._held = new
        else:
            self._cell.value = to_program(new, None, self._mod)

    def _enter(self, fields: list[Any]) -> Any:
        if self._cell is None:
            self._cell, self._held = _relay._core.reference_value(fields[0]), None
        return self._cell


class Closure:
    """A function that a program gave: call it."""

    def __init__(self, value: Value, mod: IRModule) -> None:
        self._value = value
        self._mod = mod

    def __call__(self, *args: Any) -> Any:
        return from_program(self._value(*(to_program(arg) for arg in args)), self._mod)


def from_program(result: Any, mod: IRModule | None) -> Any:
    """The result of `relay`, as scripts know it: arrays as NDArray, tuples as ADT, data values as ConstructorValue."""
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
            work += [(field, data._fields, i) for i, field in enumerate(fields)]
        elif isinstance(value, Value):
            owner: Any = mod
            place[at] = Closure(value, owner) if value.kind == "closure" else RefValue(None, value, mod)
        else:
            place[at] = value if isinstance(value, NDArray) else array(value)
    return root[0]


def _constructor(mod: IRModule | None, name: str) -> Any:
    if mod is None:
        return name
    try:
        return mod.get_constructor(name)
    except (KeyError, _relay.RelayError):
        return name


def to_program(arg: Any, wanted: Any = None, mod: IRModule | None = None, strict: bool = False) -> Any:
    """The argument of a script, as `relay` takes it. `wanted`, its type, says what the tag of an ADT means.

    Data values and references are compared with their type whole, since compiled programs do not look into them; with `strict`, their
    type has to be known. Raises TypeError for a tag or a constructor that the type has not, RelayError for a field that does not have
    its type, ValueError for a value that contains itself.
    """
    if not isinstance(arg, (ADT, ConstructorValue, RefValue, tuple)):
        return _leaf(arg)
    made: dict[Any, Any] = {}
    parts: dict[Any, tuple[Any, list[tuple[Any, Any]]]] = {}  # also keeps alive what the keys are the numbers of
    stack = [(arg, wanted)]
    while stack:
        item, kind = stack[-1]
        key = (id(item), kind)
        if key in made:
            stack.pop()
            continue
        opened = key in parts
        if not opened:
            parts[key] = _parts(item, kind, mod, strict)
        build, fields = parts[key]
        missing = [field for field in fields if (id(field[0]), field[1]) not in made]
        if not missing:
            made[key] = build([made[id(field), field_kind] for field, field_kind in fields])
            stack.pop()
        elif opened:
            raise ValueError("the value contains itself")
        else:
            stack += missing
    return made[id(arg), wanted]


def _leaf(arg: Any) -> Any:
    if isinstance(arg, Closure):
        return arg._value
    return arg.data if isinstance(arg, _relay.Constant) else arg


def _refuse(wanted: Any, found: Any) -> _relay.RelayError:
    return _relay.RelayError(f"error: expected {wanted}, found {found}")


def _array_of(leaf: Any, wanted: Any) -> Any:
    """A number or array that has the type. Raises RelayError."""
    if isinstance(leaf, Value) or leaf is None:
        raise _refuse(wanted, leaf)
    plain = isinstance(leaf, (bool, int, float, list))
    made = NDArray(leaf, wanted.dtype) if plain else leaf if isinstance(leaf, NDArray) else NDArray(leaf)
    extents = [extent if isinstance(extent, int) else None for extent in wanted.shape]
    fits = len(extents) == len(made.shape) and all(want in (None, have) for want, have in zip(extents, made.shape))
    if not fits or made.dtype != wanted.dtype:
        raise _refuse(wanted, f"Tensor[({', '.join(map(str, made.shape))}), {made.dtype}]")
    return made


def _parts(item: Any, wanted: Any, mod: IRModule | None, strict: bool) -> tuple[Any, list[tuple[Any, Any]]]:
    """How a value is made of its fields, and these with their types."""
    known = isinstance(wanted, (_relay.TensorType, _relay.TupleType, _relay.TypeCall, _relay.RefType, _relay.FuncType))
    if isinstance(item, RefValue):
        _need(known, strict, item)
        if known and not isinstance(wanted, _relay.RefType):
            raise _refuse(wanted, "a reference")
        return item._enter, [(item.value, wanted.value if known else None)]
    if isinstance(item, ConstructorValue) or isinstance(item, ADT) and isinstance(wanted, _relay.TypeCall):
        _need(known, strict, item)
        constructor, types = _constructor_of(item, wanted, mod)
        if known and (not isinstance(wanted, _relay.TypeCall) or wanted.func != constructor.belong_to):
            raise _refuse(wanted, constructor.belong_to.name_hint)
        return lambda fields: _relay._core.data_value(constructor, fields), list(zip(item.fields, types))
    if isinstance(item, (ADT, tuple)):
        fields = list(item)
        if isinstance(item, ADT) and item.tag != 0:
            raise TypeError(f"an ADT of tag {item.tag} was given for {wanted or 'a type that is not known'}, which is no data type")
        if known and not (isinstance(wanted, _relay.TupleType) and len(wanted.fields) == len(fields)):
            raise _refuse(wanted, f"a tuple of {len(fields)} fields")
        return tuple, list(zip(fields, wanted.fields if known else [None] * len(fields)))
    leaf = _leaf(item)
    if isinstance(wanted, _relay.TensorType):
        return lambda _: _array_of(leaf, wanted), []
    if known and not (isinstance(leaf, Value) and leaf.kind == ("closure" if isinstance(wanted, _relay.FuncType) else "reference")):
        raise _refuse(wanted, f"{type(item).__name__}")
    return lambda _: leaf, []


def _need(known: bool, strict: bool, item: Any) -> None:
    if strict and not known:
        raise TypeError(f"the type that {item!r} should have is not known here: pass it to an executor that has the program's module")


def _constructor_of(item: Any, wanted: Any, mod: IRModule | None) -> tuple[Constructor, list[Any]]:
    """The constructor of a value, and the types of its fields as far as they are known."""
    data = None
    if isinstance(wanted, _relay.TypeCall) and mod is not None:
        try:
            data = mod.type_data(wanted.func)
        except KeyError:
            pass
    constructor = getattr(item, "constructor", None)
    if constructor is None:
        choices = data.constructors if data is not None else []
        if not 0 <= item.tag < len(choices):
            raise TypeError(f"{wanted} has no constructor of tag {item.tag}")
        constructor = choices[item.tag]
    elif not isinstance(constructor, Constructor):
        if mod is None:
            raise TypeError(f"the constructor of {item!r} is a name: give the relay.Constructor")
        constructor = mod.get_constructor(constructor)
    if len(item.fields) != len(constructor.inputs):
        raise TypeError(f"{constructor.name_hint} takes {len(constructor.inputs)} fields, not {len(item.fields)}")
    known = dict(zip(data.type_vars, wanted.args)) if data is not None else {}
    return constructor, [_with(known, field) for field in constructor.inputs]


def _with(known: dict[Any, Any], kind: Any) -> Any:
    """The type of a field with the arguments of its data type in place of the parameters; None where it tells nothing."""
    if isinstance(kind, _relay.TypeVar):
        return known.get(kind)
    if isinstance(kind, _relay.TypeCall):
        args = [_with(known, arg) for arg in kind.args]
        return _relay.TypeCall(kind.func, args) if None not in args else None
    if isinstance(kind, _relay.TupleType):
        fields = [_with(known, field) for field in kind.fields]
        return _relay.TupleType(fields) if None not in fields else None
    return kind
