"""Program text of the standard library, read when it is first used."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple


class Source(NamedTuple):
    """A file: its text and the functions it defines."""

    text: str
    names: list[str]


@lru_cache(maxsize=None)
def source(file: str) -> Source:
    """A file of the library. Raises FileNotFoundError, with the names there are, for others."""
    folder = Path(__file__).parent
    known = sorted(path.name for path in folder.glob("*.rly"))
    if file not in known:
        raise FileNotFoundError(f"the standard library has no {file}; it has {', '.join(known)}")
    text = (folder / file).read_text(encoding="utf-8")
    return Source(text, re.findall(r"^def @(\w+)", text, re.MULTILINE))
