"""An application of Ray Serve that speaks the Open Inference Protocol, as `relay serve` does."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from ray import serve

import relay

from ..serve.app import Application
from ..serve.batching import Batching
from ..serve.errors import ModelError
from ..serve.options import Options
from ..serve.repository import Repository
from .program import Program


class _Server:
    """A replica: the application of `relay.serve` over the node's files of the programs."""

    async def __init__(self, programs: Mapping[str, Program], settings: Mapping[str, Any]) -> None:  # type: ignore[misc]  # Ray waits for it
        self.repository = Repository(Options(**settings))
        for name, program in programs.items():
            self.repository.add(str(program.file()), name)
            await self.repository.load(name)

    def __serve_build_asgi_app__(self) -> Any:  # Ray's name
        return Application(self.repository)

    async def infer(self, model: str, arrays: Mapping[str, Any]) -> list[Any]:
        """For other deployments: results of a model for arrays, by the names of its parameters."""
        batcher = self.repository.get(model)
        names = [tensor.name for tensor in batcher.model.inputs]
        if set(arrays) != set(names):
            raise relay.RelayError(f"{model} takes {', '.join(names)}, not {', '.join(arrays) or 'nothing'}")
        given = [np.ascontiguousarray(arrays[tensor.name], tensor.dtype) for tensor in batcher.model.inputs]
        batcher.model.check(given)
        return await batcher.infer(given)


def deployment(
    models: Mapping[str, Program | relay.Executable | str | os.PathLike[str]],
    *,
    replicas: int | str | None = None,
    threads: int = 1,
    workers: int = 1,
    batch: str | None = None,
    rows: int = 32,
    wait: float = 0.0,
    options: Mapping[str, Any] | None = None,
    **settings: Any,
) -> serve.Application:
    """An application for `serve.run`: compiled programs by the names under which clients ask for them.

    Each replica answers all paths of `relay serve` (`/v2/models/NAME/infer`, `/metrics`, the page at `/`), and its method `infer(model, arrays)`
    those of other deployments.

    Args:
        models: Executables, or paths of `.rlx` files, by name.
        replicas: How many processes, or "auto"; one by default. Those on a node share the weights.
        threads, workers: Threads of a run, runs at a time; a replica takes the product in cores.
        batch, rows, wait: Requests that are there together run as one along the open dimension `batch`, at most `rows` of it; a request waits
            `wait` seconds for others.
        options: Further options of `serve.deployment`, such as `autoscaling_config`.
        settings: Further settings of `relay.serve.Options`, such as `max_queue` and `token`.

    Raises RelayError for a file that is no compiled program.
    """
    if not models:
        raise ModelError("there is no model to serve")
    programs = {name: Program.of(source) for name, source in models.items()}
    batching = Batching(batch, rows, wait)
    made = {"threads": threads, "workers": workers, "batching": batching, **settings}
    Options(**made)  # refuses unknown ones here
    given = {
        "name": "relay", "num_replicas": replicas, "max_ongoing_requests": 1000, "ray_actor_options": {"num_cpus": threads * workers},
        **(options or {}),
    }  # fmt: skip
    server: Any = serve.deployment(**given)(serve.ingress()(_Server))
    application: serve.Application = server.bind(programs, made)
    return application
