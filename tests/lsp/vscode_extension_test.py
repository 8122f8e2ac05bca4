"""The VS Code extension: its types, its settings, and the colours of its grammar for every word of the language.

The compiler of TypeScript is optional (Debian: node-typescript)."""

import json
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "editors" / "vscode"
TYPES = pathlib.Path(__file__).parent / "vscode_types"
GRAMMAR = json.loads((FOLDER / "syntaxes" / "relay.tmLanguage.json").read_text())


def test_types(tmp_path):
    if shutil.which("tsc") is None:
        pytest.skip("tsc is not installed (Debian: node-typescript)")
    options = json.loads((FOLDER / "tsconfig.json").read_text())["compilerOptions"]
    options |= {"noEmit": True, "rootDir": "/", "types": [], "noUnusedLocals": True, "noUnusedParameters": True}
    options.pop("outDir")
    files = [*FOLDER.glob("src/*.ts"), *TYPES.glob("*.d.ts")]
    (tmp_path / "tsconfig.json").write_text(json.dumps({"compilerOptions": options, "files": [str(file) for file in files]}))
    done = subprocess.run(["tsc", "-p", tmp_path], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout


def test_settings_are_those_that_the_code_asks_for():
    code = (FOLDER / "src" / "extension.ts").read_text()
    package = json.loads((FOLDER / "package.json").read_text())["contributes"]
    asked = {f"relay.{name}" for name in re.findall(r'settings\.get<[^>]*>+\("(\w+)"', code)}
    assert asked == set(package["configuration"]["properties"])
    registered = set(re.findall(r'registerCommand\("([\w.]+)"', code))
    assert registered == {command["command"] for command in package["commands"]}
    for entry in [*package["languages"], *package["grammars"]]:
        assert (FOLDER / (entry.get("path") or entry["configuration"])).is_file()


def patterns(node):
    """All expressions of the grammar, with the names of what they match."""
    if isinstance(node, dict):
        for key in ("match", "begin", "end"):
            if key in node:
                yield node.get("name", ""), node[key]
        for value in node.values():
            yield from patterns(value)
    elif isinstance(node, list):
        for value in node:
            yield from patterns(value)


def test_every_word_of_the_language_has_a_colour():
    found = [(name, re.compile(text)) for name, text in patterns(GRAMMAR)]
    assert len(found) > 8
    reference = (ROOT / "docs" / "language.md").read_text()
    words = {"def", "fn", "let", "if", "else", "match", "type", "import", "extern", "True", "False", "ref", "Tensor"}
    words |= set(re.findall(r'"(u?int\d+|b?float\d+|bool)"', reference))
    # Some words are words only before others: `type T {`, `extern type T`.
    texts = {word: word + " type T" if word == "extern" else word + " T {" for word in words}
    plain = [word for word, text in sorted(texts.items()) if not any((at := pattern.match(text)) and at.end() >= len(word) for _, pattern in found)]
    assert not plain, f"without a colour: {plain}"
    for text in ("%x", '%"layer1.0.weight"', "@main", "// comment", "1.5f", "3i64", '"text"'):
        assert any(pattern.match(text) for _, pattern in found), text
