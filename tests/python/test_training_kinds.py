"""Programs of kinds that people train: gradients of gradient steps, equations with second derivatives, policies that are sampled, two optimisers."""

import numpy as np
import relay
import relay.numpy as rnp
from relay import optim


def layers(sizes, seed=0):
    keys = relay.random.split(relay.random.key(seed), len(sizes) - 1)
    return [(relay.random.normal(key, (a, b)) * a**-0.5, rnp.zeros((b,))) for key, a, b in zip(keys, sizes, sizes[1:])]


def net(p, x):
    for w, b in p[:-1]:
        x = rnp.tanh(x @ w + b)
    return x @ p[-1][0] + p[-1][1]


def test_gradients_of_gradient_steps():
    def error(p, x, y):
        return ((net(p, x) - y) ** 2).mean()

    def stepped(p, x, y):
        return relay.tree.map(lambda w, g: w - 0.05 * g, p, relay.grad(error)(p, x, y))

    def written_out(p, x, y):
        return stepped(stepped(stepped(p, x, y), x, y), x, y)

    def in_a_loop(p, x, y):
        return relay.scan(lambda p, _: (stepped(p, x, y), None), p, None, length=3)[0]

    x = np.random.default_rng(0).uniform(-3, 3, (4, 10, 1)).astype("float32")
    y, p = np.sin(x), layers([1, 8, 1])
    meta = [relay.grad(lambda p: relay.vmap(lambda x, y: error(adapt(p, x, y), x, y))(x, y).mean())(p) for adapt in (written_out, in_a_loop)]  # noqa: B023
    for one, other in zip(relay.tree.leaves(meta[0]), relay.tree.leaves(meta[1]), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)


def test_an_equation_with_second_derivatives():
    def u(p, x, t):
        return net(p, rnp.stack([x, t]))[0]

    def residual(p, x, t):
        return relay.grad(u, 2)(p, x, t) - 0.1 * relay.grad(relay.grad(u, 1), 1)(p, x, t)

    p = relay.tree.map(lambda w: w.astype("float64"), layers([2, 8, 1]))
    x, t = np.random.default_rng(1).uniform(0, 1, (2, 5))
    found, h = relay.vmap(residual, (None, 0, 0))(p, x, t), 1e-4
    at = lambda x, t: np.asarray(relay.vmap(u, (None, 0, 0))(p, x, t))  # noqa: E731
    expected = (at(x, t + h) - at(x, t - h)) / (2 * h) - 0.1 * (at(x + h, t) - 2 * at(x, t) + at(x - h, t)) / h**2
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
    slopes = relay.grad(lambda p: (relay.vmap(residual, (None, 0, 0))(p, x, t) ** 2).mean())(p)
    assert all(np.isfinite(np.asarray(leaf)).all() for leaf in relay.tree.leaves(slopes))


def test_policies_whose_episodes_end_when_they_end():
    def episode(p, key):
        def turn(state):
            place, likely, key, count = state
            key, draw = relay.random.split(key)
            logits = p["w"] * place + p["b"]
            action = relay.random.categorical(draw, logits)
            likely = likely + relay.nn.log_softmax(logits)[action]
            return place + (action.astype("float32") * 2 - 1) * 0.3, likely, key, count + 1

        start = (rnp.asarray(0.0), rnp.asarray(0.0), key, 0)
        place, likely, _, count = relay.while_loop(lambda s: (s[3] < 30) & (abs(s[0]) < 1), turn, start)
        return likely * relay.stop_gradient(place), count

    p, keys = {"w": rnp.asarray([0.1, 0.2]), "b": rnp.asarray([0.0, 0.1])}, relay.random.split(relay.random.key(3), 6)
    slopes, counts = relay.vmap(relay.grad(episode, has_aux=True), (None, 0))(p, keys)
    assert len(set(counts.tolist())) > 1
    for i in range(6):
        slope, count = relay.grad(episode, has_aux=True)(p, keys[i])
        assert int(count) == int(counts[i])
        for name in p:
            np.testing.assert_allclose(slopes[name][i], slope[name], rtol=1e-5, atol=1e-6)


def test_two_optimisers():
    bce, makers, critics = optim.losses.binary_cross_entropy_with_logits, optim.Adam(1e-3, betas=(0.5, 0.999)), optim.Adam(2e-3)

    @relay.function(donate_argnums=(0, 1, 2, 3))
    def step(make, judge, state, other, key, real):
        noise = relay.random.normal(key, (real.shape[0], 3))

        def judged(judge):
            true, false = net(judge, real)[:, 0], net(judge, relay.stop_gradient(net(make, noise)))[:, 0]
            return bce(true, rnp.ones_like(true)) + bce(false, rnp.zeros_like(false))

        def fooled(make):
            score = net(judge, net(make, noise))[:, 0]
            return bce(score, rnp.ones_like(score))

        first, slopes = relay.value_and_grad(judged)(judge)
        judge, other = critics.update(judge, slopes, other)
        second, slopes = relay.value_and_grad(fooled)(make)
        make, state = makers.update(make, slopes, state)
        return make, judge, state, other, first, second

    make, judge = layers([3, 16, 2]), layers([2, 32, 1], 1)
    state, other, rng = makers.init(make), critics.init(judge), np.random.default_rng(0)
    for i in range(400):
        real = (rng.normal(size=(64, 2)) * 0.3 + [2, -1]).astype("float32")
        make, judge, state, other, first, second = step(make, judge, state, other, relay.random.key(i), real)
    made = np.asarray(net(make, relay.random.normal(relay.random.key(999), (500, 3)))).mean(0)
    assert np.isfinite(float(first)) and np.isfinite(float(second)) and abs(made - [2, -1]).max() < 1.5
