"""Operators on quantised numbers."""

from __future__ import annotations

from typing import Any

from relay.qnn.op import *  # noqa: F403

from relay.op.nn import get_pad_tuple2d as get_pad_tuple2d

from ... import _absent
from ...ir.op import register_op_attr
from ...runtime.object import Object as Object
from ...target import Target as Target
from .rounding import RequantizeConfig as RequantizeConfig, current_requantize_config as current_requantize_config, requantize_config as requantize_config


def register_qnn_legalize(op_name: str, legal_op: Any = None, level: int = 10) -> Any:
    """Attaches a function of attributes, arguments and types that `qnn.transform.Legalize` calls; a decorator where none is given."""
    return register_op_attr(op_name, "FTVMQnnLegalize", legal_op, level)


# A package without files: imports of what TVM has below it give the reason why it is not there.
__path__: list[str] = []


def __getattr__(name: str) -> Any:
    if name == "qnn":
        import sys

        return sys.modules[__name__]
    return _absent.lookup(__name__, name)
