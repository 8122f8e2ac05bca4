"""Every code block of the README and the documentation runs, or stands here with the reason why not."""

import importlib
import importlib.util
import os
import re
from pathlib import Path

import pytest

import docs_blocks

ROOT = docs_blocks.ROOT
RELAY = Path(os.environ.get("RELAY_BIN", ROOT / "build/bin/relay"))
# docs/operators.md is written by the command; its examples are of the declarations, which the golden tests of tests/op run.
DOCUMENTS = [ROOT / "README.md", *sorted({*ROOT.glob("docs/**/*.md")} - {ROOT / "docs/operators.md"})]

# By what kind of text a block is, the reason why there is nothing to run.
NOTHING_TO_RUN = {
    "ebnf": "a grammar",
    "text": "a picture or what something prints; below Python, what that has to print",
    "cmake": "a project of its own: examples/embed is built by a test",
    "lua": "settings of an editor",
    "toml": "settings of an editor",
}
# By document and the first line of a block, the reason why it is not run.
NOT_RUN = {
    ("README.md", "$ make demo    # reads handwritten digits with a small convolutional network written in Relay"): "continuous integration runs them",
    ("install.md", "make            # the command, build/bin/relay, and the C and C++ libraries in build/lib"): "builds what runs these tests",
    ("install.md", "make wheel                                # the wheels, in dist/"): "make test-wheel builds and installs the wheels",
    ("install.md", "scripts/setup.sh --wheel          # as root or by sudo: compiler, CMake, LLVM 19 and the other libraries"): "make test-wheel builds and installs the wheels",
    ("install.md", "make install PREFIX=$HOME/relay   # or: cmake --install build --prefix ..."): "the test of the installation does",
    ("onnx.md", "make wild                                           # all of it"): "the test `wild` does, of the small ones",
    ("install.md", "cd examples/embed"): "the test of the installation does",
    ("functions.md", "pip install --no-deps array-api==1.0.0"): "a package from outside; tests/python/test_array_api_specification.py runs where it is there",
    ("functions.md", "git clone --recurse-submodules https://github.com/data-apis/array-api-tests"): "a suite from outside that is no package",
    ("from-tvm.md", "python -m tvm.driver.tvmc compile --target llvm --desired-layout NHWC --pass-config relay.FuseOps.max_depth=8 model.onnx -o model.tar"): "tests/scripts has the tests of tvmc",
    ("reduce.md", "relay reduce long.rly --pass FoldConstant -o small.rly"): "FoldConstant has no defect; tests/unit/reduce_defects_test.cpp plants some",
    ("onnx.md", "std::vector<GraphValue> convert_leaky_relu(NodeContext& node) {"): "relay/import/onnx/ops has it; cannot be registered twice",
    ("gradients.md", "// With s the result: s · (g - Σ g · s)."): "relay/op/nn has it; cannot be registered twice",
}
# Documents whose C++ is excerpts of operators in relay/op, shortened for reading.
EXCERPTS = {"tensor-expressions.md": "the operators themselves are compiled and tested"}
# False where the package alone is installed, the reason why blocks that link the libraries are not run.
LIBRARIES = (RELAY.parents[1] / "lib/librelay.a").exists()
IMPORTS_TORCH = re.compile(r"^import .*\btorch\b", re.MULTILINE)
LINKS = re.compile(r"build/lib\b| -shared | --plugin ")


def reason(block: docs_blocks.Block) -> str | None:
    """Why a block is not run; None if it is."""
    if (block.document.name == "pytorch.md" or IMPORTS_TORCH.search(block.code)) and importlib.util.find_spec("torch") is None:
        return "PyTorch is not installed; `make torch` runs it (tests/torch/guide_test.py)"
    if block.document.name == "language-models.md":
        return "a model of 98 MB is not at hand; tests/llm has tests of what it does"
    if block.document.name == "many-machines.md" and not all(map(importlib.util.find_spec, ("ray", "pyarrow", "orjson"))):
        return "the packages of the extra relay-lang[ray] are not installed"
    if block.document.name == "serving.md" and not all(map(importlib.util.find_spec, ("uvicorn", "httptools", "uvloop", "orjson"))):
        return "the packages of the extra relay-lang[serve] are not installed"
    if block.language == "text" and block.after == "python":
        return None
    if block.language == "cpp" and block.document.name in EXCERPTS:
        return EXCERPTS[block.document.name]
    if not LIBRARIES and LINKS.search(block.code):
        return "the libraries are not in the wheel; the tests of the build tree run it"
    return NOTHING_TO_RUN.get(block.language) or NOT_RUN.get((block.document.name, block.code.split("\n")[0]))


def test_documents_have_blocks() -> None:
    assert sum(len(docs_blocks.blocks(document)) for document in DOCUMENTS) >= 60


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_blocks(document: Path) -> None:
    found = docs_blocks.blocks(document)
    fences = len(re.findall(r"^ *```", document.read_text(encoding="utf-8"), re.MULTILINE))
    assert fences == 2 * len(found), "a block that is not seen: is its fence closed?"
    for block in found:
        known = block.language in (*docs_blocks.RUN, "text") or reason(block)
        assert known, f"{block.place}: a block of {block.language or 'nothing said'} is not run: mark what it is, or say why in test_docs.py"
    skip = frozenset(block.line for block in found if reason(block))
    if len(skip) < len(found):
        wrong = docs_blocks.run(document, RELAY, skip=skip)
        assert not wrong, "\n".join(wrong) + "\ntests/python/docs_blocks.py --update writes what the blocks give"


def test_no_reason_is_left_over() -> None:
    known = {(document.name, block.code.split("\n")[0]) for document in DOCUMENTS for block in docs_blocks.blocks(document)}
    assert NOT_RUN.keys() <= known
    assert EXCERPTS.keys() <= {document.name for document in DOCUMENTS}


def test_every_name_is_on_a_page_of_the_site(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts" / "docs"))
    pages = importlib.import_module("python_pages").pages(ROOT, [])
    assert "::: relay.Diagnostic\n" in pages["python/modules.md"]


def test_links_of_the_documents_stay_on_the_site() -> None:
    made = ("operators/", "python/", "cpp/", "c/", "passes", "contributing.md")  # pages that are written when the site is built
    outside = []
    for document in (ROOT / "docs").glob("**/*.md"):
        for address in re.findall(r"\]\(([^)#\s]+)[^)]*\)", re.sub(r"```.*?```|`[^`]*`", "", document.read_text(encoding="utf-8"), flags=re.DOTALL)):
            target = (document.parent / address).resolve()
            if re.match(r"[a-z]+:", address) or (target.is_relative_to(ROOT / "docs") and (target.exists() or str(target.relative_to(ROOT / "docs")).startswith(made))):
                continue
            outside.append(f"{document.relative_to(ROOT)}: {address}")
    assert not outside


def test_the_pass_of_the_guide_is_ten_lines_and_does_what_it_says() -> None:
    guide = next(document for document in DOCUMENTS if document.name == "pass-in-python.md")
    code, printed = docs_blocks.blocks(guide)[:2]
    lines = [line for line in code.code.split("\n") if line.strip() and not line.startswith(("import", "from", "program", "print"))]
    assert len(lines) <= 10
    assert "multiply(%x, 6f)" in printed.code


def test_wrong_output_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1 + 1)\n```\n```text\n3\n```\n```console\n$ echo a; exit 3\nb\n```\n")
    wrong = docs_blocks.run(page, RELAY)
    assert len(wrong) == 2 and "2" in wrong[0] and "exit status 3" in wrong[1]


@pytest.mark.parametrize("text, printed, same", [
    ("a\n…\nd\n", "a\nb\nc\nd\n", True), ("a\n…\nd\n", "a\nd\n", True), ("t … ms\n", "t 3.5 ms\n", True), ("a\n", "b\n", False), ("…\nd\n", "a\n", False),
])  # fmt: skip
def test_left_out_output(text: str, printed: str, same: bool) -> None:
    assert docs_blocks.matches(text, printed) is same
