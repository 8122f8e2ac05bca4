"""`relay.op.contrib`: tables of patterns, and the code generators that are built in."""

from typing import Any

from .... import _absent
from . import dnnl as dnnl, register as register
from .dnnl import partition_for_dnnl as partition_for_dnnl
from .register import get_pattern_table as get_pattern_table, register_pattern_table as register_pattern_table

# Imports of what TVM has for the libraries of vendors give the reason why it is not there.


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
