"""Memory that a process gives back."""

import os
from pathlib import Path

import numpy as np
import pytest

import relay

_MIB = 1 << 20
_KEEPS_NOTHING = pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""), reason="AddressSanitizer has a heap of its own")


def _memory():
    """Bytes of this process that are in memory: those that have no file behind them, and those that have one."""
    _, resident, shared, *_ = (int(pages) * os.sysconf("SC_PAGE_SIZE") for pages in Path("/proc/self/statm").read_text().split())
    return resident - shared, shared


def test_memory_of_the_compiler_is_given_back():
    mod = relay.parse("def @main(%x: Tensor[(n), float32]) { exp(%x) + 1f }")
    x = np.zeros(3, "float32")
    run = relay.compile(mod, cache=False)
    _, before = _memory()
    relay.release_memory()
    assert _memory()[1] < before - _MIB
    np.testing.assert_array_equal(run(x), x + 2)
    np.testing.assert_array_equal(relay.compile(mod, cache=False)(x), x + 2)


@_KEEPS_NOTHING
def test_blocks_that_are_kept_for_later_runs_are_given_back():
    run = relay.compile(relay.parse("def @main(%x: Tensor[(n), float32]) { exp(%x) + 1f }"))
    x = np.zeros(16 * _MIB, "float32")
    relay.release_memory()  # of what other tests left
    result = run(x)
    assert result.shape == x.shape
    del result
    before, _ = _memory()
    relay.release_memory()
    assert _memory()[0] < before - 60 * _MIB
    np.testing.assert_array_equal(run(x), x + 2)


@_KEEPS_NOTHING
def test_freed_blocks_of_the_heap_are_given_back():
    relay.release_memory()  # of what other tests left
    blocks = [bytes(range(256)) * 256 for _ in range(1024)]  # 64 KiB each, which have no mapping of their own
    last = blocks.pop()  # the heap cannot shrink below it
    blocks.clear()
    before, _ = _memory()
    relay.release_memory()
    assert _memory()[0] < before - 40 * _MIB
    assert last[255] == 255
