"""`relay check` and `relay fmt` on many files and folders; mistyped words; search among operators."""

import os
import subprocess
import threading

import pytest

RELAY = os.environ["RELAY_BIN"]


def relay(*arguments):
    done = subprocess.run([RELAY, *map(str, arguments)], capture_output=True, text=True, encoding="utf-8")
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a.rly").write_text("def @main() { 1 }\n")
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "b.relay").write_text("def @main( ) { 2 }\n")
    (tmp_path / "inner" / "notes.txt").write_text("no program")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "c.rly").write_text("wrong")
    return tmp_path


def test_check(folder):
    assert relay("check", folder) == (0, "2 programs, all right\n", "")
    assert relay("check", folder / "a.rly", folder / "inner") == (0, "2 programs, all right\n", "")
    (folder / "z.rly").write_text("def @main() { %none }\n")
    code, out, err = relay("check", folder)
    assert (code, out) == (1, "3 programs, 1 wrong\n")
    assert "unknown local name %none" in err and f"{folder}/z.rly:1:15" in err


def test_pipes(folder):
    """A pipe is read once, and by its name alone: in a folder it would be waited for."""
    pipe = folder / "pipe.rly"
    os.mkfifo(pipe)
    assert relay("check", folder) == (0, "2 programs, all right\n", "")
    writer = threading.Thread(target=pipe.write_text, args=("def @main(%x: int32, %y: int32) { let %z = %y; %x }\n",))
    writer.start()
    done = subprocess.run([RELAY, "check", "--lint", pipe], capture_output=True, text=True, timeout=60, check=False)
    writer.join()
    assert done.stdout == "@main : fn (int32, int32) -> int32\n"
    assert f"{pipe}:1:39" in done.stderr and "is not used" in done.stderr


def test_fmt(folder):
    wrong = folder / "inner" / "b.relay"
    assert relay("fmt", "--check", folder) == (1, f"{wrong} is not formatted\n2 programs, 1 not formatted\n", "")
    assert relay("fmt", "-w", folder) == (0, "2 programs, 1 rewritten\n", "")
    assert wrong.read_text() == "def @main() { 2 }\n"
    assert relay("fmt", "--check", folder) == (0, "2 programs, 0 not formatted\n", "")
    (folder / "z.rly").write_text("def @main( {\n")
    code, out, err = relay("fmt", "-w", folder)
    assert (code, out) == (1, "3 programs, 1 wrong\n") and "z.rly:1:12" in err
    assert (folder / "z.rly").read_text() == "def @main( {\n"


def test_folder_without_programs(tmp_path):
    for command in ("check", "fmt"):
        code, out, err = relay(command, tmp_path)
        assert (code, out) == (1, "")
        assert f"no program is in the folder {tmp_path}: none of its files ends in .rly or .relay" in err


def test_mistyped_words(folder):
    program = folder / "a.rly"
    assert "help: did you mean --opt-level?" in relay("run", program, "--opt-levle", "2")[2]
    assert "help: did you mean --entry?" in relay("run", program, "--entyr=main")[2]
    assert "help: did you mean check?" in relay("chekc", program)[2]
    assert "help: did you mean" not in relay("run", program, "--something-else")[2]


def test_search_among_operators():
    code, out, _ = relay("ops", "SOFTMAX")
    names = [line.split()[0] for line in out.splitlines()]
    assert code == 0 and "nn.softmax" in names and "nn.log_softmax" in names
    code, out, _ = relay("ops", "not-a-number")
    assert code == 0 and "nn.relu" in [line.split()[0] for line in out.splitlines()]
    code, _, err = relay("ops", "frobnicate")
    assert code == 1 and "there is no operator frobnicate" in err
