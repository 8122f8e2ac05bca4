"""The files left when a command ends while it writes one: what was there before, and nothing else. RELAY_BIN names the command."""

import contextlib
import os
import pathlib
import resource
import signal
import subprocess
import time

import numpy as np
import pytest

TIMEOUT = 300  # seconds; a sanitizer build is slow
SIDE = 3000
PROGRAM = f"def @main(%x: Tensor[(1, {SIDE}), float32], %w: Tensor[({SIDE}, {SIDE}), float32]) {{ (nn.dense(%x, %w), %w) }}"
OLD = b"the model of yesterday"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "program.rly").write_text(PROGRAM)
    np.savez(tmp_path / "weights.npz", w=np.arange(SIDE * SIDE, dtype="float32").reshape(SIDE, SIDE))
    (tmp_path / "out").mkdir()
    return tmp_path


def command(folder, output):
    return [os.environ["RELAY_BIN"], "compile", str(folder / "program.rly"), "--params", str(folder / "weights.npz"), "-o", str(output)]


def without_names_for_files():
    """A prefix of commands that have no /proc, and so no way to write a file without a name; None where that is not allowed."""
    prefix = ["unshare", "-rm", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
    with contextlib.suppress(OSError):
        if subprocess.run([*prefix, "true"], capture_output=True, timeout=TIMEOUT).returncode == 0:
            return prefix
    return None


def writes_into(process, out):
    """True if the process has a file open in the folder."""
    with contextlib.suppress(OSError):
        for descriptor in pathlib.Path(f"/proc/{process.pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                if os.readlink(descriptor).startswith(f"{out}/"):
                    return True
    return False


@pytest.mark.parametrize("named", [False, True], ids=["unnamed", "named"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_what_was_there(folder, number, named):
    prefix = without_names_for_files() if named else []
    if prefix is None:
        pytest.skip("mounts of one's own are not allowed here")
    out = folder / "out"
    model = out / "m.rlx"
    caught = 0
    for _ in range(30):
        model.write_bytes(OLD)
        process = subprocess.Popen([*prefix, *command(folder, model)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while process.poll() is None and not writes_into(process, out):
            time.sleep(0.0005)
        process.send_signal(number)
        process.communicate(timeout=TIMEOUT)
        assert os.listdir(out) == ["m.rlx"]
        if process.returncode == 0:
            continue  # it was done before
        assert process.returncode == -number
        assert model.read_bytes() == OLD
        caught += 1
        if caught == 3:
            break
    assert caught > 0


def test_a_killed_command_leaves_what_was_there(folder):
    # Nothing runs in it any more that could tidy up.
    out = folder / "out"
    for _ in range(30):
        process = subprocess.Popen(command(folder, out / "m.rlx"), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while process.poll() is None and not writes_into(process, out):
            time.sleep(0.0005)
        process.kill()
        process.communicate(timeout=TIMEOUT)
        if process.returncode != 0:
            assert os.listdir(out) == []
            return
        (out / "m.rlx").unlink()
    pytest.fail("the command was always done before")


@pytest.mark.parametrize("ignored", [False, True], ids=["signal", "ignored"])
@pytest.mark.parametrize("old", [False, True], ids=["new", "old"])
def test_a_file_that_may_not_grow(folder, old, ignored):
    out = folder / "out"
    model = out / "m.rlx"
    if old:
        model.write_bytes(OLD)

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN if ignored else signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    done = subprocess.run(command(folder, model), capture_output=True, text=True, timeout=TIMEOUT, preexec_fn=limit)
    assert (done.returncode, done.stderr) == (1, f"error: cannot write {model}: File too large\n")
    assert os.listdir(out) == (["m.rlx"] if old else [])
    if old:
        assert model.read_bytes() == OLD


def test_a_full_disk(folder):
    script = """
      mount -t tmpfs -o size=4m none "$1" && printf old > "$1/m.rlx" || exit 99
      shift; "$@"; echo status $?
      ls -A "$0"; cat "$0/m.rlx"; df --output=avail "$0" | tail -1
    """
    out = folder / "out"
    done = subprocess.run(["unshare", "-rm", "sh", "-c", script, out, out, *command(folder, out / "m.rlx")],
                          capture_output=True, text=True, timeout=TIMEOUT)
    if done.returncode == 99 or "unshare" in done.stderr:
        pytest.skip("mounts of one's own are not allowed here")
    assert done.stderr == f"error: cannot write {out / 'm.rlx'}: No space left on device\n"
    status, files, rest = done.stdout.split("\n", 2)
    assert (status, files) == ("status 1", "m.rlx")
    assert rest.startswith("old") and int(rest[3:]) > 4000  # all of the space is free again


def test_the_file_is_as_others_are(folder):
    out = folder / "out"
    model = out / "m.rlx"
    subprocess.run(command(folder, model), check=True, timeout=TIMEOUT, preexec_fn=lambda: os.umask(0o027))
    assert model.stat().st_mode & 0o7777 == 0o640
    first = model.read_bytes()
    model.chmod(0o600)
    link = out / "link.rlx"
    link.symlink_to(model)
    for prefix in ([], without_names_for_files() or []):
        model.write_bytes(OLD)
        subprocess.run([*prefix, *command(folder, link)], check=True, timeout=TIMEOUT)
        assert link.is_symlink() and model.read_bytes() == first
        assert model.stat().st_mode & 0o7777 == 0o600
        assert sorted(os.listdir(out)) == ["link.rlx", "m.rlx"]
