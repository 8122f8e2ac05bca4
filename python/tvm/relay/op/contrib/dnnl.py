"""oneDNN, for the built-in code generator."""

from typing import Any

from relay.op.contrib.dnnl import *  # noqa: F403
from relay.op.contrib.dnnl import PRODUCTS, BESIDE, _is_float32

from .... import _absent
from ....ir.op import register_op_attr

for _name in (*PRODUCTS, *BESIDE):
    register_op_attr(_name, "target.dnnl", _is_float32, level=5)


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
