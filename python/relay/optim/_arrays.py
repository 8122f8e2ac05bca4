"""Optimisers on trees of arrays, in functions of Python and outside of them."""

from __future__ import annotations

from typing import Any, Sequence

from .. import _core
from .._core import Expr, Function, TensorType, Tuple, TupleType, Type
from ..op._arrays import array_classes

__all__ = ["OverArrays", "is_weights"]


def _is_leaf(value: Any) -> bool:
    return isinstance(value, (*array_classes, float)) or hasattr(type(value), "__array__") or hasattr(type(value), "__dlpack__")


def is_weights(value: Any) -> bool:
    """True for an array or a number of Python that is a float, and for a tree that holds one."""
    from ..functions import tree

    if isinstance(value, (Type, Expr, str)) or value is None:
        return False
    return any(map(_is_leaf, tree.flatten(value)[0]))


class OverArrays:
    """`init` and `update` of an optimiser on trees of arrays. All arrays of the weights are one tuple for it."""

    def __init__(self, optimizer: Any) -> None:
        self._optimizer = optimizer
        self._compiled: dict[str, Any] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Copies and pickles compile functions of their own."""
        return {"_optimizer": self._optimizer, "_compiled": {}}

    def init(self, params: Any) -> Any:
        return self._call("init", self._init, params)

    def update(self, params: Any, grads: Any = None, *more: Any) -> Any:
        if len(more) != 1:
            raise TypeError("update takes weights, gradients and the state; of a type of weights, it gives the function that does")
        return self._call("update", self._update, params, grads, more[0])

    def _call(self, name: str, traced: Any, *args: Any) -> Any:
        from ..functions.trace import current
        from ..functions.traced import function

        if current() is not None:
            return traced(*args)
        if name not in self._compiled:
            self._compiled[name] = function(traced, control_flow=False)
        return self._compiled[name](*args)

    def _init(self, params: Any) -> Any:
        weights = _Weights(params)
        return self._state(weights, _run(self._optimizer.init(weights.type), [weights.value]))

    def _update(self, params: Any, grads: Any, state: Any) -> Any:
        weights = _Weights(params)
        function = self._optimizer._update_of(weights.type, None, weights.paths)
        given = [weights.value, weights.beside(grads), _gathered(weights, self._optimizer.state_type(weights.type), state, "the state")]
        new, after = _run(function, given)
        return weights.tree(new), self._state(weights, after)

    def _state(self, weights: _Weights, value: Any) -> Any:
        return _spread(weights, self._optimizer.state_type(weights.type), value)


class _Weights:
    """A tree of arrays as a tuple of a program."""

    def __init__(self, params: Any) -> None:
        from ..functions import tree

        leaves, self.form = tree.flatten(params)
        self.paths = tree.paths(params)
        self.arrays = [_array(leaf, f"the weights{path}") for leaf, path in zip(leaves, self.paths)]
        self.type = TupleType([array._type for array in self.arrays])
        self.value = _tuple(self.arrays)

    def tree(self, arrays: Sequence[Any]) -> Any:
        from ..functions import tree

        return tree.unflatten(self.form, list(arrays))

    def beside(self, other: Any, name: str = "the gradients") -> Expr:
        """A tree of the weights' form, extents and dtypes."""
        from ..functions import tree

        leaves, form = tree.flatten(other)
        if form != self.form:
            raise TypeError(f"{name} have another form than the weights" if name.endswith("s") else f"{name} is of weights of another form")
        arrays = [_array(leaf, f"{name}{path}") for leaf, path in zip(leaves, self.paths)]
        for array, own, path in zip(arrays, self.arrays, self.paths):
            if array._type != own._type:
                raise TypeError(f"{name}{path} is {array._text()}, and the weights{path} {own._text()}")
        return _tuple(arrays)


def _array(leaf: Any, path: str) -> Any:
    from ..functions.array import is_array, is_scalar
    from ..functions.dtypes import default_of
    from ..numpy._common import cast, lift

    if not is_array(leaf) and not is_scalar(leaf):
        raise TypeError(f"{path} is no array but {leaf!r:.80}")
    array = lift(leaf)
    return cast(array, default_of(array.dtype.kind)) if array.weak else array  # a number of Python


def _tuple(arrays: Sequence[Any]) -> Expr:
    from ..functions.trace import current

    trace = current()
    assert trace is not None
    return Tuple([trace.expr(array) for array in arrays])


def _run(function: Function, args: Sequence[Expr]) -> Any:
    """A function of a program on expressions: traced arrays in tuples."""
    from ..functions.trace import current, type_of, wrap

    trace = current()
    assert trace is not None
    body = trace.once(_core.substitute(function.body, dict(zip(function.params, args))))
    return wrap(trace, body, type_of(trace, body))


def _spread(weights: _Weights, type_: Any, value: Any) -> Any:
    """A state in tuples, with trees in the place of the tuples of weights."""
    if type_ == weights.type:
        return weights.tree(value)
    return value if isinstance(type_, TensorType) else tuple(_spread(weights, field, one) for field, one in zip(type_.fields, value))


def _gathered(weights: _Weights, type_: Any, value: Any, path: str) -> Expr:
    """The opposite of `_spread`, as an expression."""
    from ..functions.trace import current

    if type_ == weights.type:
        return weights.beside(value, path)
    if isinstance(type_, TensorType):
        array, trace = _array(value, path), current()
        assert trace is not None
        if array._type != type_:
            raise TypeError(f"{path} is {array._text()} where a number of updates is due: it is what init and update give")
        return trace.expr(array)
    if not isinstance(value, (tuple, list)) or len(value) != len(type_.fields):
        raise TypeError(f"{path} is no state of this optimiser: it is what init and update give")
    return Tuple([_gathered(weights, field, one, f"{path}[{i}]") for i, (field, one) in enumerate(zip(type_.fields, value))])
