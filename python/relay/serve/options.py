"""The settings of a server."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from .batching import Batching


@dataclass
class Options:
    """Settings of `relay serve`; sizes are in bytes, times in seconds."""

    host: str = "127.0.0.1"
    port: int = 8000
    repository: str | None = None  # a folder of models that clients may load by name
    memory: int | None = None  # for the executables of all models together
    batching: Batching = field(default_factory=Batching)
    threads: int = 0  # of one run; 0 stands for all processors
    workers: int = field(default_factory=lambda: len(os.sched_getaffinity(0)))  # runs at a time
    max_body: int = 64 << 20
    max_head: int = 32 << 10
    max_queue: int = 1024  # requests that wait
    max_connections: int = 4096
    timeout: float = 30.0  # of a request, from its last byte to its answer
    read_timeout: float = 30.0  # until all of a request is there
    keep_alive: float = 75.0  # of a connection without requests
    stop_timeout: float = 30.0  # for requests in flight, after SIGTERM
    certificate: str | None = None  # PEM files
    key: str | None = None
    token: str | None = None
    log: bool = False  # a line for each request
