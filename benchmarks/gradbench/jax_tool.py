#!/usr/bin/env python3
"""GradBench's evaluations by JAX, compiled by XLA before they are timed: jax_tool.py [--threads N]

JAX has no reverse mode through loops of unknown length, so `particle` and `saddle` have the variants with an outer forward mode only. One
thread means that the process is bound to one core, as GradBench does.
"""

import argparse
import os
import sys

import numpy as np
from protocol import Function, serve
from reference import ba_places, wishart_constant
from tables import bone_angles, minors, triangle_places

# The number of cores must be known before JAX starts.
parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--threads", type=int, default=0, help="0 stands for all cores")
THREADS = parser.parse_args().threads if __name__ == "__main__" else 0
if THREADS:
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")


def lists(result):
    return np.asarray(result).tolist()


def number(result):
    return float(result)


def array(value):
    return jnp.asarray(np.asarray(value, float))


def ready(f, *args):
    """The compiled function with its arguments, run once."""
    compiled = jax.jit(f)
    jax.block_until_ready(compiled(*args))
    return lambda: jax.block_until_ready(compiled(*args))


def pair(f, prepare, shown=number, name="primal", derived="gradient", pack=lists, argnums=0, value=None):
    """A function of numbers and its gradient. `prepare` gives the arguments, and those that are fixed when it is compiled."""

    def fixed(g, static):
        return lambda *args: g(*args, **static)

    def values(given):
        args, static = prepare(given)
        return ready(fixed(value or f, static), *args)

    def slopes(given):
        args, static = prepare(given)
        return ready(jax.grad(fixed(f, static), argnums), *args)

    return {name: Function(values, shown), derived: Function(slopes, pack)}


def llsq(x, t):
    powers = t[:, None] ** jnp.arange(x.shape[0])
    return 0.5 * jnp.sum((jnp.sign(t) - powers @ x) ** 2)


def prepare_llsq(given):
    return [array(given["x"]), array(-1 + np.arange(given["n"]) * 2 / (given["n"] - 1))], {}


def ode(x, steps):
    h = 2 / steps

    def slope(y):
        return x * jnp.concatenate([jnp.ones(1), y[:-1]])

    def step(y, _):
        k1 = slope(y)
        k2 = slope(y + h / 2 * k1)
        k3 = slope(y + h / 2 * k2)
        k4 = slope(y + h * k3)
        return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), None

    return jax.lax.scan(step, jnp.zeros_like(x), length=steps)[0]


def det(a, levels):
    minor = a[-1]
    for row, (columns, below, signs) in enumerate(levels):
        minor = jnp.sum(signs * a[a.shape[0] - 2 - row][columns] * minor[below], 1)
    return minor.reshape(())


def prepare_det(given):
    return [array(given["A"]).reshape(given["ell"], -1)], {"levels": minors(given["ell"])}


def gmm(alpha, mu, q, l, x, places, constant, gamma, m):
    k, d = mu.shape
    lower = jnp.zeros((k, d * d)).at[:, places].set(l).reshape(k, d, d)
    centred = x[None] - mu[:, None]
    turned = jnp.exp(q)[:, None] * centred + centred @ lower.transpose(0, 2, 1)
    main = (alpha + q.sum(1))[:, None] - 0.5 * jnp.sum(turned**2, 2)
    prior = 0.5 * gamma**2 * (jnp.sum(jnp.exp(q) ** 2) + jnp.sum(l**2)) - m * q.sum()
    total = jax.scipy.special.logsumexp(main, 0).sum()
    return constant + total - x.shape[0] * jax.scipy.special.logsumexp(alpha) - prior


def prepare_gmm(given):
    d, k = given["d"], given["k"]
    i, j = np.triu_indices(d, 1)
    args = [array(given[name]) for name in ("alpha", "mu", "q")] + [array(given["l"]).reshape(k, -1), array(given["x"])]
    return args, {"places": j * d + i, "constant": wishart_constant(given), "gamma": given["gamma"], "m": given["m"]}


def pack_gmm(gradients):
    return dict(zip(("alpha", "mu", "q", "l"), map(lists, gradients)))


def ba_errors(cam, x, w, feat):
    rotation, centre = cam[:, :3], cam[:, 3:6]
    away = x - centre
    theta = jnp.sqrt(jnp.sum(rotation**2, 1, keepdims=True))
    axis = rotation / theta
    c, s = jnp.cos(theta), jnp.sin(theta)
    along = jnp.sum(axis * away, 1, keepdims=True)
    turned = away * c + jnp.cross(axis, away) * s + axis * along * (1 - c)
    flat = turned[:, :2] / turned[:, 2:]
    square = jnp.sum(flat**2, 1, keepdims=True)
    distorted = flat * (1 + cam[:, 9:10] * square + cam[:, 10:11] * square * square)
    return w[:, None] * (distorted * cam[:, 6:7] + cam[:, 7:9] - feat)


def prepare_ba(given):
    n, m, p = given["n"], given["m"], given["p"]
    places = jnp.arange(p)
    return (jnp.tile(array(given["cam"]), (n, 1)), jnp.tile(array(given["x"]), (m, 1)), jnp.full(p, given["w"]),
            jnp.tile(array(given["feat"]), (p, 1)), places % n, places % m)  # fmt: skip


def ba_objective(given):
    def f(cams, points, w, feat, of_cam, of_point):
        return ba_errors(cams[of_cam], points[of_point], w, feat), 1 - w * w

    return ready(f, *prepare_ba(given))


def ba_jacobian(given):
    def f(cams, points, w, feat, of_cam, of_point):
        inputs = cams[of_cam], points[of_point], w
        rows = [jax.grad(lambda *x: ba_errors(*x, feat)[:, i].sum(), (0, 1, 2))(*inputs) for i in range(2)]  # noqa: B023
        return jnp.stack([jnp.concatenate([c, x, u[:, None]], 1) for c, x, u in rows], 1), -2 * w

    call = ready(f, *prepare_ba(given))
    return lambda: (call(), given)


def shown_ba(result):
    errors, weights = result
    p = len(weights)
    return {"reproj_error": {"elements": lists(errors[0]), "repeated": p}, "w_err": {"element": float(weights[0]), "repeated": p}}


def shown_ba_jacobian(result):
    (rows, weights), given = result
    places, columns = ba_places(given)
    return {"rows": places, "cols": columns, "vals": [*lists(rows[0].reshape(-1)), float(weights[-1])]}


def lstm(main, extra, state, sequence):
    layers, b = main.shape[0] // 2, sequence.shape[1]
    weights, biases = main[0::2].reshape(layers, 4, b), main[1::2].reshape(layers, 4, b)
    sigmoid = jax.nn.sigmoid

    def step(carried, lines):
        this, following = lines
        hidden, cell = list(carried[0]), list(carried[1])
        out = this * extra[0]
        for i in range(layers):
            w, v, h = weights[i], biases[i], hidden[i]
            cell[i] = cell[i] * sigmoid(out * w[0] + v[0]) + sigmoid(h * w[1] + v[1]) * jnp.tanh(h * w[3] + v[3])
            hidden[i] = out = sigmoid(out * w[2] + v[2]) * jnp.tanh(cell[i])
        predicted = out * extra[1] + extra[2]
        score = following @ (predicted - jnp.log(jnp.exp(predicted).sum() + 2))
        return (jnp.stack(hidden), jnp.stack(cell)), score

    scores = jax.lax.scan(step, (state[0::2], state[1::2]), (sequence[:-1], sequence[1:]))[1]
    return -scores.sum() / ((len(sequence) - 1) * b)


def prepare_lstm(given):
    return [array(given[name]) for name in ("main_params", "extra_params", "state", "sequence")], {}


def pack_lstm(gradients):
    return lists(np.concatenate([np.asarray(g).reshape(-1) for g in gradients]))


def kmeans(centroids, points):
    distances = (points**2).sum(1)[:, None] + (centroids**2).sum(1) - 2 * points @ centroids.T
    return distances.min(1).sum()


def prepare_kmeans(given):
    return [array(given["centroids"]), array(given["points"])], {}


def kmeans_dir(given):
    def f(centroids, points):
        slope, curve = jax.jvp(lambda c: jax.grad(kmeans)(c, points), (centroids,), (jnp.ones_like(centroids),))
        return slope / curve

    return ready(f, *prepare_kmeans(given)[0])


def turn(axis, angles):
    i, j = [(1, 2), (2, 0), (0, 1)][axis]
    c, s = jnp.cos(angles), jnp.sin(angles)
    made = jnp.tile(jnp.eye(4), (len(angles), 1, 1))
    return made.at[:, i, i].set(c).at[:, j, j].set(c).at[:, j, i].set(s).at[:, i, j].set(-s)


def rotation(v):
    angle = jnp.sqrt(jnp.sum(v**2))
    x, y, z = v / angle
    cross = jnp.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return jnp.eye(3) + jnp.sin(angle) * cross + (1 - jnp.cos(angle)) * cross @ cross


def ht(theta, us, hand, parents, complicated):
    angles = jnp.concatenate([theta, jnp.zeros(1)])[hand["angles"]]
    relatives = hand["relatives"] @ turn(2, angles[:, 2]) @ turn(1, angles[:, 1]) @ turn(0, angles[:, 0])
    absolute = []
    for bone, parent in enumerate(parents):
        absolute.append(relatives[bone] if parent == -1 else absolute[parent] @ relatives[bone])
    moves = jnp.stack(absolute) @ hand["inverses"]
    posed = jnp.einsum("vj,bij,vb->vi", hand["positions"], moves[:, :3], hand["weights"]) * hand["mirror"]
    posed = posed @ rotation(theta[:3]).T + theta[3:6]
    corners = posed[hand["places"]]
    if not complicated:
        return hand["points"] - corners
    whole = jnp.concatenate([us, 1 - us.sum(1, keepdims=True)], 1)
    return hand["points"] - (whole[:, :, None] * corners).sum(1)


def prepare_ht(given):
    data, model = given["data"], given["data"]["model"]
    hand = {
        "angles": jnp.asarray(bone_angles(model["bone_count"])), "relatives": array(model["base_relatives"]),
        "inverses": array(model["inverse_base_absolutes"]), "positions": array(model["base_positions"]),
        "weights": array(model["weights"]), "points": array(data["points"]),
        "mirror": array([-1 if model["is_mirrored"] else 1, 1, 1]), "places": jnp.asarray(triangle_places(given)),
    }  # fmt: skip
    us = array(given["us"]).reshape(-1, 2)
    return (array(given["theta"]), us, hand), {"parents": tuple(model["parents"]), "complicated": len(given["us"]) > 0}


def ht_objective(given):
    args, static = prepare_ht(given)
    return ready(lambda *a: ht(*a, **static), *args)


def ht_jacobian(given):
    args, static = prepare_ht(given)

    def f(theta, us, hand):
        made = jax.jacfwd(lambda t: ht(t, us, hand, **static))(theta)
        if not static["complicated"]:
            return made
        directions = [jnp.broadcast_to(jnp.eye(2)[i], us.shape) for i in range(2)]
        rows = [jax.jvp(lambda u: ht(theta, u, hand, **static), (us,), (way,))[1] for way in directions]
        return jnp.concatenate([jnp.stack(rows, 2), made], 2)

    return ready(f, *args)


def shown_ht_jacobian(result):
    return lists(result.reshape(-1, result.shape[-1]))


def argmin(f, slope, start):
    def norm(v):
        return jnp.sqrt(jnp.sum(v**2))

    def turn_of_descent(state):
        x, fx, gx, eta, successes, _ = state
        double = successes == 10
        moved = x - eta * gx
        near = norm(moved - x) <= 1e-5
        value = f(moved)
        better = value < fx
        take = ~double & ~near & better
        eta = jnp.where(double, eta * 2, jnp.where(near | better, eta, eta / 2))
        successes = jnp.where(double | ~better, 0, successes + 1)
        x, fx = jnp.where(take, moved, x), jnp.where(take, value, fx)
        gx = jax.lax.cond(take, slope(f), lambda _: gx, moved)
        return x, fx, gx, eta, successes, ~double & near

    def going(state):
        return ~state[5] & (norm(state[2]) > 1e-5)

    first = (start, f(start), slope(f)(start), jnp.float64(1e-5), 0, jnp.bool_(False))
    return jax.lax.while_loop(going, turn_of_descent, first)[0]


def particle(inner):
    def error(w):
        charges = jnp.array([[10.0, 0.0], [10.0, 0.0]]).at[0, 1].set(10 - w[0])

        def potential(x):
            return jnp.sum(1 / jnp.sqrt(jnp.sum((x - charges) ** 2, 1)))

        def step(state):
            x, speed, _ = state
            push = -inner(potential)(x)
            moved = x + 0.1 * speed
            down = moved[1] <= 0
            return moved, jnp.where(down, speed, speed + 0.1 * push), down

        x, speed, _ = jax.lax.while_loop(lambda s: ~s[2], step, (jnp.array([0.0, 8.0]), jnp.array([0.75, 0.0]), False))
        return (x[0] - x[1] / speed[1] * speed[0]) ** 2

    return Function(lambda given: ready(lambda w: argmin(error, jax.jacfwd, w), array([given["w"]])), lambda x: float(x[0]))


def saddle(inner):
    def f(x, y):
        return jnp.sum(x**2) - jnp.sum(y**2)

    def whole(start):
        def highest(x, slope):
            return argmin(lambda y: -f(x, y), slope, start)

        x = argmin(lambda x: f(x, highest(x, inner)), jax.jacfwd, start)
        return jnp.concatenate([x, highest(x, jax.jacfwd)])

    return Function(lambda given: ready(whole, array(given["start"])), lists)


def fixed_x(given):
    return [array(given["x"])], {}


def prepare_ode(given):
    return [array(given["x"])], {"steps": given["s"]}


TOOLS = {
    "hello": {"square": Function(lambda x: ready(lambda v: v * v, array(x)), number),
              "double": Function(lambda x: ready(jax.grad(lambda v: v * v), array(x)), number)},
    "llsq": pair(llsq, prepare_llsq),
    "lse": pair(lambda x: jax.scipy.special.logsumexp(x), fixed_x),
    "ode": pair(lambda x, steps: ode(x, steps)[-1], prepare_ode, lists, value=ode),
    "det": pair(det, prepare_det, pack=lambda g: lists(np.asarray(g).reshape(-1))),
    "gmm": pair(gmm, prepare_gmm, number, "objective", "jacobian", pack_gmm, (0, 1, 2, 3)),
    "ba": {"objective": Function(ba_objective, shown_ba), "jacobian": Function(ba_jacobian, shown_ba_jacobian)},
    "lstm": pair(lstm, prepare_lstm, number, "objective", "jacobian", pack_lstm, (0, 1)),
    "kmeans": {"cost": pair(kmeans, prepare_kmeans)["primal"], "dir": Function(kmeans_dir, lists)},
    "ht": {"objective": Function(ht_objective, lambda x: lists(x.reshape(-1))), "jacobian": Function(ht_jacobian, shown_ht_jacobian)},
    "particle": {"ff": particle(jax.jacfwd), "fr": particle(jax.grad)},
    "saddle": {"ff": saddle(jax.jacfwd), "fr": saddle(jax.grad)},
}  # fmt: skip


if __name__ == "__main__":
    sys.exit(serve("jax", TOOLS))
