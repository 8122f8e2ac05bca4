"""All measured kernels."""

import cases as numeric
import searching


def cases():
    yield from numeric.cases()
    yield from searching.cases()
