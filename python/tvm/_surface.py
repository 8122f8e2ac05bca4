"""The names that TVM 0.8 to 0.19 had: two tables beside this file, which are read when a name is missing for the first time.

`_names.tsv` has a line for each module: its name, a tab, and groups of names separated by ``|``. A group begins with its kind: `f` functions,
`c` classes, `e` exceptions, `v` other values, `m` modules, ``@module`` what the package takes from one of its modules; `*` alone means that any
name is taken for one of TVM's. `_members.tsv` has the members of classes.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

_HERE = Path(__file__).parent
# Second names of modules.
_ALIASES = {
    **{f"tvm.relay.{name}": f"tvm.relay.op.{name}" for name in ("nn", "image", "vision", "annotation", "random", "dyn", "memory", "vm")},
    "tvm.instrument": "tvm.ir.instrument", "tvm.transform": "tvm.ir.transform", "tvm.nd": "tvm.runtime.ndarray",
    "tvm.container": "tvm.runtime.container", "tvm.relay.vm": "tvm.relay.backend.vm",
}  # fmt: skip
KINDS = {"f": "function", "c": "class", "e": "exception", "v": "value", "m": "module"}


@cache
def _lines(table: str) -> dict[str, str]:
    text = (_HERE / table).read_text(encoding="utf-8")
    return dict(line.split("\t", 1) for line in text.splitlines() if not line.startswith("#"))


@cache
def _groups(module: str) -> dict[str, list[str]]:
    text = "|".join(_lines("_names.tsv").get(name, "") for name in (_ALIASES.get(module), module) if name)
    parts = [part.split(" ") for part in text.split("|") if part]
    return {part[0]: part[1:] for part in parts}


@cache
def _entries(module: str) -> dict[str, tuple[str, str]]:
    """The names of a module: each with its kind, and the module that defines it."""
    out: dict[str, tuple[str, str]] = {}
    for group, names in _groups(module).items():
        for name in names:
            if group.startswith("@"):
                source = group[1:]
                kind = next((key for key, inside in _groups(source).items() if name in inside and key in KINDS), "f")
                # A package's own module hides one of another package that a part of it takes.
                own = kind == "m" and f"{module}.{name}" in _lines("_names.tsv")
                out[name] = (kind, module if own else source)
            else:
                out[name] = (group, module)
    return out


def is_module(full: str) -> bool:
    """True if TVM has a module of this name."""
    return full in _lines("_names.tsv") or _open_above(full) is not None


def _open_above(full: str) -> str | None:
    """The innermost module above a name that takes any name."""
    parts = full.split(".")
    for count in range(len(parts) - 1, 1, -1):
        module = ".".join(parts[:count])
        if "*" in _groups(module):
            return module
    return None


def find(module: str, name: str) -> tuple[str, str] | None:
    """Kind and defining module of a name of TVM's; None if TVM has no such name."""
    known = _entries(module).get(name)
    if known is not None:
        return known
    if is_module(f"{module}.{name}") and f"{module}.{name}" in _lines("_names.tsv"):
        return "m", module
    if "*" in _groups(module) or _open_above(module + "." + name) is not None:
        return ("c" if name[:1].isupper() and not name.isupper() else "f"), module
    return None


def names(module: str) -> list[str]:
    """All names of a module that do not begin with an underscore."""
    return sorted(name for name in _entries(module) if not name.startswith("_"))


@cache
def _takers() -> dict[str, list[str]]:
    """For each module the packages that take names of it."""
    out: dict[str, list[str]] = {}
    for package, text in _lines("_names.tsv").items():
        for part in text.split("|"):
            if part.startswith("@"):
                out.setdefault(part[1:].split(" ", 1)[0], []).append(package)
    return out


def takers(module: str, name: str) -> list[str]:
    """The packages in which a name of a module can be found, too."""
    return [package for package in _takers().get(module, ()) if name in _groups(package)["@" + module]]


def members(full: str) -> set[str] | None:
    """The members of a class by its full name; None for a class of which nothing is known."""
    text = _lines("_members.tsv").get(full)
    return None if text is None else set(text.split(" "))


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of a message about a name that nobody knows: the name that it may have been meant for."""
    import difflib

    found = difflib.get_close_matches(name, list(known), 1, 0.7)
    return f"; the nearest name is {found[0]!r}" if found else ""
