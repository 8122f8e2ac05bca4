"""Reverse mode = forward mode = differences, in both executors, of random programs. random_gradients.py runs thousands."""

import os

import pytest
import relay
from random_gradients import check

COUNT = int(os.environ.get("RELAY_RANDOM_GRADIENTS", "200"))
PART = 20


@pytest.mark.parametrize("first", range(0, COUNT, PART))
def test_random_programs(first):
    for seed in range(first, min(first + PART, COUNT)):
        check(relay, seed, seed % 5)
