"""Programs as people write them for JAX: each is compared with NumPy, or with what it has to find."""

import dataclasses
import math
from typing import NamedTuple

import numpy as np

import relay
import relay.numpy as rnp
from relay import random


def test_logistic_regression():
    generator = np.random.default_rng(0)
    x = generator.normal(size=(200, 3)).astype("float32")
    y = (x @ np.array([1.0, -2.0, 0.5]) > 0).astype("float32")

    def predict(w, b, x):
        return 1 / (1 + rnp.exp(-(rnp.dot(x, w) + b)))

    def loss(w, b):
        p = predict(w, b, x)
        return -rnp.mean(y * rnp.log(p + 1e-7) + (1 - y) * rnp.log(1 - p + 1e-7))

    @relay.jit
    def update(w, b, rate=1.0):
        value, (dw, db) = relay.value_and_grad(loss, argnums=(0, 1))(w, b)
        return w - rate * dw, b - rate * db, value

    w, b = rnp.zeros(3), 0.0
    for _ in range(200):
        w, b, value = update(w, b)
    assert float(value) < 0.15 and ((np.asarray(predict(w, b, x)) > 0.5) == y).mean() > 0.97


class Params(NamedTuple):
    weight: object
    bias: object


def test_training_of_a_network():
    def init(key, sizes):
        keys = random.split(key, len(sizes) - 1)
        return [Params(random.normal(k, (m, n)) * math.sqrt(2 / m), rnp.zeros(n)) for k, m, n in zip(keys, sizes[:-1], sizes[1:])]

    def forward(params, x):
        *hidden, last = params
        for layer in hidden:
            x = rnp.maximum(x @ layer.weight + layer.bias, 0)
        return x @ last.weight + last.bias

    def loss(params, x, labels):
        logits = forward(params, x)
        likely = logits - rnp.logsumexp(logits, axis=-1, keepdims=True)
        return -rnp.take_along_axis(likely, labels[:, None], axis=-1).mean()

    @relay.jit
    def step(params, moments, x, labels):
        value, slopes = relay.value_and_grad(loss)(params, x, labels)
        moments = relay.functions.map_tree(lambda m, g: 0.9 * m + g, moments, slopes)
        params = relay.functions.map_tree(lambda p, m: p - 0.05 * m, params, moments)
        return params, moments, value

    generator = np.random.default_rng(0)
    x = generator.uniform(-1, 1, (256, 2)).astype("float32")
    labels = (x[:, 0] * x[:, 1] > 0).astype("int32")
    params = init(random.key(0), [2, 16, 16, 2])
    moments = relay.functions.map_tree(rnp.zeros_like, params)
    for _ in range(150):
        params, moments, value = step(params, moments, x, labels)
    assert float(value) < 0.1 and (np.asarray(forward(params, x)).argmax(1) == labels).mean() > 0.97 and step.programs == 1


def test_mandelbrot():
    @relay.function
    def mandelbrot(size, limit):
        re, im = rnp.meshgrid(rnp.linspace(-2, 0.5, 24), rnp.linspace(-1.25, 1.25, 20))
        x, y = rnp.zeros_like(re), rnp.zeros_like(im)
        count = rnp.zeros(re.shape, dtype=rnp.int32)
        for _ in range(limit):
            x, y = x * x - y * y + re, 2 * x * y + im
            inside = x * x + y * y < size
            x, y = rnp.where(inside, x, 10.0), rnp.where(inside, y, 0.0)
            count += inside
        return count

    re, im = np.meshgrid(np.linspace(-2, 0.5, 24, dtype="float32"), np.linspace(-1.25, 1.25, 20, dtype="float32"))
    z, c, expected = np.zeros(re.shape, complex), re + 1j * im, np.zeros(re.shape, int)
    for _ in range(30):
        z = z * z + c
        inside = abs(z) ** 2 < 4
        z[~inside] = 10
        expected += inside
    assert (np.asarray(mandelbrot(4.0, 30)) == expected).mean() > 0.99


def test_runge_kutta():
    def pendulum(t, state):
        angle, speed = state
        return speed, -rnp.sin(angle)

    @relay.function(static_argnames="f")
    def solve(f, state, times):
        def step(state, span):
            t, h = span
            along = lambda k, c: tuple(s + c * h * d for s, d in zip(state, k))  # noqa: E731
            k1 = f(t, state)
            k2 = f(t + h / 2, along(k1, 0.5))
            k3 = f(t + h / 2, along(k2, 0.5))
            k4 = f(t + h, along(k3, 1.0))
            new = tuple(s + h / 6 * (a + 2 * b + 2 * c + d) for s, a, b, c, d in zip(state, k1, k2, k3, k4))
            return new, new

        return relay.scan(step, state, (times[:-1], rnp.diff(times)))[1]

    angle, speed = solve(pendulum, (rnp.asarray(1.0, dtype="float64"), rnp.asarray(0.0, dtype="float64")), rnp.linspace(0, 10, 401, dtype="float64"))
    energy = np.asarray(speed) ** 2 / 2 - np.cos(np.asarray(angle))
    assert angle.dtype == "float64" and np.abs(energy + np.cos(1)).max() < 1e-7
    # How the end depends on the start.
    end = lambda a: solve(pendulum, (a, rnp.asarray(0.0, dtype="float64")), rnp.linspace(0, 3, 61, dtype="float64"))[0][-1]  # noqa: E731
    slope = float(relay.grad(end)(rnp.asarray(1.0, dtype="float64")))
    assert abs(slope - (float(end(1.0001)) - float(end(0.9999))) / 0.0002) < 1e-4


def test_k_means():
    @relay.function(static_argnames="k")
    def k_means(points: relay.f32["n", 2], k):
        centres = points[rnp.arange(k)]  # points[:k] may have fewer rows

        def assign(centres):
            return rnp.argmin(((points[:, None] - centres) ** 2).sum(-1), axis=1)

        moved, turns = rnp.asarray(1.0), 0
        while moved > 1e-5 and turns < 100:
            member = (assign(centres)[:, None] == rnp.arange(k)).astype(rnp.float32)
            new = (member.T @ points) / rnp.maximum(member.sum(0)[:, None], 1)
            moved = rnp.abs(new - centres).max()
            centres, turns = new, turns + 1
        return centres, assign(centres), turns

    generator = np.random.default_rng(0)
    middles = np.array([[0, 0], [5, 5], [0, 5]], "float32")
    for each in (30, 50):
        points = (middles[np.arange(3 * each) % 3] + generator.normal(size=(3 * each, 2)) * 0.3).astype("float32")
        centres, member, turns = k_means(points, 3)
        assert np.abs(np.asarray(centres) - middles).max() < 0.3 and (np.asarray(member) == np.arange(3 * each) % 3).all() and int(turns) < 10
    assert k_means.programs == 1


def test_game_of_life():
    @relay.function
    def life(board, turns):
        for _ in range(turns):
            around = sum(rnp.roll(board, (i, j), axis=(0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0))
            board = ((around == 3) | ((board == 1) & (around == 2))).astype(board.dtype)
        return board

    board = np.zeros((8, 8), "int32")
    board[1, 2] = board[2, 3] = board[3, 1] = board[3, 2] = board[3, 3] = 1  # a glider moves by one each way in four turns
    assert (np.asarray(life(board, 4)) == np.roll(board, (1, 1), (0, 1))).all() and (np.asarray(life(board, 32)) == board).all() and life.programs == 1


def test_markov_chain():
    matrix = rnp.asarray([[0.9, 0.1, 0.0], [0.2, 0.7, 0.1], [0.0, 0.3, 0.7]])

    @relay.function
    def stationary(p):
        return relay.while_loop(lambda s: rnp.abs(s @ p - s).max() > 1e-7, lambda s: s @ p, rnp.ones(3) / 3)

    @relay.function(static_argnames="steps")
    def walk(key, steps):
        def step(state, key):
            state = random.categorical(key, rnp.log(matrix[state]))
            return state, state

        return relay.scan(step, rnp.asarray(0), random.split(key, steps))[1]

    exact = np.asarray(stationary(matrix))
    values, vectors = np.linalg.eig(np.asarray(matrix, dtype="float64").T)
    expected = np.real(vectors[:, np.argmax(values.real)])
    np.testing.assert_allclose(exact, expected / expected.sum(), atol=1e-5)
    visits = np.bincount(np.asarray(walk(random.key(3), 4000)), minlength=3) / 4000
    assert np.abs(visits - exact).max() < 0.06


def test_newtons_method():
    def newton(f, x0, tolerance=1e-6):
        slope = relay.grad(f)

        @relay.jit
        def solve(x):
            def body(state):
                x, _, n = state
                step = f(x) / slope(x)
                return x - step, rnp.abs(step), n + 1

            return relay.while_loop(lambda s: (s[1] > tolerance) & (s[2] < 50), body, (x, 1.0, 0))

        return solve(x0)

    root, _, turns = newton(lambda x: x**3 - 2 * x - 5, 2.0)
    assert abs(float(root) - 2.0945514) < 1e-5 and int(turns) < 10
    # In several dimensions, with the hessian.
    rosen = lambda v: (1 - v[0]) ** 2 + 100 * (v[1] - v[0] ** 2) ** 2  # noqa: E731

    @relay.jit
    def step(v):
        g, h = relay.grad(rosen)(v), relay.hessian(rosen)(v)
        determinant = h[0, 0] * h[1, 1] - h[0, 1] * h[1, 0]
        return v - rnp.stack([h[1, 1] * g[0] - h[0, 1] * g[1], h[0, 0] * g[1] - h[1, 0] * g[0]]) / determinant

    v = rnp.asarray([-1.2, 1.0], dtype="float64")
    for _ in range(8):
        v = step(v)
    assert np.allclose(v, [1, 1])


def test_filter_by_fourier_transform():
    @relay.function
    def low_pass(signal, cut):
        n = signal.shape[0]
        real, imaginary = rnp.fft.rfft(signal)
        keep = rnp.fft.rfftfreq(n, d=1 / n) <= cut
        return rnp.fft.irfft(rnp.where(keep, real, 0.0), rnp.where(keep, imaginary, 0.0), n)

    t = np.arange(256) / 256
    slow, fast = np.sin(2 * np.pi * 3 * t), 0.5 * np.sin(2 * np.pi * 60 * t)
    assert np.abs(np.asarray(low_pass((slow + fast).astype("float32"), 10)) - slow).max() < 1e-4


@dataclasses.dataclass
class Attention:
    query: object
    key: object
    value: object
    heads: int = dataclasses.field(default=2)

    def __call__(self, x):
        length, width = x.shape
        q, k, v = ((x @ w).reshape(length, self.heads, width // self.heads).swapaxes(0, 1) for w in (self.query, self.key, self.value))
        scores = q @ k.mT / math.sqrt(width // self.heads)
        scores = rnp.where(rnp.tril(rnp.ones((length, length), dtype=rnp.bool)), scores, -rnp.inf)
        return (rnp.softmax(scores, axis=-1) @ v).swapaxes(0, 1).reshape(length, width)


def test_attention():
    generator = np.random.default_rng(0)
    q, k, v = (generator.normal(size=(8, 8)).astype("float32") / 3 for _ in range(3))
    x = generator.normal(size=(5, 8)).astype("float32")

    @relay.function
    def loss(q, k, v, x):
        return (Attention(q, k, v)(x) ** 2).sum()

    def reference(q, k, v, x):
        out = []
        for h in range(2):
            part = slice(4 * h, 4 * h + 4)
            scores = (x @ q)[:, part] @ (x @ k)[:, part].T / 2
            scores[np.triu_indices(5, 1)] = -np.inf
            weight = np.exp(scores - scores.max(1, keepdims=True))
            out.append(weight / weight.sum(1, keepdims=True) @ (x @ v)[:, part])
        return (np.concatenate(out, 1) ** 2).sum()

    exact = [one.astype("float64") for one in (q, k, v, x)]
    assert abs(float(loss(q, k, v, x)) / reference(*exact) - 1) < 1e-5
    slopes = relay.grad(loss, argnums=(0, 1, 2, 3))(q, k, v, x)
    moved = [one.copy() for one in exact]
    moved[0][2, 3] += 1e-6
    assert abs(float(slopes[0][2, 3]) - (reference(*moved) - reference(*exact)) / 1e-6) < 1e-3
