"""Training: optimisers, schedules of the learning rate, clipping, losses and first values, as Relay expressions and functions.

    optimizer = relay.optim.AdamW(relay.optim.schedules.cosine(1e-3, steps=1000), clip=relay.optim.clip_by_norm(1.0))
    update = optimizer.update(params_type)   # fn(params, grads, state) -> (params, state)

Parameters are a tree: a tensor, a tuple of trees, or a value of a data type that has trees as fields.
"""

from . import checkpoint, initializers, losses, schedules
from .optimizers import SGD, Adam, AdamW, Optimizer, clip_by_norm, clip_by_value, global_norm

__all__ = ["SGD", "Adam", "AdamW", "Optimizer", "checkpoint", "clip_by_norm", "clip_by_value", "global_norm", "initializers", "losses", "schedules"]
