"""Attributes: those of operators and of functions are of one class here."""

from relay import Attrs as Attrs

from . import make_node as make_node

DictAttrs = Attrs

__all__ = ["Attrs", "DictAttrs", "make_node"]
