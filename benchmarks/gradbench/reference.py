"""The evaluations in NumPy and float64, as GradBench defines them, by loops where those are plainer. Derivatives are in closed form
where there is one, else differences of the functions here along the imaginary axis, which are exact to a few digits of float64.
"""

import itertools
import math

import numpy as np

# Relative to max(1, |x| + |y|), as GradBench compares; what is not listed must agree to 1e-9. Descents stop at 1e-5.
tolerance = {"particle": 1e-6, "saddle": 1e-6}


def differences(f, x, places=None):
    """The gradient, or the Jacobian with the result's axes first, of f at x; with `places` (flat positions) only of these.

    f is differentiated along the imaginary axis, where no digits cancel: it takes complex numbers and is analytic.
    """
    x = np.asarray(x, float)
    step = 1e-30
    columns = []
    for i in range(x.size) if places is None else places:
        moved = x.astype(complex).reshape(-1)
        moved[i] += step * 1j
        columns.append(np.asarray(f(moved.reshape(x.shape))).imag / step)
    made = np.stack(columns, -1)
    return made.reshape(made.shape[:-1] + x.shape) if places is None else made


def hello_square(x):
    return x * x


def hello_double(x):
    return 2 * x


def _polynomial(given):
    n, x = given["n"], np.array(given["x"])
    t = -1 + np.arange(n) * 2 / (n - 1)
    powers = t[:, None] ** np.arange(len(x))
    return powers, np.sign(t) - powers @ x


def llsq_primal(given):
    return 0.5 * np.sum(_polynomial(given)[1] ** 2)


def llsq_gradient(given):
    powers, rest = _polynomial(given)
    return -rest @ powers


def lse_primal(given):
    x = np.array(given["x"])
    return np.log(np.sum(np.exp(x - x.max()))) + x.max()


def lse_gradient(given):
    x = np.array(given["x"])
    e = np.exp(x - x.max())
    return e / e.sum()


def ode_primal(given, x=None):
    x = np.array(given["x"]) if x is None else x
    h = 2 / given["s"]

    def slope(y):
        return x * np.concatenate([[1], y[:-1]])

    y = np.zeros_like(x)
    for _ in range(given["s"]):
        k1 = slope(y)
        k2 = slope(y + h * k1 / 2)
        k3 = slope(y + h * k2 / 2)
        k4 = slope(y + h * k3)
        y = y + h * (k1 + 2 * k2 + 2 * k3 + k4) / 6
    return y


def ode_gradient(given):
    """The gradient of the last element of y. y of index i is 0 before 4 s > i, since each of the four slopes of a step reaches one element
    further."""
    x = np.array(given["x"])
    if len(x) > 4 * given["s"]:
        return np.zeros_like(x)
    return differences(lambda v: ode_primal(given, v)[-1], x)


def det_primal(given):
    return np.linalg.det(np.array(given["A"]).reshape(given["ell"], -1))


def det_gradient(given):
    """Cofactors."""
    a = np.array(given["A"]).reshape(given["ell"], -1)
    n = len(a)
    rest = [(np.delete(np.delete(a, i, 0), j, 1), (-1) ** (i + j)) for i, j in itertools.product(range(n), repeat=2)]
    return np.array([sign * (np.linalg.det(minor) if n > 1 else 1) for minor, sign in rest])


def log_gamma_distribution(a, p):
    return 0.25 * p * (p - 1) * math.log(math.pi) + sum(math.lgamma(a + 0.5 * (1 - j)) for j in range(1, p + 1))


def wishart_constant(given):
    """The part that does not depend on the parameters."""
    d, k, n, gamma, m = (given[name] for name in ("d", "k", "n", "gamma", "m"))
    degrees = d + m + 1
    c = degrees * d * (math.log(gamma) - 0.5 * math.log(2)) - log_gamma_distribution(0.5 * degrees, d)
    return -n * d * 0.5 * math.log(2 * math.pi) + k * c


def _gmm_parts(given, alpha, mu, q, l):
    d, x = given["d"], np.array(given["x"])
    lower = np.zeros((len(alpha), d, d))
    i, j = np.triu_indices(d, 1)
    lower[:, j, i] = l
    whole = lower + np.exp(q)[:, :, None] * np.eye(d)
    centred = x[:, None] - mu
    turned = np.einsum("kij,nkj->nki", whole, centred)
    main = alpha + q.sum(1) - 0.5 * np.sum(turned**2, 2)
    return whole, centred, turned, main


def _log_sum_exp(x, axis):
    top = x.max(axis, keepdims=True)
    return np.log(np.exp(x - top).sum(axis)) + top.squeeze(axis)


def _gmm_parameters(given):
    d, k = given["d"], given["k"]
    shapes = {"alpha": (k,), "mu": (k, d), "q": (k, d), "l": (k, d * (d - 1) // 2)}
    return [np.array(given[name], float).reshape(shape) for name, shape in shapes.items()]


def gmm_objective(given):
    alpha, mu, q, l = _gmm_parameters(given)
    main = _gmm_parts(given, alpha, mu, q, l)[3]
    prior = 0.5 * given["gamma"] ** 2 * (np.sum(np.exp(q) ** 2) + np.sum(l**2)) - given["m"] * q.sum()
    return wishart_constant(given) + _log_sum_exp(main, 1).sum() - given["n"] * _log_sum_exp(alpha, 0) - prior


def gmm_jacobian(given):
    """By hand: with p the share of each component in each point, the gradient of Σ log Σ exp(main) is Σ p · ∂main."""
    alpha, mu, q, l = _gmm_parameters(given)
    d, gamma = given["d"], given["gamma"]
    whole, centred, turned, main = _gmm_parts(given, alpha, mu, q, l)
    p = np.exp(main - _log_sum_exp(main, 1)[:, None])
    share = np.exp(alpha - _log_sum_exp(alpha, 0))
    outer = np.einsum("nk,nki,nkj->kij", p, turned, centred)
    i, j = np.triu_indices(d, 1)
    return {
        "alpha": p.sum(0) - given["n"] * share,
        "mu": np.einsum("nk,nki,kij->kj", p, turned, whole),
        "q": p.sum(0)[:, None] - np.einsum("kii->ki", outer) * np.exp(q) - gamma**2 * np.exp(q) ** 2 + given["m"],
        "l": -outer[:, j, i] - gamma**2 * l,
    }


def ba_errors(cam, x, w, feat):
    rotation, centre, focal, principal, radial = cam[:3], cam[3:6], cam[6], cam[7:9], cam[9:]
    from_centre = x - centre
    theta = np.sqrt(np.sum(rotation**2))
    axis = rotation / theta
    c, s = np.cos(theta), np.sin(theta)
    turned = from_centre * c + np.cross(axis, from_centre) * s + axis * (axis @ from_centre) * (1 - c)
    flat = turned[:2] / turned[2]
    square = np.sum(flat**2)
    distorted = flat * (1 + radial[0] * square + radial[1] * square * square)
    return w * (distorted * focal + principal - feat)


def ba_objective(given):
    cam, x, feat = (np.array(given[name]) for name in ("cam", "x", "feat"))
    w = given["w"]
    return {
        "reproj_error": {"elements": ba_errors(cam, x, w, feat), "repeated": given["p"]},
        "w_err": {"element": 1 - w * w, "repeated": given["p"]},
    }


def ba_places(given):
    """Rows and columns of the first observation and the last weight in the sparse Jacobian; columns are cameras, points, weights."""
    n, m, p = given["n"], given["m"], given["p"]
    columns = [*range(11), *(11 * n + i for i in range(3)), 11 * n + 3 * m]
    rows = [0] + [15 * (i + 1) for i in range(2 * p)] + [30 * p + i + 1 for i in range(p)]
    return rows[:30] + rows[-1:], columns + columns + [11 * n + 3 * m + p - 1]


def ba_jacobian(given):
    packed = np.concatenate([given["cam"], given["x"], [given["w"]]])
    feat = np.array(given["feat"])
    made = differences(lambda v: ba_errors(v[:11], v[11:14], v[14], feat), packed)
    rows, cols = ba_places(given)
    return {"rows": rows, "cols": cols, "vals": [*made.reshape(-1), -2 * given["w"]]}


def lstm_objective(given, main=None, extra=None):
    main = np.array(given["main_params"]) if main is None else main
    extra = np.array(given["extra_params"]) if extra is None else extra
    sequence = np.array(given["sequence"])
    b = sequence.shape[1]
    state = np.array(given["state"])
    hidden, cell = list(state[0::2]), list(state[1::2])

    def sigmoid(v):
        return 1 / (1 + np.exp(-v))

    total = 0.0
    for this, following in zip(sequence, sequence[1:]):
        out = this * extra[0]
        for i in range(len(hidden)):
            forget_w, in_w, out_w, change_w = main[2 * i].reshape(4, b)
            forget_b, in_b, out_b, change_b = main[2 * i + 1].reshape(4, b)
            h = hidden[i]
            cell[i] = cell[i] * sigmoid(out * forget_w + forget_b) + sigmoid(h * in_w + in_b) * np.tanh(h * change_w + change_b)
            hidden[i] = out = sigmoid(out * out_w + out_b) * np.tanh(cell[i])
        predicted = out * extra[1] + extra[2]
        total += following @ (predicted - np.log(np.exp(predicted).sum() + 2))
    return -total / ((len(sequence) - 1) * b)


def lstm_jacobian(given, places=None):
    main, extra = np.array(given["main_params"]), np.array(given["extra_params"])
    packed = np.concatenate([main.reshape(-1), extra.reshape(-1)])

    def f(v):
        return lstm_objective(given, v[: main.size].reshape(main.shape), v[main.size :].reshape(extra.shape))

    return differences(f, packed, places=places)


def _distances(given):
    p, c = np.array(given["points"]), np.array(given["centroids"])
    return p, c, np.sum((p[:, None] - c) ** 2, 2)


def kmeans_cost(given):
    return _distances(given)[2].min(1).sum()


def kmeans_dir(given):
    """The gradient is 2 Σ (c - p) over the points nearest to c, and the diagonal of the Hessian twice their number."""
    p, c, distances = _distances(given)
    nearest = distances.argmin(1)
    made = np.zeros_like(c)
    for j in range(len(c)):
        made[j] = (c[j] - p[nearest == j]).sum(0) / np.sum(nearest == j)
    return made


def _rotation(v):
    """The rotation around an axis by its length."""
    angle = np.sqrt(np.sum(v**2))
    if angle.real < 1e-4:
        return np.eye(3)
    x, y, z = v / angle
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross


def _turn(axis, angle):
    """The rotation around one of the axes, as a move of 4x4."""
    made = np.eye(4, dtype=np.asarray(angle).dtype)
    i, j = [(1, 2), (2, 0), (0, 1)][axis]
    made[i, i] = made[j, j] = np.cos(angle)
    made[j, i], made[i, j] = np.sin(angle), -np.sin(angle)
    return made


def ht_positions(model, theta):
    """Vertices (n, 3) of the posed hand. Of the 26 parameters three turn it, three move it, and four are each finger's: of its second
    bone the turns around x and z, of its third and fourth that around x."""
    angles = np.zeros((model["bone_count"], 3), np.asarray(theta).dtype)
    for finger in range(5):
        first = 4 * finger + 2
        angles[first, 0], angles[first, 2], angles[first + 1, 0], angles[first + 2, 0] = theta[6 + 4 * finger : 10 + 4 * finger]
    absolute = []
    for bone, parent in enumerate(model["parents"]):
        turned = _turn(2, angles[bone, 2]) @ _turn(1, angles[bone, 1]) @ _turn(0, angles[bone, 0])
        relative = np.array(model["base_relatives"][bone]) @ turned
        absolute.append(relative if parent == -1 else absolute[parent] @ relative)
    moves = np.array(absolute) @ np.array(model["inverse_base_absolutes"])
    positions = np.einsum("bij,vj,vb->vi", moves, np.array(model["base_positions"]), np.array(model["weights"]))[:, :3]
    if model["is_mirrored"]:
        positions = positions * [-1, 1, 1]
    return positions @ _rotation(np.array(theta[:3])).T + theta[3:6]


def ht_objective(given, theta=None):
    data = given["data"]
    positions = ht_positions(data["model"], np.array(given["theta"]) if theta is None else theta)
    places = np.array(data["correspondences"], int)
    if len(given["us"]) == 0:
        return (np.array(data["points"]) - positions[places]).reshape(-1)
    corners = positions[np.array(data["model"]["triangles"])[places]]
    u = np.array(given["us"])
    whole = np.concatenate([u, 1 - u.sum(1, keepdims=True)], 1)
    return (np.array(data["points"]) - np.einsum("nc,nci->ni", whole, corners)).reshape(-1)


def ht_jacobian(given):
    made = differences(lambda theta: ht_objective(given, theta), given["theta"])
    if len(given["us"]) == 0:
        return made
    # Each point depends on its own two places in the triangle alone, and in a straight line.
    data = given["data"]
    positions = ht_positions(data["model"], np.array(given["theta"]))
    corners = positions[np.array(data["model"]["triangles"])[np.array(data["correspondences"], int)]]
    sides = np.stack([corners[:, 2] - corners[:, 0], corners[:, 2] - corners[:, 1]], 2)
    return np.concatenate([sides.reshape(-1, 2), made], 1)


def argmin(f, gradient, start):
    """GradBench's descent: steps that double after ten successes and halve after a failure."""
    x, eta, successes = np.array(start, float), 1e-5, 0
    fx, gx = f(x), gradient(x)
    while True:
        if np.sqrt(np.sum(gx**2)) <= 1e-5:
            return x
        if successes == 10:
            eta, successes = eta * 2, 0
            continue
        moved = x - eta * gx
        if np.sqrt(np.sum((moved - x) ** 2)) <= 1e-5:
            return x
        value = f(moved)
        if value < fx:
            x, fx, gx, successes = moved, value, gradient(moved), successes + 1
        else:
            eta, successes = eta / 2, 0


def particle_error(w):
    """The square of where the particle crosses the axis. w may be complex: the imaginary part of a small step is the derivative."""
    charges = np.array([[10, 10 - w], [10, 0 * w]])
    x, speed = np.array([0 * w, 8 + 0 * w]), np.array([0.75 + 0 * w, 0 * w])
    while True:
        away = x - charges
        push = np.sum(away / (np.sum(away**2, 1) ** 1.5)[:, None], 0)
        x = x + 0.1 * speed
        if x[1].real <= 0:
            crossing = x - x[1] / speed[1] * speed
            return crossing[0] ** 2
        speed = speed + 0.1 * push


def particle_rr(given):
    return argmin(lambda w: particle_error(w[0]), lambda w: differences(lambda v: particle_error(v[0]), w), [given["w"]])[0]


def saddle_rr(given):
    """f = (x1² + y1²) - (x2² + y2²): the gradient of max over y is 2 x, since y stays where it is found while x moves a little."""
    start = np.array(given["start"])

    def highest(x):
        return argmin(lambda y: np.sum(y**2) - np.sum(x**2), lambda y: 2 * y, start)

    def over(x):
        return np.sum(x**2) - np.sum(highest(x) ** 2)

    x = argmin(over, lambda x: 2 * x, start)
    return np.concatenate([x, highest(x)])


particle_ff = particle_fr = particle_rf = particle_rr
saddle_ff = saddle_fr = saddle_rf = saddle_rr


def expected(name, function, given):
    """The answer that a tool has to give, as arrays, numbers, and dictionaries of them."""
    return globals()[f"{name}_{function}"](given)


def mismatches(wanted, got, allowed, path="output"):
    """Where an answer differs from what is expected by more than `allowed` of max(1, |wanted| + |got|): GradBench's comparison."""
    if isinstance(wanted, dict):
        if not isinstance(got, dict) or set(got) != set(wanted):
            return [f"{path}: expected the fields {sorted(wanted)}"]
        return [m for key in wanted for m in mismatches(wanted[key], got[key], allowed, f"{path}.{key}")]
    a, b = np.asarray(wanted, float), np.asarray(got, float)
    if a.shape != b.shape:
        return [f"{path}: expected the shape {a.shape}, got {b.shape}"]
    error = np.abs(a - b) / np.maximum(1, np.abs(a) + np.abs(b))
    wrong = np.argwhere(~(error <= allowed))
    return [f"{path}{list(map(int, at))}: {a[tuple(at)]} expected, got {b[tuple(at)]}" for at in wrong]
