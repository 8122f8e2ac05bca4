"""Files of programs that call C source: the program as it was given to the build, its constants, and the libraries. It is compiled again when it is
loaded, because a program's own file has no room for code of others.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import relay as _relay

from .c_source import Library, with_libraries
from .params import load_param_dict, save_param_dict

if TYPE_CHECKING:
    from ..relay.build_module import FactoryModule

__all__ = ["is_file", "load", "save"]

_FORMAT = 1
_MAGIC = b"PK\x03\x04"
_PROGRAM, _CONSTANTS, _FACTS = "program.json", "constants.params", "facts.json"


def save(made: FactoryModule, path: str, libraries: Mapping[str, Library]) -> None:
    """Writes a build whose code generators made C source."""
    from ..ir import save_json
    from ..target import Target

    assert made.weights is not None
    mod, level, target = made.weights.built()
    images = list({id(library): library for library in libraries.values()}.values())
    facts = {
        "format": _FORMAT, "name": made.name, "executor": made.executor.name, "target": str(target) if isinstance(target, (str, Target)) else "llvm", "opt_level": level,
        "libraries": {symbol: images.index(library) for symbol, library in libraries.items()},
    }  # fmt: skip
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(_FACTS, json.dumps(facts))
        file.writestr(_PROGRAM, save_json(mod))
        file.writestr(_CONSTANTS, bytes(save_param_dict(made.weights.given())))
        for i, library in enumerate(images):
            file.writestr(f"library{i}.so", library.image)


def is_file(path: str) -> bool:
    """True if a file is one that `save` wrote."""
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def load(path: str) -> FactoryModule:
    """The program of a file. Its libraries are loaded into the process: load only what you would run. Raises RelayError for a damaged file."""
    from ..ir import load_json
    from ..relay.backend.options import Executor
    from ..relay.build_module import build
    from ..transform import PassContext

    try:
        with zipfile.ZipFile(path) as file:
            facts = json.loads(file.read(_FACTS))
            text, constants = file.read(_PROGRAM).decode(), file.read(_CONSTANTS)
            numbers = {str(symbol): int(number) for symbol, number in facts["libraries"].items()}
            libraries = {number: Library(file.read(f"library{number}.so")) for number in set(numbers.values())}
        if facts["format"] != _FORMAT:
            raise ValueError(f"it has version {facts['format']} of the format; this is {_FORMAT}")
        name, executor, target, level = str(facts["name"]), str(facts["executor"]), str(facts["target"]), int(facts["opt_level"])
        mod: Any = with_libraries(load_json(text), {symbol: libraries[number] for symbol, number in numbers.items()})
    except (_relay.RelayError, zipfile.BadZipFile, KeyError, ValueError, TypeError, AttributeError, OSError, EOFError, RecursionError) as error:
        raise _relay.RelayError(f"{path} cannot be loaded: {error}") from None
    with PassContext(opt_level=level):
        return build(mod, target, executor=Executor(executor), params=load_param_dict(constants), mod_name=name)
