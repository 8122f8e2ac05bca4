"""Facts that scripts attach to operators and the compiler reads: whether calls have effects, how they fuse, their gradients."""

from __future__ import annotations

import dataclasses
import itertools
import weakref
from typing import Any

import relay
from relay import Call, Op, RelayError, _core
from relay.op import registration

from ...ir.affine_type import attach
from ...ir.op import known_facts, takes_effect
from ...ir.op_patterns import PATTERNS
from .staged import STAGED, is_staged, set_compute, set_strategy


@dataclasses.dataclass
class _Gradient:
    function: Any
    level: int  # at which the compiler asks for it
    owner: weakref.ref[Any] | None  # the declaration in Python that it is of


_OPAQUE = 8
_KINDS = {0: "elementwise", 1: "broadcast", 2: "injective", 3: "reduction", 4: "out-elementwise-fusable", 7: "opaque", _OPAQUE: "opaque"}
_levels = itertools.count(1000)  # of what is set here: the last one counts
_gradients: dict[str, _Gradient] = {}  # by operator


def _set_stateful(op: Op, stateful: Any, level: int) -> None:
    if stateful is not None and not isinstance(stateful, (bool, int)):
        raise TypeError(f"TOpIsStateful of {op.name} is a bool, not {type(stateful).__name__}")
    if is_staged(op.name):
        record = STAGED[op.name]
        record.stateful = bool(stateful)
        record.amend()
        return
    pure = _core.op_info(op)["pure"]
    if stateful is not None and bool(stateful) == pure:
        word, other = ("without", "with") if pure else ("with", "without")
        way = f"relay.op.register of the package relay takes pure={not pure}"
        raise RelayError(f"operator {op.name} is declared {word} effects and cannot become one {other}: that is part of its declaration ({way})")


def _set_pattern(op: Op, pattern: Any, level: int) -> None:
    if pattern is not None and (isinstance(pattern, bool) or pattern not in _KINDS):
        raise ValueError(f"TOpPattern of {op.name} is a number of OpPattern ({', '.join(map(str, _KINDS))}), not {pattern!r}")
    known: Any = PATTERNS.get(op.name)
    kind = None if pattern is None or pattern == known else _KINDS[pattern]
    in_python = op.name in registration._declared
    if pattern is not None and kind is not None and not in_python and pattern < (known if known is not None else _OPAQUE):
        said = f"its pattern is {known}" if known is not None else "its pattern is derived"
        raise RelayError(
            f"operator {op.name} cannot have pattern {pattern}: FuseOps reads what an operator of the library computes ({said}), and only a "
            "greater number, which joins less, can be registered"
        )
    if kind is not None or _core.op_column(op, "fusion_kind") is not None:
        _core.set_op_column(op, "fusion_kind", kind, next(_levels))


def _set_gradient(op: Op, function: Any, level: int) -> None:
    if function is None:
        raise RelayError(f"the gradient of operator {op.name} can be replaced, not taken away")
    if not callable(function):
        raise TypeError(f"the gradient of {op.name} is a function, not {type(function).__name__}")

    name = op.name
    declared = registration._declared.get(name)
    owner = None if declared is None else weakref.ref(declared)

    def gradient(call: Any, *grads: Any) -> Any:
        made = _gradients[name].function
        return made(Call(call.op, call.args, call.attrs), grads[0] if len(grads) == 1 else relay.Tuple(list(grads)))

    # An operator that has no definition is declared to have no gradient, with level 10.
    native = max(level, 11) if is_staged(name) else level
    known = _gradients.get(name)
    if known is None or known.owner != owner or native > known.level:
        _core.set_gradient(op, gradient, native)
    _gradients[name] = _Gradient(function, native, owner)


def _rule_of(op: Op) -> Any:
    """The library's gradient of an operator as a function of a call and the gradient of its result; None for an operator that has none."""
    if str(_core.op_info(op)["gradient"]).startswith("none"):
        return None

    def rule(orig: Any, grad: Any) -> list[Any]:
        found = registration.gradients(_typed_call(orig), *_each(grad, orig))
        # An input that is not of floats has a gradient of zeros in TVM.
        return [relay.zeros_like(arg) if one is None else one for one, arg in zip(found, orig.args)]

    rule.__name__ = rule.__qualname__ = f"{op.name.replace('.', '_')}_grad"
    rule.__doc__ = f"The gradients of the inputs of a call of {op.name}."
    return rule


_CATEGORIES = {"always": 0, "follows": 1, "never": 2}


def _precision_of(op: Op) -> Any:
    """What ToMixedPrecision knows of an operator, as a function of a call and the narrow dtype: the category, and the dtypes of sums and of the
    result."""

    def rule(call: Any, mixed_precision_type: str) -> list[Any]:
        word = _core.precision_rule(_typed_call(call, "category"))
        category = _CATEGORIES["never" if word is None else word]
        wide = "float32" if category == 2 else str(mixed_precision_type)
        return [category, "float32" if category == 0 else wide, wide]

    rule.__name__ = rule.__qualname__ = f"{op.name.replace('.', '_')}_precision"
    rule.__doc__ = f"The category of a call of {op.name} in mixed precision, and the dtypes of sums and of the result."
    return rule


def _strategy_of(op: Op) -> Any:
    """The strategy of an operator of the library, which has one implementation: how the compiler computes it. None for one of a script."""
    if is_staged(op.name):
        return None

    def strategy(attrs: Any, inputs: Any, out_type: Any, target: Any) -> Any:
        from ...te.described import opaque
        from .implementations import OpStrategy

        name = op.name.replace(".", "_").removeprefix("nn_")
        made = OpStrategy()
        made.add_implementation(lambda attrs, inputs, out_type: opaque(out_type, name, inputs), None, name=f"{name}.relay", plevel=10)
        return made

    strategy.__name__ = strategy.__qualname__ = f"{op.name.replace('.', '_')}_strategy"
    strategy.__doc__ = f"The one implementation of {op.name}."
    return strategy


def _typed_call(call: Any, what: str = "gradient") -> Any:
    """The call with types. Raises RelayError where they leave a rank or a dtype open: which sums a gradient has depends on them."""
    if not isinstance(call, Call):
        raise TypeError(f"a {what} is that of a call, not of {type(call).__name__}")
    try:
        call.checked_type
    except (ValueError, AttributeError, RelayError):
        relay.check(relay.Function(_core.free_vars(call), call))
    try:
        types = [call.checked_type, *(arg.checked_type for arg in call.args)]
    except (ValueError, AttributeError):  # a type that is known where the function is called
        types = []
    if not types or any(_is_open(one) for one in types):
        name = call.op.name if isinstance(call.op, Op) else "a call"
        told = f"the {what} of {name} needs inputs of known rank and dtype: annotate the parameters, or infer types of a program that calls it"
        raise RelayError.of([relay.Diagnostic(told, call.span)])
    return call


def _is_open(kind: Any) -> bool:
    """True for a type variable, and a tensor, or a tuple of one, whose rank or dtype is one."""
    if isinstance(kind, relay.TupleType):
        return any(_is_open(field) for field in kind.fields)
    if isinstance(kind, relay.TensorType):
        return isinstance(kind.shape, relay.Type) or not isinstance(kind.dtype, str)
    return isinstance(kind, (relay.TypeVar, relay.IncompleteType))


def _each(grad: Any, call: Any) -> list[Any]:
    """The gradients of the tensors of a result."""
    kind = call.checked_type
    if not isinstance(kind, relay.TupleType):
        return [grad]
    return list(grad.fields) if isinstance(grad, relay.Tuple) else [relay.TupleGetItem(grad, at) for at in range(len(kind.fields))]


def _attach_form(optional: bool) -> Any:
    def attach_form(op: Op, function: Any, level: int) -> None:
        if function is not None and not callable(function):
            raise TypeError(f"the form of {op.name} on integers is a function, not {type(function).__name__}")
        attach(op, function, optional)

    return attach_form


def _set_precision(op: Op, function: Any, level: int) -> None:
    if function is None:
        _core.attach_precision(op, None)
        return
    if not callable(function):
        raise TypeError(f"the precision of {op.name} is a function, not {type(function).__name__}")

    def precision(call: Any, narrow: str) -> Any:
        made = function(call, narrow)
        return made if made is None else int(made[0])

    _core.attach_precision(op, precision)


def install() -> None:
    """Makes what is attached take effect."""
    takes_effect.update(FTVMCompute=set_compute, FTVMStrategy=set_strategy)
    takes_effect.update(TOpIsStateful=_set_stateful, TOpPattern=_set_pattern, FPrimalGradient=_set_gradient)
    known_facts.update(FPrimalGradient=_rule_of, FTVMStrategy=_strategy_of, FTVMMixedPrecisionConversionType=_precision_of)
    takes_effect.update(FTVMMixedPrecisionConversionType=_set_precision)
    takes_effect.update(FTVMFakeQuantizationToInteger=_attach_form(False), FTVMOptionalFakeQuantizationToInteger=_attach_form(True))
