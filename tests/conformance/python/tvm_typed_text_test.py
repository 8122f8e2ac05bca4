"""Text with types as comments reads back as the program, whatever names of extents are."""

import pytest

import tvm
from tvm import relay

EVIL = "*/) { exp(%x) } def @evil() { 3 } def @g(%x: int32 /*"
NAMES = ["a*/b", "a/*b", EVIL, "*/", "/*", "*/ \\\" /*", "/*/"]


def program(name):
    """A program with an extent of this name, typed."""
    body = "let %y = (exp(%x), 1); nn.relu(%y.0)"
    return relay.transform.InferType()(relay.parse(f'#[version = "0.0.5"]\ndef @main(%x: Tensor[("{name}"), float32]) {{ {body} }}'))


@pytest.mark.parametrize("name", NAMES)
def test_marks_of_comments_in_extents(name):
    mod = program(name)
    for text in (str(mod), mod.astext(), mod.astext(show_meta_data=False)):
        read = relay.parse(text)
        assert read.function_names == ["main"] and tvm.ir.structural_equal(read, mod)
    assert str(mod).count("/* ty=") >= 5
    for text in (mod["main"].astext(), '#[version = "0.0.5"]\n' + str(mod["main"])):
        assert tvm.ir.structural_equal(relay.parse_expr(text), mod["main"])


@pytest.mark.parametrize("name", ["n", "a b", 'a\\"b \\\\', "a * / b", "*", "/", "// c"])
def test_other_names_keep_their_comments(name):
    mod = program(name)
    text = str(mod)
    assert text.count("/* ty=") >= 5 and tvm.ir.structural_equal(relay.parse(text), mod)
    assert "/* ty=" in mod["main"].astext() and "/* ty=" in str(mod["main"])


def test_marks_in_other_names_are_no_comments():
    mod = relay.transform.InferType()(relay.parse('#[version = "0.0.5"]\ndef @main(%"a*/ /*": float32) { exp(%"a*/ /*") }'))
    assert "/* ty=float32 */" in str(mod) and tvm.ir.structural_equal(relay.parse(str(mod)), mod)


@pytest.mark.parametrize("remark", [EVIL, "*/", "/*", "/* a */ b */", "/*/", "*/*"])
def test_annotations_end_no_comment(remark):
    mod = program("a*/b")
    text = mod.astext(annotate=lambda node: remark)
    assert ("/* " in text) == (remark not in ("*/", "/*")) and tvm.ir.structural_equal(relay.parse(text), mod)
    assert tvm.ir.structural_equal(relay.parse_expr(mod["main"].astext(annotate=lambda node: remark)), mod["main"])
