"""relay.optim against recorded trajectories of PyTorch's optimisers, over tuples and data types."""

import json
import math
import pathlib

import numpy as np
import pytest

import relay
from relay import optim

RECORDED = json.loads((pathlib.Path(__file__).resolve().parents[1] / "optim" / "trajectories.json").read_text())
NAMES = ["weight", "bias", "scale"]
SHAPES = {"weight": (3, 2), "bias": (4,), "scale": ()}


def optimizer_of(case):
    arguments = dict(case["arguments"])
    lr = arguments["lr"]
    kind, given = case.get("schedule", (None, {}))
    s = optim.schedules
    arguments["lr"] = {
        None: lambda: lr,
        "StepLR": lambda: s.step(lr, **given),
        "MultiStepLR": lambda: s.multi_step(lr, **given),
        "ExponentialLR": lambda: s.exponential(lr, **given),
        "CosineAnnealingLR": lambda: s.cosine(lr, given["T_max"], given["eta_min"]),
        "WarmUp": lambda: s.warm_up(s.cosine(lr, given["T_max"]), given["steps"], given["start_factor"]),
    }[kind]()
    if "clip_norm" in case:
        arguments["clip"] = optim.clip_by_norm(case["clip_norm"])
    if "clip_value" in case:
        arguments["clip"] = optim.clip_by_value(case["clip_value"])
    return getattr(optim, case["optimizer"])(**arguments)


def compiled(function, mod=None):
    mod = mod or relay.IRModule()
    mod["main"] = function
    return relay.compile(mod)


@pytest.mark.parametrize("case", RECORDED["cases"], ids=lambda case: case["name"])
def test_follows_pytorch_over_tuples(case):
    dtype = case.get("dtype", "float64")
    optimizer = optimizer_of(case)
    # A tuple with a tuple in it.
    tree = relay.TupleType([
        relay.TensorType(SHAPES["weight"], dtype),
        relay.TupleType([relay.TensorType(SHAPES["bias"], dtype), relay.TensorType((), dtype)]),
    ])  # fmt: skip

    def arranged(row):
        weight, bias, scale = (np.array(row[name], dtype) for name in NAMES)
        return weight, (bias, scale)

    params = arranged(RECORDED["start"])
    state = compiled(optimizer.init(tree))(params)
    update = compiled(optimizer.update(tree))
    tolerance = 1e-12 if dtype == "float64" else 2e-6
    for count, (gradient, expected) in enumerate(zip(RECORDED["gradients"], case["params"]), 1):
        params, state = update(params, arranged(gradient), state)
        assert int(state[0]) == count
        for ours, theirs in zip((params[0], *params[1]), (expected[name] for name in NAMES)):
            np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


NETWORK = """
type Network { Dense(Tensor[(3, 2), float64], Network), Last(Tensor[(4), float64], Tensor[(), float64], int32) }
def @network(%w: Tensor[(3, 2), float64], %b: Tensor[(4), float64], %s: float64) -> Network { Dense(%w, Dense(%w, Last(%b, %s, 7))) }
"""


@pytest.mark.parametrize("name", ["sgd_nesterov", "adam_amsgrad", "warm_up", "clip_norm_adamw"])
def test_follows_pytorch_over_data_types(name):
    """The same update over a recursive data type with an integer in it, which stays."""
    (case,) = (case for case in RECORDED["cases"] if case["name"] == name)
    mod = relay.parse(NETWORK)
    tree = mod["network"].ret_type
    optimizer = optimizer_of({k: v for k, v in case.items() if k != "clip_norm"})
    mod["init"] = optimizer.init(tree, mod)
    mod["update"] = optimizer.update(tree, mod)
    relay.check(mod)
    make, init, update = (relay.compile(mod, entry=entry) for entry in ("network", "init", "update"))
    flat = relay.TupleType([relay.TensorType(SHAPES[name], "float64") for name in NAMES])
    flat_init, flat_update = compiled(optimizer.init(flat)), compiled(optimizer.update(flat))

    def arrays(row):
        return tuple(np.array(row[name], "float64") for name in NAMES)

    params = make(*arrays(RECORDED["start"]))
    flat_params = arrays(RECORDED["start"])
    state, flat_state = init(params), flat_init(flat_params)
    for gradient in RECORDED["gradients"]:
        params, state = update(params, make(*arrays(gradient)), state)
        flat_params, flat_state = flat_update(flat_params, arrays(gradient), flat_state)
    first, rest = params.fields
    second, last = rest.fields
    np.testing.assert_allclose(first, flat_params[0], rtol=1e-14)
    np.testing.assert_allclose(second, flat_params[0], rtol=1e-14)
    np.testing.assert_allclose(last.fields[0], flat_params[1], rtol=1e-14)
    np.testing.assert_allclose(last.fields[1], flat_params[2], rtol=1e-14)
    assert last.fields[2] == 7


def test_the_norm_of_a_data_type_counts_each_of_its_tensors():
    mod = relay.parse("type List[A] { Cons(A, List[A]), Nil }\ndef @main(%x: float32, %l: List[Tensor[(2), float32]]) -> float64 { 0f64 }")
    list_type = mod["main"].params[1].type_annotation
    pair = relay.TupleType([relay.TensorType((), "float32"), list_type])
    x, tree = relay.var("x", "float32"), relay.var("l", list_type)
    mod["main"] = relay.Function([x, tree], optim.global_norm(relay.Tuple([x, tree]), pair, mod))
    run = relay.compile(mod)
    cons, nil = mod.constructor("Cons"), relay.Value(mod.constructor("Nil"), [])
    values = nil
    for i in range(3):
        values = relay.Value(cons, [np.array([i, 2], "float32"), values])
    assert math.isclose(float(run(np.float32(4), values)), math.sqrt(16 + 0 + 4 + 1 + 4 + 4 + 4))


def test_one_step_of_each_dtype():
    for dtype in ("float16", "bfloat16", "float32", "float64"):
        tree = relay.TensorType((2,), dtype)
        params, grads = relay.var("p", tree), relay.var("g", tree)
        optimizer = optim.AdamW(0.5, clip=optim.clip_by_norm(1.0))
        mod = relay.IRModule()
        mod["init"], mod["update"] = optimizer.init(tree), optimizer.update(tree)
        body = relay.GlobalVar("update")(params, grads, relay.GlobalVar("init")(params))
        mod["main"] = relay.Function([params, grads], relay.cast(relay.TupleGetItem(body, 0), "float32"))
        # Adam's first step has the size of the rate.
        np.testing.assert_allclose(relay.compile(mod)([1.0, 1.0], [2.0, -3.0]), [0.495, 1.495], rtol=1e-2)


@pytest.mark.parametrize("make, message", [
    (lambda: optim.SGD(-1.0), "lr is a finite number of 0 or more, not -1.0"),
    (lambda: optim.SGD(float("nan")), "lr is a finite number of 0 or more, not nan"),
    (lambda: optim.SGD(0.1, nesterov=True), "nesterov needs a momentum above 0 and a dampening of 0"),
    (lambda: optim.Adam(betas=(0.9, 1.0)), "betas are below 1"),
    (lambda: optim.schedules.step(0.1, 0), "step_size is a number of updates, 1 or more, not 0"),
    (lambda: optim.losses.mse_loss(relay.const(1.0), relay.const(1.0), "avg"), "reduction is"),
    (lambda: optim.losses.huber_loss(relay.const(1.0), relay.const(1.0), 0), "delta is above 0, not 0"),
    (lambda: optim.initializers.he_normal(relay.random.threefry_key(1), (3,)), "has no inputs and outputs"),
    (lambda: optim.initializers.gain("swish"), "nonlinearity is one of"),
])  # fmt: skip
def test_wrong_settings_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("make, message", [
    (lambda: optim.Adam((np.ones(2),)), "lr is a number or a schedule, not .*: an optimiser holds no weights. Its init and update take them"),
    (lambda: optim.SGD("fast"), "lr is a number or a schedule, not 'fast': an optimiser holds no weights"),
    (lambda: optim.SGD(0.1, clip=1.0), "clip is clip_by_norm or clip_by_value, not 1.0"),
    (lambda: optim.schedules.cosine(0.1, 2.5), "steps is a number of updates, an integer, not 2.5"),
])  # fmt: skip
def test_settings_of_wrong_kinds_are_refused(make, message):
    with pytest.raises(TypeError, match=message):
        make()


@pytest.mark.parametrize("weights", [relay.var("x"), "float32", (), [3]])
def test_what_is_neither_weights_nor_their_type_is_refused(weights):
    optimizer, kind = optim.Adam(0.1), type(weights).__name__
    for name, gives in [("init", "a function from weights to the state, which you compile and call"), ("state_type", "the type of the state"),
                        ("update", "a function of weights, gradients and state, which you compile and call")]:  # fmt: skip
        with pytest.raises(TypeError, match=rf"^{name} takes the type of the weights, such as .*, not a {kind}; it gives {gives}$"):
            getattr(optimizer, name)(weights)
    with pytest.raises(TypeError, match="^mod is an IRModule, not "):
        optimizer.init(relay.TensorType((2,)), weights)


@pytest.mark.parametrize("type_, message", [
    ("fn(float32) -> float32", "is no tree of tensors: parameters are tensors, tuples and data types of them"),
    ("(float32, ref(float32))", "is no tree of tensors"),
    ("List[float32]", "is a data type: give the module that defines it"),
])  # fmt: skip
def test_what_is_no_tree_is_refused(type_, message):
    if type_.startswith("List"):
        parsed = relay.TypeCall(relay.GlobalTypeVar("List"), [relay.TensorType((), "float32")])
    else:
        parsed = relay.parse_type(type_)
    with pytest.raises(relay.RelayError, match=message):
        optim.Adam().update(parsed)


def test_a_data_type_that_the_module_lacks_is_refused():
    with pytest.raises(relay.RelayError, match="the module does not define the data type Missing"):
        optim.Adam().update(relay.GlobalTypeVar("Missing"), relay.IRModule())


def test_losses_are_those_of_the_definition():
    rng = np.random.default_rng(0)
    logits, target = rng.normal(size=(5, 3)), rng.uniform(size=(5, 3))
    labels = np.array([0, 2, 1, 1, 0], "int32")
    x, y = relay.var("x", shape=(5, 3), dtype="float64"), relay.var("y", shape=(5, 3), dtype="float64")
    t = relay.var("t", shape=(5,), dtype="int32")
    l = optim.losses
    log_p = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    picked = -log_p[np.arange(5), labels]
    p = 1 / (1 + np.exp(-logits))
    size = np.abs(logits - target)
    cases = [
        (l.cross_entropy(x, t), picked.mean()),
        (l.cross_entropy(x, t, "sum"), picked.sum()),
        (l.cross_entropy(x, t, "none"), picked),
        (l.nll_loss(x, t), -logits[np.arange(5), labels].mean()),
        (l.mse_loss(x, y), ((logits - target) ** 2).mean()),
        (l.l1_loss(x, y), size.mean()),
        (l.huber_loss(x, y, 0.5), np.where(size < 0.5, size**2 / 2, 0.5 * (size - 0.25)).mean()),
        (l.binary_cross_entropy_with_logits(x, y), -(target * np.log(p) + (1 - target) * np.log(1 - p)).mean()),
    ]
    run = compiled(relay.Function([x, y, t], relay.Tuple([loss for loss, _ in cases])))
    for ours, (_, expected) in zip(run(logits, target, labels), cases):
        np.testing.assert_allclose(ours, expected, rtol=1e-12)
    far = compiled(relay.Function([x, y], l.binary_cross_entropy_with_logits(x, y, "none")))
    np.testing.assert_array_equal(far(np.full((5, 3), 800.0), np.zeros((5, 3))), np.full((5, 3), 800.0))


def of_labels(loss, labels, dtype="int32", shape=None, mod=None, scores=None):
    """A loss of logits (4, 3) and labels, compiled."""
    x, t = relay.var("x", shape=(4, 3)), relay.var("t", shape=(4,) if shape is None else shape, dtype=dtype)
    run = compiled(relay.Function([x, t], loss(x if scores is None else scores(x), t)), mod)
    return run(np.eye(4, 3, dtype="float32"), np.array(labels, dtype))


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8"])
def test_labels_that_are_ignored_do_not_count(dtype):
    other = 255 if dtype == "uint8" else -100
    losses = -np.log(np.exp(np.eye(3)) / np.exp(np.eye(3)).sum(1))
    kept = losses[0, 0] + losses[1, 2]
    for reduction, expected in [("mean", kept / 2), ("sum", kept), ("none", [losses[0, 0], losses[1, 2], 0, 0])]:
        for ignored in (other, 2**31 - 1) if dtype == "int64" else (other,):
            loss = lambda x, t: optim.losses.cross_entropy(x, t, reduction, ignore_index=ignored)  # noqa: E731, B023
            np.testing.assert_allclose(of_labels(loss, [0, 2, ignored, ignored], dtype), expected, rtol=1e-6)
    # -100 without being asked, as in PyTorch; of unsigned labels it is none.
    if dtype != "uint8":
        assert np.isnan(of_labels(optim.losses.nll_loss, [-100] * 4, dtype))
        x, t = relay.var("x", shape=(4, 3)), relay.var("t", shape=(4,), dtype=dtype)
        slope = relay.compile(relay.grad(relay.Function([x, t], optim.losses.cross_entropy(x, t))))
        found = slope(np.eye(4, 3, dtype="float32"), np.array([0, 1, 2, -100], dtype))
        assert (found[3] == 0).all() and (found[:3] != 0).all()
    else:
        with pytest.raises(relay.ExecutionError, match="index 156 is out of range"):
            of_labels(optim.losses.nll_loss, [156] * 4, dtype)


@pytest.mark.parametrize("name", ["cross_entropy", "nll_loss"])
@pytest.mark.parametrize("label", [-1, -3, 3])
def test_labels_outside_of_the_classes_are_errors(name, label):
    with pytest.raises(relay.ExecutionError, match=f"index {label} is out of range"):
        of_labels(getattr(optim.losses, name), [0, 1, 2, label])


@pytest.mark.parametrize("name", ["cross_entropy", "nll_loss"])
def test_labels_of_other_shapes_and_dtypes_are_refused_by_name(name):
    loss = getattr(optim.losses, name)
    for shape in [(3,), (4, 1), (), (1,)]:
        with pytest.raises(relay.RelayError, match=rf"argument 2 of %{name}: expected Tensor\[\(4\), int32\], found (Tensor|int32)"):
            of_labels(loss, np.zeros(shape), shape=shape)
    for shape in [(4,), (4, 3)] if name == "nll_loss" else [(4,), (1, 4, 3)]:  # cross entropy takes probabilities
        with pytest.raises(TypeError, match=f"{name}: labels are numbers of classes, int32 or int64, not Tensor.*float32"):
            of_labels(loss, np.zeros(shape), "float32", shape)
    # Types that are known with a module alone are looked at when it is compiled.
    mod = relay.parse("def @scores(%x: Tensor[(4, 3), float32]) { %x * 2f }")
    with pytest.raises(relay.RelayError, match=f"argument 2 of %{name}: expected"):
        of_labels(loss, [0, 1, 2], shape=(3,), mod=mod, scores=relay.GlobalVar("scores"))


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "huber_loss", "binary_cross_entropy_with_logits"])
def test_what_is_compared_has_one_type(name):
    x = relay.var("x", shape=(4, 1))
    for other in [relay.var("y", shape=(4,)), relay.var("y", shape=(1, 1)), relay.var("y", shape=(4, 1), dtype="float64")]:
        with pytest.raises(relay.RelayError, match=rf"argument 2 of %{name}: expected Tensor\[\(4, 1\), float32\], found Tensor"):
            compiled(relay.Function([x, other], getattr(optim.losses, name)(x, other)))


def test_losses_of_open_extents_in_lanes_and_twice_differentiated():
    n = relay.ShapeVar("n")
    x, t = relay.var("x", shape=(n, 3)), relay.var("t", shape=(n,), dtype="int32")
    values, labels = np.arange(12, dtype="float32").reshape(4, 3) / 6, np.array([0, 1, 2, -100], "int32")
    for loss in (lambda x, t: optim.losses.cross_entropy(x, t), lambda x, t: optim.losses.mse_loss(x, relay.tanh(x))):
        of_both = relay.Function([a := relay.var("a", shape=(4, 3)), b := relay.var("b", shape=(4,), dtype="int32")], loss(a, b))
        expected = compiled(of_both)(values, labels)
        np.testing.assert_allclose(compiled(relay.Function([x, t], loss(x, t)))(values, labels), expected, rtol=1e-6)
        lanes = compiled(relay.vmap(relay.grad(of_both), in_axes=(0, None)))(np.stack([values, values * 2]), labels)
        slope = compiled(relay.grad(of_both))
        for i, lane in enumerate(lanes):
            np.testing.assert_allclose(lane, slope(values * (i + 1), labels), rtol=1e-5, atol=1e-7)
        curve = compiled(relay.hessian(of_both))(values, labels)
        assert curve.shape == (4, 3, 4, 3) and np.isfinite(curve).all() and (curve != 0).any()


def test_first_values_have_their_spread():
    i = optim.initializers
    shape = (40, 30, 3, 3)
    fan_in, fan_out = 30 * 9, 40 * 9
    key = relay.random.threefry_key(5)
    made, spreads = [], []
    for make, spread in [
        (i.xavier_uniform, math.sqrt(2 / (fan_in + fan_out))),
        (i.glorot_normal, math.sqrt(2 / (fan_in + fan_out))),
        (i.he_uniform, math.sqrt(2 / fan_in)),
        (i.kaiming_normal, math.sqrt(2 / fan_in)),
        (lambda k, s: i.normal(k, s, std=0.02), 0.02),
        (lambda k, s: i.uniform(k, s, -1.0, 1.0), 1 / math.sqrt(3)),
    ]:
        key, values = make(key, shape)
        made.append(values)
        spreads.append(spread)
    arrays = relay.compile(relay.Function([], relay.Tuple(made)))()
    for array, spread in zip(arrays, spreads):
        assert array.shape == shape and array.dtype == np.float32
        assert abs(array.mean()) < 5 * spread / math.sqrt(array.size)
        assert abs(array.std() / spread - 1) < 0.03
    assert abs(arrays[0]).max() <= math.sqrt(6 / (fan_in + fan_out))
    # Drawn from keys that follow each other, so no two are alike.
    assert abs(np.corrcoef([a.ravel() for a in arrays])[np.triu_indices(6, 1)]).max() < 0.05
