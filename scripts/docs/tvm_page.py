#!/usr/bin/env python3
"""The page of TVM's names: which work here, which say what is missing.

    PYTHONPATH=build/python .venv/bin/python scripts/docs/tvm_page.py > build/docs/tvm-names.tsv

asks the built packages; `page` makes the page of that.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path


def page(table: str) -> str:
    rows = [line.split("\t") for line in table.splitlines()]
    counts = Counter(state for _, _, state, _ in rows)
    out = ["# TVM's names", "",
           f"The package `tvm` beside `relay` has TVM's names: {counts['works']} of the {len(rows)} that users of Relay import work, with TVM's arguments and defaults; "
           "the others can be imported, and raise an error that says what is missing when they are used. [From TVM to here](../guides/from-tvm.md) is the guide.", "",
           "| | names |", "|---|---|"]
    out += [f"| {state} | {counts[state]} |" for state in ("works", "raises", "out of scope", "missing") if counts[state]]
    modules: dict[str, list[list[str]]] = {}
    for row in rows:
        full = row[0] if row[0].startswith("tvm") else "tvm." + row[0]
        modules.setdefault(full.rpartition(".")[0] or full, []).append(row)
    out += ["", "## What works", ""]
    for module in sorted(modules):
        working = sorted({name.rpartition(".")[2] for name, _, state, _ in modules[module] if state == "works"})
        if working:
            out += [f"**`{module}`**: " + ", ".join(f"`{name}`" for name in working), ""]
    out += ["## What does not, and why", "", "| name | | why |", "|---|---|---|"]
    out += [f"| `{name}` | {state} | {why} |" for name, _, state, why in sorted(rows) if state != "works"]
    return "\n".join(out) + "\n"


def main() -> None:
    sys.path.insert(0, str(Path(__file__).parents[2] / "tests/conformance/python"))
    import names  # type: ignore[import-not-found]

    kinds = {name: kind for name, kind, _ in names.rows()}
    for name, state, why in names.judgements():
        print(name, kinds[name], state, why.replace("\n", " ").replace("|", "\\|"), sep="\t")


if __name__ == "__main__":
    main()
