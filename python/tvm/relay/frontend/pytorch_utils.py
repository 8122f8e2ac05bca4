"""Helpers of tests of modules of PyTorch."""

from __future__ import annotations

import importlib
import re
from typing import Any

from ... import _absent

__all__ = ["is_version_greater_than"]


def is_version_greater_than(ver: str) -> bool:
    """True if PyTorch is of a later version. Raises ImportError where there is none."""
    torch = importlib.import_module("torch")

    return _numbers(str(torch.__version__)) > _numbers(ver)


def _numbers(version: str) -> list[int]:
    """The numbers of a release without zeros at the end, so that 2.1 is 2.1.0; what follows a plus sign or a letter is none of it."""
    found = re.match(r"\d+(\.\d+)*", version)
    numbers = [int(part) for part in found.group().split(".")] if found else []
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return numbers


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
