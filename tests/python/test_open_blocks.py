"""Blocks whose number only a run knows: rows between two products, tiles of open planes."""

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


def test_a_pyramid_of_open_planes() -> None:
    # Each level's extents are terms over those of the level below: the terms of the work of a
    # convolution there hold more parts than a term may have, and are not known.
    lines, last = [], "%x"
    for i in range(5):
        lines.append(f"let %p{i} = nn.max_pool2d({last}, pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1]);")
        last = f"%p{i}"
    for i in range(4, 0, -1):
        lines.append(f"let %u{i} = nn.upsampling({last}, scale_h=2f64, scale_w=2f64) + %p{i - 1};")
        lines.append(f"let %c{i} = nn.relu(nn.conv2d(%u{i}, %w, padding=[1, 1, 1, 1], channels=16, kernel_size=[3, 3]));")
        last = f"%c{i}"
    mod = relay.parse(
        "def @main(%x: Tensor[(1, 16, h, w), float32], %w: Tensor[(16, 16, 3, 3), float32]) { " + " ".join(lines) + last + " }"
    )
    random = np.random.RandomState(0)
    w = (random.randn(16, 16, 3, 3) / 12).astype("float32")
    program = relay.compile(mod, params={"w": w})
    for extents in ((64, 96), (128, 160)):
        x = random.randn(1, 16, *extents).astype("float32")
        np.testing.assert_allclose(program.run([x]), relay.evaluate(mod, x, w), rtol=1e-4, atol=1e-4)
