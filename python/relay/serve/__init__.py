"""Compiled programs behind HTTP: the Open Inference Protocol, version 2 (`relay serve`, the extra `relay-lang[serve]`).

    from relay import serve

    serve.run(["digits.rlx"], port=8000)

`Options` has all settings, `Repository` the models, `application` the ASGI application for a server of your own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .app import application as application
    from .batching import Batching as Batching
    from .options import Options as Options
    from .repository import Repository as Repository
    from .server import run as run

__all__ = ["Batching", "Options", "Repository", "application", "run"]

# Found when they are first used, so that the command can say which package is missing.
_PLACES = {"Batching": "batching", "Options": "options", "Repository": "repository", "application": "app", "run": "server"}


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        import importlib

        return getattr(importlib.import_module(f".{_PLACES[name]}", __name__), name)
    raise AttributeError(f"module 'relay.serve' has no attribute {name!r}")
