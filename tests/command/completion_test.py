"""Completion files and the manual page hold what the command line takes, in the words of its help."""

import os
import re
import shutil
import subprocess

import pytest

RELAY = os.environ["RELAY_BIN"]
FORMS = ["bash", "zsh", "fish", "man"]


def relay(*words):
    return subprocess.run([RELAY, *words], capture_output=True, text=True, check=True).stdout


def commands():
    listed = relay("help").split("Subcommands:\n")[1].split("\n\n")[0]
    return [line.split()[0] for line in listed.splitlines() if re.match(r"  \S", line)]


def options(*words):
    """The long options that the help of a command lists."""
    return re.findall(r"^  (?:-\w,)?(--[a-z][a-z0-9-]*)", relay("help", *words), re.M)


def part_of(form, text, command):
    """What a file says of one command."""
    if form == "bash":
        match = re.search(rf"^    {command}\) words='([^']*)'", text, re.M)
        return match.group(1).split()
    if form == "zsh":
        part = text.split(f"        {command})\n")[1].split(";;")[0]
        return re.findall(r"'\*?(-[^\[]*)\[", part)
    if form == "fish":
        lines = [line for line in text.splitlines() if f"from {command}'" in line]
        return ["--" + name for line in lines for name in re.findall(r" -l (\S+)", line)]
    part = text.split(f"\n.SS {command.replace('-', chr(92) + '-')}\n")[1].split("\n.SS ")[0]
    return [name.replace("\\-", "-") for name in re.findall(r"\\fB(\\-\\-[^\\]*(?:\\-[^\\]*)*)\\fR", part)]


@pytest.mark.parametrize("form", FORMS)
def test_every_option_of_every_command(form):
    text = relay("completion", form)
    for command in commands():
        found = part_of(form, text, command)
        missing = [option for option in options(command) if option not in found]
        assert not missing, (command, missing)
        extra = [name for name in found if name.startswith("--") and name not in options(command)]
        assert not extra, (command, extra)


def complete(*words):
    script = relay("completion", "bash") + (
        'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _relay; printf "%s\\n" "${COMPREPLY[@]}"')
    done = subprocess.run(["bash", "-c", script, "bash", "relay", *words], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_bash_completes_commands():
    assert complete("re") == ["reduce", "repl"]


def test_bash_completes_options():
    assert "--executor" in complete("run", "--e")
    assert "--executor" not in complete("check", "--e")


def test_bash_completes_values():
    assert complete("run", "--executor", "") == ["vm", "eval"]
    assert "unused-binding" in complete("check", "--deny", "unused-b")
    assert "nn.dense" in complete("ops", "nn.d")
    assert "FuseOps" in complete("opt", "--passes", "Fus")
    assert "T13" in complete("explain", "T1")
    assert complete("--diagnostics", "j") == ["json"]


def test_bash_completes_files(tmp_path):
    (tmp_path / "program.rly").write_text("")
    (tmp_path / "my model.rly").write_text("")
    assert complete("run", f"{tmp_path}/pro") == [f"{tmp_path}/program.rly"]
    assert complete("run", f"{tmp_path}/my") == [f"{tmp_path}/my model.rly"]


@pytest.mark.parametrize("form", ["bash", "zsh", "fish"])
def test_shells_accept_the_files(form, tmp_path):
    if shutil.which(form) is None:
        pytest.skip(f"{form} is not installed")
    path = tmp_path / f"relay.{form}"
    path.write_text(relay("completion", form))
    subprocess.run([form, "-n", str(path)], check=True)


def test_the_manual_page_has_no_mistakes(tmp_path):
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    path = tmp_path / "relay.1"
    path.write_text(relay("completion", "man"))
    done = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-K", "utf8", str(path)], capture_output=True, text=True, check=True)
    assert "warning" not in done.stderr and "error" not in done.stderr
    assert "EXIT STATUS" in re.sub(".\b", "", done.stdout)  # bold letters are struck twice
