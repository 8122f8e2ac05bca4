"""Two products and what is between them in blocks of rows that only a run counts."""

import numpy as np
import pytest

import relay

PROGRAM = """
def @main(%a: Tensor[(u, 64), float32], %w: Tensor[(64, 64), float32],
          %b: Tensor[(t, 1, 64), float32], %v: Tensor[(64, 48), float32]) {
  nn.matmul(nn.relu(add(%b, nn.matmul(%a, %w))), %v)
}
"""


@pytest.fixture(scope="module")
def compiled():
    return [relay.compile(relay.parse(PROGRAM), threads=threads) for threads in (1, 2)]


# Fewer rows than blocks are cut into, as many, a last block that overlaps the one before, and blocks of full size.
@pytest.mark.parametrize("rows", [0, 1, 7, 8, 9, 50, 777])
def test_any_number_of_rows(compiled, rows):
    rng = np.random.default_rng(rows)
    a, w, b, v = (rng.standard_normal(shape).astype("float32") for shape in ((rows, 64), (64, 64), (5, 1, 64), (64, 48)))
    one, two = (np.asarray(program(a, w, b, v)) for program in compiled)
    expected = np.maximum(b + a @ w, 0) @ v
    assert one.shape == (5, rows, 48)
    np.testing.assert_allclose(one, expected, rtol=1e-4, atol=1e-4)
    assert one.tobytes() == two.tobytes()
