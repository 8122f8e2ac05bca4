"""A plugin of pytest, ``-p tvm.testing.plugin``: fixtures `target` and `dev`, and `tvm.testing.parameters` that go together."""

from __future__ import annotations

from typing import Any

import pytest

from . import enabled_targets, joined


def pytest_generate_tests(metafunc: Any) -> None:
    """Gives tests their targets, and the tuples of `parameters`."""
    groups: dict[Any, list[tuple[str, int]]] = {}
    facts: dict[Any, Any] = {}
    for name in metafunc.fixturenames:
        found = getattr(metafunc.cls, name, None) if hasattr(metafunc.cls, name) else getattr(metafunc.module, name, None)
        entry = joined(found)
        if entry is not None:
            groups.setdefault(id(entry[0]), []).append((name, entry[1]))
            facts[id(entry[0])] = entry
    for key, members in groups.items():
        _, _, sets, names = facts[key]
        rows = [tuple(values[at] for _, at in members) for values in sets]
        metafunc.parametrize(",".join(name for name, _ in members), rows if len(members) > 1 else [row[0] for row in rows], ids=names)
    marked = {name for mark in metafunc.definition.iter_markers("parametrize") for name in _names(mark.args[0])}
    wanted = [name for name in ("target", "dev") if name in metafunc.fixturenames and name not in marked]
    if wanted:
        rows = [tuple({"target": text, "dev": dev}[name] for name in wanted) for text, dev in enabled_targets()]
        metafunc.parametrize(",".join(wanted), rows if len(wanted) > 1 else [row[0] for row in rows])


def _names(text: Any) -> list[str]:
    return [name.strip() for name in text.split(",")] if isinstance(text, str) else list(text)


@pytest.fixture
def target() -> str:
    """The target; `pytest_generate_tests` gives its value."""
    return "llvm"


@pytest.fixture
def dev() -> Any:
    """The device of the target."""
    return enabled_targets()[0][1]
