"""Pickling of nodes, types and modules.

An expression is pickled as the list of its nodes with their places in source text, operands first, so that depth does not matter;
variables, type variables and constants are objects of their own in the pickle, and stay shared among all that is pickled together.
Types that inference found are found again: a module that was typed comes back typed.
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
    Kind,
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
    ShapeType,
    Span,
    TensorType,
    Tuple,
    TupleGetItem,
    TupleType,
    TypeCall,
    TypeData,
    TypeRelation,
    TypeVar,
    Var,
)


# The types that are written at variables, functions and calls. The package `tvm` shows what inference found where nothing is written.
_annotation: Any = vars(Var)["type_annotation"].__get__
_result: Any = vars(Function)["ret_type"].__get__
_type_args: Any = vars(Call)["type_args"].__get__

# For each kind of node: its fields besides operands, and how it is made of operands, those, and its place.
_KINDS: dict[type, tuple[Any, Any]] = {
    Tuple: (lambda e: None, lambda ops, _, span: Tuple(ops, span)),
    TupleGetItem: (lambda e: e.index, lambda ops, index, span: TupleGetItem(ops[0], index, span)),
    Call: (lambda e: (e.attrs, _type_args(e) or None), lambda ops, f, span: Call(ops[0], ops[1:], f[0], f[1], span)),
    Function: (
        lambda e: (e.params, _result(e), e.type_params, e.attrs, e.type_constraints),
        lambda ops, f, span: Function(f[0], ops[0], f[1], f[2], f[3], span, f[4]),
    ),
    Let: (lambda e: e.var, lambda ops, var, span: Let(var, ops[0], ops[1], span)),
    If: (lambda e: None, lambda ops, _, span: If(ops[0], ops[1], ops[2], span)),
    Match: (
        lambda e: ([clause.lhs for clause in e.clauses], e.complete),
        lambda ops, f, span: Match(ops[0], [Clause(lhs, rhs) for lhs, rhs in zip(f[0], ops[1:])], f[1], span),
    ),
    RefCreate: (lambda e: None, lambda ops, _, span: RefCreate(ops[0], span)),
    RefRead: (lambda e: None, lambda ops, _, span: RefRead(ops[0], span)),
    RefWrite: (lambda e: None, lambda ops, _, span: RefWrite(ops[0], ops[1], span)),
}
_NAMES = {cls.__name__: make for cls, (_, make) in _KINDS.items()}


def _place(node: Any) -> tuple[Any, ...]:
    """The place of a node as a last argument, where it has one."""
    return (node.span,) if node.span else ()


def _reduce_graph(expr: Expr) -> tuple[Any, ...]:
    nodes = _core.post_order(expr)
    index: dict[Expr, int] = {}
    rows: list[Any] = []
    for node in nodes:
        index[node] = len(rows)
        kind = _KINDS.get(type(node))
        if kind is None:
            rows.append(node)
        else:
            rows.append((type(node).__name__, kind[0](node), [index[operand] for operand in node.operands], *_place(node)))
    return _make_graph, (rows,)


def _make_graph(rows: list[Any]) -> Expr:
    nodes: list[Expr] = []
    nowhere = Span()
    for row in rows:
        if isinstance(row, tuple):
            name, fields, operands, *place = row
            row = _NAMES[name]([nodes[i] for i in operands], fields, place[0] if place else nowhere)
        nodes.append(row)
    return nodes[-1]


def _make_relation(name: str, args: list[Any], num_inputs: int, attrs: Attrs | None) -> TypeRelation:
    return TypeRelation(name, args, num_inputs, attrs)


def _make_type_var(name: str, kind: Kind, implicit: bool) -> TypeVar:
    return _core.make_type_var(name, kind, implicit)


def _make_dim(rows: list[Any]) -> Dim:
    made: Dim = _core.dim_of_rows(rows)
    return made


def _op(name: str) -> Expr:
    return _core.op(name)


def _is_typed(mod: IRModule) -> bool:
    return all(mod[name].type is not None for name in mod.function_names)


def _make_module(types: list[TypeData], functions: list[tuple[str, Function]], typed: bool, sources: list[Any]) -> IRModule:
    made = IRModule(dict(functions), types)
    for source in sources:
        _core.keep_source(made, source)
    if typed:
        _core.infer_types(made)
    return made


def _reduce_module(mod: IRModule) -> tuple[Any, ...]:
    functions = [(name, mod[name]) for name in mod.function_names]
    return _make_module, (list(mod.type_definitions.values()), functions, _is_typed(mod), _core.sources_of(mod))


def _reduce_attrs(attrs: Attrs) -> tuple[Any, ...]:
    return Attrs, (dict(attrs.items()), attrs.type_key)


def load_source(name: str, text: bytes) -> Any:
    """A source text, which spans are in."""
    return _core.source(name, text)


def load_span(source: Any, offset: int, length: int) -> Span:
    """Some bytes of a source text."""
    return _core.span_in(source, offset, length)


def load_diagnostic(
    is_error: bool, message: str, span: Span, notes: list[Any], code: str = "", fixes: list[Any] | None = None
) -> Diagnostic:
    """An error or warning with its notes, its rule and the changes that mend it."""
    made: Diagnostic = _core.diagnostic(is_error, message, span, notes, code, fixes or [])
    return made


def _register() -> None:
    for cls in _KINDS:
        copyreg.pickle(cls, _reduce_graph)
    reducers: dict[Any, Any] = {
        Var: lambda e: (Var, (e.name_hint, _annotation(e), *_place(e))),
        GlobalVar: lambda e: (GlobalVar, (e.name_hint, None, *_place(e))),
        Constant: lambda e: (Constant, (e.data, *_place(e))),
        Literal: lambda e: (Literal, (e.value, *_place(e))),
        Op: lambda e: (_op, (e.name,)),
        Constructor: lambda e: (Constructor, (e.name_hint, e.inputs, e.belong_to, e.tag, *_place(e))),
        Clause: lambda e: (Clause, (e.lhs, e.rhs)),
        PatternWildcard: lambda p: (PatternWildcard, ()),
        PatternVar: lambda p: (PatternVar, (p.var,)),
        PatternConstructor: lambda p: (PatternConstructor, (p.constructor, p.patterns)),
        PatternTuple: lambda p: (PatternTuple, (p.patterns,)),
        TensorType: lambda t: (TensorType, (t.shape, t.dtype)),
        TupleType: lambda t: (TupleType, (t.fields,)),
        FuncType: lambda t: (FuncType, (t.arg_types, t.ret_type, t.type_params, t.type_constraints)),
        TypeRelation: lambda t: (_make_relation, (t.name, t.args, t.num_inputs, t.attrs)),
        TypeVar: lambda t: (_make_type_var, (t.name_hint, t.var_kind, t.implicit)),
        GlobalTypeVar: lambda t: (GlobalTypeVar, (t.name_hint,)),
        TypeCall: lambda t: (TypeCall, (t.func, t.args)),
        RefType: lambda t: (RefType, (t.value,)),
        ShapeType: lambda t: (ShapeType, (t.dims,)),
        BaseType: lambda t: (BaseType, (t.dtype,)),
        DimType: lambda t: (DimType, (t.dim,)),
        IncompleteType: lambda t: (IncompleteType, (t.var_kind,)),
        TypeData: lambda t: (TypeData, (t.header, t.type_vars, t.constructors, t.is_extern, *_place(t))),
        Dim: lambda dim: (_make_dim, (_core.dim_rows(dim),)),
        Attrs: _reduce_attrs,
        IRModule: _reduce_module,
    }
    for cls, reduce in reducers.items():
        copyreg.pickle(cls, reduce)


_register()
