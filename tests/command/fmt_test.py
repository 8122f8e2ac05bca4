"""`relay fmt` on the programs of this repository: names, operators, order and comments stay, and so does the program."""

import os
import re
import subprocess
from pathlib import Path

import pytest

RELAY = os.environ["RELAY_BIN"]
ROOT = Path(__file__).resolve().parents[2]


def relay(*arguments, stdin=None):
    done = subprocess.run([RELAY, *map(str, arguments)], input=stdin, capture_output=True, text=True, encoding="utf-8")
    return done.returncode, done.stdout, done.stderr


def content(text):
    """The text without what a layout may change: white space and parentheses."""
    return re.sub(r"[\s()]", "", text)


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """Copies of all programs that parse, and the standard form of each."""
    folder = tmp_path_factory.mktemp("programs")
    standard = {}
    for source in sorted(path for part in ("examples", "relay/std", "tests") for path in (ROOT / part).rglob("*.rly")):
        code, out, _ = relay("print", "--drop-comments", source)
        if code == 0:
            copy = folder / f"{len(standard)}.rly"
            copy.write_bytes(source.read_bytes())
            standard[copy] = out
    assert len(standard) > 500
    return standard


def test_programs_stay(programs):
    before = {path: path.read_text(encoding="utf-8") for path in programs}
    code, out, err = relay("fmt", "-w", *programs)
    assert (code, out) == (0, ""), err
    for path, standard in programs.items():
        after = path.read_text(encoding="utf-8")
        assert content(after) == content(before[path].removeprefix("\ufeff")), path
        assert relay("print", "--drop-comments", path)[1] == standard, after
    assert relay("fmt", "--check", *programs) == (0, "", err)


def test_standard_forms_stay(programs, tmp_path):
    """Also of text that `relay print` writes."""
    path = tmp_path / "program.rly"
    for standard in list(programs.values())[::5]:
        path.write_text(standard, encoding="utf-8")
        code, out, err = relay("fmt", path)
        assert code == 0, err
        assert content(out) == content(standard)
        assert relay("print", "--drop-comments", "-", stdin=out)[1] == standard
        assert relay("fmt", "-", stdin=out)[1] == out


@pytest.mark.parametrize("opening, closing", [("(", ",)"), ("{ ", " }"), ("exp(", ")"), ("-(1 - ", ")"), ("if (True) { 1f } else { ", " }")])
def test_deep_nesting(opening, closing):
    text = f"def @main(%x: float32) {{ {opening * 400}%x{closing * 400} }}\n"
    code, out, err = relay("fmt", "-", stdin=text)
    assert code == 0, err
    assert content(out) == content(text)


def test_line_ends(tmp_path):
    """Line ends of another system: they become ours, and the program stays."""
    text = "// one\r\ndef @main(%x: float32) {\r\n  %x + 1f // two\r\n}\r\n"
    code, out, _ = relay("fmt", "-", stdin=text)
    assert (code, out) == (0, text.replace("\r", ""))
