"""The graph of a program in the form of TVM's graph executor: nodes, arguments, heads and their attributes."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import relay as _relay
from relay import Call, Constant, Expr, Function, IRModule, Let, Op, TensorType, Tuple, TupleGetItem, TupleType
from relay import transform as _passes

from .name_transforms import sanitize_name
from .storage import storage_of

__all__ = ["Graph"]

_LONGEST_NAME = 80
Entry = tuple[int, int]  # a node and one of its results


class _NoGraphError(Exception):
    """The program has control flow or functions, which a graph has not."""


class Graph:
    """The nodes of `main` after its operators were put into kernels. `exprs` has the expression of each node; names of kernels have the program's
    `name` in them."""

    def __init__(self, mod: IRModule, fuse: bool = True, name: str = "default") -> None:
        self._prefix = f"tvmgen_{sanitize_name(name)}_"
        self.mod = _passes.Sequential([_passes.InferType(), _passes.FuseOps(), _passes.InferType()] if fuse else [_passes.InferType()])(mod)
        self.main: Function = self.mod["main"]
        # True for a program that is one node.
        self.is_whole = False
        try:
            self._build()
        except _NoGraphError:
            self.is_whole = True
            self._one_node()

    def _clear(self) -> None:
        self.nodes: list[dict[str, Any]] = []
        self.exprs: list[Expr] = []
        self._types: list[list[TensorType]] = []
        self._names: dict[str, int] = {}
        self._kernels: dict[str, dict[int, str]] = {}  # the names of functions that have the same operators, by their hashes
        self.functions: dict[str, Function] = {}
        self._constants = 0
        self.heads: list[Entry] = []

    def _build(self) -> None:
        self._clear()
        entries: dict[Any, list[Entry]] = {}
        for param in self.main.params:
            entries[param] = self._add("null", param.name_hint, param, [])
        stack: list[tuple[Expr, int]] = [(self.main.body, 0)]
        while stack:
            expr, stage = stack.pop()
            if expr in entries:
                continue
            if isinstance(expr, Let):
                if stage == 2:
                    entries[expr] = entries[expr.body]
                    continue
                if stage == 1:
                    entries[expr.var] = entries[expr.value]
                stack += [(expr, stage + 1), (expr.value if stage == 0 else expr.body, 0)]
            elif stage == 0:
                stack.append((expr, 1))
                stack.extend((operand, 0) for operand in reversed(_operands(expr)))
            else:
                entries[expr] = self._entries(expr, entries)
        self.heads = entries[self.main.body]

    def _one_node(self) -> None:
        """The whole program as one node."""
        self._clear()
        inputs = [entry for param in self.main.params for entry in self._add("null", param.name_hint, param, [], _tensors_of)]
        self.heads = self._add("tvm_op", self._prefix + "main", self.main.body, inputs, _tensors_of)

    def _entries(self, expr: Expr, entries: dict[Any, list[Entry]]) -> list[Entry]:
        if isinstance(expr, Constant):
            self._constants += 1
            return self._add("null", f"p{self._constants - 1}", expr, [])
        if isinstance(expr, Tuple):
            return [entry for field in expr.fields for entry in entries[field]]
        if isinstance(expr, TupleGetItem):
            kind = expr.tuple_value.checked_type
            assert isinstance(kind, TupleType)
            first = sum(_count(field) for field in list(kind.fields)[: expr.index])
            return entries[expr.tuple_value][first : first + _count(expr.checked_type)]
        assert isinstance(expr, Call)
        return self._add("tvm_op", _kernel_name(expr.op, self._prefix), expr, [entry for arg in expr.args for entry in entries[arg]])

    def _add(self, op: str, name: str, expr: Expr, inputs: list[Entry], tensors: Any = None) -> list[Entry]:
        types = (tensors or _tensors)(expr.checked_type)
        times = self._names.get(name, 0)
        self._names[name] = times + 1
        node: dict[str, Any] = {"op": op, "name": name if times == 0 or op == "null" else f"{name}_{times}", "inputs": [[*entry, 0] for entry in inputs]}
        if op == "tvm_op":
            text = f"{name}: {', '.join(str(t) for t in types)}"
            node["attrs"] = {
                "func_name": self._function_name(name, expr), "num_outputs": str(len(types)), "num_inputs": str(len(inputs)), "flatten_data": "0",
                "hash": hashlib.sha256(text.encode()).hexdigest()[:16],
            }  # fmt: skip
        at = len(self.nodes)
        self.nodes.append(node)
        self.exprs.append(expr)
        self._types.append(types)
        return [(at, i) for i in range(len(types))]

    def _function_name(self, name: str, expr: Expr) -> str:
        """The name of what a node calls: nodes that call equal functions have one of them."""
        if not isinstance(expr, Call) or not isinstance(expr.op, Function):
            return name
        same = self._kernels.setdefault(name, {})
        made = same.setdefault(_relay.structural_hash(expr.op), name if not same else f"{name}_{len(same)}")
        self.functions.setdefault(made, expr.op)
        return made

    def index(self, node: int | str) -> int:
        """The number of a node by its number or name. Raises ValueError if there is none."""
        if isinstance(node, str):
            for i, row in enumerate(self.nodes):
                if row["name"] == node:
                    return i
            raise ValueError(f"the graph has no node {node!r}")
        if not 0 <= int(node) < len(self.nodes):
            raise ValueError(f"node {node} of a graph with {len(self.nodes)} nodes")
        return int(node)

    @property
    def types(self) -> list[list[TensorType]]:
        """The types of the results of each node."""
        return self._types

    def text(self) -> str:
        """The JSON document. Unknown extents are -1."""
        rows = [0]
        for types in self._types:
            rows.append(rows[-1] + len(types))
        flat = [t for types in self._types for t in types]
        shapes = [[int(d) if isinstance(d, int) else -1 for d in t.shape] for t in flat]
        document = {
            "nodes": self.nodes,
            "arg_nodes": [i for i, node in enumerate(self.nodes) if node["op"] == "null"],
            "heads": [[*entry, 0] for entry in self.heads],
            "attrs": {
                "dltype": ["list_str", [str(t.dtype) for t in flat]], "device_index": ["list_int", [1] * len(flat)],
                "storage_id": ["list_int", [storage for ids in storage_of(self) for storage in ids]], "shape": ["list_shape", shapes],
            },
            "node_row_ptr": rows,
        }  # fmt: skip
        return json.dumps(document, indent=2)


def _operands(expr: Expr) -> list[Expr]:
    """The expressions that a node of the graph reads. Raises _NoGraphError for what is none."""
    if isinstance(expr, Constant):
        return []
    if isinstance(expr, Tuple):
        return list(expr.fields)
    if isinstance(expr, TupleGetItem):
        return [expr.tuple_value]
    if isinstance(expr, Call) and (isinstance(expr.op, Op) or (isinstance(expr.op, Function) and _is_kernel(expr.op))):
        return list(expr.args)
    raise _NoGraphError


def _kernel_name(callee: Expr, prefix: str) -> str:
    if isinstance(callee, Op):
        return prefix + callee.name.replace(".", "_")
    assert isinstance(callee, Function)
    names: list[str] = []

    def note(expr: Expr) -> None:
        if isinstance(expr, Call) and isinstance(expr.op, Op):
            names.append(expr.op.name.replace(".", "_"))

    _relay.analysis.post_order_visit(callee.body, note)
    name = prefix + "fused_" + "_".join(names)
    if len(name) > _LONGEST_NAME:
        name = name[:_LONGEST_NAME] + "_" + hashlib.sha256(name.encode()).hexdigest()[:16] + "_"
    return name


def _is_kernel(function: Function) -> bool:
    return function.attrs is not None and "Primitive" in function.attrs.keys()


def _tensors(type_: Any) -> list[TensorType]:
    """The tensors of a type, in order."""
    found: list[TensorType] = []
    stack = [type_]
    while stack:
        top = stack.pop()
        if isinstance(top, TensorType):
            found.append(top)
        elif isinstance(top, TupleType):
            stack.extend(reversed(list(top.fields)))
        else:
            raise _NoGraphError
    return found


def _tensors_of(type_: Any) -> list[TensorType]:
    """The same for a program that is one node; data types and functions have none."""
    try:
        return _tensors(type_)
    except _NoGraphError:
        return []


def _count(type_: Any) -> int:
    return len(_tensors(type_))
