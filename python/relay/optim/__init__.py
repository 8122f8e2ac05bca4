"""Training: optimisers, schedules of the learning rate, clipping, losses and first values, as Relay expressions and functions.

    optimizer = relay.optim.AdamW(relay.optim.schedules.cosine(1e-3, steps=1000), clip=relay.optim.clip_by_norm(1.0))
    state = optimizer.init(params)
    params, state = optimizer.update(params, grads, state)

Weights are a tree of arrays, as functions of Python take them. In programs they have a type: a tensor, a tuple of trees, or a data type that
has trees as fields. Of such a type, `init` and `update` give the function that does the same.
"""

from . import checkpoint, initializers, losses, schedules
from .groups import Group, group
from .optimizers import SGD, Accumulate, Adam, AdamW, Optimizer, clip_by_norm, clip_by_value, global_norm

__all__ = [
    "SGD", "Accumulate", "Adam", "AdamW", "Group", "Optimizer", "checkpoint", "clip_by_norm", "clip_by_value", "global_norm", "group",
    "initializers", "losses", "schedules",
]  # fmt: skip
