"""Program text with types as comments, which reads back as the program without them."""

from __future__ import annotations

import re
from collections.abc import Callable

# A quoted name or string, outside of which a comment begins, and a comment up to the first mark that may end it.
_QUOTED = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_QUOTED_OR_COMMENT = re.compile(rf"{_QUOTED}|/\*(?P<inside>.*?)\*/", re.DOTALL)
_WHOLE = re.compile(rf'(?:[^"]|{_QUOTED})*', re.DOTALL)


def _is_closed(text: str) -> bool:
    """True if each comment of the text ends where the printer ended it. A mark of comments in a type stands in a quoted name: one that ends the
    comment early leaves an open quote behind, another begins a comment inside of one."""
    for found in _QUOTED_OR_COMMENT.finditer(text):
        inside = found["inside"]
        if inside is not None and ("/*" in inside or ('"' in inside and not _WHOLE.fullmatch(inside))):
            return False
    return True


def typed_text(write: Callable[[bool], str], show_types: bool = True) -> str:
    """The text that `write` gives, with types or without. Without, too, where a name in a type has a mark of comments in it, since the rest of
    it would be read as program text."""
    text = write(show_types)
    return text if not show_types or _is_closed(text) else write(False)
