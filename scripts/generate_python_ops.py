#!/usr/bin/env python3
"""Writes python/relay/op/generated/*.py: operators as functions, from their declarations.

    PYTHONPATH=build/python scripts/generate_python_ops.py           writes the files
    PYTHONPATH=build/python scripts/generate_python_ops.py --check   fails, and says which, where a file is out of date

Names, order and defaults of arguments are those of scripts/python_signatures.tsv where it has the function, else inputs and then
attributes as they are declared. Functions that a module of python/relay/op defines by hand are left out.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.util
import sys
import textwrap
import types
from pathlib import Path

# The extension module alone: the package around it needs what is written here.
_spec = importlib.util.find_spec("relay")
if _spec is None:
    raise SystemExit("the package is not built: ninja -C build relay_python, and PYTHONPATH=build/python")
_package = sys.modules["relay"] = types.ModuleType("relay")
_package.__path__ = list(_spec.submodule_search_locations or [])
_core = importlib.import_module("relay._core")

ROOT = Path(__file__).resolve().parent.parent
GENERATED = ROOT / "python/relay/op/generated"
# The hand-written module of each namespace.
MODULES = {
    "tensor": "op/tensor.py",
    "nn": "op/nn.py",
    "image": "op/image.py",
    "vision": "op/vision.py",
    "random": "op/random.py",
    "annotation": "op/annotation.py",
    "qnn": "qnn/op.py",
    "dyn": "op/dyn/__init__.py",
    "dyn_nn": "op/dyn/nn.py",
    "dyn_image": "op/dyn/image.py",
}
# Operators whose function is not where their name says.
ELSEWHERE = {"on_device": ("annotation", "on_device"), "memory.kill": ("annotation", "kill"), "contrib_reverse_reshape": ("tensor", "reverse_reshape")}
# Lists with one entry for each spatial dimension, and paddings, may be given as one number.
SIZES = {"strides", "dilation", "dilations", "pool_size", "kernel_size", "output_padding", "output_size"}
# Their several results are an expression of tuple type, as they are in TVM; others are unpacked in Python.
RAW_TUPLES = "random."
TYPES = {"int": "int", "float": "float", "bool": "bool", "str": "str", "dtype": "DTypeLike", "any": "Any", "device": "str"}


def place(operator: str) -> tuple[str, str]:
    """Namespace and function name of an operator."""
    if operator in ELSEWHERE:
        return ELSEWHERE[operator]
    prefix, _, name = operator.rpartition(".")
    return (prefix.replace(".", "_") or "tensor", name)


def handwritten(namespace: str) -> set[str]:
    path = ROOT / "python/relay" / MODULES[namespace]
    return {node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)}


def signatures() -> dict[str, list[tuple[str, str | None]]]:
    """For each function of the table: names of parameters and the text of their defaults."""
    result = {}
    for line in (ROOT / "scripts/python_signatures.tsv").read_text().splitlines():
        if line.startswith("#"):
            continue
        name, text = line.split("\t")
        args = ast.parse(f"def f{text}: pass").body[0].args  # type: ignore[attr-defined]
        defaults = [None] * (len(args.args) - len(args.defaults)) + [ast.unparse(value) for value in args.defaults]
        result[name] = [(arg.arg, default) for arg, default in zip(args.args, defaults)]
    return result


def type_of(attr: dict) -> str:
    text = attr["type"]
    optional = text.endswith(" or None")
    text = text.removesuffix(" or None")
    if text.startswith('"'):
        result = "str"
    elif text.startswith("list<"):
        result = "Sequence[Any]" if "list<list" in text else f"Sequence[{TYPES[text[5:-1]]}] | {TYPES[text[5:-1]]}"
    else:
        result = TYPES[text]
    return result + (" | None" if optional and result != "Any" else "")


def rank_of(operator: str) -> int:
    for rank in (1, 2, 3):
        if f"{rank}d" in operator:
            return rank
    return 0


def conversion(operator: str, attr: dict, name: str) -> str:
    rank = rank_of(operator)
    is_list = attr["type"].startswith("list<int>")
    if is_list and rank and attr["name"] == "padding":
        return f"pad_tuple({name}, {rank})"
    if is_list and rank and attr["name"] in SIZES:
        value = f"sizes({name}, {rank})"
        # An attribute that may be left out where TVM says None is a list here, empty by default.
        return value if "None" in attr["type"] or attr["name"] != "output_size" else value + " or ()"
    if attr["type"] == "bool":
        return f"bool({name})"
    return name


def function(operator: str, name: str, given: list[tuple[str, str | None]] | None) -> str:
    info = _core.op_info(operator)
    inputs = [name for name, _ in info["inputs"]]
    attrs = {attr["name"]: attr for attr in info["attrs"] if attr["name"] not in inputs}
    if given is None:
        params = [(name, None) for name in inputs]
        params += [(attr["name"], None) for attr in attrs.values() if attr["required"]]
        params += [(attr["name"], repr(attr["default"])) for attr in attrs.values() if not attr["required"]]
        extra = []
    else:
        params = given
        extra = [attr for attr in attrs.values() if attr["name"] not in [param for param, _ in given]]
        required = [attr["name"] for attr in extra if attr["required"]]
        if required:
            raise SystemExit(f"{operator}: nothing gives the attributes {required}")
    tensors = [param for param, _ in params if param not in attrs]
    if len(tensors) != len(inputs):
        raise SystemExit(f"{operator}: parameters {tensors} do not fit inputs {inputs}: write the function by hand")

    def parameter(param: str, default: str | None) -> str:
        kind = type_of(attrs[param]) if param in attrs else "ExprLike"
        if kind == "bool" and default in ("0", "1"):
            default = str(default == "1")
        if default == "None" and "None" not in kind and kind != "Any":
            kind += " | None"
        return f"{param}: {kind}" + ("" if default is None else f" = {default}")

    listed = [parameter(*param) for param in params]
    if extra:
        listed += ["*", *(parameter(attr["name"], repr(attr["default"])) for attr in extra)]
    results = len(info["outputs"])
    wrapped = results > 1 and not operator.startswith(RAW_TUPLES)
    passed = [f'"{operator}"', *tensors]
    passed += [f"{attr}={conversion(operator, attrs[attr], attr)}" for attr in attrs]
    lines = [f"def {name}(", *(f"    {text}," for text in listed), f") -> {'TupleWrapper' if wrapped else 'Expr'}:"]
    if not listed:
        lines = [f"def {name}() -> Expr:"]
    lines += docstring(info, params, tensors, attrs, extra)
    call = f"call_op({', '.join(passed)})"
    lines.append(f"    return TupleWrapper({call}, {results})" if wrapped else f"    return {call}")
    return "\n".join(lines) + "\n"


def docstring(info: dict, params: list, tensors: list[str], attrs: dict, extra: list) -> list[str]:
    def item(name: str, text: str) -> list[str]:
        return textwrap.wrap(f"{name}: {text}", 120, initial_indent="    ", subsequent_indent="        ")

    def clean(text: str) -> str:
        return text.replace("\\", "\\\\").replace('"""', "'''")

    lines = textwrap.wrap('"""' + clean(info["doc"]), 120, initial_indent="    ", subsequent_indent="    ")
    docs = {name: doc for name, (_, doc) in zip(tensors, info["inputs"])}
    arguments: list[str] = []
    for name in [param for param, _ in params] + [attr["name"] for attr in extra]:
        text = docs[name] if name in docs else attrs[name]["doc"]
        if name in attrs and attrs[name]["type"].startswith('"'):
            text += " One of " + attrs[name]["type"].removesuffix(" or None").replace(" | ", ", ") + "."
        arguments += item(name, clean(text))
    if arguments:
        lines += ["", "    Args:", *("    " + line for line in arguments)]
    if info["outputs"]:
        lines += ["", "    Returns:"]
        for name, text in info["outputs"]:
            lines += ["    " + line for line in item(name, clean(text))]
    return lines + ['    """']


HEADER = '''"""Operators as functions. Generated by scripts/generate_python_ops.py from the declarations: change those."""

from __future__ import annotations

from typing import Any, Sequence

from ..._core import Expr, call_op
from ...expr import TupleWrapper
from .._common import DTypeLike, ExprLike, pad_tuple, sizes

__all__ = [
{names}]

'''


def files() -> dict[Path, str]:
    table = signatures()
    bodies: dict[str, dict[str, str]] = {namespace: {} for namespace in MODULES}
    by_hand = {namespace: handwritten(namespace) for namespace in MODULES}
    for operator in _core.op_names():
        namespace, name = place(operator)
        if namespace not in MODULES:
            raise SystemExit(f"{operator}: no module for the namespace {namespace}")
        if name not in by_hand[namespace]:
            bodies[namespace][name] = function(operator, name, table.get(operator))
    unused = [name for name in table if place(name)[1] not in bodies.get(place(name)[0], {})]
    if unused:
        raise SystemExit(f"signatures of no generated function: {unused}")
    result = {GENERATED / "__init__.py": '"""Operators as functions, generated."""\n'}
    for namespace, functions in bodies.items():
        names = "".join(f'    "{name}",\n' for name in sorted(functions))
        text = HEADER.replace("{names}", names) + "\n" + "\n\n".join(functions[name] for name in sorted(functions))
        result[GENERATED / f"{namespace}.py"] = text
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    stale = []
    for path, text in files().items():
        if path.exists() and path.read_text() == text:
            continue
        stale.append(path.relative_to(ROOT))
        if not check:
            path.write_text(text)
    if check and stale:
        print("out of date, run `make python-ops`:", *stale, sep="\n  ", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
