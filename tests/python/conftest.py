"""Fixtures of the tests of the Python package."""

import os
import signal
import subprocess
import sys

import pytest


def heed_interrupts():
    """For `preexec_fn`: shells ignore Ctrl-C in what they run in the background, and their children inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def python():
    """Runs a program in a Python process of its own: `python(text)` gives its output and fails where it fails. With `leaks`,
    objects that outlive the interpreter are a failure; with `outlives` they are none wherever the tests run."""

    def run(text: str, status: int = 0, timeout: float = 300.0, leaks: bool = False, outlives: bool = False) -> str:
        environment = {**os.environ, "RELAY_PYTHON_LEAKS": "1"} if leaks else dict(os.environ)
        if outlives:
            environment.pop("RELAY_PYTHON_LEAKS", None)
        timeout *= float(os.environ.get("RELAY_TIMEOUT_FACTOR", "1"))
        command = [sys.executable, "-X", "faulthandler", "-c", text]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout, env=environment, preexec_fn=heed_interrupts
        )
        assert done.returncode == status, f"exit status {done.returncode}\n{done.stdout}{done.stderr}"
        assert "leaked" not in done.stderr, done.stderr
        return done.stdout

    return run
