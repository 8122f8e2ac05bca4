"""Memory that a process gives back."""

import os
from pathlib import Path

import numpy as np

import relay


def _resident():
    """Bytes of this process that are in memory and have a file behind them."""
    return int(Path("/proc/self/statm").read_text().split()[2]) * os.sysconf("SC_PAGE_SIZE")


def test_memory_of_the_compiler_is_given_back():
    mod = relay.parse("def @main(%x: Tensor[(n), float32]) { exp(%x) + 1f }")
    x = np.zeros(3, "float32")
    run = relay.compile(mod, cache=False)
    before = _resident()
    relay.release_memory()
    assert _resident() < before - (1 << 20)
    np.testing.assert_array_equal(run(x), x + 2)
    np.testing.assert_array_equal(relay.compile(mod, cache=False)(x), x + 2)
