"""Trees of values, with JAX's names: tuples, lists, dictionaries, named tuples and dataclasses around leaves.

    relay.tree.map(lambda w, g: w - 0.1 * g, params, slopes)
"""

from __future__ import annotations

from typing import Any

from .functions.tree import flatten as _flatten, map_tree as map, register, unflatten as _unflatten  # noqa: A004 (JAX's name)

__all__ = ["flatten", "leaves", "map", "register", "structure", "unflatten"]


def flatten(tree: Any) -> tuple[list[Any], Any]:
    """The leaves in order, and the form of the tree, which compares and hashes."""
    return _flatten(tree)


def leaves(tree: Any) -> list[Any]:
    """The leaves in order."""
    return _flatten(tree)[0]


def structure(tree: Any) -> Any:
    """The form of the tree."""
    return _flatten(tree)[1]


def unflatten(form: Any, leaves: Any) -> Any:  # noqa: F811 (a parameter)
    """The tree of a form with these leaves."""
    return _unflatten(form, leaves)
