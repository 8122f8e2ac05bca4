"""Code generators of others: what compiles the functions that name it by ``Compiler="name"``.

Passes such as PartitionGraph put parts of a program into functions with the attribute Compiler. Compilation begins with giving each
of them to the code generator that it names. docs/external-code.md is the guide.
"""

from __future__ import annotations

import contextlib
import inspect
import itertools
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from . import _core
from ._checks import require_type
from ._core import Expr, Function, FuncType, TensorType, TupleType, Type
from .expr import Tuple, TupleGetItem, var
from .op import registration

__all__ = ["names", "register", "registered", "unregister"]

_names_in_use: dict[str, object] = {}
_local = threading.local()


class _Outcome(NamedTuple):
    """What a code generator gave for a function: code is a callable or a `relay.Function`."""

    compiler: str
    symbol: str
    code: Any


@contextlib.contextmanager
def _outcomes() -> Iterator[list[_Outcome]]:
    """What code generators give in this thread meanwhile, in order."""
    before = getattr(_local, "outcomes", None)
    _local.outcomes = []
    try:
        yield _local.outcomes
    finally:
        _local.outcomes = before


def register(name: str, generate: Callable[[Function], Any] | None = None, *, replace: bool = False, doc: str | None = None) -> Any:
    """Names a code generator, or decorates one.

    ``generate(func)`` gets a typed `relay.Function` and gives what is to stand in its place:

    - a callable over NumPy arrays: it gets the tensors among the arguments (fields of tuples one after the other, read-only) and gives
      an array, or a tuple of arrays where the function gives a tuple. Dtypes and shapes are those of the function's result. Such a
      program lives in its process: it cannot be saved;
    - or a `relay.Function` of the same type, which is compiled as any other.

    An exception says that the function cannot be taken: compilation fails with its text and the function's name.

    Args:
        name: What functions name it by.
        generate: The generator; left out, this is a decorator.
        replace: Takes the place of a generator of the same name, which is an error otherwise.
        doc: What it does. Left out: the generator's docstring.

    Raises:
        RelayError: The name is taken.
        ValueError: The name is empty, which no function can name.
    """
    if not require_type("name", name, str):
        raise ValueError("a code generator has a name: an empty one is named by no function")
    if generate is None:
        return lambda made: register(name, made, replace=replace, doc=doc)
    if not callable(generate):
        raise TypeError(f"a code generator is a function, not {type(generate).__name__}")
    text = doc if doc is not None else inspect.cleandoc(generate.__doc__ or "")

    def made(func: Function, symbol: str) -> Function:
        code = generate(func)
        if not isinstance(code, Function) and not callable(code):
            raise TypeError(f"it gave {type(code).__name__} for @{symbol}: a callable over arrays or a relay.Function is wanted")
        outcomes: list[_Outcome] | None = getattr(_local, "outcomes", None)
        if outcomes is not None:
            outcomes.append(_Outcome(name, symbol, code))
        if isinstance(code, Function):
            return code
        return _calling(name, symbol, func, code)

    _core.register_code_generator(name, text, made, replace)
    return generate


def unregister(name: str) -> None:
    """Takes a code generator off; programs that are compiled already keep its code. Raises KeyError if there is none."""
    if not _core.unregister_code_generator(name):
        raise KeyError(f"there is no code generator {name}")


@contextlib.contextmanager
def registered(name: str, generate: Callable[[Function], Any], *, doc: str | None = None) -> Iterator[None]:
    """A code generator for the block of a `with` statement."""
    register(name, generate, doc=doc)
    try:
        yield
    finally:
        _core.unregister_code_generator(name)


def names() -> dict[str, str]:
    """The code generators, with what they do."""
    return dict(_core.code_generators())


def _tensors(value: Expr, type_: Type) -> list[Expr]:
    """The tensors in a value, fields of tuples one after the other."""
    if isinstance(type_, TensorType):
        return [value]
    if not isinstance(type_, TupleType):
        raise TypeError(f"only tensors and tuples of them go into code that is not Relay's, not {type_}")
    return [tensor for i, field in enumerate(type_.fields) for tensor in _tensors(TupleGetItem(value, i), field)]


def _rebuilt(results: Iterator[Expr], type_: Type) -> Expr:
    if isinstance(type_, TupleType):
        return Tuple([_rebuilt(results, field) for field in type_.fields])
    return next(results)


def _leaves(type_: Type) -> list[TensorType]:
    if isinstance(type_, TensorType):
        return [type_]
    if not isinstance(type_, TupleType):
        raise TypeError(f"only tensors and tuples of them come out of code that is not Relay's, not {type_}")
    return [leaf for field in type_.fields for leaf in _leaves(field)]


@contextlib.contextmanager
def _free_name(base: str) -> Iterator[str]:
    """A name that no other thread uses meanwhile: mostly `base` itself, which messages show."""
    mine = object()
    name = next(one for one in itertools.chain([base], (f"{base}#{i}" for i in itertools.count(2))) if _names_in_use.setdefault(one, mine) is mine)
    try:
        yield name
    finally:
        del _names_in_use[name]


def _calling(name: str, symbol: str, func: Function, code: Callable[..., Any]) -> Function:
    """A function like `func` that calls an operator whose kernel is `code`."""
    type_ = func.checked_type
    assert isinstance(type_, FuncType)
    params = [var(param.name_hint, param_type) for param, param_type in zip(func.params, type_.arg_types)]
    tensors = [tensor for param, param_type in zip(params, type_.arg_types) for tensor in _tensors(param, param_type)]
    leaves = _leaves(type_.ret_type)
    flat = TupleType(leaves) if isinstance(type_.ret_type, TupleType) else type_.ret_type
    flat_type = FuncType(list(type_.arg_types), flat)
    with _free_name(f"{name}@{symbol}") as unique:
        call = registration.register_code(
            unique,
            inputs=[f"x{i}" for i in range(len(tensors))],
            relation=lambda call, *types: _core.result_type_on(flat_type, list(types)),
            kernel=lambda *arrays: code(*arrays),
            doc=f"What the code generator {name} made of @{symbol}.",
            no_gradient="its code is not Relay's",
        )
        made: Expr = call(*tensors)
        # Its function goes with the last program that calls it.
        registration.unregister(call)
    if isinstance(type_.ret_type, TupleType):
        made = _rebuilt(iter([TupleGetItem(made, i) for i in range(len(leaves))]), type_.ret_type)
    return Function(params, made, type_.ret_type)
