"""`tvm.ir`: modules, types, operators, equality, and programs as text in a JSON document."""

from __future__ import annotations

import inspect
import json
import pickle
from base64 import b64decode, b64encode
from collections.abc import Mapping
from operator import index as _index
from typing import Any

import relay as _relay
from relay import (
    Attrs,
    Constructor,
    Expr,
    FuncType,
    GlobalTypeVar,
    GlobalVar,
    IncompleteType,
    Span,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeData,
    TypeRelation,
    TypeVar,
)
from relay import RefType as RelayRefType
from relay.ty import TypeKind

from .. import _absent
from . import container, diagnostics, instrument, supply, transform
from .affine_type import AffineType as AffineType, TensorAffineType as TensorAffineType, TupleAffineType as TupleAffineType
from .container import Array, Map
from .members import install as _install, with_result_types, with_short_floats
from .module import IRModule
from .op import Op, register_intrin_lowering, register_op_attr
from .ranges import Range
from .spans import SequentialSpan, SourceName, install as _install_spans
from .transform import PassContext

_install()
_install_spans()

RelayExpr = BaseExpr = PrimExpr = Expr
BaseFunc = _relay.Function
DictAttrs = Attrs
TypeConstraint = TypeRelation
PrimType = _relay.BaseType

__all__ = [
    "Array", "Attrs", "BaseExpr", "BaseFunc", "Constructor", "DictAttrs", "EnvFunc", "FuncType", "GlobalTypeVar", "GlobalVar", "IRModule",
    "AffineType", "TensorAffineType", "TupleAffineType",
    "IncompleteType", "Map", "Op", "PassContext", "PrimExpr", "PrimType", "Range", "RelayExpr", "RelayRefType", "SequentialSpan",
    "SourceName", "Span", "TensorType", "TupleType", "Type", "TypeCall", "TypeConstraint", "TypeData", "TypeKind",
    "TypeRelation", "TypeVar", "assert_structural_equal", "container", "diagnostics", "instrument", "load_json", "make_node",
    "register_intrin_lowering", "register_op_attr", "save_json", "structural_equal", "structural_hash", "supply", "transform",
]  # fmt: skip


def structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> bool:
    """True if two programs, types or containers of such are the same but for the names of what they bind."""
    lhs, rhs = _as_programs(lhs, rhs)
    if map_free_vars:
        lhs, rhs = _closed(lhs), _closed(rhs)
    return _relay.structural_equal(lhs, rhs, map_free_vars) or _difference(lhs, rhs, map_free_vars) is None


def _as_programs(lhs: Any, rhs: Any) -> tuple[Any, Any]:
    """Two patterns or clauses of a match as matches that have them alone; other things as they are."""
    if not isinstance(lhs, (_relay.Pattern, _relay.Clause)) and not isinstance(rhs, (_relay.Pattern, _relay.Clause)):
        return lhs, rhs
    if isinstance(lhs, _relay.Clause) is not isinstance(rhs, _relay.Clause) or isinstance(lhs, _relay.Match) or isinstance(rhs, _relay.Match):
        return _relay.Tuple([]), _relay.Tuple([_relay.Tuple([])])
    return _as_program(lhs), _as_program(rhs)


def _as_program(thing: Any) -> Any:
    if isinstance(thing, _relay.Pattern):
        thing = _relay.Clause(thing, _relay.Tuple([]))
    return _relay.Match(_relay.Tuple([]), [thing], False) if isinstance(thing, _relay.Clause) else thing


def _closed(thing: Any) -> Any:
    """A type whose free variables are parameters, so that they may have other names; what is no type stays."""
    free = _relay.analysis.free_type_vars(thing) if isinstance(thing, Type) else []
    return FuncType([], thing, free) if free else thing


def assert_structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> None:
    """Raises ValueError that names the first difference and where it is."""
    lhs, rhs = _as_programs(lhs, rhs)
    if map_free_vars:
        lhs, rhs = _closed(lhs), _closed(rhs)
    difference = _difference(lhs, rhs, map_free_vars)
    if difference is not None:
        raise ValueError(f"StructuralEqual check failed: the programs differ: {difference}")


def _difference(lhs: Any, rhs: Any, map_free_vars: bool) -> str | None:
    """The first difference. A result type that was inferred counts as one that is written: TVM writes it where it infers. Floats in
    attributes are compared as float32: TVM leaves a small difference open."""
    found: str | None = _relay.structural_difference(lhs, rhs, map_free_vars)
    if found is None or not isinstance(lhs, (Expr, IRModule)) or lhs.__class__ is not rhs.__class__:
        return found
    left, right = with_short_floats(with_result_types(lhs)), with_short_floats(with_result_types(rhs))
    if left is lhs and right is rhs:
        return found
    return None if _relay.structural_difference(left, right, map_free_vars) is None else found


def structural_hash(node: Any, map_free_vars: bool = False) -> int:
    """A number that is the same for what `structural_equal` calls equal, but for result types that one side has written and the other inferred."""
    node = _as_program(node)
    if map_free_vars:
        node = _closed(node)
    return _relay.structural_hash(with_short_floats(node) if isinstance(node, (Expr, IRModule)) else node, map_free_vars)


# The version of the documents of what TVM's layout has no place for; another one is refused.
_FORMAT = "relay-json 1"
# The release whose layout documents have.
_LAYOUT = "0.14.0"


def save_json(node: Any) -> str:
    """A program, type, target or container of such as JSON text that `load_json` reads.

    Programs, types, numbers, texts and containers of these are laid out as TVM's documents are, node by node; targets, and what that layout
    has no place for, are documents that `load_json` of this package alone reads.
    """
    from ..target import Target
    from ._tvm_json_write import UnwritableError, write

    if isinstance(node, Target):
        return json.dumps({"format": _FORMAT, "target": node.export()}, default=_plain)
    try:
        return write(node, _LAYOUT)
    except UnwritableError:
        pass
    if isinstance(node, _relay.IRModule):
        return json.dumps({"format": _FORMAT, "module": node.astext(show_types=False), "typed": _is_typed(node)})
    try:
        return json.dumps({"format": _FORMAT, "pickle": b64encode(pickle.dumps(node)).decode()})
    except RuntimeError as error:  # a text that is no UTF-8 in attributes of an expression
        raise _relay.RelayError(f"save_json cannot write a {node.__class__.__name__}: {error}") from None


def _is_typed(module: _relay.IRModule) -> bool:
    """True if every function has a type."""
    try:
        return all(module[name].checked_type is not None for name in module.function_names)
    except ValueError:
        return False


def _plain(value: Any) -> Any:
    """What JSON has for an option of a target that is a number of NumPy or another container."""
    if isinstance(value, Mapping):
        return dict(value)
    return _index(value) if hasattr(value, "__index__") else list(value)


class _Unpickler(pickle.Unpickler):
    """Takes the package's own classes and plain containers only: a file must not choose what is called."""

    _BUILTINS = {"int", "dict", "list", "tuple", "set", "frozenset", "slice", "complex", "bytearray"}

    def find_class(self, module: str, name: str) -> Any:
        allowed = module == "relay._pickle" and "." not in name or module == "builtins" and name in self._BUILTINS
        if module == "relay._core":
            found = getattr(_relay._core, name, None)
            allowed = inspect.isclass(found) and found is not _relay.Executable
        allowed = allowed or module == Array.__module__ and name in ("Array", "Map", "ShapeTuple", "String", "restored_array", "restored_map")
        allowed = allowed or (module, name) in {
            ("tvm.target", "Target"), ("numpy", "ndarray"), ("numpy", "dtype"), ("numpy.core.multiarray", "_reconstruct"),
            ("numpy._core.multiarray", "_reconstruct"), ("numpy._core.numeric", "_frombuffer"), ("numpy.core.numeric", "_frombuffer"),
        }  # fmt: skip
        if not allowed:
            raise _relay.RelayError(f"the document names {module}.{name}, which is no part of a program")
        return super().find_class(module, name)


def load_json(json_str: str) -> Any:
    """The object that `save_json` wrote, here or in TVM: of TVM's documents, programs of Relay, types, numbers, texts and containers.

    Raises RelayError for other documents.
    """
    import io

    from ..target import Target

    try:
        document = json.loads(json_str)
    except ValueError as error:
        raise _relay.RelayError(f"this is no JSON document: {error}") from None
    except RecursionError:
        raise _relay.RelayError("the document is nested too deeply") from None
    if isinstance(document, dict) and "nodes" in document:
        from . import _tvm_json

        return _tvm_json.read(document)
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise _relay.RelayError(f"the document is of another format; load_json reads what save_json wrote, here ({_FORMAT}) or in TVM")
    if "target" in document:
        try:
            return Target(document["target"])
        except ValueError as error:
            raise _relay.RelayError(f"the document is damaged: {error}") from None
    if "module" in document:
        module = _relay.parse(document["module"], "json")
        return _relay.transform.create("InferType")(module) if document.get("typed") is True else module
    try:
        return _Unpickler(io.BytesIO(b64decode(document["pickle"]))).load()
    except _relay.RelayError:
        raise
    except Exception as error:
        raise _relay.RelayError(f"the document is damaged: {error}") from None


def make_node(type_key: str, **kwargs: Any) -> Any:
    """A node by TVM's type key: an expression, a type, `DictAttrs`, or attributes of an operator, such as `relay.attrs.SoftmaxAttrs`.

    Raises ValueError for other keys, RelayError for attributes that the operator does not have.
    """
    if type_key == "DictAttrs":
        return _relay._core.dict_attrs(list(kwargs.items()))
    if type_key.startswith("relay.attrs."):
        return _relay.Attrs(kwargs, type_key)
    from .. import tir

    name = type_key.removeprefix("relay.").removeprefix("expr.").removeprefix("ir.").removeprefix("tir.")
    cls = getattr(tir, name) if name in ("IntImm", "FloatImm", "StringImm") else getattr(_relay, name, None)
    if not inspect.isclass(cls):
        raise ValueError(f"no node is called {type_key}")
    return cls(**kwargs)


class EnvFunc:
    """A function of the registry, by name."""

    def __init__(self, name: str) -> None:
        from ..runtime.registry import get_global_func

        self.name = name
        # Relations of types are told by their names alone, for `TypeRelation`.
        self.func: Any = None if name.startswith("tvm.relay.type_relation.") else get_global_func(name)

    def __call__(self, *args: Any) -> Any:
        return self.func(*args)

    @staticmethod
    def get(name: str) -> EnvFunc:
        """The registered function. Raises ValueError if there is none."""
        return EnvFunc(name)


from . import attrs as attrs  # noqa: E402


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
