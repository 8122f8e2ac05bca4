"""Dense layers whose weights are transposed before the program runs."""

from __future__ import annotations

from typing import Any

import numpy as np

import relay as _relay
from relay.analysis import search_fc_transpose

__all__ = ["convert", "search_fc_transpose"]


def convert(func: Any, params: Any) -> Any:
    """The function without transposes of weights, and its parameters: ``w.T`` in the place of ``w``, changed in place."""
    names = [str(name) for name in search_fc_transpose(func)]
    for name in names:
        value = params.pop(name)
        turned = np.ascontiguousarray(value.numpy().T if hasattr(value, "numpy") else np.asarray(value).T)
        params[f"{name}.T"] = _relay.const(turned).data if hasattr(value, "numpy") else turned
    with _relay.transform.PassContext(opt_level=4):
        made = _relay.transform.SimplifyFCTranspose(names)(_relay.IRModule.from_expr(func))
    return made["main"], params
