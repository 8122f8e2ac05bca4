"""Runs the code blocks of a document, from top to bottom, in a folder of its own.

    python tests/python/docs_blocks.py --update docs/guides/first-program.md

writes the output that the blocks give now into the document; without `--update` it only says what differs. What blocks mean:

- ```python``` runs, all of a document in one process. A ```text``` block right below it is what it prints.
- ```console``` are commands (`$ …`), each with its output; one line `…` stands for any lines. `exit status N` below says how it ends, if not by 0.
- ```relay```, ```c```, ```cpp``` with a title are files; Relay without a title is parsed and its types are checked.
- Other blocks (pictures, grammars, configuration) are not run; test_docs.py says which, and why.

The folder has links to what a clone of the repository has, so paths are written as from there.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^(?P<indent> *)```(?P<language>[\w-]*)(?: title=\"(?P<title>[^\"]*)\")?[^\n`]*\n(?P<code>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)
RUN = ("python", "console", "relay", "c", "cpp")
# Executed by a Python of its own: code in, what it printed out, one JSON text a line each.
LOOP = """
import contextlib, io, json, linecache, sys, traceback
names = {"__name__": "__main__"}
for line in sys.stdin:
    printed, code = io.StringIO(), json.loads(line)
    failed = None
    # So that the source of a function can be read, as in a notebook.
    linecache.cache[code["name"]] = (len(code["text"]), None, code["text"].splitlines(True), code["name"])
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(code["text"], code["name"], "exec"), names)
        except BaseException:
            failed = traceback.format_exc()
    print(json.dumps({"printed": printed.getvalue(), "failed": failed}), flush=True)
"""


@dataclass
class Block:
    document: Path
    line: int
    language: str
    title: str | None
    code: str
    start: int  # of the code in the document
    after: str = ""  # the language of the block right above, with nothing between

    @property
    def place(self) -> str:
        return f"{self.document.name}:{self.line}"


def blocks(document: Path) -> list[Block]:
    text, found, end = document.read_text(encoding="utf-8"), [], 0
    for match in FENCE.finditer(text):
        after = found[-1].language if found and not text[end : match.start()].strip() else ""
        line = text.count("\n", 0, match.start()) + 1
        found.append(Block(document, line, match["language"], match["title"], match["code"], match.start("code"), after))
        end = match.end()
    return found


def matches(expected: str, printed: str) -> bool:
    """True if output is what a document says; a line `…` stands for any lines, and `…` in a line for any text."""
    parts = [re.escape(part) for part in re.split(r"(?m)^…\n", expected)]
    return re.fullmatch("(?:.*\n)*?".join(part.replace("…", ".*") for part in parts), printed) is not None


def commands(code: str) -> Iterator[tuple[str, str]]:
    """Each command of a console block and its output."""
    for part in re.split(r"(?m)^\$ ", code)[1:]:
        lines = part.split("\n")
        count = 1
        while lines[count - 1].endswith("\\"):
            count += 1
        yield "\n".join(lines[:count]), "\n".join(lines[count:]).rstrip("\n") + ("\n" if any(lines[count:]) else "")


class Session:
    """A session that runs the blocks of one document."""

    def __init__(self, folder: Path, relay: Path) -> None:
        self.folder = folder
        for item in ("examples", "relay", "docs", "tests"):
            (folder / item).symlink_to(ROOT / item)
        (folder / "build").symlink_to(relay.parents[1])
        self.environment = {
            **os.environ, "PATH": f"{relay.parent}:{Path(sys.executable).parent}:{os.environ['PATH']}", "RELAY_CACHE_DIR": str(folder / "cache"),
            "LD_LIBRARY_PATH": str(relay.parents[1] / "lib"), "PYTHONPATH": str(relay.parents[1] / "python"), "NO_COLOR": "1",
        }  # fmt: skip
        self.process: subprocess.Popen[str] | None = None

    def python(self, block: Block) -> str:
        if self.process is None:
            self.process = subprocess.Popen([sys.executable, "-c", LOOP], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=self.folder, env=self.environment)
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps({"name": block.place, "text": block.code}) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer, f"{block.place}: the process ended"
        found = json.loads(answer)
        assert not found["failed"], f"{block.place}:\n{found['failed']}"
        return str(found["printed"]).rstrip("\n") + "\n"

    def command(self, text: str) -> str:
        done = subprocess.run(["bash", "-c", text], capture_output=True, text=True, cwd=self.folder, env=self.environment, timeout=300)
        output = done.stdout + done.stderr
        if output and not output.endswith("\n"):
            output += "\n"
        return output + (f"exit status {done.returncode}\n" if done.returncode else "")

    def check_relay(self, block: Block) -> None:
        done = subprocess.run(["relay", "check", "-"], input=block.code, capture_output=True, text=True, cwd=self.folder, env=self.environment)
        assert done.returncode == 0, f"{block.place}:\n{done.stderr}"

    def close(self) -> None:
        if self.process is not None:
            self.process.communicate()


def run(document: Path, relay: Path, update: bool = False, skip: frozenset[int] = frozenset()) -> list[str]:
    """Runs the blocks of a document but those at lines of `skip`; gives what is not as it says."""
    text, wrong, edits, printed = document.read_text(encoding="utf-8"), [], [], ""
    with tempfile.TemporaryDirectory() as folder:
        session = Session(Path(folder), relay)
        try:
            for block in blocks(document):
                if block.line in skip:
                    continue
                new = block.code
                if block.title and block.language in ("relay", "c", "cpp", "python", "cmake"):
                    (session.folder / block.title).write_text(block.code, encoding="utf-8")
                    if block.language == "relay":
                        session.check_relay(block)
                elif block.language == "python":
                    printed = session.python(block)
                elif block.language == "relay":
                    session.check_relay(block)
                elif block.language == "text" and block.after == "python":
                    if not matches(block.code, printed):
                        new = printed
                elif block.language == "console":
                    new = ""
                    for command, expected in commands(block.code):
                        show = re.fullmatch(r"cat ([\w.-]+)", command)
                        if show and not (session.folder / show[1]).exists():
                            (session.folder / show[1]).write_text(expected, encoding="utf-8")
                        output = session.command(command)
                        new += f"$ {command}\n" + (expected if matches(expected, output) else output) + ("\n" if block.code.count("\n\n$ ") else "")
                    new = new.rstrip("\n") + "\n"
                if new != block.code:
                    wrong.append(f"{block.place} says\n{block.code}\nand gives\n{new}")
                    edits.append((block.start, len(block.code), new))
        finally:
            session.close()
    if update:
        for start, length, new in reversed(edits):
            text = text[:start] + new + text[start + length :]
        document.write_text(text, encoding="utf-8")
    return wrong


def main() -> None:
    update = "--update" in sys.argv
    relay = Path(os.environ.get("RELAY_BIN", ROOT / "build/bin/relay"))
    for name in sys.argv[1:]:
        if name != "--update":
            for difference in run(Path(name), relay, update):
                print(("updated: " if update else "") + difference)


if __name__ == "__main__":
    main()
