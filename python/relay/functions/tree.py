"""Trees of values: tuples, lists, dictionaries, named tuples, dataclasses and None around leaves, taken apart and put together again."""

from __future__ import annotations

import dataclasses
from typing import Any, Callable, Iterator

from .dtypes import Spec

__all__ = ["Tree", "flatten", "leaf", "map_tree", "paths", "register", "unflatten"]

# The form of a tree: a kind, what rebuilds a node, and the forms of its children. Forms are hashable and compare by what they mean.
Tree = Any
_LEAF = ("leaf",)
_REGISTERED: dict[type, tuple[Callable[[Any], tuple[Any, Any]], Callable[[Any, Any], Any]]] = {}
_MOST_DEPTH = 200


def leaf() -> Tree:
    """The form of a value that is no tree."""
    return _LEAF


def register(kind: type, take_apart: Callable[[Any], tuple[Any, Any]], put_together: Callable[[Any, Any], Any]) -> None:
    """Makes a class of yours a node of trees.

    `take_apart` gives the children, and what is fixed (hashable); `put_together` takes what is fixed and the children.
    """
    _REGISTERED[kind] = (take_apart, put_together)


def _parts(value: Any) -> tuple[Any, list[Any], list[Any]] | None:
    """What rebuilds a node, names of its children, and the children; None for a leaf."""
    kind = type(value)
    if kind is Spec:
        return None
    if kind in _REGISTERED:
        children, fixed = _REGISTERED[kind][0](value)
        found = list(children)
        return ("registered", kind, fixed), [f"[{i}]" for i in range(len(found))], found
    if value is None:
        return ("none",), [], []
    if isinstance(value, tuple):
        names = getattr(kind, "_fields", None)
        if names is not None:
            return ("named", kind), [f".{name}" for name in names], list(value)
        return (("tuple",), [f"[{i}]" for i in range(len(value))], list(value)) if kind is tuple else None
    if kind is list:
        return ("list",), [f"[{i}]" for i in range(len(value))], value
    if isinstance(value, dict):
        try:
            keys = sorted(value)
        except TypeError:
            keys = list(value)
        return ("dict", kind if kind in (dict,) else dict, tuple(keys)), [f"[{key!r}]" for key in keys], [value[key] for key in keys]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [field.name for field in dataclasses.fields(value) if field.init]
        return ("dataclass", kind, tuple(fields)), [f".{name}" for name in fields], [getattr(value, name) for name in fields]
    return None


def flatten(tree: Any) -> tuple[list[Any], Tree]:
    """The leaves from left to right, and the form of the tree. Keys of dictionaries come in order."""
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves, 0)


def _flatten(value: Any, leaves: list[Any], depth: int) -> Tree:
    found = _parts(value)
    if found is None:
        leaves.append(value)
        return _LEAF
    if depth > _MOST_DEPTH:
        raise ValueError(f"a tree of values is more than {_MOST_DEPTH} levels deep, or holds itself")
    head, _, children = found
    return (head, tuple([_flatten(child, leaves, depth + 1) for child in children]))


def paths(tree: Any, start: str = "") -> list[str]:
    """The place of each leaf, as one writes it in Python: `x["w"][0].bias`."""
    found = _parts(tree)
    if found is None:
        return [start]
    return [path for name, child in zip(found[1], found[2]) for path in paths(child, start + name)]


def unflatten(form: Tree, leaves: Any) -> Any:
    """The tree of a form with other leaves."""
    return _unflatten(form, iter(leaves))


def _unflatten(form: Tree, leaves: Iterator[Any]) -> Any:
    if form is _LEAF or form == _LEAF:
        return next(leaves)
    head, forms = form
    children = [_unflatten(child, leaves) for child in forms]
    kind = head[0]
    if kind == "tuple":
        return tuple(children)
    if kind == "list":
        return children
    if kind == "none":
        return None
    if kind == "dict":
        return dict(zip(head[2], children))
    if kind == "named":
        return head[1](*children)
    if kind == "dataclass":
        return head[1](**dict(zip(head[2], children)))
    return _REGISTERED[head[1]][1](head[2], children)


def map_tree(fn: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """Calls a function on each leaf (and those of other trees of the same form) and gives the tree of the results."""
    leaves, form = flatten(tree)
    rest = []
    for other in others:
        found, its = flatten(other)
        if its != form:
            raise ValueError("the trees have different forms")
        rest.append(found)
    return unflatten(form, [fn(*items) for items in zip(leaves, *rest)])
