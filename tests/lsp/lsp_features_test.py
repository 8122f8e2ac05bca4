"""What `relay lsp` answers, asked by pygls's client."""

import pytest

pytest.importorskip("pygls")

from lsprotocol import types as lsp  # noqa: E402

PROGRAM = """\
// Halves each number.
// And no more.
def @half(%^param^x: Tensor[(n), float32]) {
  let %y = %^use^x * 0.5f;
  %0 = nn.^op^softmax(%y, axis=-1);
  %1 = exp(%^graph^0);
  %1
}

type Shape {
  Square(float32),
  Circle(float32),
}

def @area(%s: Shape) {
  match (%s) {
    ^constructor^Square(%a) => %a * %a,
    Circle(%r) => 3f * %^clause^r * %r,
  }
}

def @main(%x: Tensor[(4), float32]) { @^call^half(%x) }
"""


@pytest.fixture
def program(editor):
    assert editor.open(PROGRAM) == []
    return editor


def test_hover(program):
    def text(place):
        return program.at(place, "hover").contents.value

    assert "%x: Tensor[(n), float32]" in text("use")
    assert "%x: Tensor[(n), float32]" in text("param")
    assert "%0: Tensor[(n), float32]" in text("graph")
    assert "%r: float32" in text("clause") or "%r: Tensor[(), float32]" in text("clause")
    assert "@half: fn (Tensor[(n), float32]) -> Tensor[(n), float32]" in text("call")
    assert "Halves each number.\nAnd no more." in text("call")
    softmax = text("op")
    assert "nn.softmax(data, axis=-1" in softmax and "- `axis: int`" in softmax
    assert "-> Shape" in text("constructor")


def test_definition_and_references(program):
    def names(place):
        there = program.wait(
            program.client.text_document_references_async(
                lsp.ReferenceParams(lsp.ReferenceContext(True), program.document, program.places[place])
            )
        )
        return [(one.range.start.line, program.of(one.range)) for one in there]

    (half,) = program.at("call", "definition")
    assert (half.range.start.line, program.of(half.range)) == (2, "@half")
    (variable,) = program.at("use", "definition")
    assert variable.range.start == lsp.Position(2, 10)
    assert names("use") == [(2, "%x"), (3, "%x")]
    assert names("graph") == [(4, "%0"), (5, "%0")]
    assert names("clause") == [(17, "%r"), (17, "%r"), (17, "%r")]
    assert names("call") == [(2, "@half"), (21, "@half")]
    assert names("constructor") == [(10, "Square"), (16, "Square")]
    assert program.at("op", "definition") is None


def rename(editor, place, name):
    changed = editor.wait(
        editor.client.text_document_rename_async(lsp.RenameParams(editor.document, editor.places[place], name))
    )
    return editor.applied(changed.changes[editor.uri])


def test_rename(program):
    assert program.of(program.at("use", "prepare_rename").range) == "%x"
    text = rename(program, "use", "input")
    assert "def @half(%input: Tensor" in text and "= %input * 0.5f" in text
    assert "def @main(%x: Tensor[(4), float32]) { @half(%x) }" in text
    text = rename(program, "call", "@halve")
    assert "def @halve(" in text and "{ @halve(%x) }" in text
    text = rename(program, "constructor", "Quad")
    assert "  Quad(float32)," in text and "    Quad(%a) =>" in text
    assert program.at("op", "prepare_rename") is None


@pytest.mark.parametrize(
    ("place", "name", "message"),
    [
        ("use", "y", "%y is taken already"),
        ("use", "a b", "'a b' is not a name"),
        ("call", "main", "@main is taken already"),
        ("constructor", "Circle", "Circle is taken already"),
        ("constructor", "let", "let is taken already"),
        ("op", "other", "nothing here has a name"),
    ],
)
def test_rename_refused(program, place, name, message):
    with pytest.raises(Exception, match=message):
        rename(program, place, name)


def labels(editor, place):
    return [item.label for item in editor.at(place, "completion").items]


def test_completion_of_broken_text(editor):
    editor.open(
        "type Shape { Square(float32) }\n"
        "def @half(%value: float32, %other: float32) {\n"
        "  let %inner = { let %hidden = 1f; %hidden };\n"
        "  %^local^\n"
        "}\n"
        "def @main(%x: Tensor[(2, 2), float32]) {\n"
        "  nn.soft^operator^\n"
        "}\n"
        "def @two(%x: Tensor[(2, 2), float32]) { nn.softmax(%x, ax^attribute^ }\n"
        "def @three() { @ha^global^ }\n"
        "def @four() { Squ^constructor^"
    )
    assert set(labels(editor, "local")) == {"%inner", "%other", "%value"}
    assert "nn.softmax" in labels(editor, "operator")
    item = next(i for i in editor.at("attribute", "completion").items if i.label == "axis")
    assert item.text_edit.new_text == "axis="
    assert labels(editor, "global") == ["@half"]
    assert "Square" in labels(editor, "constructor")
    symbols = editor.wait(editor.client.text_document_document_symbol_async(lsp.DocumentSymbolParams(editor.document)))
    assert [s.name for s in symbols] == ["Shape", "@half", "@main", "@two", "@three", "@four"]


def test_completion_replaces_what_is_typed(editor):
    editor.open("def @main(%x: float32) { sof^here^ }")
    item = next(i for i in editor.at("here", "completion").items if i.label == "nn.softmax")
    assert editor.applied([item.text_edit]) == "def @main(%x: float32) { nn.softmax }"


def test_signature_help(editor):
    editor.open("// Adds.\ndef @f(%a: int32, %b: int32) { %a + %b }\ndef @main() { @f(1, ^two^2) }\ndef @g(%x) { nn.dense(%x, ^w^ }")
    help_ = editor.at("two", "signature_help")
    assert help_.active_parameter == 1
    assert help_.signatures[0].label.startswith("@f(%a: ")
    assert help_.signatures[0].documentation.value == "Adds."
    help_ = editor.at("w", "signature_help")
    assert help_.active_parameter == 1 and help_.signatures[0].label.startswith("nn.dense(data, weight")


def test_inlay_hints(program):
    hints = program.wait(
        program.client.text_document_inlay_hint_async(
            lsp.InlayHintParams(program.document, lsp.Range(lsp.Position(0, 0), lsp.Position(8, 0)))
        )
    )
    assert [(h.position.line, h.label) for h in hints] == [
        (3, ": Tensor[(n), float32]"),
        (4, ": Tensor[(n), float32]"),
        (5, ": Tensor[(n), float32]"),
    ]


def test_code_action(editor):
    (wrong,) = editor.open("def @main(%value: float32) { %vale + 1f }")
    assert wrong.message.startswith("unknown local name %vale")
    actions = editor.wait(
        editor.client.text_document_code_action_async(
            lsp.CodeActionParams(editor.document, wrong.range, lsp.CodeActionContext([wrong]))
        )
    )
    fixed = editor.applied(actions[0].edit.changes[editor.uri])
    assert fixed == "def @main(%value: float32) { %value + 1f }"


def formatted(editor):
    return editor.wait(
        editor.client.text_document_formatting_async(
            lsp.DocumentFormattingParams(editor.document, lsp.FormattingOptions(2, True))
        )
    )


def test_formatting(editor):
    editor.open("// One.\ndef @main( %x:float32 ){ %x+ 1f }\n\n// Two.\ndef @g() { 1 }\n")
    assert editor.applied(formatted(editor)) == (
        "// One.\ndef @main(%x: float32) { %x + 1f }\n\n// Two.\ndef @g() { 1 }\n"
    )
    editor.open("def @main( {", "file:///other.rly")
    with pytest.raises(Exception, match="the text has errors"):
        formatted(editor)


def test_folding_and_tokens(program):
    folds = program.wait(
        program.client.text_document_folding_range_async(lsp.FoldingRangeParams(program.document))
    )
    assert {(f.start_line, f.end_line) for f in folds} >= {(0, 1), (2, 7), (9, 12), (14, 19), (15, 18)}
    legend = program.server.capabilities.semantic_tokens_provider.legend.token_types
    tokens = program.wait(
        program.client.text_document_semantic_tokens_full_async(lsp.SemanticTokensParams(program.document))
    ).data
    line = column = 0
    seen = {}
    for i in range(0, len(tokens), 5):
        line, column = line + tokens[i], tokens[i + 1] + (column if tokens[i] == 0 else 0)
        word = program.text.split("\n")[line][column : column + tokens[i + 2]]
        seen.setdefault(word, legend[tokens[i + 3]])
    assert seen["def"] == "keyword" and seen["@half"] == "function" and seen["%x"] == "parameter"
    assert seen["%y"] == "variable" and seen["nn.softmax"] == "function" and seen["axis"] == "property"
    assert seen["Shape"] == "type" and seen["Square"] == "enumMember" and seen["float32"] == "type"
    assert seen["0.5f"] == "number" and seen["// And no more."] == "comment" and seen["*"] == "operator"
