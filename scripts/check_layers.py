#!/usr/bin/env python3
"""Checks the sources' includes and marks: scripts/check_layers.py [ROOT]

The folders of relay/ are layers: each includes only itself and those before it (docs and CMake keep the same order). The
runtime, and the machine on it, include nothing of the compiler, and of the compiler only vm/, reduce/ and explore/ know the machine. Also: a file says
`#include <relay/...>`, an included project file exists, a header has `#pragma once`, and no file puts something off with
a mark. Files over 600 lines are listed as warnings. Exit status 1 when a rule is broken.
"""

import pathlib
import re
import subprocess
import sys

LAYERS = (
    "support runtime vm/machine ir tensor_expr op print std parse import infer program eval pattern analysis transform graph lower codegen vm reduce explore lsp"
).split()
RUNTIME = ("support", "runtime", "vm/machine")
CODE = (".cpp", ".h", ".def", ".inc")
MARKED = CODE + (".py", ".sh", ".cmake", ".txt", ".md", ".rly", ".test", ".in", ".json", "")
LONG = 600
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
MARKS = re.compile(r"\b(" + "TO" + r"DO|FIX" + r"ME)\b")  # in two pieces, so that this file passes


def layer_of(path):
    """The layer of relay/<path>, or None where the folder is no layer."""
    parts = path.split("/")
    if len(parts) < 2 or parts[0] != "relay":
        return None
    if parts[1:3] == ["vm", "machine"]:
        return "vm/machine"
    return parts[1] if parts[1] in LAYERS else None


def may_include(layer, other):
    if layer in RUNTIME:
        return other in RUNTIME and LAYERS.index(other) <= LAYERS.index(layer)
    if other == "vm/machine":
        return layer in ("vm", "reduce", "explore")
    return LAYERS.index(other) <= LAYERS.index(layer)


def check_includes(root, path, text):
    problems = []
    layer = layer_of(path)
    if path.startswith("relay/") and layer is None:
        return [f"{path}:1: this folder is no layer (see LAYERS in scripts/check_layers.py)"]
    for number, line in enumerate(text.splitlines(), 1):
        found = INCLUDE.match(line)
        if not found:
            continue
        quote, target = found.groups()
        where = f"{path}:{number}"
        if quote == '"':
            problems.append(f'{where}: write <{target}> with the path from the root, not "{target}"')
            continue
        if target.split("/")[0] not in ("relay", "tools", "tests", "benchmarks"):
            continue
        if not (root / target).is_file():
            problems.append(f"{where}: there is no {target}")
        if layer is None:
            continue
        other = layer_of(target)
        if other is None:
            problems.append(f"{where}: relay/ includes only relay/, not {target}")
        elif not may_include(layer, other):
            problems.append(f"{where}: {layer} must not include {other} ({target})")
    if path.endswith(".h") and not re.search(r"^#pragma once$", text, re.MULTILINE):
        problems.append(f"{path}:1: a header needs #pragma once")
    return problems


def check_marks(path, text):
    return [
        f"{path}:{number}: {found[0]} (do it, or write an issue)"
        for number, line in enumerate(text.splitlines(), 1)
        for found in [MARKS.search(line)]
        if found
    ]


def source_files(root):
    """Files of the checkout that git knows or would add; without git, all below the folders that hold sources."""
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, capture_output=True, check=True).stdout.decode()
        names = [name for name in listed.split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        folders = ("relay", "tools", "tests", "benchmarks", "scripts", "cmake", "python", "examples", "docs")
        found = (path for folder in folders for path in (root / folder).rglob("*"))
        names = [path.relative_to(root).as_posix() for path in found]
    return sorted({name for name in names if (root / name).is_file() and not (root / name).is_symlink()})


def check(root):
    """Returns (problems, warnings)."""
    problems, warnings = [], []
    for path in source_files(root):
        suffix = pathlib.PurePosixPath(path).suffix
        if suffix not in MARKED or path == "LICENSE":
            continue
        try:
            text = (root / path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            if suffix in CODE:
                problems.append(f"{path}:1: not UTF-8")
            continue
        problems += check_marks(path, text)
        if suffix in CODE:
            problems += check_includes(root, path, text)
        length = text.count("\n")
        if suffix in CODE + (".py",) and length > LONG:
            warnings.append(f"{path}: {length} lines (is it one subject?)")
    return problems, warnings


def main(arguments):
    root = pathlib.Path(arguments[0]) if arguments else pathlib.Path(__file__).resolve().parents[1]
    problems, warnings = check(root)
    for warning in warnings:
        print(f"warning: {warning}")
    for problem in problems:
        print(problem)
    print(f"layers: {len(problems)} problems, {len(warnings)} warnings")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
