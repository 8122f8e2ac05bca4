"""Scripts as users of TVM 0.8 to 0.19 wrote them: each is run whole, and those that fail are those of `failing.tsv`.

A file with tests runs under pytest, every other one from its first line to its last. Each runs in a process of its own, a copy of this one.
"""

import io
import os
import re
import runpy
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tvm.testing.plugin  # noqa: F401  (loaded once, for all copies)

HERE = Path(__file__).parent
SCRIPTS = sorted(path for path in HERE.glob("*.py") if path.name != Path(__file__).name)
FAILING = dict(line.split("\t", 1) for line in (HERE / "failing.tsv").read_text(encoding="utf-8").splitlines()[1:])


# OpenMP, which oneDNN uses, does not survive a fork of a process that has used it, as tests before may have done.
NEW_PROCESS = {"byoc_dnnl_constants.py"}


def run(path: Path) -> None:
    """Runs a script; SystemExit with something other than 0 where it fails."""
    source = path.read_text(encoding="utf-8")
    sys.argv = [str(path)]
    if re.search(r"^\s*def test_|^class Test", source, re.MULTILINE):
        options = ["-q", "-p", "no:cacheprovider", "-p", "tvm.testing.plugin", "-c", os.devnull, "--rootdir", str(HERE)]
        raise SystemExit(int(pytest.main([*options, str(path)])))
    runpy.run_path(str(path), run_name="__main__")


def outcome(path: Path, folder: Path) -> str:
    """The text that a script printed, where it failed; nothing where it ran whole."""
    log = folder / (path.stem + ".log")
    if path.name in NEW_PROCESS:
        ended = subprocess.run([sys.executable, str(path)], stdout=log.open("w"), stderr=subprocess.STDOUT, timeout=240)
        return "" if ended.returncode == 0 else log.read_text(encoding="utf-8")
    child = os.fork()
    if child == 0:
        status = 1
        with open(log, "w", encoding="utf-8") as stream:
            os.dup2(stream.fileno(), 1)
            os.dup2(stream.fileno(), 2)
            sys.stdout, sys.stderr = io.TextIOWrapper(open(1, "wb", closefd=False)), io.TextIOWrapper(open(2, "wb", closefd=False))
            try:
                run(path)
                status = 0
            except SystemExit as end:
                status = 1 if end.code else 0
            except BaseException:
                import traceback

                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(status)
    for _ in range(6000):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        time.sleep(0.02)
    else:
        os.kill(child, 9)
        os.waitpid(child, 0)
        return f"{path.name} did not end within two minutes"
    return "" if status == 0 else log.read_text(encoding="utf-8") or f"{path.name} ended with status {status}"


@pytest.mark.parametrize("path", SCRIPTS, ids=[path.stem for path in SCRIPTS])
def test_script(path, tmp_path):
    found = outcome(path, tmp_path)
    if path.name in FAILING:
        assert found, f"{path.name} runs whole by now: take it out of failing.tsv"
    else:
        assert not found, found


def test_enough_scripts_run():
    assert len(SCRIPTS) >= 100
    assert set(FAILING) <= {path.name for path in SCRIPTS}
    # Scripts that wait for a pass were written before it.
    lasting = [name for name, reason in FAILING.items() if not reason.startswith("waits for ")]
    assert len(lasting) <= len(SCRIPTS) * 3 // 100
