"""`relay.op.register`: declarations, relations, facts, life of operators."""

from __future__ import annotations

import dataclasses
import inspect
import json
import pickle
from typing import Literal, Optional

import numpy as np
import pytest
from register_calls import X, call_program, copy

import relay
from relay import te
from relay.op import Attr, Input, Output


def times(factor):
    return lambda b, x: b.map(x.shape, lambda *i: x[i] * factor)


# ---- Declarations ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name, arguments, kind, message",
    [
        ("test.op", {}, TypeError, "test.op needs a relation: a function that gives the type of its result, or a name such as 'Identity'"),
        ("test.op", {"relation": 3}, TypeError, "relation of test.op is a function, not int"),
        ("test.op", {"relation": "None"}, ValueError, "there is no relation None"),
        ("test.op", {"relation": "nn.softmax"}, ValueError, "the relation nn.softmax is of an operator with attributes of its own"),
        ("no name", {"relation": "Identity"}, ValueError, "'no name' cannot be the name of an operator"),
        ("", {"relation": "Identity"}, ValueError, "'' cannot be the name of an operator"),
        ("my.if", {"relation": "Identity"}, ValueError, "'my.if' cannot be the name"),
        ("grad.op", {"relation": "Identity"}, ValueError, "names that begin with 'grad.' are those of gradients"),
        ("add", {"relation": "Identity"}, relay.RelayError, "operator declared twice: add"),
        ("test.op", {"relation": "Identity", "kernel": copy}, TypeError, "test.op has several definitions: compute and kernel"),
        ("test.op", {"relation": lambda a: a}, TypeError, r"relation of test.op is called as \(call, x\); it is <lambda>\(a\)"),
        ("test.op", {"relation": "Identity", "inputs": ["x", "y"]}, TypeError, r"compute of test.op is called as \(b, x, y\); it is copy\(b, x\)"),
        ("test.op", {"relation": "Identity", "inputs": ["a b"]}, ValueError, "'a b' cannot be the name of an input"),
        ("test.op", {"relation": "Identity", "inputs": [3]}, TypeError, "inputs and outputs of test.op are names or relay.op.Input"),
        ("test.op", {"relation": "Identity", "attrs": {"x": 1}}, ValueError, "test.op has two parameters x"),
        ("test.op", {"relation": "Identity", "attrs": int}, TypeError, "attributes of test.op are a mapping or a dataclass, not int"),
        ("test.op", {"relation": "Identity", "attrs": {"a": Attr(set)}}, TypeError, "attribute a cannot be of type set; types are int"),
        ("test.op", {"relation": "Identity", "attrs": {"a": Attr("set<int>")}}, relay.RelayError, "attribute a cannot be of type set<int>"),
        ("test.op", {"relation": "Identity", "attrs": {"a": []}}, TypeError, "the type of attribute a is not known"),
        ("test.op", {"relation": "Identity", "attrs": {"a b": 1}}, ValueError, "'a b' cannot be the name of an attribute"),
        ("test.op", {"relation": "Identity", "attrs": {"a": Attr(int, "b")}}, relay.RelayError, 'the default of attribute a is "b", which is not int'),
        ("test.op", {"relation": "Identity", "attrs": {"a": Attr(int, object())}}, TypeError, "attribute a cannot be <object"),
        ("test.op", {"relation": "Identity", "attrs": {"a": Attr(int, 0, kind="big")}}, ValueError, 'there is no kind of attribute "big"'),
        ("test.op", {"relation": "Identity", "inputs": [Input("x", dtype="floats")]}, ValueError, 'x: there is no class of dtypes "floats"'),
        ("test.op", {"relation": "Identity", "inputs": [Input("x", var="TU")]}, ValueError, "a dtype variable is one letter, not 'TU'"),
        ("test.op", {"relation": "Identity", "gradient": 3}, TypeError, "gradient of test.op is a function, not int"),
        ("test.op", {"relation": "Identity", "gradient": copy, "no_gradient": "why"}, TypeError, "test.op has both gradient and no_gradient"),
        (
            "test.op",
            {"relation": "Identity", "gradient": lambda call: [], "outputs": ["y"]},
            TypeError,
            r"gradient of test.op is called as \(call, grad_y\)",
        ),
    ],
)
def test_wrong_declarations(name, arguments, kind, message):
    before = relay.op.names()
    with pytest.raises(kind, match=message):
        relay.op.register(name, compute=copy, **arguments)
    assert relay.op.names() == before
    if name == "test.op":  # nothing is left of it
        with relay.op.registered(name, compute=copy, relation="Identity"):
            pass


def test_names_are_taken_once():
    with relay.op.registered("test.op", relation="Identity", compute=copy):
        with pytest.raises(ValueError, match=r"operator test.op is registered already; relay.op.unregister\('test.op'\) takes it out"):
            relay.op.register("test.op", relation="Identity", compute=copy)
    with pytest.raises(KeyError, match="test.op is not an operator that Python has registered"):
        relay.op.unregister("test.op")
    with pytest.raises(KeyError, match="add is not an operator that Python has registered"):
        relay.op.unregister("add")
    with pytest.raises(TypeError, match="test.op has no definition"):
        with relay.op.registered("test.op", relation="Identity"):
            pass


def test_the_function_tells_of_itself(capsys):
    with relay.op.registered(
        "test.lerp",
        inputs=[Input("x", "One end.", dtype="float", var="T"), Input("y", "The other.", var="T")],
        outputs=[Output("z", "Between them.", var="T")],
        attrs={"weight": Attr(float, 0.5, "How far."), "axis": Attr(int, doc="No use.")},
        relation="Broadcast",
        expand=lambda call, x, y, weight: x + (y - x) * relay.const(weight, call.type.dtype),
        doc="A point between two.",
        examples=[("fn (%x: Tensor[(2), float32]) { test.lerp(%x, %x, axis=1) }", [np.float32([1, 2])])],
    ) as op:
        assert str(inspect.signature(op)).startswith("(x, y, axis, weight=0.5)")
        help(op)
        shown = capsys.readouterr().out
        assert "A point between two." in shown and "weight: How far. (float)" in shown and "z: Between them." in shown
        text = relay.op.describe(op)
        for line in ("test.lerp(x, y, weight=…, axis=…)", "weight: float = 0.5", "axis: int required", "other operators", "Broadcast", "[1., 2.]"):
            assert line in text, text
        assert "test.lerp" in relay.op.names()
        assert relay.op.function("test.lerp") is op
    with pytest.raises(KeyError, match="there is no operator test.lerp"):
        relay.op.describe("test.lerp")


def test_functions_of_all_operators():
    softmax = relay.op.function("nn.softmax")
    assert str(inspect.signature(softmax)).startswith("(data, axis=-1)")
    x = relay.var("x", shape=(2,))
    relay.assert_structural_equal(softmax(x, axis=0), relay.nn.softmax(x, axis=0), map_free_vars=True)
    assert "nn.softmax(data, axis=…)" in relay.op.describe("nn.softmax")


# ---- Attributes -----------------------------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Options:
    count: int
    scale: float = 1.5
    flag: bool = False
    name: str = "a"
    sizes: list[int] = dataclasses.field(default_factory=lambda: [1, 2], metadata={"doc": "Sizes.", "kind": "sizes"})
    limit: Optional[float] = None
    mode: Literal["fast", "slow"] = "fast"
    dtype: "str" = "float32"


def test_attributes_of_all_types():
    seen = []

    def compute(b, x, **attrs):
        seen.append(attrs)
        return copy(b, x)

    with relay.op.registered("test.op", inputs=["x"], attrs=Options, relation="Identity", compute=compute) as op:
        x = relay.var("x", shape=(2, 3))
        call = op(x, 3, scale=2, flag=True, name='q"', sizes=4, limit=0.25, mode="slow")
        assert call.attrs.count == 3 and call.attrs.sizes == (4,) and call.attrs.limit == 0.25
        assert call.attrs is op(x, 3, 2.0, True, 'q"', [4], 0.25, "slow").attrs
        assert call.attrs is not op(x, 3).attrs
        assert relay.structural_hash(call) != relay.structural_hash(op(x, 4))
        assert not relay.structural_equal(call, op(x, 4), map_free_vars=True)
        mod = relay.IRModule.from_expr(call)
        text = str(mod)
        assert 'count=3, scale=2f, flag=True, name="q\\"", sizes=[4], limit=0.25f, mode="slow"' in text
        relay.assert_structural_equal(mod, relay.parse(text))
        relay.assert_structural_equal(mod, pickle.loads(pickle.dumps(mod)))
        relay.assert_structural_equal(call, pickle.loads(pickle.dumps(call)), map_free_vars=True)
        relay.compile(mod)(X)
        assert seen[-1] == dict(count=3, scale=2.0, flag=True, name='q"', sizes=(4,), limit=0.25, mode="slow", dtype="float32")
        assert repr(call.attrs).startswith("python.attrs.TestOpAttrs(count=3")
        for wrong, message in (
            ({}, "missing a required argument: 'count'"),
            ({"count": "a"}, 'attribute count takes int, not "a"'),
            ({"count": 1, "mode": "slwo"}, 'mode is "slwo"; known are "fast" and "slow"'),
            ({"count": 1, "sizes": ["a"]}, "attribute sizes takes list<int>"),
            ({"count": 1, "limit": "a"}, "attribute limit takes float or None"),
        ):
            with pytest.raises((relay.RelayError, TypeError), match=message):
                op(x, **wrong)
        with pytest.raises(relay.RelayError, match=r"attribute count \(int\) is missing; it has no default"):
            relay.check(relay.parse("def @main(%x: Tensor[(2), float32]) { test.op(%x) }"))


def test_dtype_attributes():
    relation = lambda call, x, dtype: relay.TensorType(x.shape, dtype)  # noqa: E731
    compute = lambda b, x, dtype: b.map(x.shape, lambda *i: te.cast(x[i], dtype))  # noqa: E731
    with relay.op.registered("test.to", inputs=["x"], attrs={"dtype": Attr("dtype")}, relation=relation, compute=compute) as op:
        mod = call_program(op, (2, 3), dtype="int32")
        assert 'dtype="int32"' in str(mod)
        assert relay.compile(mod)(X).dtype == np.int32
        with pytest.raises(relay.RelayError, match="attribute dtype: unknown element type"):
            op(relay.var("x"), dtype="int33")


def test_dictionaries_as_attributes():
    seen = []

    def compute(b, x, opts):
        seen.append(opts)
        return b.map(x.shape, lambda *i: x[i] * float(opts.get("scale", 1)))

    options = {"scale": 3, "deep": {"names": ["a", "b"], "none": None}, "flag": True}
    with relay.op.registered("test.op", inputs=["x"], attrs={"opts": Attr(dict, {})}, relation="Identity", compute=compute) as op:
        mod = call_program(op, (2, 3), opts=options)
        assert 'opts={"deep": {"names": ["a", "b"], "none": None}, "flag": True, "scale": 3}' in str(mod)
        again = relay.parse(str(mod))
        relay.assert_structural_equal(mod, again)
        assert relay.structural_hash(mod) == relay.structural_hash(again)
        assert not relay.structural_equal(mod, call_program(op, (2, 3), opts={**options, "scale": 4}))
        assert not relay.structural_equal(mod, call_program(op, (2, 3), opts={**options, "more": 4}))
        relay.assert_structural_equal(mod, pickle.loads(pickle.dumps(mod)))
        wanted = {"scale": 3, "deep": {"names": ("a", "b"), "none": None}, "flag": True}
        assert mod["main"].body.attrs.opts == wanted and mod["main"].body.attrs["opts"]["deep"]["names"] == ("a", "b")
        np.testing.assert_array_equal(relay.compile(mod)(X), 3 * X)
        assert seen and seen[-1] == wanted
        assert "opts" not in str(call_program(op, (2, 3)))  # the default
        for wrong, message in [({1: 2}, "attribute opts of test.op cannot be"), ({"a": object()}, "attribute opts of test.op cannot be"), ([1], r"attribute opts takes dict, not \[1\]")]:
            with pytest.raises((TypeError, relay.RelayError), match=message):
                op(relay.var("x"), opts=wrong)
        deep = {}
        for _ in range(100000):
            deep = {"a": deep}
        with pytest.raises(RecursionError):
            op(relay.var("x"), opts=deep)
        while deep:  # one level at a time: Python's own release of it would be as deep
            deep = deep["a"]


# ---- Relations ------------------------------------------------------------------------------------------------------------------------


def check_call(relation, *shapes, inputs=("x",), compute=copy, **attrs):
    with relay.op.registered("test.op", inputs=inputs, relation=relation, kernel=lambda *x: x[0], attrs=attrs) as op:
        mod = call_program(op, *shapes)
        relay.check(mod)
        return mod["main"].body.checked_type


def test_a_relation_gives_the_type():
    assert check_call(lambda call, x: relay.TensorType((x.shape[0] * 2, 7), "int8"), (2, 3)) == relay.TensorType((4, 7), "int8")


def test_errors_of_a_relation_are_at_the_call():
    def relation(call, x):
        raise ValueError(f"x needs rank 3, found rank {len(x.shape)}")

    with relay.op.registered("test.op", inputs=["x"], relation=relation, compute=copy):
        with pytest.raises(relay.RelayError) as caught:
            relay.check(relay.parse("def @main(%x: Tensor[(2), float32]) {\n  test.op(%x)\n}"))
    text = str(caught.value)
    assert "error: test.op: x needs rank 3, found rank 1" in text and "from_string:2:3" in text, text
    assert "raised by its relation at" in text
    assert isinstance(caught.value.__cause__, ValueError) and caught.value.__cause__.__traceback__ is not None
    assert caught.value.diagnostics[0].span is not None


@pytest.mark.parametrize(
    "relation, message",
    [
        (lambda call, x: 1 / 0, "test.op: its relation raised ZeroDivisionError: division by zero"),
        (lambda call, x: x.nothing, "test.op: its relation raised AttributeError"),
        (lambda call, x: "text", "test.op: its relation gave str, not a type"),
        (lambda call, x: None, "test.op: its relation gave no type, and there is nothing to wait for"),
        (lambda call, x: relay.IncompleteType(), "test.op: its relation gave .*, in which something is not known"),
        (lambda call, x: relay.TensorType((relay.ShapeVar("m"),)), r"test.op: its relation gave .*, and no input speaks of m"),
        (lambda call, x: call.require_equal(x.shape[0], 5, "x must have 5 rows") or x, "test.op: x must have 5 rows"),
        (lambda call, x: call.require_at_most(x.shape[0], 1, "too many rows") or x, "test.op: too many rows"),
        (lambda call, x: call.require_multiple(x.shape[0], 4, "rows come in fours") or x, "test.op: rows come in fours"),
        (lambda call, x: call.broadcast_shapes(x.shape, (7,)) and x, r"test.op: shapes \(2, 3\) and \(7\) do not broadcast"),
        (lambda call, x: call.value(1), "test.op: its relation raised IndexError: there is no such input"),
    ],
)
def test_wrong_relations(relation, message):
    with pytest.raises(relay.RelayError, match=message):
        check_call(relation, (2, 3))


def test_a_relation_sees_values():
    seen = []

    def relation(call, x, n):
        seen.append(call.value(1))
        return relay.TensorType((call.dim_value(1),), x.dtype)

    def kernel(x, n):
        return np.full((int(n),), x[0], x.dtype)

    with relay.op.registered("test.repeat", inputs=["x", "n"], relation=relation, kernel=kernel) as op:
        x = relay.var("x", shape=(1,))
        mod = relay.IRModule.from_expr(relay.Function([x], op(x, relay.const(3, "int64"))))
        relay.check(mod)
        assert mod["main"].body.checked_type == relay.TensorType((3,)) and seen[-1] == 3
        assert relay.compile(mod)(np.ones(1, "float32")).shape == (3,)
        n = relay.var("n", shape=(), dtype="int64")
        assert relay.evaluate(relay.IRModule.from_expr(relay.Function([x, n], op(x, n))), np.ones(1, "float32"), np.int64(4)).shape == (4,)


def test_a_relation_solves_dimensions():
    def relation(call, x, y):
        call.require_equal(x.shape[0], y.shape[0], f"{x.shape[0]} rows and {y.shape[0]}")
        return x

    with relay.op.registered("test.pair", inputs=["x", "y"], relation=relation, kernel=lambda x, y: x) as op:
        mod = call_program(op, (relay.Dim.any(),), (2,))
        run = relay.compile(mod)
        run(np.ones(2, "float32"), np.ones(2, "float32"))
        with pytest.raises(relay.ExecutionError, match="test.pair: 3 rows and 2"):
            run(np.ones(3, "float32"), np.ones(2, "float32"))
        with pytest.raises(relay.RelayError, match="test.pair requires n = 2: n rows and 2"):
            relay.compile(call_program(op, (relay.ShapeVar("n"),), (2,)))


def test_what_a_relation_keeps_is_of_no_use():
    held = []
    check_call(lambda call, x: held.append(call) or x, (2, 3))
    with pytest.raises(ValueError, match="this belongs to a relation that has answered"):
        held[0].types  # noqa: B018


def test_a_relation_that_calls_the_compiler():
    def relation(call, x):
        inner = relay.IRModule.from_expr(relay.nn.relu(relay.var("a", x)))
        relay.check(inner)
        return inner["main"].body.checked_type

    assert check_call(relation, (2, 3)) == relay.TensorType((2, 3))


def test_broadcast_by_name():
    compute = lambda b, x, y: b.map(b.type.shape, lambda *i: x.broadcast(*i) - y.broadcast(*i))  # noqa: E731
    with relay.op.registered("test.minus", relation="Broadcast", compute=compute, inputs=["x", "y"]) as op:
        mod = call_program(op, (2, 3), (3,))
        np.testing.assert_array_equal(relay.compile(mod)(X, X[0]), X - X[0])


# ---- Life -----------------------------------------------------------------------------------------------------------------------------


def test_another_operator_of_the_same_name(tmp_path, monkeypatch):
    """Neither the compiler nor its cache on disk takes one for the other, and programs keep theirs."""
    programs = []
    for factor in (2.0, 3.0, 2.0):
        with relay.op.registered("test.times", inputs=["x"], relation="Identity", compute=times(factor)) as op:
            mod = call_program(op, (2, 3))
            run = relay.compile(mod)
            np.testing.assert_array_equal(run(X), X * factor)
            programs.append((factor, mod, run, op))
    for factor, mod, run, op in programs:
        np.testing.assert_array_equal(run(X), X * factor)
        np.testing.assert_array_equal(relay.evaluate(mod, X), X * factor)
        np.testing.assert_array_equal(relay.compile(mod)(X), X * factor)
        np.testing.assert_array_equal(relay.compile(call_program(op, (2, 3)))(X), X * factor)
        with pytest.raises(relay.RelayError, match="test.times"):
            relay.parse(str(mod))
    assert not relay.structural_equal(programs[0][1], programs[1][1])


def test_two_of_one_name_in_one_program():
    made = []
    for factor in (2.0, 3.0):
        with relay.op.registered("test.times", inputs=["x"], relation="Identity", kernel=lambda x, factor=factor: x * np.float32(factor)) as op:
            made.append(op)
    x = relay.var("x", shape=(2, 3))
    mod = relay.IRModule.from_expr(relay.Function([x], relay.Tuple([made[0](x), made[1](x)])))
    for found in (relay.evaluate(mod, X), relay.compile(mod)(X)):
        np.testing.assert_array_equal(found[0], X * 2)
        np.testing.assert_array_equal(found[1], X * 3)


def test_interpreter_exit(python):
    text = """
import numpy as np, relay
@relay.op.register("test.op", relation=lambda call, x, scale: x)
def op(b, x, *, scale: float = 1.0):
    return b.map(x.shape, lambda *i: x[i] * scale)
kernel = relay.op.register("test.kernel", inputs=["x"], relation="Identity", kernel=lambda x: x + 1, gradient=lambda call, g: [g])
relay.op.register("test.bad", inputs=["x"], relation=lambda call, x: 1 / 0, kernel=lambda x: x)
x = relay.var("x", shape=(2,))
mod = relay.IRModule.from_expr(kernel(op(x, scale=2.0)))
run = relay.compile(mod)
print(run(np.ones(2, "float32")))
try:
    relay.check(relay.parse("def @main(%x: Tensor[(2), int32]) { test.bad(%x) }"))
except relay.RelayError as error:
    assert error.__cause__ is not None
"""
    assert python(text, leaks=True).strip() == "[3. 3.]"


# ---- Facts ----------------------------------------------------------------------------------------------------------------------------


def test_facts_of_ones_own():
    with relay.op.registered("test.op", inputs=["x"], relation="Identity", compute=copy):
        assert relay.op.get_attr("test.op", "cost") is None and relay.op.get_attr("test.op", "cost", 5) == 5
        relay.op.set_attr("test.op", "cost", 1)
        relay.op.set_attr("test.op", "cost", 3, level=12)
        relay.op.set_attr("test.op", "cost", 2, level=11)
        assert relay.op.get_attr("test.op", "cost") == 3 and relay.op.has_attr("test.op", "cost")
        with pytest.raises(relay.RelayError, match="operator test.op already has cost of level 11"):
            relay.op.set_attr("test.op", "cost", 4, level=11)
        relay.op.reset_attr("test.op", "cost")
        assert not relay.op.has_attr("test.op", "cost")
    with pytest.raises(KeyError, match="there is no operator test.op"):
        relay.op.set_attr("test.op", "cost", 1)


def test_what_an_operator_is_for_many_lanes():
    seen = []

    def over_lanes(call, args, count):
        seen.append((count, [str(arg.checked_type) for arg in call.args]))
        return relay.negative(args[0])

    x = relay.var("x", shape=(3,))
    with relay.op.registered("test.op", inputs=["x"], relation="Identity", expand=lambda call, x: relay.exp(x)) as op:
        assert relay.op.get_attr(op, "lanes_form") is None
        relay.op.set_attr(op, "lanes_form", over_lanes)
        assert relay.op.get_attr(op, "lanes_form") is over_lanes
        run = relay.compile(relay.vmap(relay.Function([x], op(x)), axis_size=2))
        assert run(np.ones((2, 3), "float32")).tolist() == [[-1, -1, -1]] * 2
        relay.vmap(relay.Function([x], op(x)))
        assert seen == [(2, ["Tensor[(3), float32]"]), (None, ["Tensor[(3), float32]"])]
        relay.op.set_attr(op, "lanes_form", lambda call, args, count: 3 // 0, level=11)
        with pytest.raises(relay.RelayError, match="test.op: its lanes_form raised ZeroDivisionError"):
            relay.vmap(relay.Function([x], op(x)))


def test_facts_that_the_compiler_reads():
    assert set(relay.op.columns()) >= {"stops_fusion", "canonical_form", "simplified_for_inference", "quantised"}
    with relay.op.registered("test.op", inputs=["x"], relation="Identity", compute=copy) as op:
        mod = relay.IRModule.from_expr(relay.nn.relu(op(relay.nn.relu(relay.var("x", shape=(2, 3))))))
        fuse = relay.transform.Sequential([relay.transform.InferType(), relay.transform.FuseOps()])
        assert str(fuse(mod)).count("Primitive=1") == 1
        relay.op.set_attr(op, "stops_fusion", True)
        assert relay.op.get_attr(op, "stops_fusion") is True
        assert str(fuse(mod)).count("Primitive=1") == 3
        relay.op.set_attr(op, "canonical_form", lambda call: relay.nn.relu(call.args[0]))
        assert "test.op" not in str(relay.transform.CanonicalizeOps()(relay.transform.InferType()(mod)))
        with pytest.raises(TypeError, match="stops_fusion is a bool, not int"):
            relay.op.set_attr(op, "stops_fusion", 1, level=11)
        for column in ("canonical_form", "lanes_form"):
            with pytest.raises(TypeError, match=f"{column} is a function, not int"):
                relay.op.set_attr(op, column, 1, level=11)
        with pytest.raises(ValueError, match="stops_fusion is read by the compiler"):
            relay.op.reset_attr(op, "stops_fusion")
    with pytest.raises(ValueError, match="fusion_kind is one of elementwise, broadcast, .*, or None, not 'tuple'"):
        relay.op.set_attr("nn.relu", "fusion_kind", "tuple")
    with pytest.raises(relay.RelayError, match="already has .*canonical_form|already has an entry of level 10"):
        relay.op.set_attr("nn.bias_add", "canonical_form", lambda call: call.args[0])


def test_fusion_of_a_kernel_is_what_is_said_of_it():
    fuse = relay.transform.Sequential([relay.transform.InferType(), relay.transform.FuseOps()])

    def groups(op):
        return str(fuse(relay.IRModule.from_expr(relay.nn.relu(op(relay.exp(relay.var("x", shape=(2, 3)))))))).count("Primitive=1")

    with relay.op.registered("test.op", inputs=["x"], relation="Identity", kernel=lambda x: x * 2) as op:
        assert groups(op) == 3 and relay.op.get_attr(op, "fusion_kind") is None
        for level, (kind, wanted) in enumerate([("elementwise", 1), ("out-elementwise-fusable", 2), ("opaque", 3), ("injective", 1), (None, 3)], 10):
            relay.op.set_attr(op, "fusion_kind", kind, level)
            assert groups(op) == wanted and relay.op.get_attr(op, "fusion_kind") == kind
        relay.op.set_attr(op, "fusion_kind", "elementwise", 20)
        mod = relay.IRModule.from_expr(relay.nn.relu(op(relay.negative(relay.var("x", shape=(2, 3))))))
        data = np.array([[1, -2, 3], [-4, 5, -6]], "float32")
        assert (relay.compile(mod)(data) == np.maximum(-2 * data, 0)).all()
    with relay.op.registered("test.op", inputs=["x"], relation="Identity", kernel=lambda x: x, pure=False) as op:
        relay.op.set_attr(op, "fusion_kind", "elementwise")
        assert groups(op) == 3  # effects stay where they are


def test_what_a_computation_shows_cannot_be_denied():
    fuse = relay.transform.Sequential([relay.transform.InferType(), relay.transform.FuseOps()])

    def sums(b, x):
        return b.map((x.shape[0],), lambda i: b.sum((x.shape[1],), lambda k: x[i, k]))

    relation = lambda call, x: relay.TensorType(x.shape[:1], x.dtype)  # noqa: E731
    with relay.op.registered("test.op", inputs=["x"], relation=relation, compute=sums) as op:
        mod = relay.IRModule.from_expr(op(op(relay.var("x", shape=(2, 3))) + relay.const(np.ones((4, 2), "float32"))))
        before = str(fuse(mod))
        relay.op.set_attr(op, "fusion_kind", "elementwise")
        assert str(fuse(mod)) == before


def test_json():
    text = relay.transform.InferType()(call_program(relay.op.function("nn.softmax"), (2, 3)))
    del text
    with relay.op.registered("test.op", relation="Identity", compute=lambda b, x, *, scale=2.0: copy(b, x), inputs=["x"]) as op:
        tvm = pytest.importorskip("tvm")
        mod = call_program(op, (2, 3), scale=3.0)
        saved = tvm.ir.save_json(mod)
        json.loads(saved)
        relay.assert_structural_equal(tvm.ir.load_json(saved), mod)
