"""Operators as functions, generated."""
