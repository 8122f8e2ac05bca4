"""Which of TVM's names work: each is looked up in the package, and its arguments are compared.

    PYTHONPATH=build/python python tests/conformance/python/names.py [--write]

prints a line for each name that does not work, and the counts; `--write` stores the counts in `counts.tsv`, beside the table `names.tsv`.
"""

from __future__ import annotations

import ast
import enum
import importlib
import inspect
import sys
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def rows() -> list[tuple[str, str, str]]:
    """Name, kind and signature of each line of the table."""
    lines = (HERE / "names.tsv").read_text(encoding="utf-8").splitlines()[1:]
    return [(cells[0], cells[1] if len(cells) > 1 else "", cells[2] if len(cells) > 2 else "") for cells in (line.split("\t") for line in lines)]


def resolve(name: str) -> Any:
    """The object that a name stands for. Raises what the package raises."""
    full = name if name.split(".")[0] == "tvm" else "tvm." + name
    parts = full.split(".")
    found: Any = importlib.import_module(parts[0])
    for at, part in enumerate(parts[1:], 1):
        try:
            found = getattr(found, part)
        except AttributeError:
            if not inspect.ismodule(found):
                raise
            try:
                found = importlib.import_module(".".join(parts[: at + 1]))
            except ModuleNotFoundError:
                raise AttributeError(full) from None
    return found


def arguments_of_text(text: str) -> list[tuple[str, str | None]] | None:
    """Names and defaults of a signature as text; None where it lists the classes that a class derives from."""
    text = text.removeprefix("class")
    if not text.startswith("("):
        return None
    text = text.split(" -> ")[0]
    text = text.replace("=<lambda>", "=None").replace(" = <lambda>", "=None").replace("=llvm -keys=cpu ", "=None")
    try:
        made = ast.parse(f"def f{text}: pass").body[0]
    except SyntaxError:
        return None
    assert isinstance(made, ast.FunctionDef)
    args = made.args
    names = [arg.arg for arg in args.posonlyargs + args.args]
    defaults: list[str | None] = [None] * (len(names) - len(args.defaults)) + [ast.unparse(value) for value in args.defaults]
    found = list(zip(names, defaults))
    if args.vararg:
        found.append(("*" + args.vararg.arg, None))
    found += [(arg.arg, ast.unparse(value) if value else None) for arg, value in zip(args.kwonlyargs, args.kw_defaults)]
    if args.kwarg:
        found.append(("**" + args.kwarg.arg, None))
    return [(name, default) for name, default in found if name not in ("self", "cls")]


def arguments_of(thing: Any) -> list[tuple[str, str | None]] | None:
    """Names and defaults of what something is called with; None if it does not say."""
    enumeration = inspect.isclass(thing) and issubclass(thing, enum.Enum)
    if enumeration:
        thing = type(thing).__call__  # from 3.12 on the class itself says `*values`, and this adds them
    if inspect.isclass(thing):
        for method in ("__new__", "__init__"):
            for overload in reversed(getattr(getattr(thing, method), "__nb_signature__", ())):
                found = _native(overload)
                if found is not None:
                    return found
    for overload in getattr(thing, "__nb_signature__", ()):
        return _native(overload)
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return None
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    return [
        (stars.get(p.kind, "") + p.name, None if p.default is inspect.Parameter.empty else repr(p.default))
        for p in signature.parameters.values()
        if p.name not in ("self", "cls") and not (enumeration and p.kind is inspect.Parameter.VAR_POSITIONAL)
    ]


def _native(overload: Any) -> list[tuple[str, str | None]] | None:
    text, _, defaults = overload
    if "arg: object" in text:
        return None
    for number, value in enumerate(defaults or ()):
        text = text.replace(f"\\{number}", repr(repr(value)))
    try:
        made = ast.parse(text + ": pass").body[0]
    except SyntaxError:
        return None
    assert isinstance(made, ast.FunctionDef)
    args = made.args
    names = [arg.arg for arg in args.args]
    values = [ast.literal_eval(value) if isinstance(value, ast.Constant) else ast.unparse(value) for value in args.defaults]
    return [pair for pair in zip(names, [None] * (len(names) - len(values)) + values) if pair[0] not in ("self", "cls")]


def _value(text: str | None) -> Any:
    if text is None:
        return "required"
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return "object"


def difference(wanted: list[tuple[str, str | None]], found: list[tuple[str, str | None]]) -> str | None:
    """The first difference; further arguments with defaults may follow those of the table."""
    for at, (name, default) in enumerate(wanted):
        if at >= len(found):
            return f"no argument {name}"
        if found[at][0] != name:
            return f"argument {at} is {found[at][0]}, not {name}"
        theirs, ours = _value(default), _value(found[at][1])
        if theirs == "required":
            continue  # a default more than there refuses no call that works there
        # An object as a default (a device, a span) is written in one way there and in another here.
        if theirs != ours and not {"object"} & {theirs if isinstance(theirs, str) else "", ours if isinstance(ours, str) else ""}:
            return f"default of {name} is {found[at][1]}, not {default}"
    for name, default in found[len(wanted) :]:
        if default is None and not name.startswith("*"):
            return f"argument {name} too many"
    return None


def judge(name: str, kind: str, signature: str) -> tuple[str, str]:
    """works, raises, out of scope or missing; and why."""
    from tvm import _absent

    try:
        found = resolve(name)
    except (AttributeError, ImportError) as error:
        return "missing", str(error)
    if _absent.is_absent(found):
        return "out of scope", _absent.reason(name if name.startswith("tvm") else "tvm." + name) or ""
    missing = getattr(found, "__relay_missing__", None)
    if isinstance(missing, str):
        return "raises", missing
    wanted = arguments_of_text(signature)
    if wanted is None or wanted == [] and (kind in ("module", "class") or inspect.isclass(found)) or signature.startswith("class(") and inspect.isclass(found) and _bases(signature):
        return "works", ""
    ours = arguments_of(found)
    if ours is None:
        return "missing", "its arguments cannot be read"
    text = difference(wanted, ours)
    return ("works", "") if text is None else ("missing", text)


def _bases(signature: str) -> bool:
    """True if a class's text names classes that it derives from, instead of arguments."""
    inner = signature[len("class(") : -1]
    return bool(inner) and all(part in ("str", "object") or part.split(".")[-1][:1].isupper() for part in inner.split(","))


def judgements() -> list[tuple[str, str, str]]:
    """Name, state and reason for every line of the table."""
    return [(name, *judge(name, kind, signature)) for name, kind, signature in rows()]


def main() -> None:
    found = judgements()
    for name, state, why in found:
        if state != "works":
            print(f"{state}\t{name}\t{why}")
    counts = Counter(state for _, state, _ in found)
    text = "".join(f"{state}\t{counts[state]}\n" for state in ("works", "raises", "out of scope", "missing"))
    print(text, end="")
    if "--write" in sys.argv:
        (HERE / "counts.tsv").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
