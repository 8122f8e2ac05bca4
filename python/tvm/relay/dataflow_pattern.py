"""TVM's names of `relay.dataflow_pattern`."""

from __future__ import annotations

from typing import Any, TypeVar

from relay import Expr as Expr
from relay import dataflow_pattern as _patterns
from relay.dataflow_pattern import *  # noqa: F403

from .. import _absent
from ..ir.op import Op
from ..runtime import Object as Object

Node = Object
_Class = TypeVar("_Class", bound=type)

_operators: Any = Op
get = _operators.get


def astext(obj: Any, show_meta_data: bool = True, annotate: Any = None) -> str:
    """The text of a pattern, an expression or a module."""
    if isinstance(obj, _patterns.DFPattern):
        pattern: Any = obj
        return str(pattern.astext(show_meta_data, annotate))
    from . import __dict__ as names

    return str(names["astext"](obj, show_meta_data, annotate))


def pretty_print(obj: Any) -> None:
    """Prints the text of a pattern, an expression or a module."""
    print(astext(obj))


def register_df_node(type_key: Any = None) -> Any:
    """A decorator for classes of Python that stand for nodes: the class itself, since all nodes have their classes here."""
    if isinstance(type_key, type):
        return type_key

    def register(cls: _Class) -> _Class:
        return cls

    return register


def make_node(type_key: str, **kwargs: Any) -> Any:
    """A node by the name of its class: attributes of calls and functions."""
    from ..ir import make_node as make

    return make(type_key, **kwargs)


class _DFPatternCallback(_patterns.DFPatternCallback):
    """A callback of its parts, as scripts make it for calls of TVM's C++ side; `rewrite` takes it."""

    def __init__(self, pattern: Any, callback: Any, require_type: bool = False, rewrite_once: bool = False) -> None:
        super().__init__(bool(require_type), bool(rewrite_once))
        self.pattern = pattern
        self.function = callback

    def callback(self, pre: Expr, post: Expr, node_map: Any) -> Expr:
        """What the function makes of a match."""
        made: Expr = self.function(pre, post, node_map)
        return made


def _type_key(self: _patterns.DFPattern) -> str:
    """The name that TVM registers the class under."""
    return f"relay.dataflow_pattern.{type(self).__name__}"


def _astype(self: _patterns.TuplePattern, _: Any) -> Any:
    """Raises TypeError: a tuple has no dtype."""
    raise TypeError("astype cannot be used on tuples")


setattr(_patterns.DFPattern, "node_type_key", property(_type_key))
setattr(_patterns.TuplePattern, "astype", _astype)

__all__ = [*_patterns.__all__, "Expr", "Node", "Object", "astext", "get", "make_node", "pretty_print", "register_df_node"]


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)


