"""Data types, constructors and patterns."""

from relay import Clause, Constructor, Match, Pattern, PatternConstructor, PatternTuple, PatternVar, PatternWildcard, TypeData

from .backend.values import ConstructorValue

__all__ = ["Clause", "Constructor", "Match", "Pattern", "PatternConstructor", "PatternTuple", "PatternVar", "PatternWildcard", "TypeData", "ConstructorValue"]
