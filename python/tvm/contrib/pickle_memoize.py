"""Results of functions that are kept, in memory and in a file, by what the functions were called with."""

from __future__ import annotations

import atexit
import functools
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .. import _absent

__all__ = ["Cache", "memoize"]


class Cache:
    """Results by arguments. The file of a key is in the folder that `TVM_PICKLE_MEMOIZE_DIR` says, else `.pkl_memoize_py3` of the working one."""

    cache_by_key: dict[str, Cache] = {}

    def __init__(self, key: str, save_at_exit: bool) -> None:
        self._key, self.save_at_exit = key, save_at_exit
        self.dirty = False
        self._cache: dict[Any, Any] | None = None

    @property
    def path(self) -> Path:
        """The file."""
        return Path(os.environ.get("TVM_PICKLE_MEMOIZE_DIR", ".pkl_memoize_py3")) / self._key

    @property
    def cache(self) -> dict[Any, Any]:
        """The results so far; those of the file, if there is one, are read when they are first asked for."""
        if self._cache is None:
            try:
                self._cache = dict(pickle.loads(self.path.read_bytes()))
            except (OSError, pickle.UnpicklingError, EOFError, ValueError, TypeError, AttributeError, ImportError):
                self._cache = {}
        return self._cache

    def save(self) -> None:
        """Writes the file if there are new results."""
        if not self.dirty:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_bytes(pickle.dumps(self.cache))
        self.dirty = False


@atexit.register
def _save_all() -> None:
    for cache in Cache.cache_by_key.values():
        if cache.save_at_exit:
            cache.save()


def memoize(key: str, save_at_exit: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorates a function: for arguments that it had before it gives the result of then. Keys name functions, one each."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        name = f"{key}.{function.__name__}.pkl"
        cache = Cache.cache_by_key.setdefault(name, Cache(name, save_at_exit))
        # What a function sees of its surroundings decides its result, too.
        closed = tuple(cell.cell_contents for cell in function.__closure__ or ())

        @functools.wraps(function)
        def remembered(*args: Any, **kwargs: Any) -> Any:
            asked = pickle.dumps((closed, args, sorted(kwargs.items())))
            if asked not in cache.cache:
                cache.cache[asked] = function(*args, **kwargs)
                cache.dirty = True
            return cache.cache[asked]

        return remembered

    return decorate


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
