"""Code generators of others: tables of patterns by name, and what the built-in ones take."""

from . import dnnl as dnnl
from .register import get_pattern_table as get_pattern_table, register_pattern_table as register_pattern_table

__all__ = ["dnnl", "get_pattern_table", "register_pattern_table"]
