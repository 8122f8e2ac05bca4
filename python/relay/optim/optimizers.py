"""Optimisers as Relay functions over any tree of tensors: SGD, Adam, AdamW, and clipping of gradients.

An optimiser has no values of its own. `init` and `update` take weights, or give Relay functions for a type of weights; the state that
they pass on is a tuple whose first field counts the updates. All arithmetic on scalars (rates, corrections) is in float64 and rounded to the dtype of each tensor.
"""

from __future__ import annotations

from typing import Any, Sequence

from .._checks import require_int, require_type
from .._core import Expr, Function, If, IRModule, Let, TensorType, Tuple, TupleGetItem, TupleType, Type, Var
from ..expr import const
from ..op.tensor import add, cast, clip, divide, equal, maximum, minimum, multiply, power, sqrt, subtract, where
from ..op.tensor import mod as mod_of
from ..op.tensor import sum as sum_of
from ..op.tensor import zeros_like
from ._tree import Place, Trees
from ._arrays import OverArrays, is_weights
from .groups import Group, Settings, require_groups
from .schedules import Schedule, _f64, _number, schedule_of

__all__ = ["SGD", "Accumulate", "Adam", "AdamW", "Optimizer", "clip_by_norm", "clip_by_value", "global_norm"]

_STEP = TensorType((), "int64")


def _as(value: float | Expr, place: Place) -> Expr:
    """A scalar in the dtype of a tensor."""
    return cast(value, place.dtype) if isinstance(value, Expr) else const(float(value), place.dtype)


def global_norm(tree: Expr, type_: Type, mod: IRModule | None = None) -> Expr:
    """The 2-norm of all tensors of floats of a tree of a type, as if they were one vector: a scalar of float64."""

    def squares(values: Sequence[Expr], place: Place, _: Sequence[Expr]) -> Expr:
        x = values[0] if place.dtype in ("float32", "float64") else cast(values[0], "float32")
        return cast(sum_of(multiply(x, x)), "float64")

    return sqrt(Trees(type_, mod).sum(squares, tree, "norm"))


class clip_by_norm:
    """Scales all gradients by one factor so that their global norm is at most `max_norm` (clip_grad_norm_ of PyTorch)."""

    def __init__(self, max_norm: float) -> None:
        self.max_norm = _number("max_norm", max_norm)

    def __call__(self, grads: Expr, type_: Type, mod: IRModule | None = None) -> Expr:
        """The clipped gradients: an expression of the tree `grads`, which has the type `type_`."""
        share = divide(_f64(self.max_norm), add(global_norm(grads, type_, mod), _f64(1e-6)))
        factor = minimum(share, _f64(1))
        return Trees(type_, mod).map(lambda v, d, s: multiply(v[0], _as(s[0], d)), [grads], [factor], "clip")


class clip_by_value:
    """Limits each element of all gradients to -`limit` … `limit` (clip_grad_value_ of PyTorch)."""

    def __init__(self, limit: float) -> None:
        self.limit = _number("limit", limit)

    def __call__(self, grads: Expr, type_: Type, mod: IRModule | None = None) -> Expr:
        """The clipped gradients: an expression of the tree `grads`, which has the type `type_`."""
        return Trees(type_, mod).map(lambda v, d, s: clip(v[0], -self.limit, self.limit), [grads], (), "clip")


def _require_type(method: str, gives: str, params: Any, mod: Any) -> None:
    """Raises TypeError for what is neither a type of weights nor weights."""
    if not isinstance(params, Type):
        raise TypeError(f"{method} takes the type of the weights, such as relay.TupleType([relay.TensorType((2,))]), not a {type(params).__name__}; it gives {gives}")
    if mod is not None:
        require_type("mod", mod, IRModule)


class Optimizer:
    """Base of optimisers: `init` and `update` of weights, or of their type.

    `lr`: a number, or a schedule (`relay.optim.schedules`).
    `clip`: None, or what is applied to the gradients first: `clip_by_norm`, `clip_by_value`.
    `groups`: other settings for some of the weights, by `relay.optim.group`; the first one that has a tensor counts.
    """

    # Names of the trees in the state.
    trees: tuple[str, ...] = ()

    def __init__(self, lr: float | Schedule, weight_decay: float, clip: Any, groups: Sequence[Group] = ()) -> None:
        own = Settings(schedule_of(lr, "lr"), _number("weight_decay", weight_decay))
        self.rate, self.weight_decay = own
        if clip is not None and not callable(clip):
            raise TypeError(f"clip is clip_by_norm or clip_by_value, not {clip!r}")
        self.clip = clip
        self.groups = require_groups(groups)
        self._settings = [own, *(one.settings(own) for one in self.groups)]
        self._over_arrays = OverArrays(self)

    def _group_of(self, place: Place) -> int:
        """The position of a tensor's settings."""
        return next((i + 1 for i, one in enumerate(self.groups) if one.has(place)), 0)

    def state_type(self, params: Type) -> Type:
        """The type of the state: the number of updates, int64, and a tree of the parameters' type for each of `trees`."""
        _require_type("state_type", "the type of the state", params, None)
        return TupleType([_STEP, *(params for _ in self.trees)])

    def init(self, params: Any, mod: IRModule | None = None) -> Any:
        """The state of weights, a tree of arrays. Of a type of weights, the function from weights to the state.

        `mod` has the data types of the type and gets functions for them.
        """
        if is_weights(params):
            return self._over_arrays.init(params)
        _require_type("init", "a function from weights to the state, which you compile and call", params, mod)
        var = Var("params", params)
        return Function([var], self._initial(params, mod, var), self.state_type(params))

    def update(self, params: Any, mod: Any = None, *more: Any) -> Any:
        """`update(weights, gradients, state)` of trees of arrays gives new weights and the new state.

        `update(type, mod)` of a type of weights gives the function of weights, gradients and state that does so; `mod` as in `init`. Gradients
        have the form of the weights, or their type. Tensors of integers stay as they are.
        """
        if is_weights(params) or more:
            return self._over_arrays.update(params, mod, *more)
        _require_type("update", "a function of weights, gradients and state, which you compile and call", params, mod)
        return self._update_of(params, mod, None)

    def _update_of(self, params: Type, mod: IRModule | None, names: Sequence[str] | None) -> Function:
        """The function of `update`; `names` are the paths of the fields of the tuple of weights."""
        var, grads = Var("params", params), Var("grads", params)
        state = Var("state", self.state_type(params))
        result = self._updated(params, mod, names, var, grads, state)
        return Function([var, grads, state], result, TupleType([params, self.state_type(params)]))

    def _initial(self, params: Type, mod: IRModule | None, weights: Expr) -> Expr:
        """The state of weights."""
        zeros = [Trees(params, mod).map(lambda v, d, s: zeros_like(v[0]), [weights], (), f"{name}.init") for name in self.trees]
        return Tuple([const(0, "int64"), *zeros])

    def _updated(self, params: Type, mod: IRModule | None, names: Sequence[str] | None, weights: Expr, grads: Expr, state: Expr) -> Expr:
        """The pair of new weights and the new state."""
        given: Expr = grads if self.clip is None else self.clip(grads, params, mod)
        before = TupleGetItem(state, 0)
        after = add(before, const(1, "int64"))
        old = [TupleGetItem(state, i + 1) for i in range(len(self.trees))]
        rates = [one.rate(before) for one in self._settings]
        new_params, new = self._step(Trees(params, mod, names), weights, given, old, rates, after)
        return Tuple([new_params, Tuple([after, *new])])

    def _step(
        self, trees: Trees, params: Expr, grads: Expr, old: list[TupleGetItem], rates: list[Expr], count: Expr
    ) -> tuple[Expr, list[Expr]]:
        """The new parameters and the new trees of the state. `count` is the number of this update, from 1; a rate for each settings."""
        raise NotImplementedError

    def _decayed(self, g: Expr, p: Expr, place: Place) -> Expr:
        decay = self._settings[self._group_of(place)].weight_decay
        return g if decay == 0 else add(g, multiply(p, _as(decay, place)))


class SGD(Optimizer):
    """Gradient descent with momentum, as torch.optim.SGD has it: `nesterov` needs a momentum and no dampening."""

    def __init__(
        self, lr: float | Schedule = 1e-3, momentum: float = 0.0, dampening: float = 0.0, weight_decay: float = 0.0,
        nesterov: bool = False, clip: Any = None, groups: Sequence[Group] = (),
    ) -> None:  # fmt: skip
        super().__init__(lr, weight_decay, clip, groups)
        self.momentum = _number("momentum", momentum)
        self.dampening = _number("dampening", dampening)
        self.nesterov = bool(nesterov)
        if self.nesterov and (self.momentum == 0 or self.dampening != 0):
            raise ValueError("nesterov needs a momentum above 0 and a dampening of 0")
        self.trees = ("momentum",) if self.momentum else ()

    def _step(
        self, trees: Trees, params: Expr, grads: Expr, old: list[TupleGetItem], rates: list[Expr], count: Expr
    ) -> tuple[Expr, list[Expr]]:
        if not self.momentum:
            def plain(v: Sequence[Expr], d: Place, s: Sequence[Expr]) -> Expr:
                return subtract(v[0], multiply(self._decayed(v[1], v[0], d), _as(s[self._group_of(d)], d)))

            return trees.map(plain, [params, grads], rates, "sgd"), []

        # The first update takes the gradient whole.
        taken = where(equal(count, const(1, "int64")), _f64(1), _f64(1 - self.dampening))

        def momentum(v: Sequence[Expr], d: Place, s: Sequence[Expr]) -> Expr:
            m, g, p = v
            return add(multiply(m, _as(self.momentum, d)), multiply(self._decayed(g, p, d), _as(s[0], d)))

        def moved(v: Sequence[Expr], d: Place, s: Sequence[Expr]) -> Expr:
            p, g, m = v
            step = add(self._decayed(g, p, d), multiply(m, _as(self.momentum, d))) if self.nesterov else m
            return subtract(p, multiply(step, _as(s[self._group_of(d)], d)))

        new = trees.map(momentum, [old[0], grads, params], [taken], "sgd.momentum")
        return trees.map(moved, [params, grads, new], rates, "sgd"), [new]


class Adam(Optimizer):
    """Adam (Kingma and Ba 2015) as torch.optim.Adam has it; `weight_decay` adds to the gradient."""

    _decoupled = False

    def __init__(
        self, lr: float | Schedule = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0.0, amsgrad: bool = False, clip: Any = None,
        groups: Sequence[Group] = (),
    ) -> None:  # fmt: skip
        super().__init__(lr, weight_decay, clip, groups)
        self.betas = (_number("betas[0]", betas[0]), _number("betas[1]", betas[1]))
        if max(self.betas) >= 1:
            raise ValueError(f"betas are below 1, not {betas}")
        self.eps = _number("eps", eps)
        self.amsgrad = bool(amsgrad)
        self.trees = ("mean", "square", "largest") if self.amsgrad else ("mean", "square")

    def _step(
        self, trees: Trees, params: Expr, grads: Expr, old: list[TupleGetItem], rates: list[Expr], count: Expr
    ) -> tuple[Expr, list[Expr]]:
        b1, b2 = self.betas
        times = cast(count, "float64")
        correction = subtract(_f64(1), power(_f64(b1), times))
        steps = [divide(rate, correction) for rate in rates]
        root = sqrt(subtract(_f64(1), power(_f64(b2), times)))
        kept = [subtract(_f64(1), multiply(rate, _f64(one.weight_decay))) for rate, one in zip(rates, self._settings)]

        def gradient(g: Expr, p: Expr, d: Place) -> Expr:
            return g if self._decoupled else self._decayed(g, p, d)

        def mean(v: Sequence[Expr], d: Place, s: Sequence[Expr]) -> Expr:
            m, g, p = v
            return add(m, multiply(subtract(gradient(g, p, d), m), _as(1 - b1, d)))

        def square(v: Sequence[Expr], d: Place, s: Sequence[Expr]) -> Expr:
            q, g, p = v
            whole = gradient(g, p, d)
            return add(multiply(q, _as(b2, d)), multiply(multiply(whole, whole), _as(1 - b2, d)))

        def moved(v: Sequence[Expr], d: Place, s: Sequence[Expr]) -> Expr:
            p, m, q = v
            group = self._group_of(d)
            if self._decoupled and self._settings[group].weight_decay:
                p = multiply(p, _as(s[1 + len(steps) + group], d))
            below = add(divide(sqrt(q), _as(s[0], d)), _as(self.eps, d))
            return subtract(p, multiply(divide(m, below), _as(s[1 + group], d)))

        new = [
            trees.map(mean, [old[0], grads, params], (), "adam.mean"),
            trees.map(square, [old[1], grads, params], (), "adam.square"),
        ]
        if self.amsgrad:
            new.append(trees.map(lambda v, d, s: maximum(v[0], v[1]), [old[2], new[1]], (), "adam.largest"))
        return trees.map(moved, [params, new[0], new[-1]], [root, *steps, *kept], "adam"), new


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameters themselves (Loshchilov and Hutter 2019), as torch.optim.AdamW has it."""

    _decoupled = True

    def __init__(
        self, lr: float | Schedule = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 1e-2, amsgrad: bool = False, clip: Any = None,
        groups: Sequence[Group] = (),
    ) -> None:  # fmt: skip
        super().__init__(lr, betas, eps, weight_decay, amsgrad, clip, groups)


class Accumulate(Optimizer):
    """Updates by an optimiser with the mean of the gradients of `steps` calls: batches that are larger than memory.

    The weights stay as they are in the calls between. The state is the number of calls, the optimiser's state, and the sum of gradients.
    """

    def __init__(self, optimizer: Optimizer, steps: int) -> None:
        require_type("optimizer", optimizer, Optimizer)
        super().__init__(0.0, 0.0, None)
        self.optimizer = optimizer
        self.steps = require_int("steps", steps, 1, 2**31 - 1)

    def state_type(self, params: Type) -> Type:
        """The type of the state: the number of calls, int64, the optimiser's state, and a sum of gradients."""
        return TupleType([_STEP, self.optimizer.state_type(params), params])

    def _initial(self, params: Type, mod: IRModule | None, weights: Expr) -> Expr:
        zeros = Trees(params, mod).map(lambda v, d, s: zeros_like(v[0]), [weights], (), "accumulate.init")
        return Tuple([const(0, "int64"), self.optimizer._initial(params, mod, weights), zeros])

    def _updated(self, params: Type, mod: IRModule | None, names: Sequence[str] | None, weights: Expr, grads: Expr, state: Expr) -> Expr:
        trees = Trees(params, mod)
        count = add(TupleGetItem(state, 0), const(1, "int64"))
        added = trees.map(lambda v, d, s: add(v[0], v[1]), [TupleGetItem(state, 2), grads], (), "accumulate.add")
        total, pair = Var("total", params), Var("pair")
        mean = trees.map(lambda v, d, s: divide(v[0], _as(self.steps, d)), [total], (), "accumulate.mean")
        updated = self.optimizer._updated(params, mod, names, weights, mean, TupleGetItem(state, 1))
        zeros = trees.map(lambda v, d, s: zeros_like(v[0]), [total], (), "accumulate.zeros")
        taken = Let(pair, updated, Tuple([TupleGetItem(pair, 0), Tuple([count, TupleGetItem(pair, 1), zeros])]))
        kept = Tuple([weights, Tuple([count, TupleGetItem(state, 1), total])])
        return Let(total, added, If(equal(mod_of(count, const(self.steps, "int64")), const(0, "int64")), taken, kept))
