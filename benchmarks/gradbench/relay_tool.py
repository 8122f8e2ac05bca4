#!/usr/bin/env python3
"""GradBench's evaluations by Relay: relay_tool.py [--threads N]

programs.py has the programs. Each is compiled, for the extents of its input, before it is timed; gradients are made by relay.grad and
relay.value_and_grad.
"""

import argparse
import sys

import hand
import numpy as np
import programs
import relay
from protocol import Function, serve
from reference import ba_places, wishart_constant
from tables import minors

THREADS = 0


def lists(result):
    return np.asarray(result).tolist()


def number(result):
    return float(result)


def program(text, entry="f", argnums=None):
    """The compiled function of a program's text, or its gradient with respect to some parameters."""
    mod = relay.parse(text)
    if argnums is not None:
        mod["derivative"] = relay.grad(entry, argnums, mod)
        entry = "derivative"
    return relay.compile(mod, entry=entry, threads=THREADS)


def call(compiled, *args):
    """The program with its arguments, which are NumPy arrays by now. It has run once, as JAX's has: a first run plans its memory."""
    compiled(*args)
    return lambda: compiled(*args)


def arrays(given, *names):
    return [np.array(given[name], "float64") for name in names]


def hello(argnums):
    compiled = program(programs.HELLO, argnums=argnums)
    return lambda x: call(compiled, np.float64(x))


def llsq(argnums):
    def prepare(given):
        n, m = given["n"], len(given["x"])
        t = -1 + np.arange(n) * 2 / (n - 1)
        return call(program(programs.llsq(n, m), argnums=argnums), *arrays(given, "x"), t)

    return prepare


def lse(argnums):
    return lambda given: call(program(programs.lse(len(given["x"])), argnums=argnums), *arrays(given, "x"))


def ode(entry, argnums):
    def prepare(given):
        text = programs.ode(len(given["x"]), given["s"])
        return call(program(text, entry, argnums), *arrays(given, "x"))

    return prepare


def det(argnums):
    def prepare(given):
        ell = given["ell"]
        text, tables = programs.det(ell, minors(ell))
        return call(program(text, argnums=argnums), *[a.reshape(ell, ell) for a in arrays(given, "A")], *tables)

    return prepare


def gmm(argnums):
    def prepare(given):
        d, k, n = given["d"], given["k"], given["n"]
        i, j = np.triu_indices(d, 1)
        # Where the elements of a lower triangle come from; those above come from the zero behind the parameters.
        places = np.full(d * d, len(i), "int32")
        places[j * d + i] = np.arange(len(i))
        text = programs.gmm(d, k, n, wishart_constant(given), given["gamma"], given["m"])
        alpha, mu, q, x = arrays(given, "alpha", "mu", "q", "x")
        lower = np.array(given["l"], "float64").reshape(k, -1)
        return call(program(text, argnums=argnums), alpha, mu, q, lower, x, places)

    return prepare


def pack_gmm(gradients):
    return dict(zip(("alpha", "mu", "q", "l"), map(lists, gradients)))


def ba_arguments(given):
    n, m, p = given["n"], given["m"], given["p"]
    cam, x, w, feat = arrays(given, "cam", "x", "w", "feat")
    of = np.arange(p, dtype="int32")
    return np.tile(cam, (n, 1)), np.tile(x, (m, 1)), np.full(p, w), np.tile(feat, (p, 1)), of % n, of % m


def ba_objective(given):
    return call(program(programs.ba(given["n"], given["m"], given["p"]), "objective"), *ba_arguments(given))


def ba_jacobian(given):
    mod = relay.parse(programs.ba(given["n"], given["m"], given["p"]))
    mod["first_slope"] = relay.grad("first", (0, 1, 2), mod)
    mod["second_slope"] = relay.grad("second", (0, 1, 2), mod)
    mod = relay.parse(programs.ba_jacobian(given["n"], given["m"], given["p"]), "jacobian.rly", mod)
    compiled = relay.compile(mod, entry="jacobian", threads=THREADS)
    args = ba_arguments(given)
    return lambda: (compiled(*args), given)


def shown_ba(result):
    errors, weights = result
    p = len(weights)
    return {"reproj_error": {"elements": lists(errors[0]), "repeated": p}, "w_err": {"element": float(weights[0]), "repeated": p}}


def shown_ba_jacobian(result):
    (first, second, weights), given = result
    places, columns = ba_places(given)
    return {"rows": places, "cols": columns, "vals": [*lists(first[0]), *lists(second[0]), float(weights[-1])]}


def lstm(argnums):
    def prepare(given):
        main, extra, state, sequence = arrays(given, "main_params", "extra_params", "state", "sequence")
        text = programs.lstm(len(main) // 2, *sequence.shape)
        return call(program(text, argnums=argnums), main, extra, state, sequence)

    return prepare


def pack_lstm(gradients):
    return lists(np.concatenate([g.reshape(-1) for g in gradients]))


def kmeans_cost(given):
    points, centroids = arrays(given, "points", "centroids")
    return call(program(programs.kmeans(*points.shape, len(centroids))), centroids, points)


def kmeans_dir(given):
    points, centroids = arrays(given, "points", "centroids")
    mod = relay.parse(programs.kmeans(*points.shape, len(centroids)))
    mod["slope"] = relay.grad("f", 0, mod)
    mod = relay.parse(programs.kmeans_slope_sum(*points.shape, len(centroids)), "slope.rly", mod)
    # The Hessian has no elements beside its diagonal: the gradient of the sum of all slopes is the diagonal.
    mod["curve"] = relay.value_and_grad("slope_sum", 0, mod)
    mod = relay.parse(programs.kmeans_dir(*points.shape, len(centroids)), "dir.rly", mod)
    return call(relay.compile(mod, entry="dir", threads=THREADS), centroids, points)


def add_slope(mod, name, entry, letter, extent):
    """@name: the gradient of @entry by its first parameter, a vector, in reverse mode ("r") or by directions ("f")."""
    if letter == "r":
        mod[name] = relay.grad(entry, 0, mod)
        return mod
    mod[f"{name}.along"] = relay.jvp(entry, mod, argnums=0)
    types = [param.type_annotation for param in mod[entry].params]
    params = [relay.var(f"p{i}", of) for i, of in enumerate(types)]
    parts = []
    for i in range(extent):
        way = relay.const(np.eye(extent)[i])
        found = relay.GlobalVar(f"{name}.along")(*params, way)
        parts.append(relay.reshape(relay.TupleGetItem(found, 1), [1]))
    mod[name] = relay.Function(params, relay.concatenate(relay.Tuple(parts), 0) if extent > 1 else parts[0])
    return mod


def particle(outer, inner):
    def prepare(given):
        mod = add_slope(relay.parse(programs.POTENTIAL), "away", "potential", inner, 2)
        mod = relay.parse(programs.FLIGHT, "flight.rly", mod)
        mod = add_slope(mod, "error_slope", "error", outer, 1)
        mod = relay.parse(programs.descent("least", 1, "@error(%x)", "@error_slope(%x)"), "least.rly", mod)
        return call(relay.compile(mod, entry="least", threads=THREADS), np.array([given["w"]]))

    return Function(prepare, lambda x: float(x[0]))


def saddle(outer, inner):
    def prepare(given):
        mod = add_slope(relay.parse(programs.SADDLE), "down_slope", "down", inner, 2)
        at_x = f"%at: {programs.tensor(2)}"
        text = programs.descent("highest", 2, "@down(%x, %at)", "@down_slope(%x, %at)", at_x)
        mod = relay.parse(programs.OVER, "over.rly", relay.parse(text, "highest.rly", mod))
        mod = add_slope(mod, "over_slope", "over", outer, 2)
        text = programs.descent("least", 2, "@over(%x, %from)", "@over_slope(%x, %from)", f"%from: {programs.tensor(2)}")
        # The last search has the mode of the outer one.
        mod = add_slope(mod, "last_slope", "down", outer, 2)
        text += programs.descent("last", 2, "@down(%x, %at)", "@last_slope(%x, %at)", at_x)
        text += f"""
def @both(%start: {programs.tensor(2)}) -> {programs.tensor(4)} {{
  let %found = @least(%start, %start);
  concatenate((%found, @last(%start, %found)), axis=0)
}}"""
        mod = relay.parse(text, "least.rly", mod)
        return call(relay.compile(mod, entry="both", threads=THREADS), np.array(given["start"]))

    return Function(prepare, lists)


def ht_arguments(given):
    return np.array(given["theta"])[None], np.array(given["us"], "float64").reshape(-1, 2)


def ht_objective(given):
    model = hand.Hand(given)
    return call(program(hand.text(model, 1)), *ht_arguments(given), *model.arrays)


def ht_jacobian(given):
    model, (theta, us) = hand.Hand(given), ht_arguments(given)
    mod = relay.parse(hand.text(model, 26))
    mod["along"] = relay.jvp("f", mod, argnums=0)
    params = [relay.var(f"p{i}", param.type_annotation) for i, param in enumerate(mod["f"].params)]
    mod["columns"] = relay.Function(params, relay.TupleGetItem(relay.GlobalVar("along")(*params, relay.const(np.eye(26))), 1))
    columns = call(relay.compile(mod, entry="columns", threads=THREADS), np.tile(theta, (26, 1)), us, *model.arrays)
    if not model.complicated:
        return lambda: [columns()]
    mod = relay.parse(hand.text(model, 1) + hand.sides(model))
    for i in range(3):
        mod[f"slope{i}"] = relay.grad(f"side{i}", 0, mod)
    params = [relay.var(f"p{i}", param.type_annotation) for i, param in enumerate(mod["side0"].params)]
    mod["slopes"] = relay.Function(params, relay.Tuple([relay.GlobalVar(f"slope{i}")(*params) for i in range(3)]))
    slopes = call(relay.compile(mod, entry="slopes", threads=THREADS), us, theta, *model.arrays)
    return lambda: [columns(), np.stack(slopes(), 1)]


def shown_ht_jacobian(result):
    by_theta = np.moveaxis(result[0], 0, 2).reshape(-1, 26)
    return lists(by_theta if len(result) == 1 else np.concatenate([result[1].reshape(-1, 2), by_theta], 1))


def modes(make):
    return {a + b: make(a, b) for a in "fr" for b in "fr"}


TOOLS = {
    "hello": {"square": Function(hello(None), number), "double": Function(hello(0), number)},
    "llsq": {"primal": Function(llsq(None), number), "gradient": Function(llsq(0), lists)},
    "lse": {"primal": Function(lse(None), number), "gradient": Function(lse(0), lists)},
    "ode": {"primal": Function(ode("f", None), lists), "gradient": Function(ode("last", 0), lists)},
    "det": {"primal": Function(det(None), number), "gradient": Function(det(0), lambda g: lists(np.asarray(g).reshape(-1)))},
    "gmm": {"objective": Function(gmm(None), number), "jacobian": Function(gmm((0, 1, 2, 3)), pack_gmm)},
    "ba": {"objective": Function(ba_objective, shown_ba), "jacobian": Function(ba_jacobian, shown_ba_jacobian)},
    "lstm": {"objective": Function(lstm(None), number), "jacobian": Function(lstm((0, 1)), pack_lstm)},
    "kmeans": {"cost": Function(kmeans_cost, number), "dir": Function(kmeans_dir, lists)},
    "ht": {"objective": Function(ht_objective, lambda x: lists(x.reshape(-1))), "jacobian": Function(ht_jacobian, shown_ht_jacobian)},
    "particle": modes(particle),
    "saddle": modes(saddle),
}  # fmt: skip


def main():
    global THREADS
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=0, help="0 stands for all cores")
    THREADS = parser.parse_args().threads
    serve("relay", TOOLS)


if __name__ == "__main__":
    sys.exit(main())
