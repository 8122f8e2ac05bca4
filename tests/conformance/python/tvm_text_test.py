"""What Relay prints of a program that TVM's language can say, TVM 0.14 reads: checked by a grammar of its text format (tvm_text.py)."""

import json
import pathlib
import re
import sys

import pytest
import tvm_text

import relay

ROOT = pathlib.Path(__file__).resolve().parents[3]

# What TVM's language has no form for: a text that has one of these is Relay's own.
OUTSIDE = re.compile(
    r"""fn<|[%@]"|where\ |\d(u|bf)\d|<[^=>]*>\(                    # kinds, type arguments, quoted names, relations, suffixes
    |Tensor\[\([^)]*[A-Za-z]|Tensor\[[A-Za-z]                     # names of extents and of shapes
    |\b(inf|nan)|Constant\(|(%|@)[A-Za-z0-9_]*\.[A-Za-z_]|"[A-Za-z0-9_.\ -]*"[\[({,]|%[0-9]+[A-Za-z_.]""",
    re.VERBOSE,
)


def printed(text):
    """A program as Relay prints it; None if it has mistakes."""
    try:
        return relay.parse(text).astext()
    except relay.RelayError:
        return None


def test_programs_of_this_repository():
    sys.setrecursionlimit(10000)
    read = 0
    for folder in ("examples", "tests/parse", "tests/run", "tests/infer", "tests/transform"):
        for path in sorted((ROOT / folder).rglob("*.rly")):
            text = printed(path.read_text(encoding="utf-8"))
            if text is None or OUTSIDE.search(text.split("#[metadata]")[0]):
                continue
            problem = tvm_text.problem(text)
            assert problem is None, f"{path}: {problem}\n{text}"
            read += 1
    assert read > 150


def test_programs_that_were_recorded_from_tvm():
    sys.setrecursionlimit(10000)
    read = foreign = 0
    for line in (ROOT / "tests/conformance/oracle/passes.jsonl").read_text(encoding="utf-8").splitlines():
        for text in re.findall(r'#\[version = \\"0\.0\.5\\"\](?:[^"\\]|\\.)*', line):
            own = json.loads(f'"{text}"')
            if tvm_text.problem(own) is not None:  # TVM prints some programs that it does not read: constructors named 1
                foreign += 1
                continue
            again = printed(own)
            if again is not None and not OUTSIDE.search(again.split("#[metadata]")[0]):
                assert tvm_text.problem(again) is None, f"{tvm_text.problem(again)}\n{again}"
                read += 1
    assert read > 100 and foreign * 50 < read, foreign


@pytest.mark.parametrize(
    "text",
    [
        "def @main(%x: Tensor[(2), float32]) { @f<Tensor[(2), bool]>(%x) }", "def @main(%x: Tensor[(n), float32]) { %x }", 'def @main(%"a b") { %"a b" }',
        "fn<t : Type>(%x : t) { %x }", "def @main() { 1u8 }", "fn (%x) where Broadcast { %x }", "def @main() { %0 = 1 %0 }", "def @main() { match (1) { case _ { 1 } } }",
        "data Nat { Z : () -> Nat }", "def @main() { (1 }", "#[version = \"0.0.6\"] def @main() { 1 }", "def @main() { let %x = 1 }",
    ],
)  # fmt: skip
def test_the_grammar_refuses(text):
    assert tvm_text.problem(text) is not None
