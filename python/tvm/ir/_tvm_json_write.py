"""Writes JSON documents in the layout of TVM's `save_json`: a list of nodes that refer to each other by number.

What TVM's layout has no place for, such as where-clauses, kinds of type parameters and arrays of other dtypes, raises UnwritableError.
"""

from __future__ import annotations

import base64
import json
import math
from typing import Any

import relay as _relay
from relay import Dim, Expr, Pattern, Type, _core
from relay.ty import TypeKind

from ._tvm_json import DEEPEST, LARGEST, MOST, fields_of
from .members import module_attrs, written_annotation, written_result
from .ranges import Range
from .type_args import written_type_args

# The parts of a node of a program: the fields that refer to one node, and behind a star to a list.
_PARTS: dict[str, tuple[str, ...]] = {
    "Call": ("op", "*args"), "Tuple": ("*fields",), "TupleGetItem": ("tuple_value",), "RefCreate": ("value",), "RefRead": ("ref",), "RefWrite": ("ref", "value"),
    "If": ("cond", "true_branch", "false_branch"), "Match": ("data", "*clauses"), "Let": ("var", "value", "body"), "Clause": ("lhs", "rhs"),
    "Function": ("*params", "body", "ret_type", "*type_params"), "Constructor": ("*inputs", "belong_to"), "PatternVar": ("var",),
    "PatternConstructor": ("constructor", "*patterns"), "PatternTuple": ("*patterns",), "PatternWildcard": (), "TupleType": ("*fields",),
    "FuncType": ("*arg_types", "ret_type", "*type_params"), "RefType": ("value",), "TypeCall": ("func", "*args"), "TypeData": ("header", "*type_vars", "*constructors"),
}  # fmt: skip
# Keys of types outside of Relay's name space.
_PLAIN = {"TupleType", "FuncType", "TypeVar", "GlobalTypeVar", "TypeCall", "IncompleteType", "GlobalVar", "Op"}
_TEXT_FROM = 1 << 16  # elements of an array of equal numbers from which on it is written as the text that it has in a program


class UnwritableError(Exception):
    """Something that TVM's layout has no place for."""


class _Writer:
    def __init__(self) -> None:
        from ..target.virtual_device import VirtualDevice

        self.device = VirtualDevice
        self.nodes: list[dict[str, Any]] = [{"type_key": ""}]
        self.arrays: list[str] = []
        self.written: dict[Any, int] = {}
        self.kept: list[Any] = []  # objects whose identity is a key above
        self.fields: dict[str, dict[str, str]] = {}
        self.terms: dict[Any, int] = {}  # names of extents
        self.sizes: dict[int, tuple[int, int]] = {}  # of containers and attributes: how many elements they have in all, and how deep they are
        self.elements = 0
        self.open: set[int] = set()  # containers that are being written, by identity
        self.has_types = self.lost_types = False
        self.is_module = False
        self.in_attrs = False

    def add(self, type_key: str, attrs: dict[str, Any] | None = None, **more: Any) -> int:
        self.nodes.append({"type_key": type_key, **({} if attrs is None else {"attrs": {name: str(value) for name, value in attrs.items()}}), **more})
        return len(self.nodes) - 1

    def once(self, type_key: str, attrs: dict[str, Any] | None = None, **more: Any) -> int:
        """A node that is a value: one that is equal is written once."""
        key = ("value", type_key, repr(attrs), repr(more))
        if key not in self.written:
            self.written[key] = self.add(type_key, attrs, **more)
        return self.written[key]

    def texts(self, text: str) -> int:
        key = ("text", text)
        if key not in self.written:
            self.written[key] = self.add("runtime.String", repr_str=text)
        return self.written[key]

    def array(self, numbers: list[int]) -> int:
        return self.once("Array", data=numbers) if numbers else self.once("Array")

    # ---- Programs ----

    def literal(self, node: Any) -> int:
        """A number that takes the dtype of its context: a constant of the dtype that TVM gives it, which says what it was."""
        value = node.value
        if not isinstance(value, float) and not -(2**63) <= value < 2**63:
            raise UnwritableError("an integer of more than 64 bits")
        made = _relay.const(value, None if isinstance(value, float) or -(2**31) <= value < 2**31 else "int64", node.span)
        self.kept.append(made)
        number = self.write(made)
        self.nodes[number]["attrs"]["literal"] = json.dumps(value)
        return number

    @staticmethod
    def name_of(node: Any) -> str:
        for cls in type(node).__mro__:
            if cls.__name__ in _PARTS or cls.__name__ in ("Var", "Constant", "GlobalVar", "Op", "TensorType", "BaseType", "TypeVar", "GlobalTypeVar", "IncompleteType"):
                return cls.__name__
        raise UnwritableError(type(node).__name__)

    def parts(self, node: Any) -> list[tuple[str, Any]]:
        """The fields of a node with the nodes that they refer to."""
        found = []
        for name in _PARTS.get(self.name_of(node), ()):
            field = name.removeprefix("*")
            value = written_result(node) if field == "ret_type" and isinstance(node, _relay.Function) else getattr(node, field)
            found.append((name, list(value) if name.startswith("*") else value))
        if isinstance(node, _relay.Var):
            found.append(("type_annotation", written_annotation(node)))
        return found

    def write(self, root: Any) -> int:
        """The number of a node of a program; parts come before it, on a stack of its own."""
        stack: list[tuple[Any, Any]] = [(root, None)]
        while stack:
            node, parts = stack.pop()
            if self.identity(node) in self.written:
                continue
            if parts is not None:
                self.written[self.identity(node)] = self.node(node, parts)
                continue
            if isinstance(node, _core.Literal):
                self.kept.append(node)
                self.written[self.identity(node)] = self.literal(node)
                continue
            parts = self.parts(node)
            self.kept += [node, parts]
            stack.append((node, parts))
            for name, value in reversed(parts):
                stack += [(each, None) for each in reversed(value if name.startswith("*") else [] if value is None else [value])]
        return self.written[self.identity(root)]

    @staticmethod
    def identity(node: Any) -> Any:
        if isinstance(node, (_relay.Op, _relay.GlobalVar)):
            return type(node).__name__, node.name if isinstance(node, _relay.Op) else node.name_hint
        # Types are compared by what they are: each access gives another object.
        return ("type", node) if isinstance(node, Type) else ("node", id(node))

    def node(self, node: Any, parts: list[tuple[str, Any]]) -> int:
        kind = self.name_of(node)
        if kind == "Op":
            return self.add("Op", repr_str=node.name)
        fields: dict[str, Any] = {}
        if isinstance(node, Expr):
            fields = {"_checked_type_": self.checked(node), "span": self.span(node.span)}
            if kind not in ("GlobalVar", "Constructor"):
                fields["virtual_device_"] = 0
        elif isinstance(node, (Type, Pattern)) or kind in ("Clause", "TypeData"):
            fields = {"span": 0}
        for name, value in parts:
            numbers = [self.written[self.identity(each)] for each in (value if name.startswith("*") else [] if value is None else [value])]
            fields[name.removeprefix("*")] = self.array(numbers) if name.startswith("*") else numbers[0] if numbers else 0
        more = getattr(self, "_" + kind.lower(), None)
        if more is not None:
            fields.update(more(node))
        key = {"BaseType": "TensorType", "RefType": "RefType"}.get(kind, kind)
        return self.add(key if key in _PLAIN else "relay." + key, fields)

    def checked(self, node: Any) -> int:
        """The type of a function that has one: it says that the program is typed, and a reader infers the rest."""
        if not isinstance(node, _relay.Function):
            return 0
        try:
            number = self.write(node.checked_type)
            self.has_types = True
            return number
        except UnwritableError:
            self.lost_types = True
        except (ValueError, AttributeError, _relay.RelayError):
            pass
        return 0

    def span(self, span: Any) -> int:
        if not span.known:
            return 0
        name = str(span.source_name)
        key = ("source", name)
        if key not in self.written:
            self.written[key] = self.add("SourceName", repr_str=name)
        place = {"line": span.line, "end_line": span.end_line, "column": span.column, "end_column": span.end_column}
        return self.once("Span", {"source_name": self.written[key], **place})

    def _var(self, node: Any) -> dict[str, Any]:
        return {"vid": self.add("relay.Id", {"name_hint": self.texts(node.name_hint)})}

    def _globalvar(self, node: Any) -> dict[str, Any]:
        return {"name_hint": self.texts(node.name_hint)}

    def _constant(self, node: Any) -> dict[str, Any]:
        from ..runtime.params import array_record

        if math.prod(node.data.shape) >= _TEXT_FROM:
            text = _core.print_short(node)
            if text.startswith("Constant("):  # equal numbers, which need no memory of their own
                return {"text": self.texts(text)}
        try:
            record = array_record(node.data)
        except (TypeError, ValueError, _relay.RelayError):
            raise UnwritableError(str(node.data.dtype)) from None
        self.arrays.append(base64.b64encode(record).decode())
        return {"data": len(self.arrays) - 1}

    def _call(self, node: Any) -> dict[str, Any]:
        given = written_type_args(node) or []
        attrs = 0 if node.attrs is None else self.used(self.op_attrs(node.attrs))
        return {"attrs": attrs, "type_args": self.array([self.write(each) for each in given])}

    def _tuplegetitem(self, node: Any) -> dict[str, Any]:
        return {"index": int(node.index)}

    def _match(self, node: Any) -> dict[str, Any]:
        return {"complete": int(node.complete)}

    def _function(self, node: Any) -> dict[str, Any]:
        if node.type_constraints or any(each.kind != TypeKind.Type for each in node.type_params):
            raise UnwritableError("kinds of type parameters, and where-clauses")
        return {"attrs": 0 if not node.attrs else self.used(self.dict_attrs(entries(node.attrs)))}

    def _constructor(self, node: Any) -> dict[str, Any]:
        if not self.is_module:
            raise UnwritableError("a constructor, which is that of a module, without one")
        return {"name_hint": self.texts(node.name_hint), "tag": node.tag if node.tag is not None else -1}

    # ---- Types ----

    def _tensortype(self, node: Any) -> dict[str, Any]:
        if not isinstance(node, _relay.BaseType) and not isinstance(node.dtype, str):
            raise UnwritableError("an open dtype")
        if isinstance(node.shape, Type):
            raise UnwritableError("an open shape")
        return {"dtype": str(node.dtype), "shape": self.array([self.extent(extent) for extent in node.shape])}

    _basetype = _tensortype

    def _typevar(self, node: Any) -> dict[str, Any]:
        if node.kind != TypeKind.Type:
            raise UnwritableError("kinds of type parameters")
        return {"name_hint": self.texts(node.name_hint), "kind": 0}

    def _globaltypevar(self, node: Any) -> dict[str, Any]:
        return {"name_hint": self.texts(node.name_hint), "kind": 5}

    def _incompletetype(self, node: Any) -> dict[str, Any]:
        return {"kind": 0}

    def _functype(self, node: Any) -> dict[str, Any]:
        if node.type_constraints or any(each.kind != TypeKind.Type for each in node.type_params):
            raise UnwritableError("kinds of type parameters, and where-clauses")
        return {"type_constraints": self.array([])}

    def _typedata(self, node: Any) -> dict[str, Any]:
        if getattr(node, "is_extern", False):
            raise UnwritableError("a data type without a definition")
        return {}

    def number(self, value: int) -> int:
        if not -(2**63) <= value < 2**63:
            raise UnwritableError("an integer of more than 64 bits")
        key = ("number", int(value))
        if key not in self.written:
            self.written[key] = self.once("IntImm", {"dtype": "int32" if -(2**31) <= value < 2**31 else "int64", "span": 0, "value": int(value)})
        return self.written[key]

    def extent(self, extent: Any) -> int:
        """A number, `?`, a name, or a term."""
        if not isinstance(extent, Dim):
            return self.number(int(extent))
        if extent.is_any:
            return self.add("tir.Any", {"dtype": "int32", "span": 0})
        made: list[int] = []
        for row in _core.dim_rows(extent):
            if not isinstance(row, tuple):
                made.append(self.leaf(row))
            elif row[0] == "+":
                total = None if row[1] == 0 else self.number(row[1])
                for factor, part in zip(row[2::2], row[3::2]):
                    term = made[part] if factor == 1 else self.term("Mul", made[part], self.number(factor))
                    total = term if total is None else self.term("Add", term, total)
                made.append(self.number(0) if total is None else total)
            else:
                name = {"mul": "Mul", "floordiv": "FloorDiv", "floormod": "FloorMod", "max": "Max", "min": "Min"}.get(row[0])
                if name is None or len(row) != 3:
                    raise UnwritableError(f"an extent with {row[0]}")
                made.append(self.term(name, made[row[1]], made[row[2]]))
        return made[-1]

    def leaf(self, leaf: Any) -> int:
        if isinstance(leaf, int):
            return self.number(leaf)
        if leaf not in self.terms:
            self.terms[leaf] = self.add("tir.Var", {"dtype": "int32", "name": self.texts(str(leaf)), "span": 0, "type_annotation": 0})
        return self.terms[leaf]

    def term(self, name: str, a: int, b: int) -> int:
        return self.add("tir." + name, {"dtype": "int32", "a": a, "b": b, "span": 0})

    # ---- Values ----

    def op_attrs(self, attrs: Any) -> int:
        key = attrs.type_key
        if key == "DictAttrs":
            return self.dict_attrs(entries(attrs))
        if key not in self.fields:
            self.fields[key] = fields_of(key) or {}
        types = self.fields[key]
        self.in_attrs = True
        made = {name: self.stored(value, types.get(name, "any")) for name, value in entries(attrs).items()}
        self.in_attrs = False
        parts = [value for name, value in made.items() if isinstance(value, int) and types.get(name, "any") not in ("int", "bool")]
        return self.sized(self.once(key, made), parts)

    def stored(self, value: Any, kind: str) -> Any:
        """What stands in a field: a number, a dtype, or the number of a node."""
        if kind in ("int", "bool"):
            return int(value)
        if kind == "float":
            return repr(float(value)) if math.isfinite(value) else str(float(value))
        return str(value) if kind == "dtype" else self.value(value)

    def dict_attrs(self, values: dict[str, Any]) -> int:
        self.in_attrs = True
        numbers = {name: self.value(value) for name, value in values.items()}
        self.in_attrs = False
        at = self.once("Map", keys=list(numbers), data=list(numbers.values()))
        return self.sized(self.once("DictAttrs", {"__dict__": at}), list(numbers.values()))

    def sized(self, number: int, parts: list[int]) -> int:
        """A container, whose parts are counted as often as it has them: it must be one that the reader takes."""
        found = [self.sizes.get(part, (1, 0)) for part in parts]
        size, depth = 1 + sum(size for size, _ in found), 1 + max((depth for _, depth in found), default=0)
        if size > LARGEST or depth > DEEPEST:
            raise UnwritableError("containers that are large, or deep")
        self.sizes[number] = size, depth
        return number

    def used(self, number: int) -> int:
        """Attributes of a node, all of whose elements are made for it."""
        self.elements += self.sizes[number][0]
        if self.elements > MOST:
            raise UnwritableError("large attributes")
        return number

    def value(self, value: Any) -> int:
        """A number, text, list or dictionary, or another part of a program. A list that several share is written once."""
        if value is None:
            return 0
        if isinstance(value, self.device):
            place = {"device_type_int": value.device_type_int, "virtual_device_id": value.virtual_device_id}
            return self.once("VirtualDevice", {**place, "target": 0, "memory_scope": self.texts(value.memory_scope)})
        if isinstance(value, str):
            return self.texts(str(value))
        if isinstance(value, bool):
            return self.once("IntImm", {"dtype": "bool", "span": 0, "value": int(value)})
        if isinstance(value, int):
            return self.number(value)
        if isinstance(value, float):
            return self.once("FloatImm", {"dtype": "float64", "span": 0, "value": repr(float(value))})
        if isinstance(value, (list, tuple, dict)):
            return self.container(value)
        if isinstance(value, Dim):
            return self.extent(value)
        if isinstance(value, Range):
            return self.add("Range", {"min": self.value(value.min), "extent": self.value(value.extent), "span": 0})
        if isinstance(value, _relay.Constant):
            return self.write(value)
        raise UnwritableError(type(value).__name__)

    def container(self, value: Any) -> int:
        """A list or dictionary: once for each object, since a script may change one of two that are equal; in attributes, which are copies,
        once for each value."""
        key, add = ("container", id(value)), self.once if self.in_attrs else self.add
        if key in self.written:
            return self.written[key]
        if id(value) in self.open or len(self.open) >= DEEPEST:
            raise UnwritableError("containers that hold themselves, or are deep")
        self.open.add(id(value))
        if not isinstance(value, dict):
            parts = [self.value(item) for item in value]
            number = add("Array", data=parts) if parts else add("Array")
        elif all(isinstance(key, str) for key in value):
            parts = [self.value(item) for item in value.values()]
            number = add("Map", keys=[str(key) for key in value], data=parts)
        else:
            parts = [self.value(part) for pair in value.items() for part in pair]
            number = add("Map", data=parts)
        self.open.discard(id(value))
        if not self.in_attrs:
            self.kept.append(value)
            self.written[key] = number
        return self.sized(number, parts)

    def module(self, mod: Any) -> int:
        """A module: its functions, data types and attributes."""
        self.is_module = True
        types = [self.write(part) for var, data in mod.type_definitions.items() for part in (var, data)]
        functions = [number for name in mod.function_names for number in (self.write(mod.get_global_var(name)), self.write(mod[name]))]
        attrs = module_attrs(mod)
        return self.add("IRModule", {
            "functions": self.add("Map", data=functions), "type_definitions": self.add("Map", data=types), "global_var_map_": 0, "global_type_var_map_": 0,
            "source_map": 0, "attrs": self.used(self.dict_attrs(attrs)) if attrs else 0, "global_infos": 0,
        })  # fmt: skip


def entries(attrs: Any) -> dict[str, Any]:
    """Attributes by name. Raises UnwritableError where a text is no UTF-8, which JSON has not."""
    try:
        return dict(attrs.items())
    except (UnicodeDecodeError, RuntimeError):
        raise UnwritableError("a text that is no UTF-8") from None


def write(node: Any, version: str) -> str:
    """The document of a module, expression, type, number, text or container of such. Raises UnwritableError."""
    writer = _Writer()
    if isinstance(node, _relay.IRModule):
        root = writer.module(node)
    elif isinstance(node, (Expr, Type, Pattern, _relay.Clause, _relay.TypeData)):
        writer.is_module = isinstance(node, _relay.TypeData)
        root = writer.write(node)
    elif node is None:
        raise UnwritableError("nothing")
    else:
        root = writer.value(node)
    if writer.lost_types and not writer.has_types:
        raise UnwritableError("the types of the program")
    # A node a line.
    lines = ",\n    ".join(json.dumps(row) for row in writer.nodes)
    arrays = ",\n    ".join(json.dumps(text) for text in writer.arrays)
    return f'{{\n  "root": {root},\n  "nodes": [\n    {lines}\n  ],\n  "b64ndarrays": [{arrays}],\n  "attrs": {{"tvm_version": {json.dumps(version)}}}\n}}'
