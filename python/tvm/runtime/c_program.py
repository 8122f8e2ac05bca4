"""Files of programs that call C source: the program as its compilation began, its constants, the settings of the build, and the libraries. It is
compiled again when it is loaded, because a program's own file has no room for code of others.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import relay as _relay
from relay import Function, IRModule
from relay.codegen import _calling, _Outcome

from .c_source import Kernel, Library
from .params import load_param_dict, save_param_dict

if TYPE_CHECKING:
    from ..relay.build_module import FactoryModule

__all__ = ["External", "external", "is_file", "load", "save"]

_FORMAT = 1
_MAGIC = b"PK\x03\x04"
_PROGRAM, _CONSTANTS, _FACTS = "program.json", "constants.params", "facts.json"
# It changes what compilation begins with, and has done so in a program of a file.
_BEFORE = "FakeQuantizationToInteger"
_REFUSED = "the program cannot be exported: "

# A function of a code generator: the generator's name and the symbol.
_Key = tuple[str, str]


class _Linked(NamedTuple):
    """A function of a library."""

    library: Library
    name: str


class External(NamedTuple):
    """A module as its compilation begins, and what code generators made of its functions: a function of a library, one of Relay, or None for what no
    file can have. `unlike` are the functions that share a symbol and not the code."""

    mod: IRModule
    taken: dict[_Key, _Linked | Function | None]
    unlike: list[_Key]


def external(mod: IRModule, outcomes: Iterable[_Outcome]) -> External | None:
    """What a file needs of a module whose code generators gave these; None where no C source is among it."""
    taken: dict[_Key, _Linked | Function | None] = {}
    unlike: list[_Key] = []
    for compiler, symbol, code in outcomes:
        made = _Linked(code.library, code.name) if isinstance(code, Kernel) else code if isinstance(code, Function) else None
        if not _same(taken.setdefault((compiler, symbol), made), made):
            unlike.append((compiler, symbol))
    return External(mod, taken, unlike) if any(isinstance(made, _Linked) for made in taken.values()) else None


def _same(one: _Linked | Function | None, other: _Linked | Function | None) -> bool:
    if isinstance(one, _Linked) and isinstance(other, _Linked):
        return one.name == other.name and one.library.image == other.library.image
    if isinstance(one, Function) and isinstance(other, Function):
        return bool(_relay.structural_equal(one, other))
    return one is other


def _key_of(expr: Any) -> _Key | None:
    """The code generator and the symbol that a function names; None for other expressions. A function without a symbol has the name that
    compilation gives it."""
    if not isinstance(expr, Function) or expr.attrs is None or "Compiler" not in expr.attrs.keys():
        return None
    return str(expr.attrs["Compiler"]), str(expr.attrs["global_symbol"]) if "global_symbol" in expr.attrs.keys() else "fn"


def _rewritten(mod: IRModule, change: Any) -> IRModule:
    """The typed module with functions of code generators as `change` gives them, by key and function."""

    def replaced(expr: Any) -> Any:
        key = _key_of(expr)
        return None if key is None else change(key, expr)

    typed = _relay.transform.InferType()(mod)
    made: IRModule = typed.copy()
    for var, function in typed.functions.items():
        if _key_of(function) is not None and "global_symbol" not in function.attrs.keys():
            function = function.with_attr("global_symbol", var.name_hint)
        changed: Any = _relay.rewrite(function, replaced)
        made[var] = changed
    return made


def _in_place(function: Function, code: Function) -> Function:
    """What a code generator of Relay gave, with the parameters of the function that it is for."""
    params = [_relay.var(param.name_hint, param.checked_type) for param in function.params]
    if code.attrs is not None and "Primitive" in code.attrs.keys() and "Compiler" not in code.attrs.keys():
        return Function(params, _relay.Call(code, params), function.ret_type)
    return Function(params, _relay.bind(code.body, dict(zip(code.params, params))), function.ret_type)


def _kept(found: External) -> IRModule:
    """The module in which only functions of C source are of code generators. Raises RelayError where that cannot be."""
    for compiler, symbol in found.unlike:
        raise _relay.RelayError(_REFUSED + f"two functions of the code generator {compiler} are called {symbol}, and have different code")
    for (compiler, symbol), made in found.taken.items():
        if made is None:
            raise _relay.RelayError(_REFUSED + f"the code generator {compiler} gave a function of Python for {symbol}, and files keep C source and functions of Relay")

    def change(key: _Key, function: Function) -> Function:
        made = found.taken.get(key)
        if isinstance(made, _Linked):
            return function.with_attr("global_symbol", key[1])
        if isinstance(made, Function):
            return _in_place(function, made)
        # Nobody took it: it is compiled as any other, also where a generator of its name is there when the file is loaded.
        return function.without_attr("Compiler").without_attr("Primitive")

    return _rewritten(found.mod, change)


def _linked(mod: IRModule, taken: Mapping[_Key, _Linked]) -> IRModule:
    """The module with calls of libraries in place of functions for code generators."""

    def change(key: _Key, function: Function) -> Function:
        if key not in taken:
            raise ValueError(f"it has no library with the function {key[1]} of the code generator {key[0]}")
        library, name = taken[key]
        return _calling(*key, function, Kernel(library, name, function))

    return _rewritten(mod, change)


def _settings(made: FactoryModule) -> dict[str, Any]:
    """What a build depends on beside the program, as JSON has it."""
    from ..target import Target

    assert made.weights is not None
    context, target = made.weights.built()
    known = _relay.transform.PassContext.list_configs()
    return {
        "name": made.name, "executor": {"name": made.executor.name, "options": made.executor.options},
        "targets": [each.export() for each in Target.canon_multi_target(target) or [Target("llvm")]],
        "opt_level": context.opt_level, "required_pass": list(context.required_pass),
        "disabled_pass": list(dict.fromkeys([*context.disabled_pass, _BEFORE])),
        # Other keys change nothing, and may have any values.
        "config": {key: value for key, value in context.config.items() if key in known},
    }  # fmt: skip


def save(made: FactoryModule, found: External, path: str) -> None:
    """Writes a build whose code generators made C source. Raises RelayError where they gave functions of Python, too."""
    from ..ir import save_json

    assert made.weights is not None
    linked = {key: code for key, code in found.taken.items() if isinstance(code, _Linked)}
    images = list(dict.fromkeys(library.image for library, _ in linked.values()))
    functions = [[*key, images.index(library.image), name] for key, (library, name) in linked.items()]
    facts = json.dumps({"format": _FORMAT, **_settings(made), "functions": functions}, default=str)
    program, constants = save_json(_kept(found)), bytes(save_param_dict(made.weights.given()))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(_FACTS, facts)
        file.writestr(_PROGRAM, program)
        file.writestr(_CONSTANTS, constants)
        for i, image in enumerate(images):
            file.writestr(f"library{i}.so", image)


def is_file(path: str) -> bool:
    """True if a file is one that `save` wrote."""
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def load(path: str) -> FactoryModule:
    """The program of a file. Its libraries are loaded into the process: load only what you would run. Raises RelayError for a damaged file."""
    try:
        return _loaded(path)
    except Exception as error:  # what zipfile, json, ctypes and builds raise for damage of any kind
        raise _relay.RelayError(f"{path} cannot be loaded: {str(error) or type(error).__name__}") from error


def _fact(facts: Any, name: str, kind: type) -> Any:
    """A fact of a file. Raises ValueError where it is not there, or of another kind."""
    value = facts.get(name) if isinstance(facts, dict) else None
    if type(value) is not kind:
        raise ValueError(f"{_FACTS} has no {name} that is of {kind.__name__}")
    return value


def _loaded(path: str) -> FactoryModule:
    from ..ir import load_json
    from ..relay.backend.options import Executor
    from ..relay.build_module import build
    from ..relay.qnn.rounding import RequantizeConfig
    from ..target import Target
    from ..transform import PassContext

    with zipfile.ZipFile(path) as file:
        facts = json.loads(file.read(_FACTS))
        if _fact(facts, "format", int) != _FORMAT:
            raise ValueError(f"it has version {facts['format']} of the format; this is {_FORMAT}")
        text, constants = file.read(_PROGRAM).decode(), load_param_dict(file.read(_CONSTANTS))
        functions = [(str(compiler), str(symbol), int(number), str(name)) for compiler, symbol, number, name in _fact(facts, "functions", list)]
        libraries = {number: Library(file.read(f"library{number}.so")) for number in {number for _, _, number, _ in functions}}
    mod = load_json(text)
    if not isinstance(mod, IRModule):
        raise ValueError(f"{_PROGRAM} has {type(mod).__name__}, and no module")
    taken = {(compiler, symbol): _Linked(libraries[number], name) for compiler, symbol, number, name in functions}
    options = _fact(facts, "executor", dict)
    executor = Executor(_fact(options, "name", str), _fact(options, "options", dict))
    targets = [Target(each) for each in _fact(facts, "targets", list)]
    if not targets:
        raise ValueError(f"{_FACTS} names no target")
    context = PassContext(_fact(facts, "opt_level", int), _fact(facts, "required_pass", list), _fact(facts, "disabled_pass", list),
                          config=_fact(facts, "config", dict))  # fmt: skip
    # What calls leave open is not that of the caller.
    with context, RequantizeConfig():
        target = targets[0] if len(targets) == 1 else targets
        made = build(_linked(mod, taken), target, executor=executor, params=constants, mod_name=_fact(facts, "name", str))
    made.external = External(mod, dict(taken), [])
    return made
