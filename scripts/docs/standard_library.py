"""Writes docs/standard-library.md from the comments of relay/std/*.rly.

    python3 scripts/docs/standard_library.py

A definition is documented by the comment lines before it: first what it is, then, for a function, an example `EXPRESSION = VALUE`.
"""

import pathlib
import re
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "standard-library.md"

FILES = {
    "prelude": "Lists, options and trees of any type.",
    "nat": "Natural numbers as a data type. It imports `prelude`.",
    "gradient": "Gradients that are not computed while they are known to be zeros or ones.",
    "tensor_array": "Lists of tensors of any rank up to 6. The names end in the dtype: `import \"tensor_array_int8\"` has the same functions for int8. It imports `prelude`.",
    "core": "Types that passes use.",
}

HEAD = """\
# The standard library

Import a file of the standard library to use its data types and functions:

```relay title="squares.rly"
import "prelude"
def @main(%n: int32) -> List[int32] {
  @map(fn (%x: int32) { %x * %x }, @unfoldl(fn (%i: int32) { if (%i == 0) { None } else { Some((%i - 1, %i)) } }, %n))
}
```
```console
$ relay run squares.rly --arg 3
Cons(1, Cons(4, Cons(9, Nil)))
: List[int32]
```

Lists may be long: the functions take memory, but none of the machine's stack.
"""


@dataclass
class Definition:
    name: str
    head: str  # the text of its first line, without a body
    doc: list[str]
    examples: list[tuple[str, str]]

    @property
    def is_function(self):
        return self.head.startswith("def ")


def definitions(text):
    """The definitions of a file, in order."""
    found, comments, lines = [], [], text.split("\n")
    for i, line in enumerate(lines):
        if line.startswith("// "):
            comments.append(line.removeprefix("// "))
            continue
        start = re.match(r"(?:def @|(?:extern )?type )(\w+)", line)
        if start:
            head = line
            for more in lines[i + 1 :]:
                if head.count("{") > 0 and (line.startswith("def ") or head.count("{") == head.count("}")) or line.startswith("extern"):
                    break
                head = f"{head} {more.strip()}"
            if line.startswith("def "):
                head = head.split(" {")[0].replace("( %", "(%").replace(" )", ")")
            examples = [tuple(each.rsplit(" = ", 1)) for each in comments if each.startswith("@")]
            found.append(Definition(start[1], head, [each for each in comments if not each.startswith("@")], examples))
        comments = []
    return found


def page():
    parts = [HEAD]
    for file, about in FILES.items():
        parts.append(f"## {file}\n\n{about}\n")
        for each in definitions((ROOT / "relay" / "std" / f"{file}.rly").read_text()):
            parts.append(f"### {'@' if each.is_function else ''}{each.name}\n\n```text\n{each.head}\n```\n\n" + " ".join(each.doc) + "\n")
            for expression, value in each.examples:
                parts.append(f"```text\n{expression}\n{value}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page())
