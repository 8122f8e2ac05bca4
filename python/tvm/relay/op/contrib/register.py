"""Tables of patterns by the name of the code generator that they are for."""

from relay.op.contrib.register import get_pattern_table as get_pattern_table, register_pattern_table as register_pattern_table

__all__ = ["get_pattern_table", "register_pattern_table"]
