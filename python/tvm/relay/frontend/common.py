"""What front ends use."""

from __future__ import annotations

from typing import Any

import relay as _relay


def infer_type(node: Any, mod: Any = None) -> Any:
    """The node with types. Raises RelayError for a node that has none."""
    made = _relay.transform.InferType()(_module_of(node, mod))["main"]
    return made if isinstance(node, _relay.Function) else made.body


def infer_shape(inputs: Any, mod: Any = None) -> Any:
    """The extents of a tensor expression."""
    return tuple(infer_type(inputs, mod).checked_type.shape)


def _module_of(node: Any, mod: Any) -> Any:
    made = _relay.IRModule.from_expr(node)
    if mod is not None:
        for name in mod.function_names:
            if name != "main":
                made.add_function(name, mod[name], replace=True)
        for data in mod.type_definitions.values():
            made.add_type(data, replace=True)
    return made
