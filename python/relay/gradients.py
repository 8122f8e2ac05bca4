"""Gradients of functions and functions of many lanes: grad, value_and_grad, vjp, jvp, jacobian, jacfwd, hessian, vmap, named after JAX's.

Each takes a function and gives a function, which is an expression like any other: call it in programs, compile it, differentiate it
again. The function is a `Function`, or a `GlobalVar` or the name of a function of the module `mod`. If the gradient needs functions
and data types beside it, `mod` gets them; functions of operators, tuples and branches need none. Use the result with that module.
docs/gradients.md says what has which gradient.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, overload

from . import _core
from ._checks import require_int, require_list, require_type, shown
from ._core import Expr, FuncType, Function, GlobalVar, IRModule, Let, RelayError, TensorType, Tuple, TupleGetItem, TupleType, Type
from .expr import bind, const, var
from .op import tensor as _ops

__all__ = ["checkpoint", "custom_gradient", "grad", "hessian", "jacfwd", "jacobian", "jacrev", "jvp", "value_and_grad", "vjp", "vmap"]


def _function(fn: Any, mod: IRModule | None) -> tuple[Function, IRModule]:
    module = IRModule() if mod is None else require_type("mod", mod, IRModule)
    if isinstance(fn, (GlobalVar, str)):
        name = fn if isinstance(fn, str) else fn.name_hint
        if mod is None:
            raise ValueError(f"fn is the name @{name}: give the module that has it as mod")
        return module[name], module
    function = require_type("fn", fn, Function, GlobalVar, str)
    if mod is None:
        for name in _called_names(function):
            raise ValueError(f"fn calls @{name}, a function of a module: give the module that has it as mod")
    return function, module


def _called_names(function: Function) -> list[str]:
    """Functions of a module that an expression mentions."""
    from .expr_functor import post_order_visit

    found: dict[str, None] = {}
    post_order_visit(function, lambda node: found.setdefault(node.name_hint) if isinstance(node, GlobalVar) else None)
    return list(found)


def _positions(argnums: Any, function: Function) -> tuple[list[int], bool]:
    count = len(function.params)
    if not isinstance(argnums, Sequence) or isinstance(argnums, (str, bytes)):
        return [require_int("argnums", argnums, -count, count - 1) % max(count, 1)], True
    places = [require_int("argnums", one, -count, count - 1) % max(count, 1) for one in require_list("argnums", argnums)]
    if not places or len(set(places)) < len(places):
        raise ValueError(f"argnums names one parameter or several, each once, not {shown(argnums)}")
    return places, False


def _differentiate(fn: Any, argnums: Any, mod: IRModule | None, with_value: bool, has_aux: bool) -> Function:
    what = "value_and_grad" if with_value else "grad"
    if isinstance(argnums, IRModule):
        raise TypeError(f"argnums is a module, which stands behind it: relay.{what}(fn, mod=module), or relay.{what}(fn, 0, module)")
    if has_aux:
        raise ValueError(
            f"has_aux is for functions of Python; {what} is of a function of a program that gives one float: make another function for what else it gives"
        )
    function, module = _function(fn, mod)
    places, single = _positions(argnums, function)
    return _core.gradient(function, module, params=places, single=single, with_value=with_value, of_number=True)


def _is_python(fn: Any) -> bool:
    """True for a function of Python, which `relay.functions` differentiates."""
    return callable(fn) and not isinstance(fn, (Expr, str))


@overload
def grad(fn: Function | GlobalVar | str, argnums: int | Sequence[int] = 0, mod: IRModule | None = None) -> Function: ...


@overload
def grad(fn: Callable[..., Any], argnums: int | Sequence[int] = 0, mod: None = None, has_aux: bool = False) -> Callable[..., Any]: ...


def grad(fn: Any, argnums: int | Sequence[int] = 0, mod: IRModule | None = None, has_aux: bool = False) -> Any:
    """The gradient of a function that gives one float: a function of the same parameters.

    A function of Python over arrays gives a function of Python, as in JAX; with `has_aux` it gives a pair, whose second part is passed on.

    Its result is the gradient of parameter `argnums`, or a tuple of them if `argnums` is a sequence; gradients have the types of their
    parameters. Raises RelayError if the result is not one float, or if something on the way to it has no gradient.
    """
    if _is_python(fn):
        from .functions import grads

        return grads.grad(fn, argnums, has_aux)
    return _differentiate(fn, argnums, mod, False, has_aux)


@overload
def value_and_grad(fn: Function | GlobalVar | str, argnums: int | Sequence[int] = 0, mod: IRModule | None = None) -> Function: ...


@overload
def value_and_grad(fn: Callable[..., Any], argnums: int | Sequence[int] = 0, mod: None = None, has_aux: bool = False) -> Callable[..., Any]: ...


def value_and_grad(fn: Any, argnums: int | Sequence[int] = 0, mod: IRModule | None = None, has_aux: bool = False) -> Any:
    """Like `grad`, with the result ``(value, gradient)``: the value is computed once."""
    if _is_python(fn):
        from .functions import grads

        return grads.value_and_grad(fn, argnums, has_aux)
    return _differentiate(fn, argnums, mod, True, has_aux)


@overload
def vjp(fn: Function | GlobalVar | str, mod: IRModule | None = None, /) -> Function: ...


@overload
def vjp(fn: Function | GlobalVar | str, *, mod: IRModule | None = None) -> Function: ...


@overload
def vjp(fn: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any: ...


def vjp(fn: Any, *primals: Any, mod: IRModule | None = None, has_aux: bool = False) -> Any:
    """Takes the parameters of `fn` and then a gradient of its result, of the result's type; gives ``(value, (gradients of all parameters))``.

    Of a function of Python, `vjp(fn, *arguments)` gives the result and a function from its gradient to those of the arguments, as in JAX.
    """
    if _is_python(fn):
        from .functions import grads

        if not primals:
            raise TypeError("vjp of a function of Python takes its arguments, too: value, pull = relay.vjp(fn, x); slopes = pull(g)")
        return grads.vjp(fn, *primals, has_aux=has_aux)
    if len(primals) > 1:
        raise TypeError(f"vjp of a function of a program takes it and its module, not {len(primals)} things more")
    function, module = _function(fn, primals[0] if primals else mod)
    return _core.gradient(function, module, from_result=True)


def _zeros(of: Type) -> Expr | None:
    """Zeros of a type of tensors with known extents; None for others."""
    if isinstance(of, TupleType):
        fields = [zeros for zeros in map(_zeros, of.fields) if zeros is not None]
        return Tuple(fields) if len(fields) == len(of.fields) else None
    extents = _extents(of)
    return None if extents is None else _ops.zeros(extents, _dtype(of))


def _dtype(of: Type) -> str:
    assert isinstance(of, TensorType)
    return str(of.dtype)


def _extents(of: Type) -> tuple[int, ...] | None:
    if not isinstance(of, TensorType):
        return None
    try:
        return tuple(int(extent) for extent in of.shape)
    except (TypeError, ValueError):
        return None


def _called(function: Function, args: Sequence[Expr]) -> Expr:
    return bind(function.body, dict(zip(function.params, args)))


@overload
def jvp(fn: Function | GlobalVar | str, mod: IRModule | None = None, *, argnums: int | Sequence[int] | None = None) -> Function: ...


@overload
def jvp(fn: Callable[..., Any], mod: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]: ...


def jvp(fn: Any, mod: Any = None, tangents: Any = None, *, argnums: Any = None, primals: Any = None) -> Any:
    """Takes the parameters of `fn` and then a direction for each, of its type; gives ``(value, derivative of the value in this direction)``.

    Of a function of Python, `jvp(fn, primals, tangents)` gives the pair for arguments and directions, as in JAX.

    `argnums` names the parameters that have directions, by default all; the others stay as they are. Functions of operators, branches and
    loops over tensors of known extents are differentiated forward: a loop stays a loop, and nothing is saved. For others, the derivative is
    the transpose of `vjp`, which is linear in the gradient that it takes: two reverse passes. Raises RelayError for a function whose result
    is not made of tensors with known extents.
    """
    if _is_python(fn):
        from .functions import grads

        found = mod if primals is None else primals
        if not isinstance(found, (tuple, list)) or not isinstance(tangents, (tuple, list)):
            raise TypeError("jvp of a function of Python takes tuples of its arguments and of directions, too: value, slope = relay.jvp(fn, (x,), (dx,))")
        if argnums is not None:
            raise TypeError("argnums is for functions of programs: give zeros as directions of the other arguments")
        return grads.jvp(fn, found, tangents)
    function, module = _function(fn, mod)
    chosen = list(range(len(function.params))) if argnums is None else _positions(argnums, function)[0]
    forward = _core.gradient_along(function, module, chosen)
    if forward is not None:
        return forward
    if argnums is not None:
        return _along_some(jvp(function, module), chosen)
    back = _core.gradient(function, module, from_result=True)
    count = len(function.params)
    twice = _core.gradient(back, module, params=[count], from_result=True, single=True)
    result = back.params[-1].type_annotation
    none = _zeros(result)
    if none is None:
        raise RelayError(f"jvp is of functions whose result has known extents; this one gives {result}")
    params = [var(param.name_hint, param.type_annotation) for param in twice.params[:count]]
    directions = [var("d" + param.name_hint, param.type_annotation) for param in params]
    both = var("both")
    called = _called(twice, [*params, none, Tuple([none, Tuple(directions)])])
    value = TupleGetItem(TupleGetItem(both, 0), 0)
    return Function([*params, *directions], Let(both, called, Tuple([value, TupleGetItem(both, 1)])))


def _along_some(fn: Function, chosen: Sequence[int]) -> Function:
    """A derivative along directions of all parameters as one along those of some: the others are zeros."""
    count = len(fn.params) // 2
    params = [var(param.name_hint, param.type_annotation) for param in fn.params]
    directions: list[Expr] = []
    for place, param in enumerate(params[count:]):
        none = None if place in chosen else _zeros(param.type_annotation)
        if place not in chosen and none is None:
            raise RelayError(f"jvp along some parameters needs known extents of the others; parameter {place} is {param.type_annotation}")
        directions.append(param if none is None else none)
    return Function([*params[:count], *(params[count + place] for place in chosen)], _called(fn, [*params[:count], *directions]))


@overload
def vmap(fn: Function | GlobalVar | str, in_axes: Any = 0, out_axes: Any = 0, axis_size: int | None = None,
         mod: IRModule | None = None) -> Function: ...


@overload
def vmap(fn: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0, axis_size: int | None = None) -> Callable[..., Any]: ...


def vmap(fn: Any, in_axes: Any = 0, out_axes: Any = 0, axis_size: int | None = None, mod: IRModule | None = None) -> Any:
    """`fn` for many lanes at once: a function on tensors with one more axis, which has an entry for each lane.

    Args:
        fn: The function of one lane. Of a function of Python, the result is one, too; its arguments may be trees, and so may their axes.
        in_axes: The place of the axis of lanes in the parameters: an integer or None for all of them, or a sequence with an entry for each.
            None says that all lanes share the parameter. The entry of a tuple may be a sequence again, with an entry for each field; in
            values of data types the axis is the first one of each tensor.
        out_axes: The place of this axis in the result, in the same way.
        axis_size: The number of lanes, if the function is for one number only. Otherwise each call decides it; loops whose lanes end at
            different times and their gradients are faster with a known number.
        mod: The module of the functions that `fn` calls; it gets those that the result calls.

    Gradients and compilation take the result like any other function, and so does vmap. Raises RelayError with the place of an operator
    that cannot work on lanes, or of a value that cannot differ from lane to lane; ValueError if in_axes says that no parameter has lanes
    and axis_size is not given.

    ::

        each = relay.vmap(relay.grad(loss, 0), in_axes=(None, 0, 0))  # a gradient for each example
    """
    if _is_python(fn):
        from .functions import lanes

        return lanes.vmap(fn, in_axes, out_axes, axis_size)
    function, module = _function(fn, mod)
    count = len(function.params)
    entries = [in_axes] * count if in_axes is None or isinstance(in_axes, int) else list(require_list("in_axes", in_axes))
    if len(entries) != count:
        raise ValueError(f"in_axes has {len(entries)} entries for {count} parameter" + "s" * (count != 1))
    for name, axes in (("in_axes", entries), ("out_axes", out_axes)):
        _check_axes(name, axes)
    if axis_size is not None:
        require_int("axis_size", axis_size, 0, 2**31 - 1)
    elif not any(_has_axis(entry) for entry in entries):
        raise ValueError("in_axes gives no parameter an axis of lanes: give axis_size")
    return _core.batch(function, module, entries, out_axes, axis_size)


def _has_axis(axes: Any) -> bool:
    return isinstance(axes, int) or (axes is not None and any(map(_has_axis, axes)))


def _check_axes(name: str, axes: Any) -> None:
    if axes is None or (isinstance(axes, int) and not isinstance(axes, bool)):
        return
    if not isinstance(axes, (tuple, list)):
        raise TypeError(f"{name} is made of integers, None and sequences of them, not {type(axes).__name__}")
    for one in axes:
        _check_axes(name, one)


def _basis(extents: Sequence[int], dtype: str) -> Expr:
    """For each element of a tensor a tensor that is one there and zero elsewhere."""
    import numpy as np  # which importing the package does not need

    count = math.prod(extents)
    return _ops.reshape(const(np.eye(count, dtype=dtype)), (count, *extents))


def _rows(fn: Function, module: IRModule, place: int) -> Function:
    """For each element of the result of `fn` its gradient for a parameter: one reverse pass, for all elements at once."""
    back = _core.gradient(fn, module, params=[place], from_result=True, single=True, with_value=False)
    extents = _extents(back.params[-1].type_annotation)
    inputs = _extents(fn.params[place].type_annotation)
    if extents is None or inputs is None:
        raise RelayError("jacobian is of functions whose result, and the parameter, are tensors of known extents")
    dtype = _dtype(back.params[-1].type_annotation)
    count = math.prod(extents)
    each = _core.batch(back, module, [None] * (len(back.params) - 1) + [0], 0, count)
    params = [var(param.name_hint, param.type_annotation) for param in each.params[:-1]]
    elements = _basis(extents, dtype)
    return Function(params, _ops.reshape(_called(each, [*params, elements]), (*extents, *inputs)))


def _columns(fn: Function, module: IRModule, place: int) -> Function:
    """For each element of a parameter of `fn` the derivative along it: one forward pass, for all elements at once."""
    inputs, outputs = _extents(fn.params[place].checked_type), _extents(_result_type(fn))
    if inputs is None or outputs is None:
        raise RelayError("jacfwd is of functions whose result, and the parameter, are tensors of known extents")
    count = math.prod(inputs)
    along = jvp(fn, module, argnums=[place])
    each = _core.batch(along, module, [None] * (len(along.params) - 1) + [0], (None, -1), count)
    params = [var(param.name_hint, param.type_annotation) for param in each.params[:-1]]
    elements = _basis(inputs, _dtype(fn.params[place].checked_type))
    return Function(params, _ops.reshape(TupleGetItem(_called(each, [*params, elements]), 1), (*outputs, *inputs)))


def _derivatives(fn: Any, argnums: Any, mod: IRModule | None, of: Callable[[Function, IRModule, int], Function]) -> Function:
    function, module = _function(fn, mod)
    places, single = _positions(argnums, function)
    typed = _typed(function, module)
    found = [of(typed, module, place) for place in places]
    if single:
        return found[0]
    params = [var(param.name_hint, param.checked_type) for param in typed.params]
    return Function(params, Tuple([_called(one, params) for one in found]))


@overload
def jacobian(fn: Function | GlobalVar | str, argnums: int | Sequence[int] = 0, mod: IRModule | None = None) -> Function: ...


@overload
def jacobian(fn: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]: ...


def jacobian(fn: Any, argnums: int | Sequence[int] = 0, mod: IRModule | None = None) -> Any:
    """The derivatives of all elements of a tensor result by all elements of a tensor parameter: the extents of both, one after another.

    Its result is a tuple if `argnums` is a sequence. A function of Python may take and give trees of arrays: then it is a tree of trees, the
    result's with one of the parameter's form for each leaf, as in JAX. It is `vmap` of one reverse pass over the elements of the result, which is less work than
    `jacfwd` where the result has fewer elements than the parameter; `jacrev` is another name of it. Raises RelayError for results and
    parameters of other types or of unknown extents.
    """
    if _is_python(fn):
        from .functions import grads

        return grads.jacobian(fn, argnums)
    return _derivatives(fn, argnums, mod, _rows)


jacrev = jacobian


@overload
def jacfwd(fn: Function | GlobalVar | str, argnums: int | Sequence[int] = 0, mod: IRModule | None = None) -> Function: ...


@overload
def jacfwd(fn: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]: ...


def jacfwd(fn: Any, argnums: int | Sequence[int] = 0, mod: IRModule | None = None) -> Any:
    """The same as `jacobian`, by forward passes, one for each element of the parameter: less work where that has fewer elements than the result.

    Functions of Python may take and give trees. Raises RelayError as `jacobian` does.
    """
    if _is_python(fn):
        from .functions import grads

        return grads.jacfwd(fn, argnums)
    return _derivatives(fn, argnums, mod, _columns)


@overload
def hessian(fn: Function | GlobalVar | str, argnums: int = 0, mod: IRModule | None = None) -> Function: ...


@overload
def hessian(fn: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]: ...


def hessian(fn: Any, argnums: int | Sequence[int] = 0, mod: IRModule | None = None) -> Any:
    """The second derivatives of a function that gives one float: the jacobian of its gradient. Functions of Python may take trees and several `argnums`."""
    if _is_python(fn):
        from .functions import grads

        return grads.hessian(fn, argnums)
    module = IRModule() if mod is None else mod
    return jacobian(grad(fn, argnums, mod if mod is not None else module), argnums, module)


def _typed(function: Function, module: IRModule) -> Function:
    """The function with the types of its parameters written on them. Its variables are its own, for `module` may have the function, too."""
    from .transform import InferType

    whole = module.copy()
    name = "typed"
    while name in whole:
        name += "_"
    copied = _core.copy_with_fresh_vars(function)
    assert isinstance(copied, Function)
    whole[name] = copied
    typed: Function = InferType()(whole)[name]
    return typed


@overload
def checkpoint(fn: Function | GlobalVar | str, mod: IRModule | None = None, *, bytes: int | None = None) -> Function: ...


@overload
def checkpoint(fn: Callable[..., Any], mod: None = None, *, bytes: int | None = None) -> Callable[..., Any]: ...


def checkpoint(fn: Any, mod: IRModule | None = None, *, bytes: int | None = None) -> Any:  # noqa: A002
    """A function that computes what `fn` does; gradients keep its arguments, and compute what is inside again when they need it.

    Use it for parts of a network between which little is kept: memory falls by what the part computes, and time grows by one more pass
    forward through it. A loop inside keeps the state of some turns and runs the turns between them again: as many states as the square
    root of the number of turns, or as many as fit in `bytes`. What other functions that call themselves compute, and values of branches,
    are kept as without it. A function of Python over arrays gives a function of Python. Raises RelayError if the result is not made of
    tensors, and ValueError if `bytes` is not positive.

    ::

        block = relay.checkpoint(relay.Function([x, w], relay.tanh(relay.nn.dense(x, w))))
    """
    if bytes is not None:
        require_int("bytes", bytes, 1, 2**63 - 1)
    kept = bytes or 0
    if _is_python(fn):
        from .functions import grads

        return grads.checkpoint(fn, kept)
    function, module = _function(fn, mod)
    typed = _typed(function, module)
    params = [var(param.name_hint, param.checked_type) for param in typed.params]
    marked = [_mark(param, kept) if _is_tensorial(param.type_annotation) else param for param in params]
    return Function(params, _mark(bind(typed.body, dict(zip(typed.params, marked))), kept), None, list(typed.type_params))


def _mark(value: Expr, kept: int) -> Expr:
    from .op import annotation

    marked: Expr = annotation.checkpoint(value, bytes=kept)
    return marked


def _is_tensorial(of: Type) -> bool:
    return isinstance(of, TensorType) or (isinstance(of, TupleType) and bool(of.fields) and all(isinstance(one, TensorType) for one in of.fields))


_names = itertools.count()


def _result_type(function: Function) -> Type:
    of = function.checked_type
    assert isinstance(of, FuncType)
    return of.ret_type


@overload
def custom_gradient(fn: Function, gradient: Callable[..., Any]) -> Function: ...


@overload
def custom_gradient(fn: Callable[..., Any], gradient: Callable[..., Any]) -> Callable[..., Any]: ...


def custom_gradient(fn: Any, gradient: Callable[..., Any]) -> Any:
    """A function that computes what `fn` does, and has the gradient that you give.

    Args:
        fn: A function of tensors that gives a tensor or a tuple of tensors. Its parameters have types, and it mentions nothing from outside.
            Or a function of Python over arrays, or trees of them, that reads no traced arrays from outside; then the result is one, too.
        gradient: Called as ``gradient(args, result, *gradients)`` with the arguments, the result and a gradient for each tensor of the
            result, all expressions. Returns an expression for each argument, of the argument's type; None says that its gradient is zero.
            Of a function of Python: ``gradient(args, result, given)`` on traced arrays, where `given` has the form of the result. Returns a
            tuple with an entry for each argument: a tree of the argument's form, or None.

    Among programs the result is one call of an operator of its own, so that passes keep it whole until gradients are taken; `vmap` keeps the
    gradient. The operator lives as long as the process. Raises RelayError for a function that is not well typed; a wrong gradient is an error
    where it is used.

    ::

        x = relay.var("x", shape=(3,))
        rounded = relay.custom_gradient(relay.Function([x], relay.round(x)), lambda args, result, given: [given])
    """
    if not callable(gradient) or isinstance(gradient, Expr):
        raise TypeError(f"gradient is a function of arguments, result and gradients, not {type(gradient).__name__}")
    if _is_python(fn):
        from .functions import custom

        return custom.custom_gradient(fn, gradient)
    require_type("fn", fn, Function)
    typed = _typed(fn, IRModule())
    types = [param.checked_type for param in typed.params]
    if not all(isinstance(one, TensorType) for one in types):
        raise RelayError("custom_gradient is of functions of tensors")
    result = _result_type(typed)

    def relation(call: Any, *given: Type) -> Type:
        inner = [var(f"x{i}", one) for i, one in enumerate(given)]
        function = Function(inner, bind(typed.body, dict(zip(typed.params, inner))))
        return result if list(given) == types else _result_type(_typed(function, IRModule()))

    def expand(call: Any, *args: Expr) -> Expr:
        return _called(typed, args)

    def slopes(args: Sequence[Expr], result: Expr, given: Sequence[Expr]) -> list[Expr]:
        found = gradient(tuple(args), result, *given)
        if not isinstance(found, (tuple, list)):
            raise TypeError(f"the gradient of custom_gradient gives a list with an expression for each argument, not a {type(found).__name__}")
        if len(found) != len(types):
            raise ValueError(f"the gradient of custom_gradient gives {len(found)} expressions for {len(types)} argument" + "s" * (len(types) != 1))
        return [_ops.zeros_like(arg) if one is None else one for one, arg in zip(found, args)]

    def derive(call: Any, *given: Expr) -> list[Expr]:
        return slopes(call.args, call.result, given)

    def lanes(call: Any, args: Sequence[Expr], count: int | None) -> Expr:
        return of_lanes(typed, slopes, [arg.checked_type for arg in call.args], count)(*args)

    from ._custom_lanes import of_lanes
    from .op import register, set_attr

    operator = register(f"custom_gradient.f{next(_names)}", inputs=[f"x{i}" for i in range(len(types))], relation=relation,
                        expand=expand, gradient=derive)
    set_attr(operator.op, "lanes_form", lanes)  # type: ignore[attr-defined]
    params = [var(param.name_hint, one) for param, one in zip(typed.params, types)]
    return Function(params, operator(*params), None, list(typed.type_params))
