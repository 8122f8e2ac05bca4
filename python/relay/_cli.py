"""The command `relay`, which the wheel installs: the same as the executable, run in this process. `serve` is written in Python."""

from __future__ import annotations

import os
import signal
import sys

from . import _core


def main() -> int:
    """Runs the command line of this process and gives its exit code."""
    if sys.argv[1:2] == ["serve"]:
        from .serve.cli import main as serve

        return serve(sys.argv[2:])
    # The process is the command's: a closed pipe ends it without a word, as it does others.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    # Python's own handler would only remember Ctrl-C for an interpreter that is not running. Who started this process
    # may have it ignored.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _core.run_command([os.fsencode(word) for word in sys.argv])
