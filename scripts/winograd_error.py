#!/usr/bin/env python3
"""Errors of minimal filtering F(2x2, 3x3), F(4x4, 3x3) and F(2x2, 5x5) in float32, next to those of plain sums: scripts/winograd_error.py

For normally distributed data and weights of 128 channels: the root of the mean square of the error against sums in float64, and the
greatest error, both relative to the root of the mean square of the results. docs/numerics.md has the table.
"""

import numpy as np

CHANNELS, OUT_CHANNELS, TILES = 128, 32, 64


def six_points(a, b, tile):
    """Matrices of F(4, 3) or F(2, 5) at the points 0, a, -a, b, -b and infinity: of data, weights, results."""
    p, s = a * a * b * b, a * a + b * b
    data = [[p, 0, -s, 0, 1, 0], [0, p, 0, -s, 0, 1]]
    for x, other in ((a, b), (-a, b), (b, a), (-b, a)):
        data.insert(-1, [0, -x * other**2, -(other**2), x, 1, 0])
    taps = 7 - tile
    weights = [np.eye(taps)[0] / p]
    for x, other in ((a, b), (-a, b), (b, a), (-b, a)):
        weights.append(np.array([x**k for k in range(taps)]) / (2 * x * x * (x * x - other * other)))
    weights.append(np.eye(taps)[-1])
    results = [[float(k == 0)] + [x**k for x in (a, -a, b, -b)] + [float(k == tile - 1)] for k in range(tile)]
    return np.array(data), np.array(weights), np.array(results)


def two():
    """The same of F(2, 3) at 0, 1, -1 and infinity."""
    data = [[-1, 0, 1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, -1, 0, 1]]
    weights = [[-1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]]
    return np.array(data, float), np.array(weights, float), np.array([[1, 1, 1, 0], [0, 1, -1, 1]], float)


def errors(data_matrix, weight_matrix, result_matrix):
    random = np.random.default_rng(0)
    points, tile, taps = len(data_matrix), len(result_matrix), weight_matrix.shape[1]
    data = random.standard_normal((CHANNELS, TILES, points, points)).astype("f")
    weights = random.standard_normal((OUT_CHANNELS, CHANNELS, taps, taps)).astype("f")
    exact = np.zeros((OUT_CHANNELS, TILES, tile, tile))
    sums = np.zeros_like(exact, "f")
    for y in range(taps):
        for x in range(taps):
            part = data[:, :, y : y + tile, x : x + tile]
            exact += np.einsum("kc,ctab->ktab", weights[:, :, y, x].astype("d"), part.astype("d"), optimize=True)
            sums += np.einsum("kc,ctab->ktab", weights[:, :, y, x], part, optimize=True)
    single = [matrix.astype("f") for matrix in (data_matrix, weight_matrix, result_matrix)]
    transformed = single[0] @ data @ single[0].T
    products = np.einsum("kcij,ctij->ktij", single[1] @ weights @ single[1].T, transformed, optimize=True)
    found = single[2] @ products @ single[2].T
    scale = np.sqrt((exact**2).mean())
    return [np.sqrt(((value - exact) ** 2).mean()) / scale for value in (sums, found)] + [abs(found - exact).max() / scale]


for name, matrices in (
    ("2x2: 0, 1", two()),
    ("4x4: 0, 5/8, 3/2", six_points(0.625, 1.5, 4)),
    ("4x4: 0, 1, 2", six_points(1, 2, 4)),
    ("2x2 of 5x5: 0, 5/8, 3/2", six_points(0.625, 1.5, 2)),
):
    sums, tiles, greatest = errors(*matrices)
    print(f"{name:24} sums {sums:.1e}  tiles {tiles:.1e}  greatest {greatest:.1e}")
