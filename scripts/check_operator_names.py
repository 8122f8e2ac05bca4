#!/usr/bin/env python3
"""Checks that no stage knows an operator by its name: scripts/check_operator_names.py [ROOT]

What passes, executors and code generation want to know of an operator is a column (relay/op/registry/columns.h) or data of its declaration.
So in the folders below no string is compared with, looked up as or listed as the name of an operator or another spelling of one, and
nothing asks for an operator's level. The names come from docs/operators.md and relay/op/op.cpp. Exit status 1 when one is found.
"""

import pathlib
import re
import sys

STAGES = ("infer", "eval", "transform", "graph", "lower", "codegen", "vm")
# Lists of words that are no operators of the language, by file.
OTHER_WORDS = {
    "relay/vm/machine/disassemble.cpp": "the scalar operations of the machine's instructions",
    "relay/vm/machine/op_forms.h": "the words of the machine's instructions",
}
# Functions whose string arguments are names of something: operators, if they are spelled like one.
LOOKS_UP = re.compile(r"(^|_)ops?(_|$)|^(Name|count|contains|find|at|compare|starts_with|ends_with)$")
TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<mark>\w*)\(.*?\)(?P=mark)"|"(?P<text>(?:[^"\\\n]|\\.)*)"|\'(?:[^\'\\]|\\.)+\'|[()\[\]{};]|==|!=|=|\w+',
    re.DOTALL,
)
LEVEL = re.compile(r"(?P<of>[\w()]+)\s*(->|\.)\s*level\(\)")
CLOSES = {")": "(", "]": "[", "}": "{"}


def operator_names(root):
    names = set(re.findall(r"^## (\S+)$", (root / "docs/operators.md").read_text(encoding="utf-8"), re.MULTILINE))
    spellings = re.search(r"spellings = \{(.*?)\};", (root / "relay/op/op.cpp").read_text(encoding="utf-8"), re.DOTALL)
    pairs = re.findall(r'\{"([^"]+)", "([^"]+)"\}', spellings[1]) if spellings else []
    return names | {name for pair in pairs for name in pair}


def uses(text, names):
    """(line, what) of each string that is used as the name of an operator."""
    found = []
    opened = []  # brackets around this place, each with the word before it
    tokens = [match for match in TOKEN.finditer(text) if not match[0].startswith(("//", "/*"))]
    for at, match in enumerate(tokens):
        token = match[0]
        before = tokens[at - 1][0] if at > 0 else ""
        if token in "([{":
            opened.append((token, before))
        elif token in CLOSES:
            while opened and opened.pop()[0] != CLOSES[token]:
                pass
        elif match["text"] in names:
            after = tokens[at + 1][0] if at + 1 < len(tokens) else ""
            bracket, word = opened[-1] if opened else ("", "")
            line = text.count("\n", 0, match.start()) + 1
            if {before, after} & {"==", "!="}:
                found.append((line, f"compares with {token}"))
            elif before == "=":
                found.append((line, f"names {token}"))
            elif bracket == "{" and before != "return":
                found.append((line, f"lists {token}"))
            elif bracket == "(" and LOOKS_UP.search(word):
                found.append((line, f"looks up {token}"))
    for match in LEVEL.finditer(text):
        if re.search(r"(^|[^a-z])op(\(\)|_|$)", match["of"]):
            found.append((text.count("\n", 0, match.start()) + 1, "asks for an operator's level"))
    return sorted(found)


def check(root):
    names = operator_names(root)
    problems = []
    for stage in STAGES:
        for path in sorted((root / "relay" / stage).rglob("*")):
            name = path.relative_to(root).as_posix()
            if path.suffix not in (".cpp", ".h", ".def") or name in OTHER_WORDS:
                continue
            for line, what in uses(path.read_text(encoding="utf-8"), names):
                problems.append(f"{name}:{line}: {what}: ask a column of relay/op/registry/columns.h, or the declaration")
    return problems, len(names)


def main(arguments):
    root = pathlib.Path(arguments[0]) if arguments else pathlib.Path(__file__).resolve().parents[1]
    problems, names = check(root)
    for problem in problems:
        print(problem)
    print(f"operator names: {len(problems)} uses of {names} names")
    return 1 if problems or names == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
