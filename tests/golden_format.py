"""The format of the golden tests: a program, how to run it, and the output it must give, in one file.

    // RUN: relay check %s
    // EXIT: 1
    def @main(%x: Tensor[(2), float32]) { ... }
    /* EXPECT
    error: ...
     --> name.rly:3:5
    */

RUN and EXIT lines stand in the comment lines that begin the file. A RUN line is a shell command in which

    relay  is the built binary (its folder is first in PATH)
    %s     this file                     %S  its folder
    %t     a path for temporary files    %p  a copy of this file without the EXPECT block (for `relay fmt` and `print`)
    %%     a percent sign

An EXIT line gives the status of the RUN line before it; without one it is 0, or 1 in files named `bad-*`, of which every
last command must fail. Expected is what each command writes to standard output, then to standard error, command by
command; folders of the paths in it are left out, and the codes of diagnostics (`error[T13]: …`). The status 70 (internal error) and death by a signal never pass.
"""

import dataclasses
import difflib
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess

import lit.formats
import lit.Test

OPENING = "/* EXPECT"
CLOSING = "*/"
INTERNAL_ERROR = 70
DIRECTIVE = re.compile(r"\s*(?://|#)\s*(RUN|EXIT):(.*)")
COMMENT = re.compile(r"\s*(//|#)")
CODE = re.compile(r"^(error|warning)\[[A-Z]+[0-9]+\]: ", re.MULTILINE)


class FormatError(Exception):
    """The test file itself is wrong."""


@dataclasses.dataclass
class Command:
    text: str
    exit: int


@dataclasses.dataclass
class GoldenFile:
    commands: list
    program: str  # the file without its EXPECT block
    expected: list  # lines


@dataclasses.dataclass
class Outcome:
    passed: bool
    message: str
    updated: bool = False


def _lines(text):
    """Lines as they are compared: trailing blanks do not count, nor do empty lines at the end."""
    lines = [line.rstrip() for line in text.split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def parse(text, name):
    """Splits a test file into its commands, program and expected output."""
    lines = text.split("\n")
    last = max((i for i, line in enumerate(lines) if line.strip()), default=-1)
    openings = [i for i, line in enumerate(lines) if line.rstrip() == OPENING]
    expected = []
    program = text
    if openings:
        if len(openings) > 1:
            raise FormatError(f"several '{OPENING}' lines")
        if lines[last].rstrip() != CLOSING or last <= openings[0]:
            raise FormatError(f"'{OPENING}' must be closed by the file's last line, '{CLOSING}'")
        expected = _lines("\n".join(lines[openings[0] + 1 : last]))
        program = "".join(line + "\n" for line in lines[: openings[0]])

    bad = name.startswith("bad-")
    commands = []
    exits = set()
    in_header = True
    for number, line in enumerate(program.split("\n"), 1):
        if line.strip() and not COMMENT.match(line):
            in_header = False
        found = DIRECTIVE.match(line)
        if not found:
            continue
        kind, value = found[1], found[2].strip()
        if not in_header:
            raise FormatError(f"line {number}: {kind} must stand in the comments that begin the file")
        if kind == "RUN":
            if not value:
                raise FormatError(f"line {number}: RUN without a command")
            commands.append(Command(value, 1 if bad else 0))
            continue
        if not commands or len(commands) in exits:
            raise FormatError(f"line {number}: EXIT must follow a RUN line, once")
        if not value.isdigit() or int(value) == INTERNAL_ERROR or int(value) > 125:
            raise FormatError(f"line {number}: EXIT must be a status that a user's mistake can give")
        commands[-1].exit = int(value)
        exits.add(len(commands))
    if not commands:
        raise FormatError("no RUN line")
    if bad and commands[-1].exit == 0:
        raise FormatError("a file named bad-* must fail: its last command cannot have EXIT 0")
    return GoldenFile(commands, program, expected)


def is_balanced(text):
    """True if a block comment can hold this text (the language's block comments nest)."""
    depth = 0
    for mark in re.findall(r"/\*|\*/", text):
        depth += 1 if mark == "/*" else -1
        if depth < 0:
            return False
    return depth == 0


def expect_block(lines):
    """The EXPECT block that holds these lines; nothing for no lines."""
    if not lines:
        return ""
    body = "".join(line + "\n" for line in lines)
    if not is_balanced(body) or OPENING in lines:
        raise FormatError("the output cannot stand in a block comment")
    return f"{OPENING}\n{body}{CLOSING}\n"


def _substitute(command, path, scratch):
    values = {
        "%s": str(path),
        "%S": str(path.parent),
        "%t": str(scratch / path.stem),
        "%p": str(scratch / path.name),
        "%%": "%",
    }
    return re.sub(r"%[sStp%]", lambda found: _quote(values[found[0]], _open_quote(command[: found.start()])), command)


def _open_quote(text):
    """The quotation mark that a part of a shell command is within at its end, or nothing."""
    mark = ""
    at = 0
    while at < len(text):
        if text[at] == "\\" and mark != "'":
            at += 1
        elif text[at] in "'\"" and mark in ("", text[at]):
            mark = "" if mark else text[at]
        at += 1
    return mark


def _quote(value, mark):
    """A value as it is written in a shell command, within the quotation mark: folders may have blanks in their names."""
    if mark == "'":
        return value.replace("'", "'\\''")
    return re.sub(r'([\\"$`])', r"\\\1", value) if mark else shlex.quote(value)


def _execute(command, cwd, env, timeout):
    """Runs one shell command; a command that hangs is killed with all it started."""
    process = subprocess.Popen(
        ["bash", "-c", "set -o pipefail\n" + command],
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None, ""
    text = out.decode("utf-8", "backslashreplace")
    if text and not text.endswith("\n") and err:
        text += "\n"
    return process.returncode, text + err.decode("utf-8", "backslashreplace")


def _run_commands(golden, path, scratch, relay, timeout):
    """Returns (output lines, complaints about how commands ended)."""
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    (scratch / path.name).write_text(golden.program, encoding="utf-8", newline="")
    env = dict(os.environ, LC_ALL="C.UTF-8", NO_COLOR="1", TERM="dumb")
    env["PATH"] = f"{relay.parent}:{env.get('PATH', '')}"
    output = ""
    complaints = []
    for command in golden.commands:
        text = _substitute(command.text, path, scratch)
        status, printed = _execute(text, scratch, env, timeout)
        if output and not output.endswith("\n"):
            output += "\n"
        output += printed
        if status is None:
            complaints.append(f"'{command.text}' was killed after {timeout} s")
        elif status < 0 or status > 128:
            complaints.append(f"'{command.text}' died: exit status {status}")
        elif status != command.exit:
            complaints.append(f"'{command.text}' exited with {status}, not {command.exit}")
    for folder in (scratch, path.parent):
        output = output.replace(f"{folder}/", "")
    output = CODE.sub(r"\1: ", output)
    return _lines(output), complaints


def _difference(expected, actual):
    return "\n".join(difflib.unified_diff(expected, actual, "expected", "actual", lineterm=""))


# For each command. Sanitizers make programs slow, and machines may be busy.
TIMEOUT = 120 * float(os.environ.get("RELAY_TIMEOUT_FACTOR", "1"))


def run(path, scratch, relay, update=False, timeout=TIMEOUT):
    """Runs one golden test, and with `update` makes what it prints the expectation."""
    path, scratch, relay = pathlib.Path(path), pathlib.Path(scratch), pathlib.Path(relay)
    if not relay.is_file():
        return Outcome(False, f"{relay} is not built")
    updated = False
    # Where an error is reported at the end of the file its line moves with the expectation, hence the repetition.
    for _ in range(4):
        try:
            with open(path, encoding="utf-8", newline="") as file:
                golden = parse(file.read(), path.name)
            actual, complaints = _run_commands(golden, path, scratch, relay, timeout)
            if actual == golden.expected or not update or complaints:
                break
            program = golden.program
            if program and not program.endswith("\n"):
                program += "\n"
            block = expect_block(actual)
        except (FormatError, UnicodeDecodeError) as error:
            return Outcome(False, f"{path}: {error}", updated)
        path.write_text(program + block, encoding="utf-8", newline="")
        updated = True
    message = "\n".join(complaints)
    if actual != golden.expected:
        if updated:
            message += "\nthe output differs from run to run"
        message += "\n" + _difference(golden.expected, actual)
    elif complaints:
        message += "\n" + "\n".join(actual)
    return Outcome(not message, message.strip(), updated)


class GoldenTest(lit.formats.FileBasedTest):
    """A golden test, as lit sees it."""

    def __init__(self, relay, scratch, update):
        self.relay = relay
        self.scratch = scratch
        self.update = update

    def execute(self, test, lit_config):
        scratch = self.scratch.joinpath(*test.path_in_suite)
        outcome = run(test.getSourcePath(), scratch, self.relay, self.update)
        return (lit.Test.PASS if outcome.passed else lit.Test.FAIL), outcome.message
