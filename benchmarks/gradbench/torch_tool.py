#!/usr/bin/env python3
"""GradBench's evaluations by PyTorch, over whole arrays wherever there are any: torch_tool.py [--threads N]"""

import argparse
import sys

import numpy as np
import torch
from protocol import Function, serve
from reference import ba_places, wishart_constant
from tables import bone_angles, minors, triangle_places

F64 = torch.float64


def tensor(value):
    return torch.tensor(np.asarray(value, float), dtype=F64)


def lists(result):
    return result.detach().numpy().tolist()


def gradient(f, *inputs):
    """The gradients of a number with respect to each input, as a list."""
    learned = [x.detach().requires_grad_() for x in inputs]
    return torch.autograd.grad(f(*learned), learned)


def pair(f, prepare, shown=lists, name="primal", derived="gradient", pack=lambda g: lists(g[0])):
    """A function of numbers and its gradient. `prepare` gives what f is differentiated in, and the rest."""

    def value(given):
        learned, rest = prepare(given)
        return lambda: f(*learned, *rest)

    def slope(given):
        learned, rest = prepare(given)
        return lambda: gradient(lambda *x: f(*x, *rest), *learned)

    return {name: Function(value, shown), derived: Function(slope, pack)}


def number(result):
    return float(result)


def llsq(x, t):
    powers = t[:, None] ** torch.arange(x.shape[0])
    return 0.5 * torch.sum((torch.sign(t) - powers @ x) ** 2)


def prepare_llsq(given):
    return [tensor(given["x"])], [tensor(-1 + np.arange(given["n"]) * 2 / (given["n"] - 1))]


def ode(x, steps):
    h = 2 / steps
    one = torch.ones(1, dtype=F64)

    def slope(y):
        return x * torch.cat([one, y[:-1]])

    y = torch.zeros_like(x)
    for _ in range(steps):
        k1 = slope(y)
        k2 = slope(y + h / 2 * k1)
        k3 = slope(y + h / 2 * k2)
        k4 = slope(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


def ode_last(x, steps):
    return ode(x, steps)[-1]


def det(a, levels):
    minor = a[-1]
    for row, (columns, below, signs) in enumerate(levels):
        minor = torch.sum(signs * a[a.shape[0] - 2 - row][columns] * minor[below], 1)
    return minor.reshape(())


def prepare_det(given):
    levels = [(torch.tensor(c), torch.tensor(b), tensor(s)) for c, b, s in minors(given["ell"])]
    return [tensor(given["A"]).reshape(given["ell"], -1)], [levels]


def gmm(alpha, mu, q, l, x, places, constant, gamma, m):
    k, d = mu.shape
    lower = torch.zeros(k, d * d, dtype=F64).index_copy(1, places, l).reshape(k, d, d)
    centred = x[None] - mu[:, None]
    turned = torch.exp(q)[:, None] * centred + centred @ lower.transpose(1, 2)
    main = (alpha + q.sum(1))[:, None] - 0.5 * torch.sum(turned**2, 2)
    prior = 0.5 * gamma**2 * (torch.sum(torch.exp(q) ** 2) + torch.sum(l**2)) - m * q.sum()
    return constant + torch.logsumexp(main, 0).sum() - x.shape[0] * torch.logsumexp(alpha, 0) - prior


def prepare_gmm(given):
    d, k = given["d"], given["k"]
    i, j = np.triu_indices(d, 1)
    learned = [tensor(given[name]) for name in ("alpha", "mu", "q")] + [tensor(given["l"]).reshape(k, -1)]
    rest = [tensor(given["x"]), torch.tensor(j * d + i), wishart_constant(given), given["gamma"], given["m"]]
    return learned, rest


def pack_gmm(gradients):
    return dict(zip(("alpha", "mu", "q", "l"), map(lists, gradients)))


def ba_errors(cam, x, w, feat):
    """Errors (p, 2) of observations: of cameras (p, 11), points (p, 3), weights (p), features (p, 2)."""
    rotation, centre = cam[:, :3], cam[:, 3:6]
    away = x - centre
    theta = torch.sqrt(torch.sum(rotation**2, 1, keepdim=True))
    axis = rotation / theta
    c, s = torch.cos(theta), torch.sin(theta)
    along = torch.sum(axis * away, 1, keepdim=True)
    turned = away * c + torch.linalg.cross(axis, away) * s + axis * along * (1 - c)
    flat = turned[:, :2] / turned[:, 2:]
    square = torch.sum(flat**2, 1, keepdim=True)
    distorted = flat * (1 + cam[:, 9:10] * square + cam[:, 10:11] * square * square)
    return w[:, None] * (distorted * cam[:, 6:7] + cam[:, 7:9] - feat)


def prepare_ba(given):
    n, m, p = given["n"], given["m"], given["p"]
    cams, points = tensor(given["cam"]).repeat(n, 1), tensor(given["x"]).repeat(m, 1)
    w, feat = tensor([given["w"]]).repeat(p), tensor(given["feat"]).repeat(p, 1)
    return cams, points, w, feat, torch.arange(p) % n, torch.arange(p) % m


def ba_objective(given):
    cams, points, w, feat, of_cam, of_point = prepare_ba(given)
    return lambda: (ba_errors(cams[of_cam], points[of_point], w, feat), 1 - w * w)


def ba_jacobian(given):
    """Each error depends on its own observation alone: the gradients of the sums of all first and of all second errors are its rows."""
    cams, points, w, feat, of_cam, of_point = prepare_ba(given)

    def call():
        inputs = [x.detach().requires_grad_() for x in (cams[of_cam], points[of_point], w)]
        errors = ba_errors(*inputs, feat)
        rows = [torch.autograd.grad(errors[:, i].sum(), inputs, retain_graph=i == 0) for i in range(2)]
        return torch.stack([torch.cat([c, x, u[:, None]], 1) for c, x, u in rows], 1), -2 * w

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
    hidden, cell = list(state[0::2]), list(state[1::2])
    total = torch.zeros((), dtype=F64)
    for t in range(len(sequence) - 1):
        out = sequence[t] * extra[0]
        for i in range(layers):
            w, v, h = weights[i], biases[i], hidden[i]
            cell[i] = cell[i] * torch.sigmoid(out * w[0] + v[0]) + torch.sigmoid(h * w[1] + v[1]) * torch.tanh(h * w[3] + v[3])
            hidden[i] = out = torch.sigmoid(out * w[2] + v[2]) * torch.tanh(cell[i])
        predicted = out * extra[1] + extra[2]
        total = total + torch.dot(sequence[t + 1], predicted - torch.log(torch.exp(predicted).sum() + 2))
    return -total / ((len(sequence) - 1) * b)


def prepare_lstm(given):
    return [tensor(given["main_params"]), tensor(given["extra_params"])], [tensor(given["state"]), tensor(given["sequence"])]


def pack_lstm(gradients):
    return lists(torch.cat([g.reshape(-1) for g in gradients]))


def kmeans(centroids, points):
    distances = (points**2).sum(1)[:, None] + (centroids**2).sum(1) - 2 * points @ centroids.T
    return torch.min(distances, 1).values.sum()


def prepare_kmeans(given):
    return [tensor(given["centroids"])], [tensor(given["points"])]


def kmeans_dir(given):
    (centroids,), (points,) = prepare_kmeans(given)

    def call():
        c = centroids.detach().requires_grad_()
        (slope,) = torch.autograd.grad(kmeans(c, points), c, create_graph=True)
        (curve,) = torch.autograd.grad(slope.sum(), c)
        return slope / curve

    return call


def turn(axis, angles):
    """Rotations (n, 4, 4) around one axis."""
    i, j = [(1, 2), (2, 0), (0, 1)][axis]
    rows = [[torch.full_like(angles, float(r == c)) for c in range(4)] for r in range(4)]
    rows[i][i] = rows[j][j] = torch.cos(angles)
    rows[j][i], rows[i][j] = torch.sin(angles), -torch.sin(angles)
    return torch.stack([torch.stack(row, 1) for row in rows], 1)


def rotation(v):
    angle = torch.sqrt(torch.sum(v**2))
    x, y, z = v / angle
    zero = torch.zeros((), dtype=F64)
    cross = torch.stack([torch.stack([zero, -z, y]), torch.stack([z, zero, -x]), torch.stack([-y, x, zero])])
    return torch.eye(3, dtype=F64) + torch.sin(angle) * cross + (1 - torch.cos(angle)) * cross @ cross


def ht(theta, us, hand):
    padded = torch.cat([theta, torch.zeros(1, dtype=F64)])
    angles = padded[hand["angles"]]
    relatives = hand["relatives"] @ turn(2, angles[:, 2]) @ turn(1, angles[:, 1]) @ turn(0, angles[:, 0])
    absolute = []
    for bone, parent in enumerate(hand["parents"]):
        absolute.append(relatives[bone] if parent == -1 else absolute[parent] @ relatives[bone])
    moves = torch.stack(absolute) @ hand["inverses"]
    posed = torch.einsum("vj,bij,vb->vi", hand["positions"], moves[:, :3], hand["weights"]) * hand["mirror"]
    posed = posed @ rotation(theta[:3]).T + theta[3:6]
    corners = posed[hand["places"]]
    if us is None:
        return hand["points"] - corners
    whole = torch.cat([us, 1 - us.sum(1, keepdim=True)], 1)
    return hand["points"] - (whole[:, :, None] * corners).sum(1)


def prepare_ht(given):
    data, model = given["data"], given["data"]["model"]
    us = tensor(given["us"]) if len(given["us"]) else None
    hand = {
        "angles": torch.tensor(bone_angles(model["bone_count"])), "relatives": tensor(model["base_relatives"]),
        "parents": model["parents"], "inverses": tensor(model["inverse_base_absolutes"]),
        "positions": tensor(model["base_positions"]), "weights": tensor(model["weights"]), "points": tensor(data["points"]),
        "mirror": tensor([-1 if model["is_mirrored"] else 1, 1, 1]), "places": torch.tensor(triangle_places(given)),
    }  # fmt: skip
    return tensor(given["theta"]), us, hand


def ht_objective(given):
    theta, us, hand = prepare_ht(given)
    return lambda: ht(theta, us, hand)


def ht_jacobian(given):
    """Forward mode, all directions at once; those of u are the same two for all points."""
    theta, us, hand = prepare_ht(given)

    def call():
        made = torch.func.jacfwd(ht)(theta, us, hand)
        if us is None:
            return made
        rows = [torch.func.jvp(lambda u: ht(theta, u, hand), (us,), (torch.eye(2, dtype=F64)[i].expand_as(us),))[1] for i in range(2)]
        return torch.cat([torch.stack(rows, 2), made], 2)

    return call


def shown_ht_jacobian(result):
    return lists(result.reshape(-1, result.shape[-1]))


def slope(f, x):
    """The gradient by reverse mode; the result can be differentiated again, and in what x is made of."""
    learned = x if x.requires_grad else x.detach().requires_grad_()
    return torch.autograd.grad(f(learned), learned, create_graph=True)[0]


def argmin(f, start):
    x, eta, successes = start, 1e-5, 0
    fx, gx = f(x), slope(f, x).detach()
    while True:
        if torch.linalg.vector_norm(gx) <= 1e-5:
            return x
        if successes == 10:
            eta, successes = eta * 2, 0
            continue
        moved = x - eta * gx
        if torch.linalg.vector_norm(moved - x) <= 1e-5:
            return x
        value = f(moved)
        if value < fx:
            x, fx, gx, successes = moved, value, slope(f, moved).detach(), successes + 1
        else:
            eta, successes = eta / 2, 0


def particle(given):
    def error(w):
        charges = torch.stack([torch.stack([torch.full_like(w[0], 10), 10 - w[0]]), torch.tensor([10.0, 0.0], dtype=F64)])

        def potential(x):
            return torch.sum(1 / torch.sqrt(torch.sum((x - charges) ** 2, 1)))

        x, speed = tensor([0, 8]), tensor([0.75, 0])
        while True:
            push = -slope(potential, x)
            x = x + 0.1 * speed
            if x[1] <= 0:
                return (x[0] - x[1] / speed[1] * speed[0]) ** 2
            speed = speed + 0.1 * push

    return lambda: argmin(error, tensor([given["w"]]))


def saddle(given):
    start = tensor(given["start"])

    def f(x, y):
        return torch.sum(x**2) - torch.sum(y**2)

    def highest(x):
        return argmin(lambda y: -f(x, y), start)

    def call():
        x = argmin(lambda x: f(x, highest(x)), start).detach()
        return torch.cat([x, highest(x)])

    return call


TOOLS = {
    "hello": {
        "square": Function(lambda x: (lambda v: lambda: v * v)(tensor(x)), number),
        "double": Function(lambda x: lambda: gradient(lambda v: v * v, tensor(x))[0], number),
    },
    "llsq": pair(llsq, prepare_llsq, number),
    "lse": pair(lambda x: torch.logsumexp(x, 0), lambda given: ([tensor(given["x"])], []), number),
    "ode": {
        "primal": pair(ode, lambda given: ([tensor(given["x"])], [given["s"]]))["primal"],
        "gradient": pair(ode_last, lambda given: ([tensor(given["x"])], [given["s"]]))["gradient"],
    },
    "det": pair(det, prepare_det, number, pack=lambda g: lists(g[0].reshape(-1))),
    "gmm": pair(gmm, prepare_gmm, number, "objective", "jacobian", pack_gmm),
    "ba": {"objective": Function(ba_objective, shown_ba), "jacobian": Function(ba_jacobian, shown_ba_jacobian)},
    "lstm": pair(lstm, prepare_lstm, number, "objective", "jacobian", pack_lstm),
    "kmeans": {"cost": pair(kmeans, prepare_kmeans, number)["primal"], "dir": Function(kmeans_dir, lists)},
    "ht": {"objective": Function(ht_objective, lambda x: lists(x.reshape(-1))), "jacobian": Function(ht_jacobian, shown_ht_jacobian)},
    # Nested forward modes take minutes.
    "particle": {"rr": Function(particle, lambda x: float(x[0]))},
    "saddle": {"rr": Function(saddle, lists)},
}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=0, help="0 stands for all cores")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    serve("pytorch", TOOLS)


if __name__ == "__main__":
    sys.exit(main())
