"""Diagnostics of `relay lsp` while a text is typed: always those that the whole text has, whatever was there before."""

import json
import os
import random
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("pygls")

RELAY = os.environ["RELAY_BIN"]


def test_dependents(editor):
    """A change is found wrong where it is used, and right again."""
    assert editor.open("def @f(%x: float32) { %x }\n\ndef @g(%x: float32) { @f(%x) }\n") == []
    (wrong,) = editor.replace("@f(%x: float32)", "@f(%x: int32)")
    assert wrong.range.start.line == 2
    assert editor.replace("@f(%x: int32)", "@f(%x: float32)") == []
    (wrong,) = editor.replace("def @f", "def @h")
    assert wrong.message.startswith("unknown global @f") and wrong.range.start.line == 2
    assert editor.replace("@f(%x) }", "@h(%x) }") == []


def test_broken_definition_is_one_mistake(editor):
    """Its callers are not wrong as well."""
    assert editor.open("def @f(%x: float32) { %x }\n\ndef @g(%x: float32) { @f(%x) }\n") == []
    assert {d.range.start.line for d in editor.replace("{ %x }", "{ %x +")} <= {0, 1, 2}
    assert not any("@f" in message for message in editor.messages())
    assert editor.replace("{ %x +", "{ %x + 1f }") == []


def test_moving_text_moves_diagnostics(editor):
    (wrong,) = editor.open("def @f() { 1 }\n\ndef @g() { %none }\n")
    (moved,) = editor.replace("def @f", "// a\n// b\ndef @f")
    assert moved.range.start.line == wrong.range.start.line + 2
    assert editor.of(moved.range) == "%none"


def test_columns_are_of_utf16(editor):
    (wrong,) = editor.open('def @f() { /* 𝔸é */ %none }')
    assert editor.of(wrong.range) == "%none"
    (wrong,) = editor.replace("é", "𝔹𝔹")
    assert editor.of(wrong.range) == "%none"


def test_data_type_with_a_mistake(editor):
    """Its uses are looked at, too, and must not end the server."""
    editor.open("type Pair { Both(int32, Tensor[(2), t32]) }\n\ndef @f(%x: Tensor[(2), float32]) { Both(1, %x) }\n")
    assert any(message.startswith("unknown element type t32") for message in editor.messages())
    assert editor.replace("Tensor[(2), t32]", "Tensor[(2), float32]") == []


def test_data_types_and_expressions(editor):
    assert editor.open("type T { A(int32) }\ndef @f(%t: T) { match (%t) { A(%x) => %x } }\n") == []
    assert editor.replace("A(int32)", "A(int32), B") != []
    assert editor.replace(", B", "") == []
    assert editor.open("let %x = 1; %x + 2", "file:///expression.rly") == []
    assert editor.replace("%x + 2", "%z + 2") != []
    assert editor.replace("%z + 2", "%x + 3") == []


LINES = """\
def @f%d(%%x: Tensor[(n, 4), float32], %%w: Tensor[(4, 4), float32]) {
  let %%h = nn.dense(%%x, %%w);
  %%0 = nn.relu(%%h + %%x);
  if (True) { %%0 } else { @f%d(%%0, %%w) }
}
"""


@pytest.mark.parametrize("seed", range(4))
def test_edits_are_as_the_whole(editor, seed, tmp_path):
    """After edits at random, the diagnostics are those of `relay check` of the text."""
    random.seed(seed)
    text = "type T { A, B(int32) }\n" + "".join(LINES % (i, max(i - 1, 0)) for i in range(8))
    editor.open(text)
    pieces = ["}", "{", "%h", "@f3", " ", "\n", "def @f9() { 1 }\n", "B(", "relu", "(4, 4)", ";", '"', "/*", "type U { C }\n"]
    for _ in range(40):
        begin = random.randrange(len(editor.text) + 1)
        end = min(len(editor.text), begin + random.choice([0, 0, 1, 1, 5, 30]))
        before = editor.text[begin:end]
        piece = random.choice(pieces)
        editor.edit(begin, end, piece)
        if random.random() < 0.7:  # as a person who sees the mistake
            editor.edit(begin, begin + len(piece), before)
    assert_as_checked(editor, tmp_path)
    editor.edit(0, len(editor.text), text)
    assert editor.diagnostics() == []


def test_hints(editor):
    """Names without use are hints, which editors show by a paler colour."""
    assert editor.open("def @f(%x: int32, %y: int32) { let %z = 1; %x }\ndef @main() { 2 }\n") == []
    assert [(d.code, editor.of(d.range)) for d in editor.hints] == [
        ("unused-function", "@f"),
        ("unused-parameter", "%y"),
        ("unused-binding", "%z"),
    ]
    assert all(d.tags == (1,) or d.tags == [1] for d in editor.hints)


def test_errors_in_instances_follow(editor):
    """They need a look at the whole program, which comes when the editor is silent."""
    editor.open("def @f(%x) { %x + 300 }\n\ndef @main() { @f(1i8) }\n")
    end = time.monotonic() + 30
    while not (found := editor.diagnostics()):
        assert time.monotonic() < end
        time.sleep(0.05)
    assert "300" in found[0].message


def assert_as_checked(editor, tmp_path):
    path = tmp_path / "program.rly"
    path.write_text(editor.text, encoding="utf-8")
    done = subprocess.run([RELAY, "check", path], capture_output=True, text=True, encoding="utf-8")
    end = time.monotonic() + 30
    while (wrong := any(d.severity == 1 for d in editor.diagnostics())) != (done.returncode != 0):
        assert time.monotonic() < end, (editor.text, done.stderr, editor.messages(), wrong)
        time.sleep(0.05)


def test_memory_is_flat():
    """Names and terms of texts that are gone are freed: edits of one tenth take as much as those before."""
    script = Path(__file__).parents[2] / "benchmarks/lsp.py"
    done = subprocess.run([sys.executable, script, "--relay", RELAY, "--lines", "60", "--edits", "1", "--memory-edits", "3000"],
                          capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    mebibytes = [int(number) for number in re.findall(r"memory after \d+ edits: (\d+) MiB", done.stdout)]
    assert len(mebibytes) == 10, done.stdout
    assert mebibytes[-1] <= mebibytes[1] + 1, done.stdout


def test_hostile_messages():
    """They are answered by errors, and the server goes on."""

    def frame(body):
        body = body.encode() if isinstance(body, str) else body
        return b"Content-Length: %d\r\n\r\n" % len(body) + body

    def request(number, method, params):
        return frame(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}))

    def note(method, params):
        return frame(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}))

    place = {"textDocument": {"uri": "file:///a"}, "position": {"line": 0, "character": 0}}

    def at(line, character, uri="file:///a"):
        return {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}}

    item = {"uri": "file:///a", "languageId": "relay", "version": 1, "text": "def @f(%x) { %x }"}
    change = {"textDocument": {"uri": "file:///a", "version": 2}}
    data = b"".join(
        [
            frame("{"),
            frame("[1]"),
            frame("[" * 100000),
            frame(b'{"method": "\xff"}'),
            b"Content-Length: x\r\n\r\n",
            b"Nothing: 1\r\n\r\n",
            frame('{"id": {}, "method": "a"}'),
            request(1, "textDocument/hover", place),
            request(2, "initialize", {}),
            request(3, "initialize", {}),
            request(4, "no/method", {}),
            request(5, "textDocument/hover", place),
            note("textDocument/didOpen", {"textDocument": item}),
            request(6, "textDocument/hover", at(-1, 0)),
            request(7, "textDocument/hover", at(0.5, "x")),
            request(8, "textDocument/hover", at(10**9, 10**9)),
            request(9, "textDocument/hover", at(0, 10**18)),
            request(10, "textDocument/hover", []),
            note("textDocument/didChange", change),
            note("textDocument/didChange", {**change, "contentChanges": [{"text": 1}]}),
            note(
                "textDocument/didChange",
                {
                    **change,
                    "contentChanges": [
                        {"range": {"start": {"line": 0, "character": 5}, "end": {"line": 0, "character": 1}}, "text": ""}
                    ],
                },
            ),
            request(11, "textDocument/inlayHint", {"textDocument": {"uri": "file:///a"}, "range": None}),
            request(12, "textDocument/rename", at(0, 8)),
            request(13, "textDocument/definition", at(0, 14)),
            b"Content-Length: 300000000\r\n\r\n" + b" " * 300000000,
            request(14, "shutdown", None),
            request(15, "textDocument/definition", at(0, 14)),
            note("exit", None),
        ]
    )
    done = subprocess.run([RELAY, "lsp"], input=data, capture_output=True, timeout=120)
    assert done.returncode == 0 and done.stderr == b""
    answers = {}
    nameless = 0
    rest = done.stdout
    while rest:
        header, rest = rest.split(b"\r\n\r\n", 1)
        length = int(header.split(b":")[1])
        message, rest = json.loads(rest[:length]), rest[length:]
        if message.get("id") is not None:
            answers[message["id"]] = message
        elif "error" in message:
            nameless += 1
    assert nameless == 8
    codes = {number: answer["error"]["code"] for number, answer in answers.items() if "error" in answer}
    assert codes == {
        1: -32002,
        3: -32600,
        4: -32601,
        5: -32602,
        6: -32602,
        7: -32602,
        10: -32602,
        11: -32602,
        12: -32602,
        15: -32600,
    }
    assert len(answers[13]["result"]) == 1
