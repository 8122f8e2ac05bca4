"""What a branch does to objects that were there before it: found, undone, and given to the program as values that a condition chooses.

A tracer runs both branches of an `if`. Python would run one, so what a branch does to lists, dictionaries, attributes, closures and globals must
not reach the other one. `Watch` walks from the functions of the branches to all that they can reach, and reads it before and after each of them.
"""

from __future__ import annotations

import collections
import functools
import operator
import os
import site
import sys
import sysconfig
import types
import zlib
from typing import Any, Callable, Iterable, Iterator, NamedTuple

import numpy as np

from .array import Array, BaseArray, Tracer
from .places import TraceError, _is_ours
from .trace import Size

__all__ = ["Changes", "Watch"]

_MOST = 2_000_000
_MOST_BYTES = 1 << 26
_ATOMS = (int, float, complex, str, bytes, type(None), bool, range, slice, type(Ellipsis), BaseArray, Size, np.generic, types.BuiltinFunctionType)
_NO_NODES = frozenset([*_ATOMS, Array, Tracer])  # types whose values hold nothing that can be changed, told in one look
_LIBRARIES = tuple({os.path.join(path, "") for path in (sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), *site.getsitepackages())})
_PACKAGES = ("relay", "numpy", "tvm")


class State(NamedTuple):
    """What an object holds: keys (or how many), and the value of each."""

    keys: Any
    values: list[Any]

    def same(self, other: State) -> bool:
        """True if the same values are at the same keys."""
        return len(self.values) == len(other.values) and all(map(operator.is_, self.values, other.values)) and bool(self.keys == other.keys)


class _Kind(NamedTuple):
    what: str
    read: Callable[[Any], State]
    write: Callable[[Any, State], None]
    text: Callable[[Any], str]  # how a program names the value at a key


def _read_list(one: Any) -> State:
    values = list.__getitem__(one, slice(None))
    return State(range(len(values)), values)


def _read_dict(one: Any) -> State:
    return State(tuple(dict.keys(one)), list(dict.values(one)))


def _write_dict(one: Any, state: State) -> None:
    kind: Any = collections.OrderedDict if isinstance(one, collections.OrderedDict) else dict
    kind.clear(one)
    for key, value in zip(state.keys, state.values):
        kind.__setitem__(one, key, value)


def _write_set(one: Any, state: State) -> None:
    set.clear(one)
    set.update(one, state.keys)


def _write_deque(one: Any, state: State) -> None:
    one.clear()
    one.extend(state.values)


def _read_deque(one: Any) -> State:
    return State(range(len(one)), list(one))


def _read_cell(one: Any) -> State:
    try:
        return State(("",), [one.cell_contents])
    except ValueError:  # no value yet
        return State((), [])


def _write_cell(one: Any, state: State) -> None:
    if state.values:
        one.cell_contents = state.values[0]
    else:
        del one.cell_contents


def _read_name(one: Any) -> State:
    space, name = one
    return State(("",), [space[name]]) if name in space else State((), [])


def _write_name(one: Any, state: State) -> None:
    space, name = one
    if state.values:
        space[name] = state.values[0]
    else:
        space.pop(name, None)


def _read_class(one: Any) -> State:
    found = {name: value for name, value in vars(one).items() if not name.startswith("__")}
    return State(tuple(found), list(found.values()))


def _write_class(one: Any, state: State) -> None:
    for name in set(_read_class(one).keys) - set(state.keys):
        type.__delattr__(one, name)
    for name, value in zip(state.keys, state.values):
        if vars(one).get(name, one) is not value:
            type.__setattr__(one, name, value)


def _slots(kind: type) -> dict[str, Any]:
    found = [one for base in reversed(kind.__mro__) for one in vars(base).items()]
    return {name: value for name, value in found if isinstance(value, types.MemberDescriptorType)}


def _read_slots(one: Any) -> State:
    found = {}
    for name, slot in _slots(type(one)).items():
        try:
            found[name] = slot.__get__(one)
        except AttributeError:  # no value yet
            continue
    return State(tuple(found), list(found.values()))


def _write_slots(one: Any, state: State) -> None:
    values = dict(zip(state.keys, state.values))
    for name, slot in _slots(type(one)).items():
        if name in values:
            slot.__set__(one, values[name])
        elif name in _read_slots(one).keys:
            slot.__delete__(one)


def _read_bytes(one: Any) -> State:
    return State(bytes(one), [])


def _write_bytes(one: Any, state: State) -> None:
    one[:] = state.keys


def _read_array(one: Any) -> State:
    """The elements of an array that cannot be locked; a sum of them where they are many, which tells that they changed and not what they were."""
    return State(one.tobytes() if one.nbytes <= _MOST_BYTES else zlib.adler32(np.ascontiguousarray(one).data), [])


def _write_array(one: Any, state: State) -> None:
    if isinstance(state.keys, bytes):
        one[...] = np.frombuffer(state.keys, one.dtype).reshape(one.shape)


def _can_be_locked(one: Any) -> bool:
    """True if an array can be made read-only and writeable again: NumPy asks who owns the memory."""
    owner = one
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    if owner.base is None:
        return bool(owner.flags.writeable)
    try:
        return not memoryview(owner.base).readonly
    except TypeError:
        return False


def _read_turn(one: Any) -> State:
    """How far an iterator or generator has come, as far as it says so."""
    if isinstance(one, types.GeneratorType):
        frame = one.gi_frame
        return State((-1,), []) if frame is None else State((frame.f_lasti, *(id(value) for value in frame.f_locals.values())), [])
    try:
        return State((one.__length_hint__(),), [])
    except Exception:  # one that does not know
        return State((), [])


def _write_turn(one: Any, state: State) -> None:
    """An iterator does not go back: its change is an error."""


_LIST = _Kind("list", _read_list, lambda one, state: list.__setitem__(one, slice(None), state.values), lambda key: f"[{key}]")
_DICT = _Kind("dictionary", _read_dict, _write_dict, lambda key: f"[{key!r}]")
_SET = _Kind("set", lambda one: State(frozenset(one), []), _write_set, lambda key: f"[{key!r}]")
_DEQUE = _Kind("deque", _read_deque, _write_deque, lambda key: f"[{key}]")
_CELL = _Kind("variable", _read_cell, _write_cell, lambda key: "")
_NAME = _Kind("variable", _read_name, _write_name, lambda key: "")
_FIELDS = _Kind("object", _read_dict, _write_dict, lambda key: f".{key}")
_SLOTS = _Kind("object", _read_slots, _write_slots, lambda key: f".{key}")
_CLASS = _Kind("class", _read_class, _write_class, lambda key: f".{key}")
_BYTES = _Kind("bytearray", _read_bytes, _write_bytes, lambda key: "")
_ARRAY = _Kind("array of NumPy", _read_array, _write_array, lambda key: "")
_TURN = _Kind("iterator", _read_turn, _write_turn, lambda key: "")


class _Node(NamedTuple):
    one: Any
    kind: _Kind
    before: State
    path: Any  # a name, or a pair of the node that holds this one and the text behind it

    def label(self) -> str:
        parts: list[str] = []
        path = self.path
        while isinstance(path, tuple):
            parts.append(path[1])
            path = path[0].path
        return (path or "") + "".join(reversed(parts)) if path else f"a {self.kind.what}"


Changes = dict[int, State]


class Watch:
    """All that functions can reach. `handled` are cells of variables that the caller looks after."""

    def __init__(self, roots: Iterable[Any], handled: Iterable[Any] = ()) -> None:
        self._nodes: list[_Node] = []
        self._arrays: list[Any] = []
        self._seen: dict[Any, Any] = {}
        self._handled = {id(cell) for cell in handled}
        self._waiting: collections.deque[tuple[Any, Any]] = collections.deque((root, "") for root in roots)
        count = 0
        while self._waiting:
            value, path = self._waiting.popleft()
            if isinstance(value, _ATOMS) or id(value) in self._seen:
                continue
            self._seen[id(value)] = value
            count += 1
            if count > _MOST:
                raise TraceError(
                    f"the branches of a traced `if` reach more than {_MOST} objects, too many to see what they change: give them what they need as arguments"
                )
            self._visit(value, path)

    def run(self, branch: Callable[[], Any]) -> tuple[Any, Changes]:
        """What a branch gives, and what it changed, which is undone."""
        locked = [one for one in self._arrays if one.flags.writeable]
        for one in locked:
            one.flags.writeable = False
        changes: Changes | None = None
        try:
            result = branch()
            changes = self._changes()
        except ValueError as error:
            if locked and "read-only" in str(error):
                raise TraceError(
                    "a branch of a traced `if` writes into an array of NumPy, which would happen whatever the condition is: use an array of relay.numpy "
                    "and x = x.at[index].set(value)", _line(error)
                ) from None  # fmt: skip
            raise
        finally:
            for one in sorted(locked, key=lambda one: one.base is not None):  # owners first, which views ask
                one.flags.writeable = True
            self.put(self._changes() if changes is None else changes, back=True)
        return result, changes

    def within(self, changes: Changes, action: Callable[[], Any]) -> Any:
        """Does something while objects are as a branch left them."""
        if not changes:
            return action()
        self.put(changes)
        try:
            return action()
        finally:
            self.put(changes, back=True)

    def put(self, changes: Changes, back: bool = False) -> None:
        """Makes objects what they are after a branch, or what they were before it."""
        for place, state in changes.items():
            node = self._nodes[place]
            node.kind.write(node.one, node.before if back else state)

    def _changes(self) -> Changes:
        found = {}
        for place, node in enumerate(self._nodes):
            now = node.kind.read(node.one)
            if not node.before.same(now):
                found[place] = now
        return found

    def differing(self, first: Changes, second: Changes) -> Iterator[tuple[int, State, State, list[tuple[int, str]]]]:
        """Objects that two branches leave in different states: the node, both states with the same keys, and places and names of values that differ.

        Raises TraceError for what no choice of values can say.
        """
        for place in sorted({*first, *second}):
            node = self._nodes[place]
            a, b = first.get(place, node.before), second.get(place, node.before)
            if isinstance(a.keys, tuple) and a.keys != b.keys and node.kind is not _TURN and set(a.keys) == set(b.keys):
                values = dict(zip(b.keys, b.values))
                b = State(a.keys, [values[key] for key in a.keys])
            if node.kind is _TURN or a.keys != b.keys:
                raise TraceError(_refusal(node, a, b))
            differ = [(i, node.label() + node.kind.text(key)) for i, key in enumerate(a.keys) if a.values and a.values[i] is not b.values[i]]
            yield place, a, b, differ

    def turn(self, body: Callable[[], Any]) -> Any:
        """What a turn of a loop gives. Raises TraceError if it changes an object, which no loop carries."""
        result, changes = self.run(body)
        for place, state in changes.items():
            node = self._nodes[place]
            if node.kind is _CELL and str(node.path).startswith("_loop_"):
                continue  # a flag of a loop inside, which begins anew in each turn
            before = dict(zip(node.before.keys, node.before.values))
            keys = [key for key, value in zip(state.keys, state.values) if before.get(key, node) is not value] if state.values else []
            what = node.label() + (node.kind.text(keys[0]) if keys else "")
            raise TraceError(
                f"a turn of a loop over traced values changes {what}, which would happen once, whatever the number of turns: a loop carries variables. "
                "Take the value into a variable before the loop, change that, and put it back behind the loop"
            )
        return result

    # The walk.

    def _node(self, one: Any, kind: _Kind, path: Any) -> _Node:
        node = _Node(one, kind, kind.read(one), path)
        self._nodes.append(node)
        values = node.before.values
        if values and not _NO_NODES.issuperset(map(type, values)):
            for key, value in zip(node.before.keys, values):
                if not (type(value) in _NO_NODES or type(value) is tuple and _NO_NODES.issuperset(map(type, value))):
                    self._waiting.append((value, (node, kind.text(key))))
        return node

    def _children(self, values: Iterable[Any], path: Any) -> None:
        self._waiting.extend((value, path) for value in values if type(value) not in _NO_NODES)

    def _visit(self, value: Any, path: Any) -> None:
        if isinstance(value, types.FunctionType):
            self._function(value)
        elif isinstance(value, list):
            self._node(value, _LIST, path)
        elif isinstance(value, dict):
            self._node(value, _DICT, path)
        elif isinstance(value, (tuple, frozenset)):
            self._children(value, path)
        elif isinstance(value, set):
            self._children(self._node(value, _SET, path).before.keys, path)
        elif isinstance(value, collections.deque):
            self._node(value, _DEQUE, path)
        elif isinstance(value, bytearray):
            self._node(value, _BYTES, path)
        elif isinstance(value, np.ndarray):
            self._array(value, path)
        elif isinstance(value, type):
            self._class(value, path)
        elif isinstance(value, types.MethodType):
            self._children((value.__self__, value.__func__), path)
        elif isinstance(value, functools.partial):
            self._children((value.func, *value.args, *value.keywords.values()), path)
        elif isinstance(value, (staticmethod, classmethod)):
            self._children((value.__func__,), path)
        elif isinstance(value, property):
            self._children((value.fget, value.fset), path)
        elif isinstance(value, types.GeneratorType) or hasattr(type(value), "__next__") and hasattr(type(value), "__length_hint__"):
            self._node(value, _TURN, path)
        elif not isinstance(value, types.ModuleType):
            self._object(value, path)

    def _array(self, value: Any, path: Any) -> None:
        if not value.flags.writeable or value.dtype == object:
            return
        if _can_be_locked(value):
            self._arrays.append(value)  # read-only for a while, which costs nothing
        else:
            self._node(value, _ARRAY, path)

    def _object(self, value: Any, path: Any) -> None:
        kind = type(value)
        if kind.__module__.partition(".")[0] in _PACKAGES:
            # Objects of this package keep what they found out, such as programs; functions of the user's are in those that wrap them.
            fields = getattr(value, "__dict__", None) or {}
            self._children([fields.get(name) for name in ("_fn", "_converted", "__self__", "__func__")], path)
            return
        try:
            fields = object.__getattribute__(value, "__dict__")
        except AttributeError:
            fields = None
        if type(fields) is dict and id(fields) not in self._seen:
            self._seen[id(fields)] = fields
            self._node(fields, _FIELDS, path)
        if _slots(kind) and kind.__module__ != "builtins":
            self._node(value, _SLOTS, path)
        self._children((kind,), kind.__name__)

    def _class(self, value: Any, path: Any) -> None:
        name = value.__module__
        module = sys.modules.get(name) if isinstance(name, str) else None
        if module is None or not _is_user(getattr(module, "__file__", None) or name):
            return
        self._node(value, _CLASS, value.__name__)
        self._children(value.__bases__, path)

    def _function(self, value: Any) -> None:
        mine = _is_user(value.__code__.co_filename)
        self._children((*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()), "")
        for name, cell in zip(value.__code__.co_freevars, value.__closure__ or ()):
            shown = "" if name.startswith("_relay_") or not mine else name
            if id(cell) in self._seen:
                continue
            self._seen[id(cell)] = cell
            if mine and id(cell) not in self._handled:
                self._node(cell, _CELL, shown)
            else:
                self._children(_read_cell(cell).values, shown)
        if not mine:
            self._children((value.__dict__.get("__wrapped__"),), "")
            return
        self._node(value.__dict__, _FIELDS, value.__name__)
        self._names(value.__globals__, _names(value.__code__))

    def _names(self, space: dict[str, Any], names: frozenset[str]) -> None:
        """Variables of modules that code names, and those of modules that it names."""
        for name in names:
            key = (id(space), name)
            if key in self._seen:
                continue
            self._seen[key] = space
            value = space.get(name)
            if isinstance(value, types.ModuleType):
                if _is_user(getattr(value, "__file__", None) or value.__name__):
                    self._names(vars(value), names)
            else:
                self._node((space, name), _NAME, name)


def _is_user(name: str) -> bool:
    """True for files that are neither this package's, nor the standard library's, nor those of an installed package."""
    known = _users.get(name)
    if known is None:
        inner = name in sys.builtin_module_names or name in sys.stdlib_module_names or name.startswith("<frozen")
        known = _users[name] = not (inner or _is_ours(name) or os.path.abspath(name).startswith(_LIBRARIES))
    return known


_users: dict[str, bool] = {}
_named: dict[int, tuple[Any, frozenset[str]]] = {}


def _names(code: types.CodeType) -> frozenset[str]:
    known = _named.get(id(code))
    if known is not None:
        return known[1]
    found: set[str] = set()
    waiting = [code]
    while waiting:
        one = waiting.pop()
        found.update(one.co_names)
        waiting.extend(inner for inner in one.co_consts if isinstance(inner, types.CodeType))
    if len(_named) > 4096:
        _named.clear()
    _named[id(code)] = (code, frozenset(found))
    return _named[id(code)][1]


def _line(error: BaseException) -> tuple[str, int, str] | None:
    """The innermost line of the user's that an error passed through."""
    found, step = None, error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        if not _is_ours(code.co_filename):
            found = code.co_filename, step.tb_lineno, code.co_name
        step = step.tb_next
    return found


def _refusal(node: _Node, a: State, b: State) -> str:
    what = node.label()
    start = "a traced condition decides what is done to "
    if node.kind in (_LIST, _DEQUE):
        return (f"{start}{what}, which has {len(a.values)} elements after one branch and {len(b.values)} after the other: both must leave as many. "
                "Append in both branches, or append one value that the condition chooses, as `a if condition else b`")  # fmt: skip
    if node.kind is _TURN:
        return f"{start}{what}: an iterator gives its next element in both branches. Take the element before the `if`"
    if node.kind in (_SET, _BYTES, _ARRAY):
        return (f"{start}{what}: no program can choose between two contents of one {node.kind.what}. Keep an array of bool or numbers instead, "
                "and choose that")  # fmt: skip
    keys = [f"{what}{node.kind.text(key)}" for key in [*[one for one in a.keys if one not in b.keys], *[one for one in b.keys if one not in a.keys]]]
    return f"{start}{', '.join(keys[:4])}, which one branch alone leaves with a value: give it one before the `if`, or in both branches"
