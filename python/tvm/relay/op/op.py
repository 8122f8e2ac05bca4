"""Operators by name, and what scripts attach to them.

What is attached is for the script's own passes (`Op.get_attr`): the compiler takes its facts from operators' declarations.
"""

from __future__ import annotations

from typing import Any

from relay.op.tensor import debug as debug

from ...ir.op import Op, register_op_attr


class OpPattern:
    """Classes of operators, by how they can be fused."""

    ELEMWISE = 0
    BROADCAST = 1
    INJECTIVE = 2
    COMM_REDUCE = 3
    OUT_ELEMWISE_FUSABLE = 4
    TUPLE = 7
    OPAQUE = 8


def get(op_name: str) -> Op:
    """The operator of a name. Raises RelayError, with the nearest names, if there is none."""
    return Op.get(op_name)  # type: ignore[attr-defined, no-any-return]


def register(op_name: str, describe: str = "") -> None:
    """Raises NotImplementedError: new operators come from plugins."""
    raise NotImplementedError(f"register({op_name!r}): operators registered from Python are not there yet; plugins in C++ declare some")


register.__relay_missing__ = "operators registered from Python"  # type: ignore[attr-defined]


def register_pattern(op_name: str, pattern: int, level: int = 10) -> Any:
    """Attaches an OpPattern."""
    return register_op_attr(op_name, "TOpPattern", pattern, level)


def register_stateful(op_name: str, stateful: bool, level: int = 10) -> Any:
    """Attaches whether calls have effects."""
    return register_op_attr(op_name, "TOpIsStateful", stateful, level)


def register_gradient(op_name: str, fgradient: Any = None, level: int = 10) -> Any:
    """Attaches a function of a call and the gradient of its result."""
    return register_op_attr(op_name, "FPrimalGradient", fgradient, level)


def register_legalize(op_name: str, legal_op: Any = None, level: int = 10) -> Any:
    """Attaches a function of attributes, arguments and types that gives another expression."""
    return register_op_attr(op_name, "FTVMLegalize", legal_op, level)


def register_alter_op_layout(op_name: str, alter_layout: Any = None, level: int = 10) -> Any:
    """Attaches a function that gives a call in another layout."""
    return register_op_attr(op_name, "FTVMAlterOpLayout", alter_layout, level)


def register_infer_correct_layout(op_name: str, infer_layout: Any = None, level: int = 10) -> Any:
    """Attaches a function of layouts."""
    return register_op_attr(op_name, "FInferCorrectLayout", infer_layout, level)


def register_mixed_precision_conversion(op_name: str, func: Any = None, level: int = 10) -> Any:
    """Attaches a function that says in which precision an operator runs."""
    return register_op_attr(op_name, "FTVMMixedPrecisionConversionType", func, level)


def register_fake_quantization_to_integer(op_name: str, func: Any = None, level: int = 10) -> Any:
    """Attaches a function that gives a quantised call."""
    return register_op_attr(op_name, "FTVMFakeQuantizationToInteger", func, level)


def register_optional_fake_quantization_to_integer(op_name: str, func: Any = None, level: int = 10) -> Any:
    """Attaches a function that may give a quantised call."""
    return register_op_attr(op_name, "FTVMOptionalFakeQuantizationToInteger", func, level)
