"""Gradients of Python functions: grad, value_and_grad, vjp, jvp, jacobian, hessian on what `relay.function` traces."""

from __future__ import annotations

import operator
import functools
import inspect
from typing import Any, Callable, Sequence

from .. import _core
from .._checks import require_int, shown
from .._core import Call, Function, RelayError, Tuple, TupleGetItem
from ..gradients import jvp as jvp_of_program
from . import tree
from .array import BaseArray, Tracer, is_array, is_scalar
from .traced import TracedFunction, function
from .places import located
from .trace import Trace, current, dim_of, enter, type_of, wrap

__all__ = ["checkpoint", "grad", "hessian", "jacfwd", "jacobian", "jvp", "value_and_grad", "vjp"]


def _python(fun: Any) -> Callable[..., Any]:
    """A function as it is traced, with its control flow."""
    made = fun if isinstance(fun, TracedFunction) else function(fun)
    return made.python


def _lift(value: Any) -> Any:
    from ..numpy._common import lift

    return lift(value)


class _Program:
    """A function of chosen arrays as a program: what else it reads are further parameters."""

    def __init__(self, fun: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], chosen: Sequence[int], single: bool, what: str) -> None:
        outer = current()
        assert outer is not None
        self.outer = outer
        leaves, form = tree.flatten((tuple(args), kwargs))
        paths = [path for i, item in enumerate(args) for path in tree.paths(item, f"argument {i + 1}")]
        sizes = [len(tree.flatten(item)[0]) for item in args]
        starts = [sum(sizes[:i]) for i in range(len(args))]
        wanted = [starts[place] + k for place in chosen for k in range(sizes[place])]
        trace = Trace("gradient", outer)
        wanted = [i for i in wanted if isinstance(leaves[i], BaseArray) or is_scalar(leaves[i]) or is_array(leaves[i])]
        self.places = wanted
        self.paths = [paths[i] for i in wanted]
        self.inputs: list[Tracer] = []
        self.params: list[Tracer] = []
        for i in wanted:
            value = _lift(leaves[i])
            if value.dtype.kind != "float":
                found = "a number that is no float" if value.weak else f"one of {value.dtype}"
                raise TypeError(f"{what} is for arrays of floats, and {paths[i]} is {found}: choose others with argnums, or use astype")
            self.inputs.append(value)
        self.forms = [tree.flatten(args[place])[1] for place in chosen]
        self.counts = [sizes[place] for place in chosen]
        self.single = single
        with enter(trace):
            given = list(leaves)
            for i, value in zip(wanted, self.inputs):
                param = trace.parameter("x", value._type, value.weak)
                self.params.append(param)
                given[i] = param
            call_args, call_kwargs = tree.unflatten(form, given)
            found = fun(*call_args, **call_kwargs)
            self.leaves, self.form = tree.flatten(found)
            self.results = [_lift(item) for item in self.leaves]
            self.exprs = [trace.expr(item) for item in self.results]
        self.trace = trace
        self.captured = dict(trace.captured)

    def function(self, first_alone: bool) -> Function:
        body = self.trace.body(self.exprs[0] if first_alone else Tuple(self.exprs))
        return Function([*[param.variable for param in self.params], *self.captured.values()], body)

    def inputs_of(self) -> list[Any]:
        return [*[self.outer.expr(value) for value in self.inputs], *self.captured]

    def inline(self, made: Function, further: Sequence[Any] = ()) -> Any:
        """A function of the program in place: an expression of this trace, and its type."""
        given = [*self.inputs_of(), *further]
        body = self.outer.once(_core.substitute(made.body, dict(zip(made.params, given))))
        return body, type_of(self.outer, body)

    def pulled(self, seeds: Sequence[Any]) -> Any:
        """Values and gradients of the inputs, for gradients of the results: an expression of this trace, and its type."""
        count, given = len(self.inputs), Tuple([self.outer.expr(seed) for seed in seeds])
        if count and self.outer.lanes is not None:
            # Left as a call: lanes that part in a loop have to be there before the gradient is written out.
            from ..op import tensor

            called = Call(tensor.vjp(self.function(False), list(range(count))), [*self.inputs_of(), given])
            expr = self.outer.once(called)
            return expr, type_of(self.outer, expr)
        made = _derived(self, self.function(False), params=list(range(count)), from_result=True, single=False, with_value=True)
        return self.inline(made, [given])

    def gradients(self, expr: Any, type_: Any) -> Any:
        """A tuple of gradients as trees of the chosen arguments."""
        weak = [value.weak for value in self.inputs]
        found = [wrap(self.outer, TupleGetItem(expr, i), field, weak[i]) for i, field in enumerate(type_.fields)]
        out, rest = [], iter(found)
        for form, count in zip(self.forms, self.counts):
            out.append(tree.unflatten(form, [next(rest) for _ in range(count)]))
        return out[0] if self.single else tuple(out)

    def values(self, expr: Any, type_: Any) -> list[Tracer]:
        return [wrap(self.outer, TupleGetItem(expr, i), field, value.weak) for (i, field), value in zip(enumerate(type_.fields), self.results)]


def _derived(program: _Program, made: Function, **options: Any) -> Function:
    try:
        return _core.gradient(made, program.outer.module, **options)
    except RelayError as error:
        raise located(error) from None


def _compiled(traced: Callable[..., Any], fun: Any) -> Callable[..., Any]:
    """A transformed function: traced where a function is traced, and compiled elsewhere."""
    if inspect.isroutine(fun) or isinstance(fun, TracedFunction):  # others may pretend to wrap something, without an end
        functools.update_wrapper(traced, fun, updated=())
    whole = function(traced, control_flow=False)
    whole._static = {}
    return whole  # type: ignore[no-any-return]


def _chosen(argnums: Any, count: int) -> tuple[list[int], bool]:
    single = not isinstance(argnums, (tuple, list))
    places = []
    for given in [argnums] if single else argnums:
        place = require_int("argnums", given, -(2**31), 2**31 - 1)
        if not -count <= place < count:
            raise ValueError(f"argnums: there is no argument at {place} among {count}")
        places.append(place % count)
    if not places or len(set(places)) < len(places):
        raise ValueError(f"argnums names one argument or several, each once, not {shown(argnums)}")
    return places, single


def value_and_grad(fun: Any, argnums: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives the value of `fun` and the gradient of arguments. With `has_aux`, `fun` gives a value and what else it found."""
    python = _python(fun)

    def traced(*args: Any, **kwargs: Any) -> Any:
        places, single = _chosen(argnums, len(args))
        program = _Program(python, args, kwargs, places, single, "a gradient")
        if has_aux and not (program.form != tree.leaf() and program.form[0] == ("tuple",) and len(program.form[1]) == 2):
            raise TypeError("has_aux: the function gives a pair, of the value and what else it found")
        if not has_aux and program.form != tree.leaf():
            raise TypeError("a gradient is of a function that gives one number, not a tree of them: has_aux=True is for what else it gives")
        value = program.results[0]
        if value.dtype.kind != "float" or value.ndim:
            raise TypeError(f"a gradient is of a function that gives one float; this one gives an array of {value._text()}")
        expr, type_ = program.pulled([_seed(item, 1 if i == 0 else 0) for i, item in enumerate(program.results)])
        values = program.values(TupleGetItem(expr, 0), type_.fields[0])
        slopes = program.gradients(TupleGetItem(expr, 1), type_.fields[1])
        found = tree.unflatten(program.form, values)
        return found, slopes

    return _compiled(traced, fun)


def _seed(value: Any, number: int) -> Any:
    from ..numpy.creation import full

    return full(value.shape, number, dtype=value.dtype)


def grad(fun: Any, argnums: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives the gradient of arguments; with `has_aux`, a pair of it and what else `fun` found."""
    both = value_and_grad(fun, argnums, has_aux)

    def traced(*args: Any, **kwargs: Any) -> Any:
        value, slope = both(*args, **kwargs)
        return (slope, value[1]) if has_aux else slope

    return _compiled(traced, fun)


def vjp(fun: Any, *primals: Any, has_aux: bool = False) -> Any:
    """The result of `fun`, and a function from a gradient of the result to a tuple of gradients of the arguments."""
    python = _python(fun)

    def back(given: Any, *args: Any) -> Any:
        program = _Program(lambda *inner: _first(python(*inner), has_aux), args, {}, list(range(len(args))), False, "vjp")
        leaves, form = tree.flatten(given)
        if form != program.form:
            raise TypeError("the gradient of the result has another form than the result")
        paths = tree.paths(tree.unflatten(program.form, program.results), "the result")
        seeds = [_beside(leaf, have, path, "gradient") for leaf, have, path in zip(leaves, program.results, paths)]
        expr, type_ = program.pulled(seeds)
        return program.gradients(TupleGetItem(expr, 1), type_.fields[1])

    out = function(python, control_flow=False)(*primals) if current() is None else python(*primals)
    pulled = function(back, control_flow=False) if current() is None else back

    def pull(given: Any) -> Any:
        return pulled(given, *primals)

    return (out[0], pull, out[1]) if has_aux else (out, pull)


def _beside(given: Any, value: Tracer, name: str, what: str) -> Tracer:
    """A gradient or direction that is given for a value, of its dtype and extents. A number of Python takes the dtype."""
    from ..numpy._common import cast

    lifted: Tracer = _lift(given)
    fits = lifted.weak and lifted.dtype.kind in ("int", "float") or lifted.dtype == value.dtype
    if not fits or [dim_of(extent) for extent in lifted.shape] != [dim_of(extent) for extent in value.shape]:
        raise TypeError(f"{name} is {value._text()}, and its {what} {lifted._text()}")
    made: Tracer = cast(lifted, value.dtype)
    return made


def _first(found: Any, has_aux: bool) -> Any:
    return found[0] if has_aux else found


def jvp(fun: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """The result of `fun` and its derivative in a direction, which has the form of the arguments."""
    python = _python(fun)
    if len(primals) != len(tangents):
        raise TypeError(f"jvp takes a direction for each argument: {len(primals)} arguments, {len(tangents)} directions")

    def both(args: Any, directions: Any) -> Any:
        program = _Program(python, args, {}, list(range(len(args))), False, "jvp")
        single = len(program.exprs) == 1
        made = jvp_of_program(program.function(single), program.outer.module)
        from ..numpy.creation import zeros_like

        leaves, form = tree.flatten(directions)
        if form != tree.flatten(args)[1]:
            raise TypeError("the directions have another form than the arguments")
        given = [
            _beside(leaves[i], value, path, "direction") for i, value, path in zip(program.places, program.inputs, program.paths)
        ]
        rest = [zeros_like(wrap(program.outer, expr, type_of(program.outer, expr))) for expr in program.captured]
        expr, type_ = program.inline(made, [program.outer.expr(value) for value in [*given, *rest]])
        parts = []
        for i in range(2):
            field, part = type_.fields[i], TupleGetItem(expr, i)
            found = [wrap(program.outer, part, field)] if single else program.values(part, field)
            parts.append(tree.unflatten(program.form, found))
        return tuple(parts)

    traced = function(both, control_flow=False) if current() is None else both
    found: tuple[Any, Any] = traced(tuple(primals), tuple(tangents))
    return found


def checkpoint(fun: Any, kept: int) -> Callable[..., Any]:
    """A function that gives what `fun` does; gradients keep what it reads, and compute what is inside again."""
    python = _python(fun)

    def traced(*args: Any, **kwargs: Any) -> Any:
        program = _Program(python, args, kwargs, (), True, "checkpoint")
        from ..op import annotation

        inputs = [annotation.checkpoint(expr, bytes=kept) for expr in program.inputs_of()]
        body = _core.substitute(Tuple(program.exprs), dict(zip(program.captured.values(), inputs)))
        marked = annotation.checkpoint(body, bytes=kept) if program.exprs else body
        return tree.unflatten(program.form, program.values(marked, type_of(program.outer, marked)))

    return _compiled(traced, fun)


def _jacobian(fun: Any, argnums: Any, forward: bool) -> Callable[..., Any]:
    """A function that gives the derivatives of all elements of a result by all of arguments; `forward` says by which passes."""
    python = _python(fun)

    def traced(*args: Any, **kwargs: Any) -> Any:
        places, single = _chosen(argnums, len(args))
        given = tuple(args[place] for place in places)
        inputs = _Leaves(given, [f"argument {place + 1}" for place in places], "jacfwd" if forward else "jacobian")

        def inner(*chosen: Any) -> Any:
            every = list(args)
            for place, value in zip(places, chosen):
                every[place] = value
            return python(*every, **kwargs)

        outputs, blocks = (_columns if forward else _rows)(inner, given, inputs)
        trees = [tree.unflatten(inputs.form, row) for row in blocks]
        return tree.unflatten(outputs.form, [one[0] if single else one for one in trees])

    return _compiled(traced, fun)


class _Leaves:
    """The arrays of a tree: jacobians have one axis for all of their elements."""

    def __init__(self, values: Any, names: Sequence[str] | None, what: str) -> None:
        leaves, self.form = tree.flatten(values)
        parts = [values] if names is None else values
        paths = [path for value, name in zip(parts, names or ["the result"]) for path in tree.paths(value, name)]
        relation = "of" if names is None else "by"
        for leaf, path in zip(leaves, paths):
            if not isinstance(leaf, BaseArray) and not is_scalar(leaf) and not is_array(leaf):
                raise TypeError(f"{what} is {relation} arrays, and {path} is {shown(leaf)}")
        self.arrays = [_lift(leaf) for leaf in leaves]
        for array, path in zip(self.arrays, paths):
            if array.dtype.kind != "float":
                hint = "use astype" if names is None else "choose another with argnums, or use astype"
                raise TypeError(f"{what} is {relation} arrays of floats, and {path} is of {array._text()}: {hint}")
        sizes = [operator.index(array.size) for array in self.arrays]
        self.size = sum(sizes)
        starts = [sum(sizes[:i]) for i in range(len(sizes))]
        self.spans = [slice(start, start + size) if size < self.size else slice(None) for start, size in zip(starts, sizes)]

    def basis(self) -> Any:
        """A row for each element: one there, and zero elsewhere."""
        from ..numpy import eye, result_type

        return eye(self.size, dtype=result_type(*[array.dtype for array in self.arrays]))

    def of_row(self, row: Any) -> Any:
        """The tree of a row of the basis."""
        from ..numpy import reshape
        from ..numpy._common import cast

        return tree.unflatten(self.form, [cast(reshape(row[span], array.shape), array.dtype) for span, array in zip(self.spans, self.arrays)])


def _rows(fun: Callable[..., Any], given: Any, inputs: _Leaves) -> tuple[_Leaves, list[list[Any]]]:
    """For each array of a result the derivatives by each array of the arguments, by a reverse pass for each element of the result."""
    from ..numpy import reshape

    out, pull = vjp(fun, *given)
    outputs = _Leaves(out, None, "jacobian")
    if not outputs.arrays or not inputs.arrays:
        return outputs, [[] for _ in outputs.arrays]
    rows, _ = tree.flatten(_each(lambda row: pull(outputs.of_row(row)), outputs.basis(), 0))
    return outputs, [
        [reshape(all_of[span], (*array.shape, *value.shape)) for all_of, value in zip(rows, inputs.arrays)]
        for span, array in zip(outputs.spans, outputs.arrays)
    ]


def _columns(fun: Callable[..., Any], given: Any, inputs: _Leaves) -> tuple[_Leaves, list[list[Any]]]:
    """The same by a forward pass for each element of the arguments."""
    from ..numpy import reshape

    outputs = _Leaves(fun(*given), None, "jacfwd")
    if not outputs.arrays or not inputs.arrays:
        return outputs, [[] for _ in outputs.arrays]
    columns, _ = tree.flatten(_each(lambda row: jvp(fun, given, inputs.of_row(row))[1], inputs.basis(), -1))
    return outputs, [
        [reshape(all_of[..., span], (*array.shape, *value.shape)) for span, value in zip(inputs.spans, inputs.arrays)]
        for all_of, array in zip(columns, outputs.arrays)
    ]


def _each(fun: Callable[[Any], Any], rows: Any, out_axis: int) -> Any:
    """A function of each row: at once where what it computes can be, and else one row after another."""
    from ..numpy import moveaxis
    from .control import map as map_rows
    from .lanes import vmap

    try:
        return vmap(fun, out_axes=out_axis)(rows)
    except RelayError:
        leaves, form = tree.flatten(map_rows(fun, rows))
        return tree.unflatten(form, [moveaxis(leaf, 0, out_axis) for leaf in leaves])


def jacobian(fun: Any, argnums: Any = 0) -> Callable[..., Any]:
    """A function that gives the derivatives of all elements of the result by all of an argument, a tree of trees: reverse passes, one for each element."""
    return _jacobian(fun, argnums, False)


def jacfwd(fun: Any, argnums: Any = 0) -> Callable[..., Any]:
    """The same as `jacobian`, by forward passes, one for each element of the argument."""
    return _jacobian(fun, argnums, True)


def hessian(fun: Any, argnums: Any = 0) -> Callable[..., Any]:
    """A function that gives the second derivatives of one that gives a number: the jacobian of its gradient."""
    return jacobian(grad(fun, argnums), argnums)
