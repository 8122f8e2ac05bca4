"""The traces that operators that are taken out leave behind."""

import gc
import weakref

import numpy as np
import pytest

import relay

X = np.ones(3, "float32")


class Watched:
    pass


def declaration(kind, watched):
    """An operator whose functions hold something whose end can be seen."""
    copy = lambda b, x: b.map(x.shape, lambda *i: (watched, x[i])[1])  # noqa: E731
    return {
        "kernel": {"relation": "Identity", "kernel": lambda a: (watched, a)[1]},
        "compute": {"relation": "Identity", "compute": copy},
        "expand": {"relation": "Identity", "expand": lambda call, x: (watched, x)[1]},
        "relation": {"relation": lambda call, x: (watched, x)[1], "kernel": lambda a: a},
        "gradient": {"relation": "Identity", "kernel": lambda a: a, "gradient": lambda call, grad: [(watched, grad)[1]]},
    }[kind]


def program(op):
    x = relay.var("x", shape=(3,))
    return relay.IRModule.from_expr(relay.Function([x], op(x)))


@pytest.mark.parametrize("used", [False, True])
@pytest.mark.parametrize("kind", ["kernel", "compute", "expand", "relation", "gradient"])
def test_functions_are_freed(kind, used):
    def make():
        watched = Watched()
        with relay.op.registered("test.removed", **declaration(kind, watched)) as op:
            if used:
                mod = program(op)
                assert np.array_equal(relay.evaluate(mod, X), X) and np.array_equal(relay.compile(mod)(X), X)
                call = op(relay.var("y", shape=(3,)))
                if kind in ("gradient", "compute"):
                    relay.check(relay.Function(relay.analysis.free_vars(call), call))
                    relay.op.gradients(call, relay.var("g", shape=(3,)))
        return weakref.ref(watched)

    ref = make()
    gc.collect()
    gc.collect()
    assert ref() is None


@pytest.mark.parametrize("kind", ["kernel", "compute", "expand"])
def test_programs_that_hold_an_operator_keep_its_functions(kind):
    watched = Watched()
    ref = weakref.ref(watched)
    with relay.op.registered("test.removed", **declaration(kind, watched)) as op:
        mod = program(op)
        closure = relay.compile(relay.IRModule.from_expr(relay.Function([], mod["main"])))()
    del op, watched
    gc.collect()
    assert np.array_equal(relay.evaluate(mod, X), X) and np.array_equal(relay.compile(mod)(X), X)
    run = relay.compile(mod)
    del mod
    gc.collect()
    assert np.array_equal(run(X), X) and np.array_equal(closure(X), X)
    del run
    gc.collect()
    assert np.array_equal(closure(X), X)
    del closure
    gc.collect()
    gc.collect()
    assert ref() is None


def test_an_operator_that_is_taken_out_in_a_collection():
    class Last:
        def __del__(self):
            with relay.op.registered("test.another", relation="Identity", kernel=lambda a: a):
                pass

    last = Last()
    with relay.op.registered("test.removed", relation="Identity", kernel=lambda a: (last, a)[1]):
        pass
    del last
    gc.collect()
    gc.collect()
    with pytest.raises(KeyError):
        relay.op.get("test.removed")


def test_kernels_are_described_as_what_they_are():
    with relay.op.registered("test.kernel", relation="Identity", kernel=lambda a: a):
        text = relay.op.describe("test.kernel")
        assert "definition\n  a Python function on arrays\n" in text
        assert "gradient\n  none: its kernel is a Python function, and it was declared without gradient\n" in text
        with pytest.raises(relay.RelayError, match="test.kernel has no gradient: its kernel is a Python function"):
            relay.check(relay.parse("def @main(%x: Tensor[(2), float32]) { grad.test.kernel(%x, %x) }"))


def test_a_kernel_that_does_not_write_its_result_gives_zeros():
    with relay.op.registered("test.lazy", relation="Identity", kernel=lambda a, out: None) as op:
        mod = program(op)
        relay.compile(mod)(X)
        assert np.array_equal(relay.compile(mod)(X), 0 * X) and np.array_equal(relay.evaluate(mod, X), 0 * X)


def test_levels_of_facts_are_integers():
    for level in ("x", 1.5, None):
        with pytest.raises(TypeError, match="level is an integer"):
            relay.op.set_attr("add", "test.fact", 1, level=level)
