"""Optimisers on trees of arrays, groups of weights, and gradients of several batches."""

import copy
import pickle

import numpy as np
import pytest
import relay
import relay.numpy as rnp
from relay import optim

from test_optim import NAMES, RECORDED, optimizer_of

TREE = {"layer": {"w": np.arange(6, dtype="float32").reshape(2, 3), "b": np.ones(2, "float32")}, "n": np.int32(3)}


def ones(tree, by=1.0):
    return relay.tree.map(lambda leaf: np.full_like(leaf, by), tree)


@pytest.mark.parametrize("case", [case for case in RECORDED["cases"] if "dtype" not in case], ids=lambda case: case["name"])
def test_follows_pytorch_over_dictionaries(case):
    optimizer = optimizer_of(case)
    arranged = lambda row: {name: np.array(row[name]) for name in NAMES}  # noqa: E731
    params = arranged(RECORDED["start"])
    state = optimizer.init(params)
    step = relay.function(optimizer.update, donate_argnums=(0, 2), control_flow=False)
    for gradients, expected in zip(RECORDED["gradients"][:5], case["params"]):
        params, state = step(params, arranged(gradients), state)
        for name in NAMES:
            np.testing.assert_allclose(params[name], expected[name], rtol=1e-12, atol=1e-14)
    assert int(state[0]) == 5


def test_a_training_step_of_functions_of_python():
    optimizer = optim.AdamW(0.05)

    @relay.function
    def step(params, state, x, y):
        value, slopes = relay.value_and_grad(lambda p: ((x @ p["w"] + p["b"] - y) ** 2).mean())(params)
        params, state = optimizer.update(params, slopes, state)
        return params, state, value

    x = np.random.default_rng(0).normal(size=(64, 3)).astype("float32")
    y = x @ np.array([1, -2, 0.5], "float32") + 1
    params = {"w": rnp.zeros((3,)), "b": rnp.asarray(0.0)}
    state = optimizer.init(params)
    for _ in range(300):
        params, state, value = step(params, state, x, y)
    assert float(value) < 1e-3 and step.programs <= 2


def test_integers_stay_and_states_have_the_weights_form():
    optimizer = optim.Adam(0.1)
    state = optimizer.init(TREE)
    assert int(state[0]) == 0 and relay.tree.flatten(state[1])[1] == relay.tree.flatten(TREE)[1] and len(state) == 3
    params, state = optimizer.update(TREE, ones(TREE), state)
    assert params["n"] == 3 and int(state[0]) == 1
    np.testing.assert_allclose(params["layer"]["b"], 0.9, rtol=1e-6)


def test_numbers_of_python_are_weights():
    optimizer = optim.SGD(0.1, momentum=0.5)
    params, state = {"scale": 3.0, "w": np.ones(2, "float32")}, optimizer.init({"scale": 3.0, "w": np.ones(2, "float32")})
    assert state[1]["scale"].dtype == "float32"
    for _ in range(2):
        params, state = optimizer.update(params, relay.grad(lambda p: p["scale"] * p["w"].sum())(params), state)
    assert params["scale"].dtype == "float32" and float(params["scale"]) < 3
    assert float(optim.SGD(0.5).update(3.0, 1.0, optim.SGD(0.5).init(3.0))[0]) == 2.5


def test_groups_have_their_own_decay_and_rate():
    seen = []

    def flat(path, type):
        seen.append((path, tuple(int(extent) for extent in type.shape), str(type.dtype)))
        return len(type.shape) < 2

    groups = [optim.group(flat, weight_decay=0.0), optim.group(lambda path, type: path == "['layer']['w']", lr=optim.schedules.constant(0.5))]
    zero, moved = ones(TREE, 0.0), {}
    for kind in (optim.SGD, optim.AdamW):
        optimizer = kind(0.1, weight_decay=0.2, groups=groups)
        moved[kind], _ = optimizer.update(TREE, zero, optimizer.init(TREE))
        np.testing.assert_allclose(moved[kind]["layer"]["b"], TREE["layer"]["b"])
        np.testing.assert_allclose(moved[kind]["layer"]["w"], TREE["layer"]["w"] * (1 - 0.5 * 0.2), rtol=1e-6)
    assert set(seen) == {("['layer']['b']", (2,), "float32"), ("['layer']['w']", (2, 3), "float32")}


@pytest.mark.parametrize("make", [
    lambda groups, lr, decay: optim.SGD(lr, momentum=0.9, weight_decay=decay, groups=groups),
    lambda groups, lr, decay: optim.Adam(lr, weight_decay=decay, groups=groups),
    lambda groups, lr, decay: optim.AdamW(lr, weight_decay=decay, groups=groups, amsgrad=True),
])  # fmt: skip
def test_a_group_is_what_an_optimizer_of_its_own_does(make):
    params = {name: np.array(value) for name, value in RECORDED["start"].items()}
    gradients = [{name: np.array(value) for name, value in row.items()} for row in RECORDED["gradients"][:4]]

    def run(optimizer, chosen):
        now = {name: params[name] for name in chosen}
        state = optimizer.init(now)
        for row in gradients:
            now, state = optimizer.update(now, {name: row[name] for name in chosen}, state)
        return now

    group = optim.group(lambda path, type: "bias" in path, lr=optim.schedules.step(0.3, 2), weight_decay=0.0)
    together = run(make([group], 0.1, 0.2), NAMES)
    apart = {**run(make([], 0.1, 0.2), ["weight", "scale"]), **run(make([], optim.schedules.step(0.3, 2), 0.0), ["bias"])}
    for name in NAMES:
        np.testing.assert_allclose(together[name], apart[name], rtol=1e-12)


def test_paths_in_programs():
    mod = relay.parse("type Net { Layer(Tensor[(2), float32], Net), End }")
    seen = []
    group = optim.group(lambda path, type: seen.append(path) is None, lr=0.0)
    net = mod.get_global_type_var("Net")
    optim.SGD(0.1, groups=[group]).update(relay.TupleType([relay.TensorType((2,)), relay.TupleType([relay.TensorType(())]), net]), mod)
    assert set(seen) == {"[0]", "[1][0]", "Layer[0]"}


@pytest.mark.parametrize("inner", [lambda: optim.SGD(0.1, momentum=0.9), lambda: optim.AdamW(0.1, clip=optim.clip_by_norm(0.5))])
def test_several_batches_are_one_update_with_the_mean(inner):
    params = {name: np.array(value) for name, value in RECORDED["start"].items()}
    rows = [{name: np.array(value) for name, value in row.items()} for row in RECORDED["gradients"][:6]]
    gathered, plain = optim.Accumulate(inner(), 3), inner()
    now, state, wanted, kept = params, gathered.init(params), params, plain.init(params)
    for i, row in enumerate(rows):
        before = now
        now, state = gathered.update(now, row, state)
        if i % 3 < 2:
            assert all((np.asarray(now[name]) == np.asarray(before[name])).all() for name in NAMES)
            continue
        mean = {name: sum(one[name] for one in rows[i - 2 : i + 1]) / 3 for name in NAMES}
        wanted, kept = plain.update(wanted, mean, kept)
        for name in NAMES:
            np.testing.assert_allclose(now[name], wanted[name], rtol=1e-12)
    assert int(state[0]) == 6 and int(state[1][0]) == 2


@pytest.mark.parametrize("make, kind, message", [
    (lambda: optim.SGD(0.1, groups=[{"lr": 0.1}]), TypeError, r"groups is a list of relay.optim.group\(where, ...\)"),
    (lambda: optim.SGD(0.1, groups=3), TypeError, "groups is a list of relay.optim.group"),
    (lambda: optim.group("bias", lr=0.1), TypeError, "where of a group is a function of the path and the type of a tensor, not 'bias'"),
    (lambda: optim.group(lambda path, type: True), ValueError, "a group has settings of its own: give lr, weight_decay, or both"),
    (lambda: optim.group(lambda path, type: True, weight_decay=-1), ValueError, "weight_decay is a finite number of 0 or more"),
    (lambda: optim.SGD(0.1, groups=[optim.group(lambda path, type: None, lr=1.0)]).update(TREE, ones(TREE), (np.int64(0),)), TypeError,
     r"where of a group says True or False for \['layer'\]\['b'\], not None"),
    (lambda: optim.Accumulate(0.1, 3), TypeError, "optimizer"),
    (lambda: optim.Accumulate(optim.SGD(0.1), 0), ValueError, "steps"),
    (lambda: optim.SGD(0.1).update(TREE, ones(TREE)), TypeError, "update takes weights, gradients and the state"),
    (lambda: optim.SGD(0.1).update(TREE, ones(TREE)["layer"], (np.int64(0),)), TypeError, "the gradients have another form than the weights"),
    (lambda: optim.SGD(0.1).update(TREE, {**ones(TREE), "n": np.ones(2)}, (np.int64(0),)), TypeError,
     r"the gradients\['n'\] is float64\[2\], and the weights\['n'\] int32\[\]"),
    (lambda: optim.SGD(0.1).update(TREE, ones(TREE), np.int64(0)), TypeError, "the state is no state of this optimiser: it is what init and update give"),
    (lambda: optim.SGD(0.1).update(TREE, ones(TREE), (0.5,)), TypeError, r"the state\[0\] is float.*where a number of updates is due"),
    (lambda: optim.SGD(0.1).init({"w": np.ones(2), "name": "layer"}), TypeError, r"the weights\['name'\] is no array but 'layer'"),
])  # fmt: skip
def test_what_is_refused(make, kind, message):
    with pytest.raises(kind, match=message):
        make()


def test_copies_of_optimisers_that_ran():
    """Compiled functions belong to the one that made them."""
    optimizer, weights = optim.Adam(0.1), {"w": np.ones(3, "float32")}
    state = optimizer.init(weights)
    first, _ = optimizer.update(weights, ones(weights), state)
    for twin in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        second, _ = twin.update(weights, ones(weights), twin.init(weights))
        np.testing.assert_array_equal(first["w"], second["w"])


@pytest.mark.parametrize(
    "schedule",
    [
        optim.schedules.step(0.1, 2),
        optim.schedules.multi_step(0.1, [1, 2]),
        optim.schedules.exponential(0.1, 0.5),
        optim.schedules.warm_up(optim.schedules.cosine(0.1, 5), 2, 0.5),
        optim.schedules.constant(np.float32(0.5)),
    ],
    ids=["step", "multi_step", "exponential", "warm_up", "constant"],
)
def test_copies_of_schedules(schedule):
    twin = pickle.loads(pickle.dumps(schedule))
    for t in range(4):
        assert relay.evaluate(twin(relay.const(t, "int64"))) == relay.evaluate(schedule(relay.const(t, "int64")))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_label_smoothing(reduction):
    rng = np.random.default_rng(1)
    logits, labels = rng.normal(size=(4, 5)), np.array([0, 3, -100, 4])
    likely = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    target = np.full((4, 5), 0.2 / 5)
    target[[0, 1, 3], labels[[0, 1, 3]]] += 0.8
    losses = -(likely * target).sum(1) * (labels != -100)
    expected = {"mean": losses.sum() / 3, "sum": losses.sum(), "none": losses}[reduction]
    found = optim.losses.cross_entropy(rnp.asarray(logits), rnp.asarray(labels), reduction, label_smoothing=0.2)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    given = optim.losses.cross_entropy(rnp.asarray(logits), rnp.asarray(labels), reduction, label_smoothing=np.float32(0.2))
    np.testing.assert_allclose(given, expected, rtol=1e-6)
    for wrong in (1.5, -0.1):
        with pytest.raises(ValueError, match="label_smoothing is"):
            optim.losses.cross_entropy(rnp.asarray(logits), rnp.asarray(labels), label_smoothing=wrong)


@pytest.mark.parametrize("smooth", [0.0, 0.3])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_labels_that_are_probabilities(reduction, smooth):
    rng = np.random.default_rng(2)
    logits, given = rng.normal(size=(4, 5)), rng.dirichlet(np.ones(5), size=4)
    likely = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    losses = -(likely * (given * (1 - smooth) + smooth / 5)).sum(1)
    expected = {"mean": losses.mean(), "sum": losses.sum(), "none": losses}[reduction]
    run = relay.function(lambda x, y: optim.losses.cross_entropy(x, y, reduction, label_smoothing=smooth))
    np.testing.assert_allclose(run(logits, given), expected, rtol=1e-12)
    with pytest.raises(relay.RelayError, match="(?s)cross_entropy.*float64"):
        run(logits, given[:, :4])
