"""Pages of C and C++ headers: each documented declaration with its comment.

A comment (`///`, or `/* … */` in C) belongs to the declaration below it, and to those that follow without an empty line. Of classes
what is public is shown, comments of members included; bodies of functions are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

TOKEN = re.compile(
    r"""(?P<doc>///[^\n]*)
      | (?P<line>//[^\n]*)
      | (?P<block>/\*.*?\*/)
      | (?P<string>R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+')
      | (?P<directive>^[ \t]*\#(?:\\\n|[^\n])*)
      | (?P<blank>\n[ \t]*(?=\n))
      | (?P<space>\s+)
      | (?P<word>[A-Za-z_]\w*)
      | (?P<sign>.)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)


@dataclass
class Entry:
    """Declarations that share a comment."""

    names: list[str]
    code: list[str]
    doc: str
    section: str = ""


@dataclass
class Header:
    path: str
    intro: str = ""
    entries: list[Entry] = field(default_factory=list)


def tokens(text: str) -> Iterator[tuple[str, str]]:
    for match in TOKEN.finditer(text):
        yield str(match.lastgroup), match.group()


def without_bodies(code: str) -> str:
    """The code with `{ … }` of functions, and their initialisers, replaced by `;`."""
    out, i, round_depth = "", 0, 0
    while i < len(code):
        match = TOKEN.match(code, i)
        assert match
        kind, text = str(match.lastgroup), match.group()
        if kind == "sign" and text in "()":
            round_depth += 1 if text == "(" else -1
        if kind == "sign" and text == "{" and round_depth == 0 and re.search(r"(\)|\bconst|\bnoexcept|\boverride|\bfinal)\s*$", bare(out)):
            i = closing(code, i)
            # The initialiser list of a constructor is no part of its declaration.
            out = re.sub(r"(\))\s*:\s*[\w:]+[({][^;]*$", r"\1", out).rstrip() + ";"
            while i < len(code) and code[i] == ";":
                i += 1
            continue
        out += text
        i = match.end()
    return out


def bare(code: str) -> str:
    """The code without its comments."""
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", code, flags=re.DOTALL)


def closing(code: str, start: int) -> int:
    """The position behind the brace that closes the one at `start`."""
    depth, i = 0, start
    while i < len(code):
        match = TOKEN.match(code, i)
        assert match
        if match.lastgroup == "sign":
            depth += {"{": 1, "}": -1}.get(match.group(), 0)
            if depth == 0:
                return match.end()
        i = match.end()
    return len(code)


def public_part(body: str, is_class: bool) -> str:
    """The public part of the body of a class or struct, as text."""
    shown, out = not is_class, []
    for line in without_bodies(body).split("\n"):
        label = re.match(r"\s*(public|protected|private):\s*$", line)
        if label:
            shown = label.group(1) == "public"
        elif shown:
            out.append(line)
    text = "\n".join(out)
    text = re.sub(r"(?m)^\s*friend class [^;]*;\n?", "", text)
    text = re.sub(r"(?m)^(\s*)///", r"\1//", text)
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n")


def declared_name(code: str) -> str:
    code = bare(code)
    if macro := re.match(r"\s*#\s*define\s+(\w+)", code):
        return macro.group(1)
    code = re.sub(r"^\s*template\s*<[^{;]*?>\s*(?=(class|struct|using|inline|constexpr|[\w:]))", "", code)
    if kind := re.match(r"\s*(?:typedef\s+)?(?:class|struct|enum class|enum|union)\s+(?:RELAY_\w+\s+)?(\w+)\s*(?:final\s*)?(?::[^{]*)?(\{|\w+\s*;|;)", code):
        return kind.group(1)
    if using := re.match(r"\s*(?:using|concept)\s+(\w+)\s*=", code):
        return using.group(1)
    if sign := re.search(r"\b(operator\s*(?:\(\)|\[\]|[^\s\w(]+|\w+))\s*\(", code):
        return re.sub(r"\s", "", sign.group(1))
    if function := re.search(r"([~\w]+)\s*\(", code):
        return function.group(1)
    if variable := re.search(r"(\w+)\s*(?:\[[^\]]*\]|<[^;=]*>+)?\s*(?:=|\{|;|$)", code):
        return variable.group(1)
    raise ValueError(f"what is declared here? {code}")


def tidy(code: str) -> str:
    """A declaration as it is shown."""
    code = re.sub(r"^RELAY_API ", "", code.strip())
    brace = code.find("{")
    head = bare(code[: brace if brace >= 0 else len(code)])
    kind = re.match(r"\s*(?:template\s*<.*>\s*)?(?:typedef\s+)?(class|struct|enum|union)\b", head, re.DOTALL)
    if kind and brace >= 0 and "(" not in head:
        end = closing(code, brace)
        body = code[brace + 1 : end - 1]
        if kind.group(1) in ("class", "struct") and "typedef" not in head:
            body = public_part(body, kind.group(1) == "class")
        head = re.sub(r"\s*:\s*(public|private)\b", r" : \1", head.strip())
        if "\n" not in code[brace:end]:
            return code
        return head + (" {\n" + body.strip("\n") + "\n}" if body.strip() else " {}") + re.sub(r"^\s*(?=\w)", " ", code[end:])
    if code.startswith("#"):
        return re.sub(r"(#\s*define\s+\w+(\([^)]*\))?).*", r"\1", code, flags=re.DOTALL)
    return re.sub(r"\binline (?!constexpr|namespace)", "", without_bodies(code)).strip()


def is_forward(code: str) -> bool:
    return re.fullmatch(r"\s*(?:template\s*<[^>]*>\s*)?(class|struct|enum class)\s+\w+(\s*:\s*\w+)?\s*;(\s*//.*)?\s*", code) is not None


def parse(path: str, text: str) -> Header:
    header = Header(path)
    text = re.sub(r"(?m)^#(if|endif|else)[^\n]*\n(extern \"C\" \{\n|\}\n)?", "\n", text)
    if path.endswith("relay_runtime.h"):
        text = re.sub(r"(?m)^#(ifdef|include|pragma)[^\n]*\n", "\n", text)
        text = re.sub(r"(?m)^(extern \"C\" \{|\})$", "", text)
        text = re.sub(r"(?m)^#define RELAY_API[^\n]*\n", "\n", text)
    c_style = "/*" in text and "///" not in text
    doc: list[str] = []
    section, fresh, code, depth, first = "", True, "", 0, True
    last: Entry | None = None
    skipping = 0  # depth of braces inside of namespaces that are not shown
    stream = list(tokens(text))
    i = 0
    while i < len(stream):
        kind, word = stream[i]
        i += 1
        if not code.strip():
            code = ""
            if kind == "blank":
                if doc and first and not header.entries:
                    header.intro, doc, first = "\n".join(doc), [], False
                doc, last = [], None
                fresh = True
                continue
            if kind == "space":
                continue
            if kind == "doc":
                if last:
                    last = None
                doc.append(re.sub(r"^/// ?", "", word))
                first = False
                continue
            if kind == "line":
                if first and not header.entries:
                    doc.append(re.sub(r"^// ?", "", word))
                continue
            if kind == "block":
                text_of = re.sub(r"(?m)^\s*\* ?", "", word[2:-2]).strip()
                if named := re.fullmatch(r"-+ (.*?) -+", text_of):
                    section = named.group(1)
                elif c_style:
                    if first:
                        header.intro, first = text_of, False
                    else:
                        last, doc = None, [text_of]
                continue
            if kind == "directive":
                if first and doc and "pragma" in word:
                    header.intro = "\n".join(doc)
                first = False
                if doc and re.match(r"\s*#\s*define", word):
                    header.entries.append(Entry([declared_name(word)], [tidy(word)], "\n".join(doc), section))
                doc = []
                continue
            if word == "namespace":
                first = False
                name = ""
                while stream[i][1] not in "{;":
                    name += stream[i][1]
                    i += 1
                i += 1
                doc = []
                if re.search(r"detail|internal", name) or not name.strip():
                    depth_of = 1
                    while depth_of:
                        if stream[i][0] == "sign":
                            depth_of += {"{": 1, "}": -1}.get(stream[i][1], 0)
                        i += 1
                continue
            if word in "};":
                continue
        first = False
        code += word
        if kind == "sign" and word in "({[":
            depth += 1
        elif kind == "sign" and word in ")}]":
            depth -= 1
        ends = depth == 0 and kind == "sign" and (word == ";" or (word == "}" and not follows_semicolon(stream, i, code)))
        if not ends:
            continue
        # A comment behind the declaration on its line.
        if i + 1 < len(stream) and stream[i][0] == "space" and "\n" not in stream[i][1] and stream[i + 1][0] in ("line", "block"):
            code += "  " + stream[i + 1][1]
            i += 2
        if not is_forward(code) and "RELAY_NODE" not in code and not re.match(r"\s*static_assert|\s*extern template|\s*RELAY_\w+\(|\s*template <>", code):
            entry_code, name = tidy(code), declared_name(code)
            if last is not None and not doc:
                if name not in last.names:
                    last.names.append(name)
                last.code.append(entry_code)
            else:
                last = Entry([name], [entry_code], "\n".join(doc), section)
                header.entries.append(last)
        doc, code, fresh = [], "", False
    return header


def follows_semicolon(stream: list[tuple[str, str]], i: int, code: str) -> bool:
    """True if the brace just read is the end of a class or initialiser, whose `;` or name is still to come."""
    for kind, word in stream[i:]:
        if kind in ("space", "blank"):
            continue
        return word == ";" or bool(re.match(r"\s*typedef", code))
    return False


def markdown(text: str) -> str:
    """A comment as Markdown: what is no code is taken as it is written."""
    parts = re.split(r"(`[^`]*`)", text)
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"([*<\[\]])", r"\\\1", parts[i]).replace("\\<", "&lt;")
    text = "".join(parts)
    # A list needs an empty line before it, and its items no more than four blanks.
    text = re.sub(r"(?m)(?<=[^\n])\n(?=(?:- ))", "\n\n", text, count=1)
    return re.sub(r"(?m)^ {2,3}(?=\S)", "    ", text)


def render(header: Header, language: str = "cpp", level: int = 3) -> str:
    """The section of a header, headings from `level` on."""
    out, section = [], ""
    for entry in header.entries:
        if entry.section != section:
            section = entry.section
            out.append(f"{'#' * (level - 1)} {section}\n")
        if not entry.doc and len(entry.code) == 1 and entry.code[0].count("\n") == 0 and entry.code[0].startswith("using "):
            continue
        names = entry.names[:4] + (["…"] if len(entry.names) > 4 else [])
        out.append(f"{'#' * level} {', '.join(f'`{name}`' if name != '…' else name for name in names)}\n")
        out.append(f"```{language}\n" + "\n".join(entry.code) + "\n```\n")
        if entry.doc:
            out.append(markdown(entry.doc) + "\n")
    return "\n".join(out)


def read(root: Path, path: str) -> Header:
    return parse(path, (root / path).read_text(encoding="utf-8"))
