"""Operators by name, and what scripts attach to them.

Patterns, effects and gradients are read by the compiler (facts.py); the rest is for the script's own passes (`Op.get_attr`).
"""

from __future__ import annotations

import itertools
from typing import Any

from relay import RelayError
from relay.op.tensor import debug as _marked

from ...ir.op import Op, forget_attached, register_op_attr
from . import facts
from .implementations import OpImplementation as OpImplementation, OpSpecialization as OpSpecialization, OpStrategy as OpStrategy
from .staged import Staged, add_argument, add_type_rel, is_staged, set_attrs_type_key, set_num_inputs, set_support_level

setattr(Op, "set_num_inputs", set_num_inputs)
setattr(Op, "add_argument", add_argument)
setattr(Op, "add_type_rel", add_type_rel)
setattr(Op, "set_support_level", set_support_level)
setattr(Op, "set_attrs_type_key", set_attrs_type_key)
facts.install()


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
    """The operator of a name. Raises AttributeError, with the nearest names, if there is none."""
    return Op.get(op_name)  # type: ignore[attr-defined, no-any-return]


def register(op_name: str, describe: str = "") -> None:
    """Registers an operator; `get(op_name)` then takes its inputs, type relation and level.

    It has types, text and passes. To run, it needs a definition: `register_compute` gives one, or `relay.op.register` of the package `relay`.
    """
    if is_staged(op_name):
        raise RelayError(f"operator {op_name} is registered already")
    Staged(op_name, describe).declare()
    forget_attached(op_name)


_looks = itertools.count()


def debug(expr: Any, debug_func: Any = None) -> Any:
    """The value itself. `debug_func`: a function that gets the value, as an array, each time that a run computes it."""
    if not callable(debug_func):
        return _marked(expr, debug_func)
    import relay as _relay

    def look(data: Any) -> Any:
        from ...runtime.ndarray import array

        debug_func(array(data))
        return data

    name = f"debug.look{next(_looks)}"
    return _relay.op.register(name, inputs=["data"], kernel=look, relation="Identity", pure=False, doc="Shows the value to a function of the script.")(expr)


def register_pattern(op_name: str, pattern: int, level: int = 10) -> Any:
    """Attaches an OpPattern, which FuseOps then reads where it cannot see what an operator computes, or sees that it may join more.

    Raises RelayError for an operator of the library that would be joined more than what it computes allows.
    """
    return register_op_attr(op_name, "TOpPattern", pattern, level)


def register_stateful(op_name: str, stateful: bool, level: int = 10) -> Any:
    """Says whether calls of an operator that the script registered have effects, so that none is merged, moved or dropped.

    Raises RelayError where another operator's declaration says otherwise.
    """
    return register_op_attr(op_name, "TOpIsStateful", stateful, level)


def register_gradient(op_name: str, fgradient: Any = None, level: int = 10) -> Any:
    """Gives an operator its gradient: a function of a call and the gradient of its result, which gives one for each input.

    The library's own rules have level 10: only a higher one replaces them. Raises RelayError for an equal level.
    """
    return register_op_attr(op_name, "FPrimalGradient", fgradient, level)


def register_compute(op_name: str, compute: Any = None, level: int = 10) -> Any:
    """Defines an operator that `register` began: a function of attributes, tensors (`tvm.te`) and the type of the result, which gives a list of
    tensors. Operators of the library keep their definitions."""
    return register_op_attr(op_name, "FTVMCompute", compute, level)


def register_strategy(op_name: str, fstrategy: Any = None, level: int = 10) -> Any:
    """Defines an operator that `register` began: a function of attributes, tensors, the type of the result and the target, which gives an
    `OpStrategy`. Operators of the library keep their definitions."""
    return register_op_attr(op_name, "FTVMStrategy", fstrategy, level)


def _no_schedule(kind: str) -> Any:
    def register(op_name: str, level: int = 10) -> None:
        get(op_name)

    register.__name__ = register.__qualname__ = f"register_{kind}_schedule"
    register.__doc__ = f"Says that an operator is scheduled as {kind} ones are. Nothing reads it: kernels are generated without schedules. AttributeError for no operator."
    return register


register_injective_schedule, register_broadcast_schedule, register_reduce_schedule = map(_no_schedule, ("injective", "broadcast", "reduce"))


def register_schedule(op_name: str, schedule: Any = None, level: int = 10) -> Any:
    """Attaches a schedule, a function of attributes, tensors and the target, which nothing reads: kernels are generated without schedules."""
    return register_op_attr(op_name, "FTVMSchedule", schedule, level)


def register_shape_func(op_name: str, data_dependent: Any, shape_func: Any = None, level: int = 10) -> Any:
    """Attaches a function of shapes, which nothing reads: the type relation of an operator also runs on the shapes of a run."""
    register_op_attr(op_name, "TShapeDataDependent", data_dependent, level)
    return register_op_attr(op_name, "FShapeFunc", shape_func, level)


def register_legalize(op_name: str, legal_op: Any = None, level: int = 10) -> Any:
    """Attaches a function of attributes, arguments and types that gives another expression."""
    return register_op_attr(op_name, "FTVMLegalize", legal_op, level)


def register_alter_op_layout(op_name: str, alter_layout: Any = None, level: int = 10) -> Any:
    """Attaches a function that gives a call in another layout."""
    return register_op_attr(op_name, "FTVMAlterOpLayout", alter_layout, level)


def register_convert_op_layout(op_name: str, convert_layout: Any = None, level: int = 10) -> Any:
    """Attaches a function that ConvertLayout asks for a call in the layouts that it is given: of attributes, arguments, types and layouts."""
    return register_op_attr(op_name, "FTVMConvertOpLayout", convert_layout, level)


def register_infer_correct_layout(op_name: str, infer_layout: Any = None, level: int = 10) -> Any:
    """Attaches a function of layouts."""
    return register_op_attr(op_name, "FInferCorrectLayout", infer_layout, level)


def register_mixed_precision_conversion(op_name: str, func: Any = None, level: int = 10) -> Any:
    """Attaches a function of a call and the narrow dtype that gives a list: first 0 for a call that is always narrow, 1 for one that is
    narrow where its inputs are, 2 for one that never is. The dtypes after it are not read: sums are of float32."""
    return register_op_attr(op_name, "FTVMMixedPrecisionConversionType", func, level)


def register_fake_quantization_to_integer(op_name: str, func: Any = None, level: int = 10) -> Any:
    """Attaches a function that gives a quantised call."""
    return register_op_attr(op_name, "FTVMFakeQuantizationToInteger", func, level)


def register_optional_fake_quantization_to_integer(op_name: str, func: Any = None, level: int = 10) -> Any:
    """Attaches a function that may give a quantised call."""
    return register_op_attr(op_name, "FTVMOptionalFakeQuantizationToInteger", func, level)
