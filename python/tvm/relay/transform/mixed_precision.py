"""`tvm.relay.transform.mixed_precision`: categories of calls for rules that scripts attach to operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import _absent
from ..op.op import register_mixed_precision_conversion

# A call is always narrow, narrow where its inputs are, or never narrow.
MIXED_PRECISION_ALWAYS, MIXED_PRECISION_FOLLOW, MIXED_PRECISION_NEVER = 0, 1, 2


def get_generic_out_dtypes(call_node: Any, mixed_precision_type: str) -> list[str]:
    """The dtype of sums and of the result: sums of operators with an `out_dtype` are of float32."""
    sums = call_node.attrs is not None and "out_dtype" in call_node.attrs
    return ["float32" if sums else mixed_precision_type, mixed_precision_type]


def _rule(category: int, name: str) -> Callable[[Any, str], list[Any]]:
    def rule(call_node: Any, mixed_precision_type: str) -> list[Any]:
        return [category, *get_generic_out_dtypes(call_node, mixed_precision_type)]

    rule.__name__ = rule.__qualname__ = name
    rule.__doc__ = f"The rule of category {category}."
    return rule


generic_always_op = _rule(MIXED_PRECISION_ALWAYS, "generic_always_op")
generic_follow_op = _rule(MIXED_PRECISION_FOLLOW, "generic_follow_op")
generic_never_op = _rule(MIXED_PRECISION_NEVER, "generic_never_op")


def register_func_to_op_list(list_ops: Sequence[str]) -> Callable[[Any], Any]:
    """A decorator that attaches a rule to several operators."""

    def attach(func: Any) -> Any:
        for name in list_ops:
            register_mixed_precision_conversion(name, func)
        return func

    return attach


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
