"""Files of arrays that are whole at all times: a process that is killed while it writes leaves the file as it was."""

from __future__ import annotations

import errno
import json
import os
import re
import zipfile
from typing import Any

from .._core import IRModule, RelayError, Value

__all__ = ["load", "save"]

_MARK = "relay.checkpoint"


def _array(name: str, value: Any) -> Any:
    import numpy as np

    if isinstance(value, Value):
        raise TypeError(f"{name} is no tree of arrays: it has a {value.kind} in it")
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        what = f"an array of dtype {array.dtype}" if isinstance(value, np.ndarray) else f"a {type(value).__name__}"
        raise TypeError(f"{name} is no tree of arrays: it has {what} in it")
    return array


def _flattened(name: str, tree: Any, arrays: dict[str, Any]) -> None:
    import numpy as np

    if isinstance(tree, (tuple, list, dict)):
        arrays[f"{name}#"] = np.int64(len(tree))
        if isinstance(tree, list):
            arrays[f"{name}#list"] = np.int64(1)
        if isinstance(tree, dict):
            if not all(isinstance(key, str) for key in tree):
                raise TypeError(f"{name} is a dictionary whose keys are not all texts, which a checkpoint cannot keep")
            arrays[f"{name}#keys"] = np.frombuffer(json.dumps(list(tree)).encode(), "uint8")
        for i, field in enumerate(tree.values() if isinstance(tree, dict) else tree):
            _flattened(f"{name}.{i}", field, arrays)
    elif isinstance(tree, Value) and tree.constructor is not None:
        _encoded(name, tree, arrays)
    else:
        arrays[name] = _array(name, tree)


# What a code of a data value stands for, modulo 3: an array of a group (all of one dtype and shape), a tuple of so many fields, a constructor.
_ARRAY, _TUPLE, _DATA = range(3)


def _encoded(name: str, tree: Value, arrays: dict[str, Any]) -> None:
    """A value of a data type, of any depth: a code for each part before its fields, and the arrays of each dtype and shape as one."""
    import numpy as np

    codes: list[int] = []
    constructors: dict[tuple[str, int], int] = {}
    groups: dict[Any, tuple[int, list[Any]]] = {}
    work: list[Any] = [tree]
    while work:
        part = work.pop()
        if isinstance(part, (tuple, list)):
            codes.append(3 * len(part) + _TUPLE)
            work.extend(reversed(part))
        elif isinstance(part, Value) and part.constructor is not None:
            fields = part.fields
            codes.append(3 * constructors.setdefault((part.constructor, len(fields)), len(constructors)) + _DATA)
            work.extend(reversed(fields))
        else:
            array = _array(name, part)
            number, group = groups.setdefault((array.dtype, array.shape), (len(groups), []))
            codes.append(3 * number + _ARRAY)
            group.append(array)
    arrays[f"{name}!"] = np.array(codes, "int64")
    arrays[f"{name}!constructors"] = np.array([constructor for constructor, _ in constructors])
    arrays[f"{name}!fields"] = np.array([count for _, count in constructors], "int64")
    for number, group in groups.values():
        arrays[f"{name}!{number}"] = np.stack(group)


class _Misfit(Exception):
    """The module has other data types than the one whose values were saved."""


def _decoded(name: str, arrays: dict[str, Any], mod: IRModule) -> Any:
    codes, names, counts = (arrays[f"{name}!{part}"] for part in ("", "constructors", "fields"))
    lists = all(array.ndim == 1 for array in (codes, names, counts)) and len(names) == len(counts)
    if not lists or (codes.dtype.kind, names.dtype.kind, counts.dtype.kind) != ("i", "U", "i") or (codes < 0).any():
        raise KeyError(f"codes of {name}")
    try:
        constructors = [mod.constructor(str(constructor)) for constructor in names]
    except (KeyError, TypeError) as error:  # texts that are none cannot be looked up
        raise _Misfit(error.args[0]) from error
    counts = counts.tolist()
    groups: dict[int, list[Any]] = {}
    made: list[Any] = []  # the parts that wait for what they are fields of, the first one last
    for code in reversed(codes.tolist()):
        number, kind = divmod(code, 3)
        if kind == _ARRAY:
            if number not in groups:
                stack = arrays[f"{name}!{number}"]
                # Arrays of rank 0 as well: a float of NumPy would be one of Python.
                groups[number] = [stack[i, ...] for i in range(len(stack) if stack.ndim > 0 else 0)]
            if not groups[number]:
                raise KeyError(f"arrays of {name}")
            made.append(groups[number].pop())
            continue
        count = number if kind == _TUPLE else counts[number]
        if not 0 <= count <= len(made):
            raise KeyError(f"fields of {name}")
        fields = made[len(made) - count :][::-1]
        del made[len(made) - count :]
        try:
            made.append(tuple(fields) if kind == _TUPLE else Value(constructors[number], fields))
        except (TypeError, RelayError) as error:
            raise _Misfit(str(error)) from error
    if len(made) != 1 or any(groups.values()):
        raise KeyError(f"codes of {name}")
    return made[0]


def save(path: str | os.PathLike[str], **trees: Any) -> None:
    """Writes trees of arrays and numbers (tuples, lists, dictionaries and values of data types, nested) by name, in NumPy's .npz format.

    A value of a data type is written with the names of its constructors; what several places share is written for each. The bytes go to `path`.part, which takes the place of the old one when they are on the disk. So the file is either
    the old one or the new one, whenever the process or the machine stops. Raises TypeError for values that are no arrays of numbers and keys that are no texts,
    ValueError for a name with '.', '#' or '!', FileNotFoundError if there is no such folder.
    """
    import numpy as np

    arrays: dict[str, Any] = {_MARK: np.int64(1)}
    for name, tree in trees.items():
        if re.search("[.#!]", name):
            raise ValueError(f"the name of a tree has no '.', '#' or '!' in it: {name!r}")
        _flattened(name, tree, arrays)
    path = os.fspath(path)
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), folder)
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


def _tree(name: str, arrays: dict[str, Any], mod: IRModule | None) -> Any:
    if f"{name}!" in arrays:
        if mod is None:
            raise TypeError(f"{name.split('.')[0]} has values of data types: give the module that defines them, load(path, mod)")
        return _decoded(name, arrays, mod)
    if f"{name}#" not in arrays:
        return arrays[name]
    fields = [_tree(f"{name}.{i}", arrays, mod) for i in range(int(arrays[f"{name}#"]))]
    if f"{name}#keys" not in arrays:
        return fields if f"{name}#list" in arrays else tuple(fields)
    keys = json.loads(arrays[f"{name}#keys"].tobytes())
    if not isinstance(keys, list) or len(keys) != len(fields) or not all(isinstance(key, str) for key in keys):
        raise KeyError(f"keys of {name}")
    return dict(zip(keys, fields))


def load(path: str | os.PathLike[str], mod: IRModule | None = None) -> dict[str, Any] | None:
    """The trees that `save` wrote, by name; None if there is no file yet. `mod` defines the data types of values in them.

    Raises ValueError for a file that `save` did not write, or if `mod` has other constructors; TypeError if there are such values and no `mod`.
    """
    import numpy as np

    try:
        with open(path, "rb") as file:
            if not zipfile.is_zipfile(file):
                raise zipfile.BadZipFile("it is no archive of arrays (.npz)")
            file.seek(0)
            with np.load(file, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
    except FileNotFoundError:
        return None
    except ValueError as error:  # of NumPy, which goes on about how to load objects
        raise ValueError(f"{os.fspath(path)} is no checkpoint: it has something else than arrays of numbers in it") from error
    except (EOFError, OSError, zipfile.BadZipFile, KeyError) as error:
        raise ValueError(f"{os.fspath(path)} is no checkpoint: {error}") from error
    names = dict.fromkeys(re.split("[.#!]", name)[0] for name in arrays if name != _MARK)
    try:
        if _MARK not in arrays:
            raise KeyError(_MARK)
        return {name: _tree(name, arrays, mod) for name in names}
    except _Misfit as error:
        raise ValueError(f"{os.fspath(path)} does not fit the module: {error}") from error
    except (KeyError, ValueError, IndexError, RecursionError) as error:
        raise ValueError(f"{os.fspath(path)} is no checkpoint: it lacks {error}") from error
