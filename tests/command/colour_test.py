"""Errors have colours on a terminal that knows them, and nowhere else."""

import os
import pty
import subprocess

RELAY = os.environ["RELAY_BIN"]
WRONG = b"def @main(%x: int32) { %y }\n"


def errors_on_a_terminal(**variables):
    ours, theirs = pty.openpty()
    environment = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "TERM")}
    environment.update(variables)
    with subprocess.Popen([RELAY, "check", "-"], stdin=subprocess.PIPE, stderr=theirs, env=environment) as process:
        process.stdin.write(WRONG)
        process.stdin.close()
        os.close(theirs)
        text = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            text += part
    os.close(ours)
    return text.replace(b"\r\n", b"\n")


def test_a_terminal_gets_colours():
    text = errors_on_a_terminal(TERM="xterm")
    assert text.startswith(b"\033[1;31merror")
    assert b"\033[31m^" in text


def test_the_words_are_the_same_without_them():
    plain = errors_on_a_terminal(TERM="dumb")
    assert b"\033" not in plain
    coloured = errors_on_a_terminal(TERM="xterm")
    for code in (b"\033[1;31m", b"\033[1;33m", b"\033[1;36m", b"\033[1;32m", b"\033[31m", b"\033[0m"):
        coloured = coloured.replace(code, b"")
    assert coloured == plain


def test_no_color_turns_them_off():
    assert b"\033" not in errors_on_a_terminal(TERM="xterm", NO_COLOR="1")
    assert b"\033" in errors_on_a_terminal(TERM="xterm", NO_COLOR="")


def test_a_pipe_gets_none():
    done = subprocess.run([RELAY, "check", "-"], input=WRONG, capture_output=True, check=False)
    assert done.returncode == 1
    assert b"\033" not in done.stderr
