"""Inputs of GradBench's evaluations: sizes and distributions are GradBench's; hands and text are drawn at random instead of read from files.

`workloads(name, full)` gives (label, function, input) in the order of their size. Without `full` they are small enough for a test.
"""

import numpy as np

SEED = 31337


def hello(full):
    x = 1.0
    for i in range(4):
        yield f"{x:g}", "square", x
        x = x * x
        yield f"{x:g}", "double", x
        x = 2 * x


def llsq(full):
    rng = np.random.default_rng(SEED)
    for n in (1024, 4096, 16392) if full else (16, 64):
        given = {"x": rng.random(128).tolist(), "n": n}
        yield f"n={n}, m=128", "primal", given
        yield f"n={n}, m=128", "gradient", given


def lse(full):
    rng = np.random.default_rng(SEED)
    for n in (10_000, 160_000, 1_280_000) if full else (2500,):
        given = {"x": rng.random(n).tolist()}
        yield f"n={n}", "primal", given
        yield f"n={n}", "gradient", given


def ode(full):
    rng = np.random.default_rng(SEED)
    for n, s in ((1000, 10), (1000, 100), (10_000, 100)) if full else ((100, 4),):
        given = {"x": rng.random(n).tolist(), "s": s}
        yield f"n={n}, s={s}", "primal", given
        yield f"n={n}, s={s}", "gradient", given


def det(full):
    rng = np.random.default_rng(SEED)
    for ell in (5, 8, 11) if full else (1, 2, 5):
        given = {"A": rng.random(ell * ell).tolist(), "ell": ell}
        yield f"{ell}", "primal", given
        yield f"{ell}", "gradient", given


def gmm(full):
    rng = np.random.default_rng(SEED)
    for d, k, n in ((2, 5, 1000), (10, 25, 1000), (32, 10, 1000), (20, 50, 1000)) if full else ((3, 4, 20),):
        given = {
            "d": d, "k": k, "n": n, "gamma": 1.0, "m": 0,
            "alpha": rng.normal(size=k).tolist(), "mu": rng.random((k, d)).tolist(), "q": rng.normal(size=(k, d)).tolist(),
            "l": rng.normal(size=(k, d * (d - 1) // 2)).tolist(), "x": rng.normal(size=(n, d)).tolist(),
        }  # fmt: skip
        yield f"d={d}, k={k}, n={n}", "objective", given
        yield f"d={d}, k={k}, n={n}", "jacobian", given


def ba(full):
    rng = np.random.default_rng(SEED)
    for n, m, p in ((21, 11315, 36455), (161, 48126, 182072)) if full else ((2, 5, 7),):
        cam = [0.017, -0.013, -0.006, -0.034, -0.107, 1.12, 399.8, 0.02, -0.01, -3.2e-7, 5.9e-13]
        given = {"n": n, "m": m, "p": p, "cam": cam, "x": [-0.61, 0.57, -1.85], "w": float(rng.random()), "feat": [-332.65, 262.09]}
        yield f"n={n}, m={m}, p={p}", "objective", given
        yield f"n={n}, m={m}, p={p}", "jacobian", given


def lstm(full):
    rng = np.random.default_rng(SEED)
    b = 14
    for layers, count in ((2, 1024), (4, 1024), (4, 4096)) if full else ((2, 12),):
        given = {
            "main_params": rng.normal(size=(2 * layers, 4 * b)).tolist(), "extra_params": rng.normal(size=(3, b)).tolist(),
            "state": rng.normal(size=(2 * layers, b)).tolist(), "sequence": rng.integers(0, 2, (count, b)).astype(float).tolist(),
        }  # fmt: skip
        yield f"l={layers}, c={count}", "objective", given
        yield f"l={layers}, c={count}", "jacobian", given


def kmeans(full):
    rng = np.random.default_rng(SEED)
    for k, n, d in ((10, 1000, 8), (100, 10_000, 8), (10, 100_000, 16)) if full else ((5, 60, 3),):
        points = rng.random((n, d)).tolist()
        given = {"points": points, "centroids": points[-k:]}
        yield f"k={k}, n={n}, d={d}", "cost", given
        yield f"k={k}, n={n}, d={d}", "dir", given


BONES = 22


def hand(rng, vertices, correspondences, complicated):
    """A hand of 22 bones with random bones, vertices and weights."""

    def moves(count, spread):
        made = np.tile(np.eye(4), (count, 1, 1))
        made[:, :3, 3] = spread * rng.normal(size=(count, 3))
        made[:, :3, :3] += 0.1 * rng.normal(size=(count, 3, 3))
        return made

    # The wrist, five fingers of four bones each, the forearm.
    parents = [-1] + [0 if i % 4 == 0 else i for i in range(20)] + [0]
    weights = rng.random((vertices, BONES)) ** 8
    positions = np.concatenate([rng.normal(size=(vertices, 3)), np.ones((vertices, 1))], 1)
    model = {
        "bone_count": BONES, "bone_names": [f"bone{i}" for i in range(BONES)], "parents": parents,
        "base_relatives": moves(BONES, 0.5).tolist(), "inverse_base_absolutes": moves(BONES, 0.5).tolist(),
        "base_positions": positions.tolist(), "weights": (weights / weights.sum(1, keepdims=True)).tolist(),
        "triangles": rng.integers(0, vertices, (2 * vertices, 3)).tolist(), "is_mirrored": False,
    }  # fmt: skip
    data = {
        "model": model, "points": rng.normal(size=(correspondences, 3)).tolist(),
        "correspondences": rng.integers(0, 2 * vertices if complicated else vertices, correspondences).tolist(),
    }  # fmt: skip
    us = rng.random((correspondences, 2)).tolist() if complicated else []
    return {"theta": (0.3 * rng.normal(size=26)).tolist(), "data": data, "us": us}


def ht(full):
    rng = np.random.default_rng(SEED)
    for vertices, count in ((544, 100), (544, 5000), (10_000, 100)) if full else ((12, 5),):
        for complicated in (False, True):
            given = hand(rng, vertices, count, complicated)
            label = f"{'complicated' if complicated else 'simple'}, {vertices} vertices, {count} points"
            yield label, "objective", given
            yield label, "jacobian", given


def particle(full):
    for function in ("rr", "ff", "fr", "rf"):
        yield "w=0", function, {"w": 0.0}


def saddle(full):
    for function in ("rr", "ff", "fr", "rf"):
        yield "start=(1, 1)", function, {"start": [1.0, 1.0]}


EVALUATIONS = {f.__name__: f for f in (hello, gmm, ba, ht, kmeans, lstm, det, ode, llsq, lse, particle, saddle)}


def workloads(name, full=True):
    return EVALUATIONS[name](full)
