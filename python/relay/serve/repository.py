"""The models of a server under one memory limit."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path
from typing import Any

from . import models
from .batching import Batcher, Batching, Scheduler
from .errors import HttpError, ModelError
from .metrics import Metrics
from .options import Options

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")


def size_text(size: int) -> str:
    return f"{size / 1e6:.1f} MB"


class Repository:
    """Loads, replaces and gives up models.

    A model is replaced in one step: requests that came before go on with the old one, later ones get the new one, and none is lost.
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        self.metrics = Metrics()
        self.scheduler = Scheduler(options.workers, options.max_queue, options.timeout, self.metrics.ran)
        self.models: dict[str, Batcher] = {}
        self.paths: dict[str, str] = {}
        self.reasons: dict[str, str] = {}  # why a model is not there
        self.notes: list[str] = []
        self.lock = asyncio.Lock()

    def add(self, path: str, name: str | None = None) -> str:
        """Makes a file known under a name, without loading it."""
        name = models.model_name(path) if name is None else name
        if not _NAME.fullmatch(name):
            raise ModelError(f"{name!r} is no name for a model: letters, digits and _ . - are, up to 128 of them")
        if name in self.paths:
            raise ModelError(f"two models have the name {name}: give one another by NAME=FILE")
        self.paths[name] = path
        return name

    def scan(self) -> None:
        """Makes the files of the folder of models known."""
        if self.options.repository is None:
            return
        for file in sorted(Path(self.options.repository).iterdir()):
            if file.suffix in models.SUFFIXES and file.stem not in self.paths and _NAME.fullmatch(file.stem):
                self.paths[file.stem] = str(file)

    @property
    def size(self) -> int:
        return sum(batcher.model.size for batcher in self.models.values())

    def _fits(self, name: str, size: int) -> None:
        limit = self.options.memory
        others = self.size - (self.models[name].model.size if name in self.models else 0)
        if limit is not None and others + size > limit:
            raise ModelError(
                f"{name} needs {size_text(size)}, but {size_text(others)} of the limit of {size_text(limit)} are taken by "
                f"{', '.join(sorted(set(self.models) - {name})) or 'no other model'}"
            )

    def _made(self, name: str) -> Batcher:
        """On another thread: reads or compiles the model."""
        path = self.paths[name]
        if path.endswith(".rlx"):
            try:
                self._fits(name, os.stat(path).st_size)  # before it takes any memory
            except OSError as error:
                raise ModelError(f"{path} cannot be read: {error}") from None
        model = models.load(name, path, self.options.threads)
        self._fits(name, model.size)
        batching = self.options.batching
        try:
            return Batcher(model, self.scheduler, batching)
        except ModelError as error:
            self.notes.append(f"{name}: its requests run one by one: {error}")
            return Batcher(model, self.scheduler, Batching())

    async def load(self, name: str) -> None:
        """Loads a model, or replaces it by what its file is now. Raises HttpError; the old one then stays."""
        async with self.lock:
            if name not in self.paths:
                self.scan()
            if name not in self.paths:
                raise HttpError(404, f"there is no model {name} to load")
            try:
                made = await asyncio.get_running_loop().run_in_executor(None, self._made, name)
            except ModelError as error:
                self.reasons[name] = str(error)
                raise HttpError(400, str(error)) from None
            self.reasons.pop(name, None)
            self.models[name] = made
            self.metrics.loaded(name)

    async def unload(self, name: str) -> None:
        """Gives a model up; requests that came before still get their answers."""
        async with self.lock:
            if self.models.pop(name, None) is None:
                raise HttpError(404, f"there is no model {name}")
            self.reasons[name] = "unloaded"

    def get(self, name: str, version: str = "1") -> Batcher:
        found = self.models.get(name)
        if found is None:
            reason = self.reasons.get(name)
            raise HttpError(404, f"there is no model {name}" + (f": {reason}" if reason else ""))
        if version != "1":
            raise HttpError(404, f"model {name} has no version {version}; it has 1")
        return found

    def index(self) -> list[dict[str, Any]]:
        self.scan()
        return [
            {"name": name, "version": "1", "state": "READY" if name in self.models else "UNAVAILABLE", "reason": self.reasons.get(name, "")}
            for name in sorted(self.paths)
        ]
