"""Reads the JSON documents that TVM's own `save_json` wrote (0.6 to 0.18): the program becomes text, which is parsed.

A document is a list of nodes that refer to each other by number. Attributes of operators and constants stay JSON: the text refers
to them as `meta[KEY][N]`, and its metadata section holds the document's nodes.
"""

from __future__ import annotations

import json
import re
from typing import Any

import relay as _relay

# Nodes of expressions: what their operands are called, in the order of evaluation.
_OPERANDS = {
    "Call": ("op", "args"), "Tuple": ("fields",), "TupleGetItem": ("tuple_value",), "RefCreate": ("value",), "RefRead": ("ref",),
    "RefWrite": ("ref", "value"), "If": ("cond",), "Match": ("data",),
}  # fmt: skip
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.]*\Z")
# Blocks inside of blocks: the parser takes no more, and Python's stack is not to end first.
_DEEPEST = 250


class _Document:
    """The nodes of a document, and the text of those that are asked for."""

    def __init__(self, document: dict[str, Any]):
        self.document = document
        nodes = document.get("nodes")
        if not isinstance(nodes, list) or not all(isinstance(node, dict) for node in nodes):
            raise _relay.RelayError("the document's nodes are not a list of objects")
        self.nodes: list[dict[str, Any]] = nodes
        self.names: dict[int, str] = {}  # of variables and of nodes that have one
        self.taken: set[str] = set()
        self.meta: dict[str, dict[int, int]] = {}
        self.lines: list[str] = []
        self.depth = 0

    # ---- Nodes ----

    def index(self, value: Any) -> int:
        """A reference to a node."""
        if isinstance(value, str) and value.isdecimal() or isinstance(value, int) and value >= 0:
            number = int(value)
            if number < len(self.nodes):
                return number
        raise _relay.RelayError(f"the document refers to node {str(value)[:40]}, which it does not have")

    def kind(self, number: int) -> str:
        key = str(self.nodes[number].get("type_key", ""))
        return key if key.startswith("relay.attrs.") else key.removeprefix("relay.")

    def attrs(self, number: int) -> dict[str, Any]:
        attrs = self.nodes[number].get("attrs", {})
        if not isinstance(attrs, dict):
            raise _relay.RelayError(f"node {number} of the document has no fields")
        return attrs

    def field(self, number: int, name: str) -> int:
        value = self.attrs(number).get(name)
        if value is None:
            raise _relay.RelayError(f"node {number} of the document, {self.kind(number) or 'without a type'}, lacks {name}")
        return self.index(value)

    def maybe(self, number: int, name: str) -> int:
        """A field that may be absent or null: 0 then."""
        return self.index(self.attrs(number).get(name, 0))

    def items(self, number: int) -> list[int]:
        data = self.nodes[number].get("data", [])
        return [self.index(item) for item in data] if isinstance(data, list) else []

    def pairs(self, number: int) -> list[tuple[Any, int]]:
        """Of a map: keys are texts, or nodes."""
        node, data = self.nodes[number], self.items(number)
        if "keys" in node:
            return list(zip(node["keys"], data, strict=False))
        return list(zip(data[::2], data[1::2], strict=False))

    def text(self, value: Any) -> str:
        """A text in place (0.6), or by reference."""
        if isinstance(value, str) and value.isdecimal() and int(value) < len(self.nodes) and self.kind(int(value)) in ("runtime.String", "StringImm"):
            node = self.nodes[int(value)]
            return str(node.get("repr_str", node.get("global_key", node.get("attrs", {}).get("value", ""))))
        return str(value)

    def name(self, number: int) -> str:
        node = self.nodes[number]
        for key in ("repr_str", "global_key"):
            if key in node:
                return str(node[key])
        return self.text(self.attrs(number).get("name_hint", self.attrs(number).get("name", "")))

    # ---- Names ----

    def fresh(self, wanted: str) -> str:
        name, count = wanted or "v", 0
        while name in self.taken:
            count += 1
            name = f"{wanted}_{count}"
        self.taken.add(name)
        return name

    def quoted(self, sigil: str, name: str) -> str:
        return sigil + (name if _PLAIN.match(name) else json.dumps(name, ensure_ascii=False))

    def local(self, number: int) -> str:
        if number not in self.names:
            vid = self.maybe(number, "vid")
            wanted = self.name(vid) if vid else self.name(number)
            key = -vid if vid else number  # two nodes of one variable have one identity
            if key not in self.names:
                self.names[key] = self.fresh(wanted)
            self.names[number] = self.names[key]
        return self.quoted("%", self.names[number])

    # ---- Types ----

    def dim(self, number: int) -> str:
        kind = self.kind(number)
        if kind == "IntImm":
            return str(int(self.attrs(number).get("value", 0)))
        if kind in ("tir.Any", "Any"):
            return "?"
        if kind in ("tir.Var", "tir.SizeVar", "Variable", "Var"):
            return self.text(self.attrs(number).get("name", self.attrs(number).get("name_hint", "n")))
        raise _relay.RelayError(f"an extent is a {kind or 'null'}, which is not read")

    def type(self, number: int, depth: int = 0) -> str:
        if depth > 100:
            raise _relay.RelayError("a type of the document nests too deeply")
        kind = self.kind(number)
        if kind == "TensorType":
            dims = [self.dim(dim) for dim in self.items(self.field(number, "shape"))]
            dtype = self.text(self.attrs(number).get("dtype", ""))
            return dtype if not dims else f"Tensor[({', '.join(dims)}), {dtype}]"
        if kind == "TupleType":
            fields = [self.type(field, depth + 1) for field in self.items(self.field(number, "fields"))]
            return "(" + ", ".join(fields) + ("," if len(fields) == 1 else "") + ")"
        if kind == "FuncType":
            params = [self.type(param, depth + 1) for param in self.items(self.field(number, "arg_types"))]
            return f"fn ({', '.join(params)}) -> {self.type(self.field(number, 'ret_type'), depth + 1)}"
        if kind in ("RefType", "RelayRefType"):
            return f"ref({self.type(self.field(number, 'value'), depth + 1)})"
        if kind in ("TypeVar", "GlobalTypeVar"):
            return self.quoted("", self.name(number))
        if kind == "TypeCall":
            args = [self.type(arg, depth + 1) for arg in self.items(self.field(number, "args"))]
            return self.type(self.field(number, "func"), depth + 1) + (f"[{', '.join(args)}]" if args else "")
        if kind == "IncompleteType":
            return "_"
        raise _relay.RelayError(f"a type is a {kind or 'null'}, which is not read")

    def annotation(self, number: int, before: str) -> str:
        return f"{before}{self.type(number)}" if number and self.kind(number) != "IncompleteType" else ""

    # ---- Metadata ----

    def meta_ref(self, number: int) -> str:
        key = str(self.nodes[number]["type_key"])
        entries = self.meta.setdefault(key, {})
        return f"meta[{key}][{entries.setdefault(number, len(entries))}]"

    def metadata(self) -> str:
        if not self.meta:
            return ""
        nodes = list(self.nodes)
        lists = []
        for entries in self.meta.values():
            lists.append(len(nodes))
            nodes.append({"type_key": "Array", "data": list(entries)})
        nodes.append({"type_key": "Map", "keys": list(self.meta), "data": lists})
        arrays = self.document.get("b64ndarrays", [])
        return "\n#[metadata]\n" + json.dumps({"root": len(nodes) - 1, "nodes": nodes, "b64ndarrays": arrays})

    # ---- Expressions ----

    def put(self, line: str) -> None:
        self.lines.append("  " * self.depth + line)

    def operands(self, number: int) -> list[int]:
        found: list[int] = []
        for name in _OPERANDS.get(self.kind(number), ()):
            child = self.field(number, name)
            found += self.items(child) if self.kind(child) == "Array" else [child]
        return found

    def leaf(self, number: int) -> str | None:
        """An expression that needs no name."""
        if number in self.names and self.kind(number) != "Var":
            return self.quoted("%", self.names[number])
        kind = self.kind(number)
        if kind == "Var":
            return self.local(number)
        if kind in ("Op", "Constructor"):
            return self.name(number)
        if kind == "GlobalVar":
            return self.quoted("@", self.name(number))
        if kind == "Constant":
            return self.meta_ref(number)
        if kind == "Tuple" and not self.operands(number):
            return "()"
        return None

    def value(self, root: int) -> str:
        """Binds an expression and all that it needs to names, in the block that is written; gives its name."""
        stack = [root]
        while stack:
            number = stack[-1]
            if self.leaf(number) is not None:
                stack.pop()
                continue
            if self.kind(number) == "Let":  # a value of a let: a block of its own
                stack.pop()
                self.bind(number, "{", "}", lambda number=number: self.block(number))
                continue
            waiting = [child for child in self.operands(number) if self.leaf(child) is None]
            if waiting:
                if len(stack) > len(self.nodes):
                    raise _relay.RelayError("the document has a node that needs itself")
                stack += reversed(waiting)
                continue
            stack.pop()
            self.node(number)
        found = self.leaf(root)
        assert found is not None
        return found

    def bind(self, number: int, head: str, foot: str, body: Any) -> None:
        name = self.fresh(str(len(self.names)))
        self.put(f"{self.quoted('%', name)} = {head}")
        body()
        self.put(f"{foot};")
        self.names[number] = name

    def node(self, number: int) -> None:
        """Binds a node whose operands have names."""
        kind = self.kind(number)
        args = [self.leaf(child) or "" for child in self.operands(number)]
        if kind == "Function":
            self.bind(number, "fn " + self.signature(number), "}", lambda: self.block(self.field(number, "body")))
            return
        if kind == "If":
            def branches() -> None:
                self.block(self.field(number, "true_branch"))
                self.put("} else {")
                self.block(self.field(number, "false_branch"))

            self.bind(number, f"if ({args[0]}) {{", "}", branches)
            return
        if kind == "Match":
            complete = str(self.attrs(number).get("complete", "1")) in ("1", "true", "True")
            self.bind(number, f"match{'' if complete else '?'} ({args[0]}) {{", "}", lambda: self.clauses(number))
            return
        if kind == "Call":
            attrs = self.maybe(number, "attrs")
            if attrs and self.attrs(attrs):
                args.append(self.meta_ref(attrs))
            text = f"{args[0]}({', '.join(args[1:])})"
        elif kind == "Tuple":
            text = "(" + ", ".join(args) + ("," if len(args) == 1 else "") + ")"
        elif kind == "TupleGetItem":
            text = f"{args[0]}.{int(self.attrs(number).get('index', 0))}"
        elif kind in ("RefCreate", "RefRead", "RefWrite"):
            text = {"RefCreate": "ref", "RefRead": "ref_read", "RefWrite": "ref_write"}[kind] + f"({', '.join(args)})"
        else:
            raise _relay.RelayError(f"an expression is a {kind or 'null'}, which is not read")
        name = self.fresh(str(len(self.names)))
        self.put(f"{self.quoted('%', name)} = {text};")
        self.names[number] = name

    def clauses(self, number: int) -> None:
        for clause in self.items(self.field(number, "clauses")):
            self.put(self.pattern(self.field(clause, "lhs")) + " => {")
            self.block(self.field(clause, "rhs"))
            self.put("},")

    def pattern(self, number: int, depth: int = 0) -> str:
        kind = self.kind(number)
        if depth > 100:
            raise _relay.RelayError("a pattern of the document nests too deeply")
        if kind == "PatternWildcard":
            return "_"
        if kind == "PatternVar":
            return self.local(self.field(number, "var"))
        if kind in ("PatternConstructor", "PatternTuple"):
            fields = [self.pattern(each, depth + 1) for each in self.items(self.field(number, "patterns"))]
            if kind == "PatternTuple":
                return "(" + ", ".join(fields) + ("," if len(fields) == 1 else "") + ")"
            return self.name(self.field(number, "constructor")) + (f"({', '.join(fields)})" if fields else "")
        raise _relay.RelayError(f"a pattern is a {kind or 'null'}, which is not read")

    def block(self, number: int) -> None:
        """The lines of a block: lets, then its value."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise _relay.RelayError("the document nests too deeply")
        while self.kind(number) == "Let" and number not in self.names:
            var, value = self.field(number, "var"), self.field(number, "value")
            note = self.annotation(self.maybe(var, "type_annotation"), ": ")
            if self.kind(value) == "Function":  # may refer to itself
                self.put(f"let {self.local(var)}{note} = fn {self.signature(value)}")
                self.block(self.field(value, "body"))
                self.put("};")
            else:
                found = self.value(value)
                self.put(f"let {self.local(var)}{note} = {found};")
            number = self.field(number, "body")
        self.put(self.value(number))
        self.depth -= 1

    def signature(self, number: int) -> str:
        type_params = [self.quoted("", self.name(each)) for each in self.items(self.maybe(number, "type_params"))]
        params = []
        for each in self.items(self.field(number, "params")):
            params.append(self.local(each) + self.annotation(self.maybe(each, "type_annotation"), ": "))
        params += self.function_attrs(self.maybe(number, "attrs"))
        result = self.annotation(self.maybe(number, "ret_type"), " -> ")
        return (f"[{', '.join(type_params)}]" if type_params else "") + f"({', '.join(params)}){result} {{"

    def function_attrs(self, number: int) -> list[str]:
        if not number or self.kind(number) != "DictAttrs":
            return []
        found = []
        for key, value in self.pairs(self.maybe(number, "__dict__")):
            key = key if isinstance(key, str) else self.name(key)
            if self.kind(value) == "IntImm":
                text = str(int(self.attrs(value).get("value", 0)))
            elif self.kind(value) == "runtime.String":
                text = json.dumps(self.name(value), ensure_ascii=False)
            else:
                continue  # objects of passes and targets
            found.append(f"{self.quoted('', key)}={text}")
        return found

    # ---- Modules ----

    def data_type(self, number: int) -> None:
        variables = [self.quoted("", self.name(each)) for each in self.items(self.maybe(number, "type_vars"))]
        self.put(f"type {self.quoted('', self.name(self.field(number, 'header')))}" + (f"[{', '.join(variables)}]" if variables else "") + " {")
        for constructor in self.items(self.field(number, "constructors")):
            inputs = [self.type(each) for each in self.items(self.maybe(constructor, "inputs"))]
            self.put("  " + self.name(constructor) + (f"({', '.join(inputs)})" if inputs else "") + ",")
        self.put("}")

    def function(self, name: str, number: int) -> None:
        self.taken.clear()
        self.names.clear()
        self.put(f"def {self.quoted('@', name)}{self.signature(number)}")
        self.block(self.field(number, "body"))
        self.put("}")

    def program(self, root: int) -> str:
        self.lines.append('#[version = "0.0.5"]')
        if self.kind(root) in ("IRModule", "Module"):
            for _, data in self.pairs(self.maybe(root, "type_definitions")):
                self.data_type(data)
            for key, function in self.pairs(self.maybe(root, "functions")):
                if self.kind(function) != "Function":
                    raise _relay.RelayError(f"the module holds a {self.kind(function) or 'null'}, and Relay reads functions of Relay alone")
                self.function(key if isinstance(key, str) else self.name(key), function)
        elif self.kind(root) == "Function":
            self.function("main", root)
        else:
            raise _relay.RelayError(f"the document holds a {self.kind(root) or 'null'}; modules and functions are read")
        return "\n".join(self.lines) + "\n" + self.metadata()


def read(document: dict[str, Any]) -> Any:
    """The module or function of a document. Raises RelayError if it holds anything else, or is damaged."""
    try:
        reader = _Document(document)
        root = reader.index(document.get("root"))
        text = reader.program(root)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise _relay.RelayError(f"the document is damaged: {error}") from None
    module = _relay.parse(text, "json")
    return module if reader.kind(root) in ("IRModule", "Module") else module["main"]
