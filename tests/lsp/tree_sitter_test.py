"""The tree-sitter grammar: no open conflicts, the programs it takes and refuses, its trees, and the names in its queries.

The rules are read from `src/grammar.json`, so that no generator is needed; node, where it is installed, shows that `grammar.js` gives them."""

import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess

import pytest
from tree_sitter_grammar import Grammar, ParseError

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "editors" / "tree-sitter-relay"
RELAY = os.environ["RELAY_BIN"]


@pytest.fixture(scope="module")
def grammar():
    return Grammar(FOLDER / "src" / "grammar.json")


def test_the_rules_are_those_of_grammar_js():
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed (Debian: nodejs)")
    command = [node, ROOT / "scripts" / "tree_sitter_grammar.js", FOLDER / "grammar.js"]
    made = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert made.returncode == 0, made.stderr
    assert made.stdout == (FOLDER / "src" / "grammar.json").read_text()


def test_precedence_settles_all_conflicts_but_those_that_are_declared(grammar):
    assert set(grammar.conflicts) == grammar.expected


def test_a_conflict_is_found(tmp_path):
    text = (FOLDER / "src" / "grammar.json").read_text()
    (tmp_path / "grammar.json").write_text(text.replace('"PREC_LEFT"', '"PREC"'))
    assert frozenset(["binary_expression"]) in Grammar(tmp_path / "grammar.json").conflicts


def accepted(path):
    done = subprocess.run([RELAY, "fmt", "-"], input=path.read_bytes(), capture_output=True, timeout=600)
    return done.returncode == 0


def test_programs_that_the_compiler_reads_are_read(grammar):
    """Every program of the repository."""
    paths = [path for folder in ("tests", "examples", "relay") for path in sorted((ROOT / folder).rglob("*.rly"))]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        known = list(pool.map(accepted, paths))
    assert sum(known) > 900
    refused = []
    for path, good in zip(paths, known, strict=True):
        if not good:
            continue
        try:
            grammar.parse(path.read_text())
        except ParseError as problem:
            refused.append(f"{path.relative_to(ROOT)}: {problem}")
    assert not refused, "\n".join(refused)


@pytest.mark.parametrize(
    "text",
    [
        "def @main(%x { %x }",
        "def main(%x) { %x }",
        "def @main(%x) %x",
        "def @main(%x) { }",
        "def @main(%x) { let %y = 1 %y }",
        "def @main(%x) { let %y = 1; }",
        "def @main(%x: ) { %x }",
        "def @main(%x: Tensor[(2, float32]) { %x }",
        "if (%x) { 1 }",
        "if (%x) 1 else 2",
        "match (%x) { A => 1 B => 2 }",
        "match %x { A => 1 }",
        "add(%x, %y",
        "add(%x, axis=)",
        "add(%x, opts={a: 1})",
        'add(%x, opts={"a" 1})',
        'add(%x, opts={"a": })',
        "%x + ",
        "%x % %y",
        "(1, , 2)",
        "%x[0]",
        "type List[A] Nil",
        "fn (%x) -> { %x }",
        "def @f(%x) { %x } }",
        "let %x = 1; ",
        "meta[relay.Constant]",
        '"a string without an end',
        "/* a comment without an end",
    ],
)
def test_wrong_programs_are_refused(grammar, text, tmp_path):
    with pytest.raises(ParseError):
        grammar.parse(text)
    (tmp_path / "wrong.rly").write_text(text)
    assert not accepted(tmp_path / "wrong.rly")


def corpus():
    for path in sorted((FOLDER / "test" / "corpus").glob("*.txt")):
        parts = re.split(r"^=+\n(.*)\n=+\n", path.read_text(), flags=re.M)
        for name, body in zip(parts[1::2], parts[2::2], strict=True):
            text, tree = body.split("\n---\n")
            yield pytest.param(text, tree, id=name)


@pytest.mark.parametrize(("text", "tree"), corpus())
def test_trees_of_the_corpus(grammar, text, tree):
    wanted = re.sub(r"\s+", " ", tree).strip().replace("( ", "(").replace(" )", ")")
    assert str(grammar.parse(text)) == wanted


def test_comments_are_skipped(grammar):
    text = "# one\n// two\n/* three /* four **/ */ def @f(%x) { // five\n %x /**/ }\n"
    assert str(grammar.parse(text)) == str(grammar.parse("def @f(%x) { %x }"))


@pytest.mark.parametrize("query", sorted((FOLDER / "queries").glob("*.scm")), ids=lambda path: path.name)
def test_names_in_queries_are_those_of_the_grammar(grammar, query):
    text = re.sub(r"^;.*$", "", query.read_text(), flags=re.M)
    visible = {name for name in grammar.rules if not name.startswith("_")}
    fields = {step.field for production in grammar.productions for step in production.steps} - {""}
    signs = {terminal.name for terminal in grammar.terminals.values() if not terminal.named}
    plain = re.sub(r'\(#(?:"(?:[^"\\]|\\.)*"|[^()"])*\)', "", text)  # without predicates
    quoted = {text.replace('\\"', '"') for text in re.findall(r'"((?:[^"\\]|\\.)*)"', plain)}
    outside = re.sub(r'"(?:[^"\\]|\\.)*"', "", plain)
    assert outside.count("(") == outside.count(")") and outside.count("[") == outside.count("]")
    nodes = set(re.findall(r"\((\w+)", outside)) - {"_"}
    assert nodes and nodes <= visible, nodes - visible
    assert set(re.findall(r"(\w+):", outside)) <= fields
    assert quoted <= signs, quoted - signs
    for expression in re.findall(r'#match\? @[\w.]+ "([^"]*)"', text):
        re.compile(expression)


def test_every_node_with_a_word_has_a_colour(grammar):
    """Words of the grammar (`let`, `match`) and all nodes that are one token."""
    text = (FOLDER / "queries" / "highlights.scm").read_text()
    words = {terminal.name for terminal in grammar.terminals.values() if terminal.is_string and not terminal.named and terminal.name.isidentifier()} - {"True", "False"}
    tokens = {name for name in grammar.lexical if not name.startswith("_")}
    assert words >= {"let", "match", "def", "extern"}
    assert {word for word in words if f'"{word}"' not in text} == set()
    assert {token for token in tokens if f"({token})" not in text} == set()
