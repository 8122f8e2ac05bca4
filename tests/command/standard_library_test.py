"""The standard library is documented, its examples hold in both executors, and the page about it is current."""

import importlib.util
import os
import pathlib
import re
import subprocess

import pytest

RELAY = os.environ["RELAY_BIN"]
ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "relay" / "std").glob("*.rly"))

spec = importlib.util.spec_from_file_location("standard_library", ROOT / "scripts" / "docs" / "standard_library.py")
library = importlib.util.module_from_spec(spec)
spec.loader.exec_module(library)


def relay(*arguments, stdin=None):
    done = subprocess.run([RELAY, *arguments], input=stdin, capture_output=True, text=True, encoding="utf-8", timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


def squeezed(text):
    return re.sub(r"\s", "", text)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_definition_is_documented(path):
    found = library.definitions(path.read_text())
    signatures = [line.split(" ")[0] for line in relay("check", path).splitlines()]
    assert {f"@{each.name}" for each in found if each.is_function} >= set(signatures)
    for each in found:
        assert each.doc and each.doc[0][0].isupper() or each.doc[0][0] == "%", each.name
        assert bool(each.examples) == each.is_function, each.name
        assert all(f"@{each.name}(" in expression for expression, _ in each.examples), each.name


@pytest.mark.parametrize("executor", ["vm", "eval"])
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_examples_hold(path, executor):
    examples = [example for each in library.definitions(path.read_text()) for example in each.examples]
    if not examples:
        assert path.stem == "core"
        return
    program = f'import "{path.stem}"\n' + "".join(f"def @example{i}() {{ {expression} }}\n" for i, (expression, _) in enumerate(examples))
    program += "def @main() { (" + ", ".join(f"@example{i}()" for i in range(len(examples))) + ",) }\n"
    printed = relay("run", "-", "--executor", executor, stdin=program)
    value = printed[: printed.rindex("\n: ")]
    assert squeezed(value) == squeezed("(" + ", ".join(value for _, value in examples) + ("," if len(examples) == 1 else "") + ")")


def test_the_page_is_current():
    assert library.PAGE.read_text() == library.page(), "run python3 scripts/docs/standard_library.py"
