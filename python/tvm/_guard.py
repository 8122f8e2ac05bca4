"""Refuses to stand in the way of a real TVM."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path

# Distributions that own the import name `tvm`.
OTHERS = ("apache-tvm", "apache-tvm-cu118", "apache-tvm-cu121", "tlcpack", "mlc-ai-nightly", "tvm")


def refuse_to_shadow(here: Path | None = None) -> None:
    """Raises ImportError where this package, installed, would hide another `tvm`: of a distribution or of a folder on the path.

    From a source tree it is on the path only because somebody put it there; installed, it came with something else.
    """
    folder = here or Path(__file__).resolve().parent
    if not any(part in ("site-packages", "dist-packages") for part in folder.parts):
        return
    for name in OTHERS:
        try:
            found = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        raise ImportError(
            f"this package tvm gives TVM's names to the package relay, and {name} {found.version} is installed as well: "
            f"they cannot both be imported; uninstall one of them"
        )
    for entry in sys.path:
        other = Path(entry or ".") / "tvm"
        # Another copy of this package is no TVM.
        if (other / "__init__.py").is_file() and not (other / "_guard.py").is_file():
            raise ImportError(
                f"this package tvm gives TVM's names to the package relay, and there is another one in {other.resolve()}, "
                f"which it would hide: uninstall relay-lang-tvm, or take that folder off sys.path"
            )
