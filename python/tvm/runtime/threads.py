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
    """The number that was chosen: by `config_threadpool`, else by the variable TVM_NUM_THREADS of the environment, else by OMP_NUM_THREADS; 0
    for none. What is no number above 0 in them is as if it were not there."""
    if _chosen:
        return _chosen
    for name in ("TVM_NUM_THREADS", "OMP_NUM_THREADS"):
        # OMP_NUM_THREADS may have a number for each level of nesting.
        word = os.environ.get(name, "").split(",")[0].strip()
        # Six digits are more than there are cores, and more of them could be more than `int` reads.
        number = int(word.lstrip("0")[:6] or 0) if word.isascii() and word.isdecimal() else 0
        if number:
            return min(number, len(os.sched_getaffinity(0)))
    return 0


def num_threads() -> int:
    """How many threads a program has that is built now."""
    return configured() or len(os.sched_getaffinity(0))
