"""Facts about code generation."""

from __future__ import annotations


def llvm_version_major(allow_none: bool = False) -> int:
    """The major version of LLVM that scripts may count on: the oldest that the library is built with."""
    return 14
