"""Reads JSON documents of TVM's `save_json` (0.6 to 0.18), as `_tvm_json_write` writes them, too: each node becomes the object that it stands for.

A document is a list of nodes that refer to each other by number. A node is made after those that it refers to, on a stack of its own.
"""

from __future__ import annotations

import base64
import binascii
import json
import operator
import re
from collections.abc import Callable
from typing import Any

import relay as _relay
from relay import Dim, _core

from .container import Array, Map

# What a node refers to: names of fields, of lists behind a star.
_REFERS: dict[str, tuple[str, ...]] = {
    "Call": ("op", "*args", "*type_args"), "Tuple": ("*fields",), "TupleGetItem": ("tuple_value",), "RefCreate": ("value",), "RefRead": ("ref",),
    "RefWrite": ("ref", "value"), "If": ("cond", "true_branch", "false_branch"), "Match": ("data", "*clauses"), "Let": ("var", "value", "body"),
    "Function": ("*params", "body", "ret_type", "*type_params"), "Var": ("type_annotation",), "Constructor": ("*inputs", "belong_to"),
    "Clause": ("lhs", "rhs"), "PatternVar": ("var",), "PatternConstructor": ("constructor", "*patterns"), "PatternTuple": ("*patterns",),
    "TensorType": ("*shape",), "TupleType": ("*fields",), "FuncType": ("*arg_types", "ret_type", "*type_params"), "RefType": ("value",), "RelayRefType": ("value",),
    "TypeCall": ("func", "*args"), "TypeData": ("header", "*type_vars", "*constructors"), "Range": ("min", "extent"),
}  # fmt: skip
# Those that must be there: without them the node is nothing.
_NEEDED = {"Function": ("params", "body"), "Call": ("op", "args"), "Let": ("var", "value", "body"), "TensorType": ("shape",), "Range": ("min", "extent")}
_TERMS: dict[str, Callable[[Any, Any], Any]] = {
    "tir.Add": operator.add, "tir.Sub": operator.sub, "tir.Mul": operator.mul, "tir.FloorDiv": operator.floordiv, "tir.FloorMod": operator.mod,
    "tir.Max": lambda a, b: _relay.Dim.max(a, b), "tir.Min": lambda a, b: _relay.Dim.min(a, b),
}  # fmt: skip
# Terms and variables of extents before they had a prefix.
_OLD_KINDS = {"Variable": "tir.Var", "SizeVar": "tir.SizeVar", **{name.removeprefix("tir."): name for name in _TERMS}}
# What `_tvm_json_write` keeps to, too. Containers that share their parts grow with the power of their depth where they are copied.
DEEPEST = 100  # containers in containers
LARGEST = 1 << 20  # elements of a container, with those of its parts
MOST = 1 << 24  # elements of the attributes of all nodes


def fields_of(type_key: str) -> dict[str, str] | None:
    """The types of the fields of attributes by name; None for a key that no operator has."""
    for name in _core.op_names():
        facts = _core.op_info(name)
        if facts["attrs_type"] == type_key:
            return {field["name"]: field["type"] for field in facts["attrs"]}
    return None


class _Document:
    """The nodes of a document, and the objects that were made of them."""

    def __init__(self, document: dict[str, Any]):
        nodes = document.get("nodes")
        if not isinstance(nodes, list) or not all(isinstance(node, dict) for node in nodes):
            raise _relay.RelayError("the document's nodes are not a list of objects")
        self.nodes: list[dict[str, Any]] = nodes
        self.arrays: Any = document.get("b64ndarrays", [])
        self.made: dict[int, Any] = {}
        self.names: dict[int, Any] = {}  # variables, whose nodes may be several for one identity, and names of modules
        self.is_typed = False
        self.elements = 0
        self.values: dict[int, Any] = {}
        self.sizes: dict[int, tuple[int, int]] = {}  # of values: how many elements they have in all, and how deep they are
        self.open: list[int] = []  # containers that are being made, the outermost first
        self.known: dict[str, dict[str, str] | None] = {}  # fields of attributes

    # ---- Nodes ----

    def index(self, value: Any) -> int:
        """A reference to a node."""
        if isinstance(value, str) and value.isdecimal() or isinstance(value, int) and value >= 0:
            number = int(value)
            if number < len(self.nodes):
                return number
        raise _relay.RelayError(f"the document refers to node {str(value)[:40]}, which it does not have")

    def key(self, number: int) -> str:
        return str(self.nodes[number].get("type_key", ""))

    def kind(self, number: int) -> str:
        key = self.key(number)
        return key if key.startswith("relay.attrs.") else _OLD_KINDS.get(key, key.removeprefix("relay."))

    def attrs(self, number: int) -> dict[str, Any]:
        attrs = self.nodes[number].get("attrs", {})
        if not isinstance(attrs, dict):
            raise _relay.RelayError(f"node {number} of the document has no fields")
        return attrs

    def field(self, number: int, name: str) -> int:
        """The node of a field; 0, which stands for nothing, where the field is null or left out."""
        found = self.attrs(number).get(name)
        if found is None:
            if name in _NEEDED.get(self.kind(number), ()):
                raise _relay.RelayError(f"node {number} of the document, {self.kind(number) or 'without a type'}, lacks {name}")
            return 0
        return self.index(found)

    def items(self, number: int) -> list[int]:
        data = self.nodes[number].get("data", [])
        return [self.index(item) for item in data] if isinstance(data, list) else []

    def pairs(self, number: int) -> list[tuple[Any, int]]:
        """The entries of a map: keys are texts, or numbers of nodes."""
        node, data = self.nodes[number], self.items(number)
        if "keys" in node:
            return [(key if isinstance(key, str) else self.index(key), item) for key, item in zip(node["keys"], data, strict=False)]
        return list(zip(data[::2], data[1::2], strict=False))

    def text(self, value: Any) -> str:
        """A text in place (0.6), or by reference."""
        if isinstance(value, str) and value.isdecimal() and int(value) < len(self.nodes) and self.kind(int(value)) in ("runtime.String", "StringImm"):
            node = self.nodes[int(value)]
            return str(node.get("repr_str", node.get("global_key", node.get("attrs", {}).get("value", ""))))
        return str(value)

    def integer(self, number: int, name: str, least: int = -(2**63), most: int = 2**63 - 1, default: int = 0) -> int:
        """A number that stands in a field. Raises RelayError for one that is not between the bounds."""
        found = int(self.attrs(number).get(name, default))
        if not least <= found <= most:
            raise _relay.RelayError(f"node {number} of the document has {str(found)[:40]} as {name}, which is not between {least} and {most}")
        return found

    def name(self, number: int) -> str:
        node = self.nodes[number]
        for key in ("repr_str", "global_key"):
            if key in node:
                return str(node[key])
        return self.text(self.attrs(number).get("name_hint", self.attrs(number).get("name", "")))

    def span(self, number: int) -> Any:
        """The place of a node."""
        at = self.field(number, "span")
        if not at or self.key(at) != "Span":
            return _relay.Span()
        from .spans import SourceName

        numbers = [self.integer(at, name, -(2**31), 2**31 - 1) for name in ("line", "end_line", "column", "end_column")]
        return _relay.Span(SourceName(self.name(self.field(at, "source_name"))), *numbers)

    # ---- Making ----

    def children(self, number: int) -> list[int]:
        """What has to be made before a node."""
        kind, found = self.kind(number), []
        if kind in _TERMS:
            return [self.field(number, "a"), self.field(number, "b")]
        for name in _REFERS.get(kind, ()):
            at = self.field(number, name.removeprefix("*"))
            found += self.items(at) if name.startswith("*") else [at] if at else []
        return found

    def make(self, root: int) -> Any:
        """The object of a node of a program."""
        stack, waiting = [(root, False)], set()
        while stack:
            number, ready = stack.pop()
            if number in self.made:
                continue
            if ready:
                waiting.discard(number)
                self.made[number] = self.node(number)
                continue
            if number in waiting:
                raise _relay.RelayError("the document has a node that needs itself")
            waiting.add(number)
            stack.append((number, True))
            stack += [(child, False) for child in reversed(self.children(number)) if child not in self.made]
        return self.made[root]

    def one(self, number: int, name: str) -> Any:
        at = self.field(number, name)
        return self.made[at] if at else None

    def all(self, number: int, name: str) -> list[Any]:
        return [self.made[each] for each in self.items(self.field(number, name))]

    def node(self, number: int) -> Any:
        """The object of a node whose children are made."""
        kind = self.kind(number)
        if kind in _TERMS:
            return self.term(number)
        make = getattr(self, "_" + kind.removeprefix("tir.").lower(), None) if kind.replace(".", "").isalpha() else None
        if make is None:
            raise _relay.RelayError(f"the document holds a {kind or 'null'}, which is not read")
        if self.attrs(number).get("_checked_type_", "0") not in ("0", 0):
            self.is_typed = True
        return make(number)

    def term(self, number: int) -> Any:
        """A number that is computed of two others, or a term where one of them is an extent."""
        a, b = self.one(number, "a"), self.one(number, "b")
        if not (isinstance(a, (int, Dim)) and isinstance(b, (int, Dim))):
            raise _relay.RelayError(f"node {number} of the document computes with what is no extent")
        try:
            found = _TERMS[self.kind(number)](a, b)
        except ZeroDivisionError:
            raise _relay.RelayError(f"node {number} of the document divides by 0") from None
        if isinstance(found, int) and not -(2**63) <= found < 2**63:
            raise _relay.RelayError(f"node {number} of the document has a result of more than 64 bits")
        return found

    def _op(self, number: int) -> Any:
        try:
            return _core.op(self.name(number))
        except KeyError:
            raise _relay.RelayError(f"there is no operator {self.name(number)}, which the document has") from None

    def _globalvar(self, number: int) -> Any:
        return self.names.setdefault(number, _relay.GlobalVar(self.name(number)))

    def _var(self, number: int) -> Any:
        if self.kind(number) in ("tir.Var", "tir.SizeVar"):
            return _relay.ShapeVar(self.name(number) or "n")
        identity = self.field(number, "vid")
        if identity in self.names:
            return self.names[identity]  # two nodes of one variable have one identity
        made = _relay.Var(self.name(identity or number), self._written(number, "type_annotation"), self.span(number))
        if identity:
            self.names[identity] = made
        return made

    _sizevar = _var

    def _written(self, number: int, name: str) -> Any:
        found = self.one(number, name)
        return None if isinstance(found, _relay.IncompleteType) else found

    def _constant(self, number: int) -> Any:
        if "literal" in self.attrs(number):  # a number that takes the dtype of its context, which TVM's programs have not
            text = str(self.attrs(number)["literal"])
            if not re.fullmatch(r"true|false|NaN|-?(Infinity|\d[\d.eE+-]*)", text):
                raise _relay.RelayError("a literal of the document is no number")
            return _core.Literal(json.loads(text), self.span(number))
        if "text" in self.attrs(number):
            return self.equal_numbers(self.text(self.attrs(number)["text"]), self.span(number))
        at, arrays = self.attrs(number).get("data"), self.arrays
        if not (isinstance(at, (str, int)) and str(at).isdecimal() and isinstance(arrays, list) and int(at) < len(arrays)):
            raise _relay.RelayError(f"the document has no array {str(at)[:40]}")
        return _relay.Constant(read_array(arrays[int(at)]), self.span(number))

    @staticmethod
    def equal_numbers(text: str, span: Any) -> Any:
        """A constant of equal numbers, which is written as the text that it has in a program."""
        made = _relay.parse_expr(text) if text.startswith("Constant(") and len(text) < 4096 else None
        if not isinstance(made, _relay.Constant):
            raise _relay.RelayError(f"the document has {text[:40]!r} as a constant, which is none")
        return _relay.Constant(made.data, span)

    def _call(self, number: int) -> Any:
        op, at = self.one(number, "op"), self.field(number, "attrs")
        attrs = self.op_attrs(at, op) if at and self.attrs(at) else None
        return _relay.Call(op, self.all(number, "args"), attrs, self.all(number, "type_args") or None, self.span(number))

    def op_attrs(self, number: int, op: Any) -> Any:
        key = self.key(number)
        if key == "DictAttrs":
            return _relay.Attrs(self.dictionary(number))
        if key not in self.known:
            self.known[key] = fields_of(key)
        types = self.known[key]
        if types is None:
            raise _relay.RelayError(f"no operator has attributes {key}")
        found, parts = {}, []
        for name, raw in self.attrs(number).items():
            if name in types:
                found[name] = self.stored(raw, types[name])
                parts += [int(raw)] if str(raw).isdecimal() and int(raw) in self.sizes and types[name] not in ("int", "bool", "float") else []
            elif not self.says_nothing(raw):  # one of another release at its default
                raise _relay.RelayError(f"the attributes {key} have no {name}")
        self.used(parts)
        return _relay.Attrs(found, key)

    def stored(self, raw: Any, kind: str) -> Any:
        """The value of a field: numbers stand in place, objects by reference, texts and dtypes in either way."""
        raw = str(raw)
        if kind == "bool":
            return raw in ("1", "true", "True")
        if kind in ("int", "float"):
            return int(raw) if kind == "int" else float(raw)
        if not raw.isdecimal() or int(raw) >= len(self.nodes):
            return raw
        at = int(raw)
        is_text = kind.startswith(("str", "dtype", '"'))
        return raw if is_text and at and self.kind(at) != "runtime.String" else self.value(at)

    def says_nothing(self, raw: Any) -> bool:
        raw = str(raw)
        if not raw.isdecimal() or int(raw) >= len(self.nodes):
            return not raw
        return self.value(int(raw)) in (None, "", [])

    def _tuple(self, number: int) -> Any:
        return _relay.Tuple(self.all(number, "fields"), self.span(number))

    def _tuplegetitem(self, number: int) -> Any:
        return _relay.TupleGetItem(self.one(number, "tuple_value"), self.integer(number, "index"), self.span(number))

    def _let(self, number: int) -> Any:
        return _relay.Let(self.one(number, "var"), self.one(number, "value"), self.one(number, "body"), self.span(number))

    def _if(self, number: int) -> Any:
        return _relay.If(self.one(number, "cond"), self.one(number, "true_branch"), self.one(number, "false_branch"), self.span(number))

    def _refcreate(self, number: int) -> Any:
        return _relay.RefCreate(self.one(number, "value"), self.span(number))

    def _refread(self, number: int) -> Any:
        return _relay.RefRead(self.one(number, "ref"), self.span(number))

    def _refwrite(self, number: int) -> Any:
        return _relay.RefWrite(self.one(number, "ref"), self.one(number, "value"), self.span(number))

    def _match(self, number: int) -> Any:
        complete = str(self.attrs(number).get("complete", "1")) in ("1", "true", "True")
        return _relay.Match(self.one(number, "data"), self.all(number, "clauses"), complete, self.span(number))

    def _clause(self, number: int) -> Any:
        return _relay.Clause(self.one(number, "lhs"), self.one(number, "rhs"))

    def _patternwildcard(self, number: int) -> Any:
        return _relay.PatternWildcard()

    def _patternvar(self, number: int) -> Any:
        return _relay.PatternVar(self.one(number, "var"))

    def _patternconstructor(self, number: int) -> Any:
        return _relay.PatternConstructor(self.one(number, "constructor"), self.all(number, "patterns"))

    def _patterntuple(self, number: int) -> Any:
        return _relay.PatternTuple(self.all(number, "patterns"))

    def _function(self, number: int) -> Any:
        at = self.field(number, "attrs")
        attrs = self.dictionary(at) if at and self.key(at) == "DictAttrs" else {}
        return _relay.Function(self.all(number, "params"), self.one(number, "body"), self._written(number, "ret_type"), self.all(number, "type_params"),
                               _core.dict_attrs(list(attrs.items())) if attrs else None, self.span(number))  # fmt: skip

    # ---- Types ----

    def _intimm(self, number: int) -> Any:
        from ..tir import IntImm

        return IntImm(self.text(self.attrs(number).get("dtype", "int32")), self.integer(number, "value"))

    def _range(self, number: int) -> Any:
        from .ranges import Range

        least, extent = self.one(number, "min"), self.one(number, "extent")
        if not (isinstance(least, (int, Dim)) and isinstance(extent, (int, Dim))):
            raise _relay.RelayError(f"node {number} of the document is a range of something else than extents")
        return Range.from_min_extent(least, extent)

    def _any(self, number: int) -> Any:
        return _relay.Any()

    def _tensortype(self, number: int) -> Any:
        shape = self.all(number, "shape")
        if not all(isinstance(extent, (int, Dim)) for extent in shape):
            raise _relay.RelayError("the document has a shape of something else than extents")
        return _relay.TensorType(shape, self.text(self.attrs(number).get("dtype", "")))

    def _tupletype(self, number: int) -> Any:
        return _relay.TupleType(self.all(number, "fields"))

    def _functype(self, number: int) -> Any:
        return _relay.FuncType(self.all(number, "arg_types"), self.one(number, "ret_type"), self.all(number, "type_params"))

    def _reftype(self, number: int) -> Any:
        return _relay.RefType(self.one(number, "value"))

    _relayreftype = _reftype

    def _typevar(self, number: int) -> Any:
        return _relay.TypeVar(self.type_name(number))

    def _globaltypevar(self, number: int) -> Any:
        return _relay.GlobalTypeVar(self.type_name(number))

    def type_name(self, number: int) -> str:
        """The name of a variable of types, in 0.6 that of a variable that the node refers to."""
        named = self.field(number, "var")
        return self.name(named or number)

    def _typecall(self, number: int) -> Any:
        return _relay.TypeCall(self.one(number, "func"), self.all(number, "args"))

    def _incompletetype(self, number: int) -> Any:
        return _relay.IncompleteType()

    def _constructor(self, number: int) -> Any:
        return _relay.Constructor(self.name(number), self.all(number, "inputs"), self.one(number, "belong_to"))

    def _typedata(self, number: int) -> Any:
        return _relay.TypeData(self.one(number, "header"), self.all(number, "type_vars"), self.all(number, "constructors"))

    # ---- Values ----

    def dictionary(self, number: int) -> dict[str, Any]:
        """The entries of attributes of a function, but for objects of passes and targets."""
        found, parts = {}, []
        for key, at in self.pairs(self.field(number, "__dict__")):
            try:
                found[key if isinstance(key, str) else self.name(key)] = self.value(at)
            except _NoValueError:
                continue
            parts.append(at)
        self.used(parts)
        return found

    def used(self, parts: list[int]) -> None:
        """Counts the values of attributes, which are copied with all their elements."""
        self.elements += sum(self.sizes[part][0] for part in parts)
        if self.elements > MOST:
            raise _relay.RelayError("the document's attributes are too large")

    def value(self, number: int) -> Any:
        """A number, text, list or dictionary, or the constant or device of an attribute; a list that several share is made once.
        Raises _NoValueError for what is none."""
        if number not in self.sizes:
            parts: list[int] = []
            if self.kind(number) in ("Array", "Map", "StrMap"):
                if number in self.open or len(self.open) >= DEEPEST:
                    raise _relay.RelayError("the document nests too deeply")
                self.open.append(number)
                try:
                    self.values[number], parts = self.container(number)
                finally:
                    self.open.pop()
            else:
                self.values[number] = self.scalar(number)
            found = [self.sizes[part] for part in parts]
            size, depth = 1 + sum(size for size, _ in found), max((depth + 1 for _, depth in found), default=0)
            if size > LARGEST or depth > DEEPEST:
                raise _relay.RelayError("the document's containers are too large" if size > LARGEST else "the document nests too deeply")
            self.sizes[number] = size, depth
        return self.values[number]

    def container(self, number: int) -> tuple[Any, list[int]]:
        """A list or dictionary, and the nodes of its parts."""
        if self.kind(number) == "Array":
            parts = self.items(number)
            return Array(self.value(item) for item in parts), parts
        pairs = self.pairs(number)
        made = Map({key if isinstance(key, str) else self.value(key): self.value(item) for key, item in pairs})
        return made, [part for pair in pairs for part in pair if not isinstance(part, str)]

    def scalar(self, number: int) -> Any:
        """A value without parts."""
        kind, attrs = self.kind(number), self.attrs(number)
        if not kind:
            return None
        if kind == "runtime.String":
            return self.name(number)
        if kind == "IntImm":
            return bool(self.integer(number, "value")) if self.text(attrs.get("dtype", "")) == "bool" else self.make(number)
        if kind == "FloatImm":
            return float(attrs.get("value", 0))
        if kind == "VirtualDevice":
            from ..runtime.ndarray import Device

            type_, index = self.integer(number, "device_type_int", -1, 2**31 - 1, -1), self.integer(number, "virtual_device_id", -1, 2**31 - 1, -1)
            return "" if type_ < 0 else str(Device(type_, max(index, 0)))
        if kind in ("Constant", "Range", "tir.Any", "tir.Var", "tir.SizeVar") or kind in _TERMS:
            return self.make(number)
        raise _NoValueError(f"the document holds a {kind}, which is not read")

    def module(self, root: int) -> Any:
        module = _relay.IRModule()
        for _, data in self.pairs(self.field(root, "type_definitions")):
            module.add_type(self.make(data))
        for key, function in self.pairs(self.field(root, "functions")):
            if self.kind(function) != "Function":
                raise _relay.RelayError(f"the module holds a {self.kind(function) or 'null'}, and Relay reads functions of Relay alone")
            module.add_function(key if isinstance(key, str) else self.name(key), self.make(function))
        at = self.field(root, "attrs")
        attrs = self.dictionary(at) if at and self.key(at) == "DictAttrs" else {}
        return getattr(module, "with_attr")(attrs) if attrs else module


class _NoValueError(_relay.RelayError):
    """A node is of a kind that no attribute has here."""


def read_array(text: Any) -> Any:
    """An array of its bytes in base 64."""
    from ..runtime.params import read_array_record

    try:
        return read_array_record(base64.b64decode(text, validate=True))
    except (binascii.Error, TypeError, ValueError) as error:
        raise _relay.RelayError(f"an array of the document is damaged: {error}") from None


def read(document: dict[str, Any]) -> Any:
    """The object of a document, typed if it was. Raises RelayError if it holds what is not read, or is damaged."""
    try:
        reader = _Document(document)
        root = reader.index(document.get("root"))
        kind = reader.kind(root)
        if kind in ("IRModule", "Module"):
            made = reader.module(root)
        elif kind in _REFERS or kind in ("Op", "GlobalVar", "Constant", "TypeVar", "GlobalTypeVar", "IncompleteType", "PatternWildcard"):
            made = reader.make(root)
        else:
            made = reader.value(root)
            if made is None:
                raise _relay.RelayError("the document holds a null")
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise _relay.RelayError(f"the document is damaged: {error}") from None
    return _typed(made) if reader.is_typed else made


def _typed(made: Any) -> Any:
    """The same with types, where it has any: a document of TVM's may have what is ill-typed here."""
    infer = _relay.transform.create("InferType")
    try:
        if isinstance(made, _relay.IRModule):
            return infer(made)
        if isinstance(made, _relay.Function) and not _core.free_vars(made):
            return infer(_relay.IRModule({"main": made}))["main"]
    except _relay.RelayError:
        pass
    return made
