"""Fixtures of the tests of the Python package."""

import subprocess
import sys

import pytest


@pytest.fixture
def python():
    """Runs a program in a Python process of its own: `python(text)` gives its output and fails where it fails."""

    def run(text: str, status: int = 0, timeout: float = 300.0) -> str:
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=timeout)
        assert done.returncode == status, f"exit status {done.returncode}\n{done.stdout}{done.stderr}"
        assert "leaked" not in done.stderr, done.stderr
        return done.stdout

    return run
