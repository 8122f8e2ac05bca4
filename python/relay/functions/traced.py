"""`relay.function`: a Python function over arrays becomes a compiled program, once for each signature."""

from __future__ import annotations

import enum
import functools
import inspect
import threading
import time
import types
from collections import OrderedDict
from typing import Any, Callable, Sequence

import numpy as np

from .._core import Dim, Function, IRModule, TensorType, Tuple
from ..execution import compile as compile_module
from . import tree
from .array import Array, BaseArray, Tracer, asarray, is_array, is_scalar
from .dtypes import Spec, as_dtype, kind_of_scalar
from .eager import hashable, outputs, results
from .explain import Explanation, Lowered
from .places import shorten
from .trace import Trace, current, enter, named

__all__ = ["Compiled", "Traced", "function"]

_MOST_OBJECTS = 64  # whose methods have programs of their own, for each method
_WIDE = {"bool": np.dtype("bool"), "int": np.dtype("int64"), "float": np.dtype("float64")}
_STATIC_KINDS = (str, bytes, enum.Enum, type, types.FunctionType, types.BuiltinFunctionType, types.MethodType, functools.partial, range, slice, type(Ellipsis))


class Traced:
    """What tracing gives: the program, and how arguments and result are put together."""

    def __init__(self, module: IRModule, form: Any, leaves: list[Any], constants: list[Any], seconds: float) -> None:
        self.module = module
        self.form = form
        self.leaves = leaves
        self.constants = constants
        self.seconds = seconds


class Compiled:
    """A traced program and its machine code."""

    def __init__(self, traced: Traced, options: dict[str, Any]) -> None:
        self.traced = traced
        start = time.perf_counter()
        self.program = compile_module(traced.module, **options)
        self.seconds = time.perf_counter() - start
        leaves = traced.leaves
        # One array is most results.
        self._single = traced.form == tree.leaf() and len(leaves) == 1 and hasattr(leaves[0], "position") and not leaves[0].weak

    def run(self, data: list[Any]) -> Any:
        """Calls the program with the memory of arrays."""
        found = self.program(*data)
        if self._single:
            return Array(found)
        return results(self.traced.form, self.traced.leaves, found)


def _own(result: Any, given: list[Any]) -> Any:
    """Results that are arguments of NumPy themselves, whose owner may write to them, as copies."""
    leaves, form = tree.flatten(result)
    for i, item in enumerate(leaves):
        if type(item) is Array and type(item._data) is np.ndarray and not item._data.flags.writeable:
            if any(np.may_share_memory(item._data, one) for one in given):
                leaves[i] = Array(item._data.copy(), item.weak)
    return tree.unflatten(form, leaves)


class TracedFunction:
    """A Python function that runs as a compiled program. `relay.function` makes it."""

    def __init__(self, fn: Callable[..., Any], static_argnums: Sequence[int], static_argnames: Sequence[str], donate_argnums: Sequence[int],
                 convert: bool, most: int, options: dict[str, Any]) -> None:  # fmt: skip
        functools.update_wrapper(self, fn)
        self._fn = fn
        self._convert = convert
        self._converted: Any = None
        self._most = most
        self._options = options
        self._signature = _signature(fn)
        self._static = _static_positions(fn, self._signature, static_argnums, static_argnames)
        self._donated = {int(one) for one in donate_argnums}
        self._specs = _specs(fn)
        self._kept: OrderedDict[Any, Compiled] = OrderedDict()
        self._fast: dict[Any, Compiled] = {}
        self._lock = threading.RLock()

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else _Bound(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not kwargs:
            key: list[Any] = []
            data: list[Any] = []
            for item in args:
                if type(item) is Array:
                    key.append((item.dtype, item.shape, item.weak))
                    data.append(item._data)
                else:
                    break
            else:
                known = self._fast.get(tuple(key))
                if known is not None and current() is None:
                    return known.run(data)
        if current() is not None:
            return self.python(*args, **kwargs)
        try:
            return self._call(args, kwargs)
        except Exception as error:
            raise shorten(error)

    @property
    def python(self) -> Callable[..., Any]:
        """The Python function as it is traced: with its `if`, `while` and `for` as control flow, where the source can be read."""
        if self._converted is None:
            from .convert import converted

            self._converted = converted(self._fn) if self._convert else self._fn
        found: Callable[..., Any] = self._converted
        return found

    def _call(self, args: Any, kwargs: Any) -> Any:
        leaves, form, static, paths = self._flatten(args, kwargs)
        for item, path in zip(leaves, paths):
            if isinstance(item, Spec):
                raise TypeError(f"{path} of {self._fn.__name__} is the type {item!r}, and no array: lower and explain take types")
        key, data = self._key(leaves, form, static, paths)
        compiled = self._kept.get(key)
        if compiled is None:
            compiled = self._compiled(key, leaves, form, static, paths)
        result = compiled.run(data)
        plain = [item for item in leaves if type(item) is np.ndarray]
        if plain:
            return _own(result, plain)
        if not kwargs and not self._static and args and all(type(item) is Array for item in args):
            if len(self._fast) > 4 * self._most:
                self._fast.clear()
            self._fast[tuple([(item.dtype, item.shape, item.weak) for item in args])] = compiled
        return result

    def _flatten(self, args: Any, kwargs: Any) -> tuple[list[Any], Any, tuple[Any, ...], list[str]]:
        """The leaves of the arguments but the static ones, the form, what is static, and the place of each leaf."""
        static: list[Any] = []
        if self._static:
            given = list(args)
            for place, name in self._static.items():
                if place < len(given):
                    static.append((place, given[place]))
                    given[place] = None
                elif name in kwargs:
                    static.append((name, kwargs[name]))
            kwargs = {name: value for name, value in kwargs.items() if name not in self._static.values()}
            args = tuple(given)
        leaves, form = tree.flatten((tuple(args), kwargs))
        names = list(self._signature.parameters) if self._signature else []
        paths: list[str] = []
        for i, item in enumerate(args):
            paths += tree.paths(item, self._name_of(i, names))
        for name in sorted(kwargs):
            paths += tree.paths(kwargs[name], name)
        return leaves, form, tuple(static), paths

    def _name_of(self, place: int, names: list[str]) -> str:
        return names[place] if place < len(names) else f"argument {place + 1}"

    def _key(self, leaves: list[Any], form: Any, static: tuple[Any, ...], paths: list[str]) -> tuple[Any, list[Any]]:
        key: list[Any] = [form]
        data: list[Any] = []
        known: dict[str, int] = {}
        for i, item in enumerate(leaves):
            if type(item) is not Array and not isinstance(item, Spec):
                item = self._leaf(item, paths[i])
                leaves[i] = item
            if isinstance(item, (Array, np.ndarray)):
                dtype, shape = as_dtype(item.dtype), tuple(item.shape)
                weak = getattr(item, "weak", False)
                spec = self._specs.get(paths[i])
                if spec is not None:
                    _require(spec, dtype, shape, paths[i], known)
                    shape = spec.shape
                key.append((dtype, shape, weak))
                data.append(item._data if type(item) is Array else item)
            elif isinstance(item, Spec):
                key.append((item.dtype, item.shape, False))
            else:
                key.append(hashable(item))
        for name, value in static:
            key.append((name, hashable(value)))
        whole = tuple(key)
        try:
            hash(whole)
        except TypeError as error:
            raise TypeError(f"a static argument of {self._fn.__name__} cannot be part of a signature: {error}. It has to be hashable") from None
        return whole, data

    def _leaf(self, item: Any, path: str) -> Any:
        if isinstance(item, Tracer):
            with enter(Trace("outside")) as trace:
                trace.expr(item)
        if is_scalar(item):
            kind = kind_of_scalar(item)
            try:
                return Array(np.asarray(item, dtype=_WIDE[kind]), weak=True)
            except OverflowError:
                raise OverflowError(f"{path} of {self._fn.__name__}: {item} is no int64; make it static or give an array") from None
        if type(item) is np.ndarray:
            try:
                as_dtype(item.dtype)
            except TypeError as error:
                raise TypeError(f"{path} of {self._fn.__name__}: {error}") from None
            return item
        if is_array(item):
            return asarray(item)
        if isinstance(item, _STATIC_KINDS):
            return item
        raise TypeError(
            f"{path} of {self._fn.__name__} is a {type(item).__name__}, which is neither an array, a number, nor a tuple, list, dictionary or dataclass "
            "of them: name it in static_argnames (then it has to be hashable, and each value makes a program of its own)"
        )

    def _compiled(self, key: Any, leaves: list[Any], form: Any, static: tuple[Any, ...], paths: list[str]) -> Compiled:
        with self._lock:
            known = self._kept.get(key)
            if known is not None:
                return known
            traced, order = self._traced(leaves, form, static, paths)
            options = dict(self._options)
            if self._donated:
                options["donate"] = self._donations(leaves, paths, order)
            compiled = Compiled(traced, options)
            if self._donated:
                setattr(compiled.program, "_label", self._fn.__name__)  # what errors call the program
            self._kept[key] = compiled
            while len(self._kept) > self._most:
                gone = self._kept.popitem(last=False)[1]
                self._fast = {one: program for one, program in self._fast.items() if program is not gone}
            return compiled

    def _donations(self, leaves: list[Any], paths: list[str], order: list[int]) -> list[int]:
        names = list(self._signature.parameters) if self._signature else []
        starts = tuple(self._name_of(place, names) for place in self._donated)
        found = []
        for position, i in enumerate(order):
            base = paths[i].split("[")[0].split(".")[0]
            if base in starts:
                found.append(position)
        return found

    def _traced(self, leaves: list[Any], form: Any, static: tuple[Any, ...], paths: list[str]) -> tuple[Traced, list[int]]:
        start = time.perf_counter()
        trace = Trace(self._fn.__name__)
        dims: dict[str, Dim] = {}
        with enter(trace):
            given: list[Any] = []
            params: list[Tracer] = []
            order: list[int] = []
            for i, item in enumerate(leaves):
                if isinstance(item, (BaseArray, np.ndarray, Spec)):
                    param = trace.parameter(_plain(paths[i]), self._type(item, paths[i], dims), getattr(item, "weak", False))
                    params.append(param)
                    order.append(i)
                    given.append(param)
                else:
                    given.append(item)
            args, kwargs = tree.unflatten(form, given)
            args = list(args)
            for name, value in static:
                if isinstance(name, int):
                    args[name] = value
                else:
                    kwargs[name] = value
            out = self._python_result(args, kwargs)
            found, out_form = tree.flatten(out)
            traced, kept = outputs([_result(item, self._fn.__name__) for item in found])
            exprs = [trace.expr(item) for item in traced]
        symbols = [dim.symbol for dim in dims.values() if dim.symbol is not None]
        body = exprs[0] if len(exprs) == 1 else Tuple(exprs)
        trace.module["main"] = Function([param.variable for param in params], trace.body(body), None, symbols)
        constants = [array for array, _ in trace.constants.values()]
        return Traced(trace.module, out_form, kept, constants, time.perf_counter() - start), order

    def _python_result(self, args: list[Any], kwargs: dict[str, Any]) -> Any:
        try:
            return self.python(*args, **kwargs)
        except RecursionError:
            raise RecursionError(
                f"{self._fn.__name__} calls itself too deeply while it is traced: a recursion that ends by the value of an array has no end for the tracer; "
                "use relay.while_loop"
            ) from None

    def _type(self, item: Any, path: str, dims: dict[str, Dim]) -> TensorType:
        spec = item if isinstance(item, Spec) else self._specs.get(path)
        if spec is None:
            return TensorType(tuple(item.shape), as_dtype(item.dtype))
        return TensorType([extent if isinstance(extent, int) else named(extent, dims) for extent in spec.shape], spec.dtype)

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """The program for arguments, which may be specifications such as `relay.f32[3, 4]`; nothing is compiled or run."""
        try:
            leaves, form, static, paths = self._flatten(args, kwargs)
            key, _ = self._key(leaves, form, static, paths)
            known = self._kept.get(key)
            traced = known.traced if known is not None else self._traced(leaves, form, static, paths)[0]
        except Exception as error:
            raise shorten(error)
        return Lowered(traced, self._options)

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """What became of the function for arguments: kernels, their time and memory, constants, the time to trace and to compile. Runs once."""
        try:
            leaves, form, static, paths = self._flatten(args, kwargs)
            key, data = self._key(leaves, form, static, paths)
            compiled = self._compiled(key, leaves, form, static, paths)
        except Exception as error:
            raise shorten(error)
        whole = len(data) == sum(isinstance(item, (Array, np.ndarray, Spec)) for item in leaves)
        return Explanation(self._fn.__name__, compiled, data if whole else None, len(self._kept))

    def clear(self) -> None:
        """Forgets all programs."""
        with self._lock:
            self._kept.clear()
            self._fast.clear()

    @property
    def programs(self) -> int:
        """The number of signatures that there are programs for."""
        return len(self._kept)

    def __repr__(self) -> str:
        return f"<relay.function {getattr(self._fn, '__qualname__', self._fn)}, {len(self._kept)} programs>"


class _Bound:
    """A method: the object is the first argument. Objects that are no trees are static."""

    def __init__(self, function: TracedFunction, instance: Any) -> None:
        self.__self__ = instance
        self.__func__ = function

    def _target(self) -> Any:
        if tree.flatten(self.__self__)[1] != tree.leaf():
            return functools.partial(self.__func__, self.__self__)
        known: dict[Any, TracedFunction] = self.__func__.__dict__.setdefault("_methods", {})
        key = id(self.__self__)
        if key not in known:
            fn = self.__func__
            made = function(types.MethodType(fn._fn, self.__self__))
            made._options, made._convert, made._most = fn._options, fn._convert, fn._most
            made._static = {place - 1: name for place, name in fn._static.items() if place > 0}
            made._specs = fn._specs
            known[key] = made
            while len(known) > _MOST_OBJECTS:
                known.pop(next(iter(known)))
        return known[key]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._target()(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        target = self._target()
        if isinstance(target, functools.partial):
            return functools.partial(getattr(target.func, name), *target.args)
        return getattr(target, name)


def _result(item: Any, name: str) -> Any:
    """A leaf of the result: arrays and numbers become traced arrays."""
    from ..numpy._common import lift
    from .branches import Undefined

    if isinstance(item, Undefined):
        raise UnboundLocalError(f"{name} returns the local variable {item.name!r}, which has no value, or was given one in one branch alone")
    if isinstance(item, Tracer):
        return item
    if isinstance(item, BaseArray) or is_scalar(item) or is_array(item) or hasattr(item, "array") and hasattr(item, "dim"):
        return lift(item)
    return item


def _plain(path: str) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in path).strip("_") or "x"


def _require(spec: Spec, dtype: Any, shape: tuple[Any, ...], path: str, known: dict[str, int]) -> None:
    """Raises TypeError where an argument is not what its annotation says."""
    fits = len(shape) == len(spec.shape) and dtype == spec.dtype
    for want, have in zip(spec.shape, shape) if fits else ():
        fits = fits and (want == have if isinstance(want, int) else known.setdefault(want, have) == have)
    if not fits:
        sizes = "".join(f", where {name} is {value}" for name, value in known.items() if name in spec.shape)
        raise TypeError(f"{path} is annotated as {spec}, and given as {dtype}[{', '.join(map(str, shape))}]{sizes}")


def _signature(fn: Any) -> inspect.Signature | None:
    try:
        return inspect.signature(fn)
    except (TypeError, ValueError):
        return None


def _specs(fn: Any) -> dict[str, Spec]:
    try:
        found = inspect.get_annotations(fn, eval_str=True)
    except Exception:  # annotations that mean nothing here
        found = getattr(fn, "__annotations__", {})
    return {name: value for name, value in found.items() if isinstance(value, Spec)}


def _static_positions(fn: Any, signature: inspect.Signature | None, nums: Sequence[int], names: Sequence[str]) -> dict[int, str]:
    parameters = list(signature.parameters) if signature is not None else []
    found: dict[int, str] = {}
    for place in nums:
        count = len(parameters)
        if parameters and not -count <= place < count:
            raise ValueError(f"static_argnums: {fn.__name__} has no parameter at {place}")
        place = place % count if parameters else place
        found[place] = parameters[place] if parameters else str(place)
    for name in names:
        if name not in parameters:
            raise ValueError(f"static_argnames: {fn.__name__} has no parameter {name}; it has {', '.join(parameters) or 'none'}")
        found[parameters.index(name)] = name
    return found


def _many(value: Any) -> list[Any]:
    return [value] if isinstance(value, (int, str)) else list(value)


def function(
    fn: Any = None,
    *,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    donate_argnums: int | Sequence[int] = (),
    control_flow: bool = True,
    max_programs: int = 128,
    opt_level: int | None = None,
    threads: int = 0,
    target: str = "host",
) -> Any:
    """Makes a Python function over arrays a compiled one. `relay.jit` is the same. Use it as a decorator, or call it with a function.

    At a call with arguments of a new signature (dtypes, shapes, the form of tuples, lists, dictionaries and dataclasses, static values), the
    function runs once on traced arrays, and what it does to them becomes a program, which is compiled. Later calls run the program.

    Args:
        fn: The function. What it does besides computing (printing, appending to lists) happens when it is traced alone.
        static_argnums: Positions of arguments that stay values of Python while it is traced; each value makes a program of its own.
        static_argnames: The same by name.
        donate_argnums: Positions of arguments whose memory results may take over, such as weights that a step replaces.
        control_flow: True if `if`, `while` and `for` over traced arrays become branches and loops, where the source can be read.
        max_programs: The number of programs that are kept; the oldest one goes.
        opt_level: As in `relay.compile`.
        threads: As in `relay.compile`.
        target: As in `relay.compile`.

    Numbers of Python are traced, too, and take the dtype of the arrays beside them. Arrays that the function finds outside, in globals and
    closures, are constants of the program. A parameter that is annotated, as in ``x: relay.f32["n", 4]``, takes any extent for a name, with one
    program. Errors of tracing name the line of the function.
    """
    if fn is None:
        return lambda given: function(
            given, static_argnums=static_argnums, static_argnames=static_argnames, donate_argnums=donate_argnums, control_flow=control_flow,
            max_programs=max_programs, opt_level=opt_level, threads=threads, target=target,
        )  # fmt: skip
    if isinstance(fn, TracedFunction):
        return fn
    if not callable(fn):
        raise TypeError(f"relay.function is of a function, not of a {type(fn).__name__}")
    if not hasattr(fn, "__name__"):
        inner = fn

        def fn(*args: Any, **kwargs: Any) -> Any:
            return inner(*args, **kwargs)

        fn.__name__ = type(inner).__name__
    options = {"opt_level": opt_level, "threads": threads, "target": target}
    return TracedFunction(fn, _many(static_argnums), _many(static_argnames), _many(donate_argnums), control_flow, max(max_programs, 1), options)
