"""All measured kernels."""

import blocks
import cases as numeric
import searching


def cases():
    yield from numeric.cases()
    yield from searching.cases()
    yield from blocks.cases()
