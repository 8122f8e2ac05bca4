"""Extents of inputs as text."""

from __future__ import annotations

import argparse
import re
from typing import Any

import relay as _relay

from ... import _absent

__all__ = ["parse_shape_string"]

_INPUT = re.compile(r"\s*(?P<name>[^\s\[\]]+):\s*\[(?P<extents>[^\[\]]*)\]\s*,?")


def parse_shape_string(inputs_string: str) -> dict[str, list[Any]]:
    """Extents by name, of text such as ``"x:[1,3] other:[4]"``; -1 is an extent that is not known, `relay.Any()`.

    Raises argparse.ArgumentTypeError for other text.
    """
    shapes: dict[str, list[Any]] = {}
    at = 0
    while at < len(inputs_string):
        found = _INPUT.match(inputs_string, at)
        words = [] if found is None else found["extents"].split(",") if found["extents"].strip() else []
        if found is None or not all(re.fullmatch(r"\s*-?\d{1,18}\s*", word) for word in words):
            raise argparse.ArgumentTypeError(f"{inputs_string[at:]!r} are no extents of inputs: write them as 'x:[1,3] other:[4]'")
        shapes[found["name"]] = [_relay.Any() if int(word) < 0 else int(word) for word in words]
        at = found.end()
    if not shapes:
        raise argparse.ArgumentTypeError("no extents: write them as 'x:[1,3] other:[4]'")
    return shapes


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
