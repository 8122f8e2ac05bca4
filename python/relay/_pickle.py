"""Pickling of nodes, types and modules.

An expression is pickled as the list of its nodes, operands first, so that depth does not matter; variables, type variables and
constants are objects of their own in the pickle, and stay shared among all that is pickled together. Modules are pickled as text.
"""

from __future__ import annotations

import copyreg
from typing import Any

from . import _core
from ._core import (
    Attrs,
    BaseType,
    Call,
    Clause,
    Constant,
    Constructor,
    Diagnostic,
    Dim,
    DimType,
    Expr,
    FuncType,
    Function,
    GlobalTypeVar,
    GlobalVar,
    If,
    IncompleteType,
    IRModule,
    Let,
    Literal,
    Match,
    Op,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
    RefCreate,
    RefRead,
    RefType,
    RefWrite,
    RelayError,
    ShapeType,
    Span,
    TensorType,
    Tuple,
    TupleGetItem,
    TupleType,
    TypeCall,
    TypeData,
    TypeVar,
    Var,
)


def _attrs_items(attrs: Attrs | None) -> dict[str, Any] | None:
    return None if attrs is None else dict(attrs.items())


def _call_attrs(op: Expr, items: dict[str, Any] | None) -> Any:
    if items is None:
        return None
    return _core.op_attrs(op, **items) if isinstance(op, Op) else items


# For each kind of node: its fields besides operands, and how it is made of operands and those.
_KINDS: dict[type, tuple[Any, Any]] = {
    Tuple: (lambda e: None, lambda ops, _: Tuple(ops)),
    TupleGetItem: (lambda e: e.index, lambda ops, index: TupleGetItem(ops[0], index)),
    Call: (
        lambda e: (_attrs_items(e.attrs), e.type_args or None),
        lambda ops, f: Call(ops[0], ops[1:], _call_attrs(ops[0], f[0]), f[1]),
    ),
    Function: (
        lambda e: (e.params, e.ret_type, e.type_params, _attrs_items(e.attrs)),
        lambda ops, f: Function(f[0], ops[0], f[1], f[2], f[3]),
    ),
    Let: (lambda e: e.var, lambda ops, var: Let(var, ops[0], ops[1])),
    If: (lambda e: None, lambda ops, _: If(*ops)),
    Match: (
        lambda e: ([clause.lhs for clause in e.clauses], e.complete),
        lambda ops, f: Match(ops[0], [Clause(lhs, rhs) for lhs, rhs in zip(f[0], ops[1:])], f[1]),
    ),
    RefCreate: (lambda e: None, lambda ops, _: RefCreate(ops[0])),
    RefRead: (lambda e: None, lambda ops, _: RefRead(ops[0])),
    RefWrite: (lambda e: None, lambda ops, _: RefWrite(*ops)),
}
_NAMES = {cls.__name__: make for cls, (_, make) in _KINDS.items()}


def _reduce_graph(expr: Expr) -> tuple[Any, ...]:
    nodes = _core.post_order(expr)
    index: dict[Expr, int] = {}
    rows: list[Any] = []
    for node in nodes:
        index[node] = len(rows)
        kind = _KINDS.get(type(node))
        if kind is None:
            rows.append(node)
            continue
        if isinstance(node, Function) and node.type_constraints:
            raise TypeError("a function with relations on it cannot be pickled alone: pickle the module that it is in")
        rows.append((type(node).__name__, kind[0](node), [index[operand] for operand in node.operands]))
    return _make_graph, (rows,)


def _make_graph(rows: list[Any]) -> Expr:
    nodes: list[Expr] = []
    for row in rows:
        if isinstance(row, tuple):
            name, fields, operands = row
            row = _NAMES[name]([nodes[i] for i in operands], fields)
        nodes.append(row)
    return nodes[-1]


def _reduce_constraints(_: Any) -> tuple[Any, ...]:
    raise TypeError("a type with relations in it cannot be pickled alone: pickle the module that it is in")


def _reduce_func_type(t: FuncType) -> tuple[Any, ...]:
    return (FuncType, (t.arg_types, t.ret_type, t.type_params)) if not t.type_constraints else _reduce_constraints(t)


def _any_dim() -> Dim:
    return Dim.any()


def _reduce_dim(dim: Dim) -> tuple[Any, ...]:
    if dim.is_any:
        return _any_dim, ()
    if dim.symbol is None:
        raise TypeError(f"the extent {dim} cannot be pickled alone: pickle the module that it is in")
    return Dim, (dim.symbol,)


def _op(name: str) -> Expr:
    return _core.op(name)


def _load_module(text: str) -> IRModule:
    return _core.parse_module(text, "<pickle>")


def _make_module(types: list[TypeData], functions: list[tuple[str, Function]]) -> IRModule:
    return IRModule(dict(functions), types)


def _reduce_module(mod: IRModule) -> tuple[Any, ...]:
    try:
        return _load_module, (mod.astext(),)
    except RelayError:  # nested too deeply for program text
        return _make_module, (list(mod.type_definitions.values()), [(name, mod[name]) for name in mod.function_names])


def _make_attrs(items: dict[str, Any]) -> Attrs:
    return _core.dict_attrs(list(items.items()))


def _reduce_attrs(attrs: Attrs) -> tuple[Any, ...]:
    if attrs.type_key != "DictAttrs":
        raise TypeError(f"{attrs.type_key} cannot be pickled alone: pickle the call that has it")
    return _make_attrs, (dict(attrs.items()),)


def load_source(name: str, text: bytes) -> Any:
    """A source text, which spans are in."""
    return _core.source(name, text)


def load_span(source: Any, offset: int, length: int) -> Span:
    """Some bytes of a source text."""
    return _core.span_in(source, offset, length)


def load_diagnostic(is_error: bool, message: str, span: Span, notes: list[Any]) -> Diagnostic:
    """An error or warning with its notes."""
    made: Diagnostic = _core.diagnostic(is_error, message, span, notes)
    return made


def _register() -> None:
    for cls in _KINDS:
        copyreg.pickle(cls, _reduce_graph)
    reducers: dict[Any, Any] = {
        Var: lambda e: (Var, (e.name_hint, e.type_annotation)),
        GlobalVar: lambda e: (GlobalVar, (e.name_hint,)),
        Constant: lambda e: (Constant, (e.data,)),
        Literal: lambda e: (Literal, (e.value,)),
        Op: lambda e: (_op, (e.name,)),
        Constructor: lambda e: (Constructor, (e.name_hint, e.inputs, e.belong_to, e.tag)),
        Clause: lambda e: (Clause, (e.lhs, e.rhs)),
        PatternWildcard: lambda p: (PatternWildcard, ()),
        PatternVar: lambda p: (PatternVar, (p.var,)),
        PatternConstructor: lambda p: (PatternConstructor, (p.constructor, p.patterns)),
        PatternTuple: lambda p: (PatternTuple, (p.patterns,)),
        TensorType: lambda t: (TensorType, (t.shape, t.dtype)),
        TupleType: lambda t: (TupleType, (t.fields,)),
        FuncType: _reduce_func_type,
        TypeVar: lambda t: (TypeVar, (t.name_hint, t.var_kind)),
        GlobalTypeVar: lambda t: (GlobalTypeVar, (t.name_hint,)),
        TypeCall: lambda t: (TypeCall, (t.func, t.args)),
        RefType: lambda t: (RefType, (t.value,)),
        ShapeType: lambda t: (ShapeType, (t.dims,)),
        BaseType: lambda t: (BaseType, (t.dtype,)),
        DimType: lambda t: (DimType, (t.dim,)),
        IncompleteType: lambda t: (IncompleteType, (t.var_kind,)),
        TypeData: lambda t: (TypeData, (t.header, t.type_vars, t.constructors, t.is_extern)),
        Dim: _reduce_dim,
        Attrs: _reduce_attrs,
        IRModule: _reduce_module,
    }
    for cls, reduce in reducers.items():
        copyreg.pickle(cls, reduce)


_register()
