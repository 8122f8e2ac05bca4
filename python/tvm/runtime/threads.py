"""How many threads programs have that are built from now on."""

from __future__ import annotations

import os

__all__ = ["config_threadpool", "configured", "num_threads"]

_chosen = 0


def config_threadpool(affinity_mode: int = 1, nthreads: int = 0, *cpus: object) -> None:
    """Programs that are built or loaded from now on have so many threads; 0: as many as there are cores. Those that are there keep theirs. Which
    cores threads run on is left to the system. Raises ValueError for a number that is negative."""
    global _chosen
    if nthreads < 0:
        raise ValueError(f"config_threadpool takes a number of threads, not {nthreads}")
    _chosen = min(int(nthreads), len(os.sched_getaffinity(0)))


def configured() -> int:
    """The number that was chosen, by `config_threadpool` or the variable TVM_NUM_THREADS of the environment; 0 for none."""
    word = os.environ.get("TVM_NUM_THREADS", "")
    return _chosen or (min(int(word), len(os.sched_getaffinity(0))) if word.isdigit() else 0)


def num_threads() -> int:
    """How many threads a program has that is built now."""
    return configured() or len(os.sched_getaffinity(0))
