"""Checks of arguments: what is wrong is said in terms of the argument."""

from __future__ import annotations

from collections.abc import Iterable
from operator import index
from typing import Any

_SHOWN = 80


def shown(value: Any) -> str:
    """The repr of an object, shortened, for messages."""
    try:
        text = repr(value)
    except Exception:  # of the object's own
        return f"a {type(value).__name__}"
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def did_you_mean(name: Any, known: Iterable[str], most: int = 1, sign: str = "") -> str:
    """Advice that names what is nearest to an unknown name, each behind `sign`; an empty text if nothing is near."""
    import difflib  # where a name is wrong only

    near = difflib.get_close_matches(str(name), list(known), most)
    return f"did you mean {' or '.join(sign + one for one in near)}?" if near else ""


def require_type(name: str, value: Any, *types: type) -> Any:
    """The value, if it is of one of the types; raises TypeError."""
    if isinstance(value, types):
        return value
    wanted = " or ".join(one.__name__ for one in types)
    raise TypeError(f"{name} is {'an' if wanted[0] in 'AEIOUaeiou' else 'a'} {wanted}, not {shown(value)}")


def require_int(name: str, value: Any, least: int, most: int) -> int:
    """The value as an int, if it is one between two bounds; raises TypeError or ValueError."""
    try:
        number: int | None = int(index(value))
    except TypeError:  # of arrays, too, that are no single integer
        number = None
    if number is None or isinstance(value, bool):
        raise TypeError(f"{name} is an integer, not {shown(value)}")
    if not least <= number <= most:
        raise ValueError(f"{name} is an integer from {least} to {most}, not {shown(number)}")
    return number


def require_list(name: str, value: Any) -> list[Any]:
    """The value as a list; raises TypeError for texts and what cannot be gone through."""
    if isinstance(value, (str, bytes)) or not hasattr(type(value), "__iter__"):
        raise TypeError(f"{name} is a list, not {shown(value)}")
    return list(value)


def require_texts(name: str, value: Any) -> list[str]:
    """The value as a list of texts, none for None; raises TypeError."""
    if value is None:
        return []
    texts = require_list(name, value)
    for text in texts:
        if not isinstance(text, str):
            raise TypeError(f"{name} is a list of texts; one is {shown(text)}")
    return texts
