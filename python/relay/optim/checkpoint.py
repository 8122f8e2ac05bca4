"""Files of arrays that are whole at all times: a process that is killed while it writes leaves the file as it was."""

from __future__ import annotations

import os
import zipfile
from typing import Any

__all__ = ["load", "save"]

_MARK = "relay.checkpoint"


def _flattened(name: str, tree: Any, arrays: dict[str, Any]) -> None:
    import numpy as np

    if isinstance(tree, (tuple, list)):
        arrays[f"{name}#"] = np.int64(len(tree))
        for i, field in enumerate(tree):
            _flattened(f"{name}.{i}", field, arrays)
        return
    array = np.asarray(tree)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} is no tree of arrays: it has a value of dtype {array.dtype} in it")
    arrays[name] = array


def save(path: str | os.PathLike[str], **trees: Any) -> None:
    """Writes trees of arrays and numbers (nested tuples) by name, in NumPy's .npz format.

    The bytes go to `path`.part, which takes the place of the old one when they are on the disk. So the file is either
    the old one or the new one, whenever the process or the machine stops. Raises TypeError for values that are no arrays of numbers.
    """
    import numpy as np

    arrays: dict[str, Any] = {_MARK: np.int64(1)}
    for name, tree in trees.items():
        _flattened(name, tree, arrays)
    path = os.fspath(path)
    folder = os.path.dirname(os.path.abspath(path))
    # One name, so that what a killed process left is overwritten by the next one.
    temporary = path + ".part"
    with open(temporary, "wb") as file:
        np.savez(file, **arrays)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
    # The new name is on the disk, too, when this returns.
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _tree(name: str, arrays: dict[str, Any]) -> Any:
    if f"{name}#" not in arrays:
        return arrays[name]
    return tuple(_tree(f"{name}.{i}", arrays) for i in range(int(arrays[f"{name}#"])))


def load(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """The trees that `save` wrote, by name; None if there is no file yet. Raises ValueError for a file that `save` did not write."""
    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except FileNotFoundError:
        return None
    except (ValueError, EOFError, OSError, zipfile.BadZipFile, KeyError) as error:
        raise ValueError(f"{os.fspath(path)} is no checkpoint: {error}") from error
    names = dict.fromkeys(name.split(".")[0].removesuffix("#") for name in arrays if name != _MARK)
    try:
        if _MARK not in arrays:
            raise KeyError(_MARK)
        return {name: _tree(name, arrays) for name in names}
    except (KeyError, ValueError, RecursionError) as error:
        raise ValueError(f"{os.fspath(path)} is no checkpoint: it lacks {error}") from error
