"""Jacobians and hessians by trees of arrays, and of functions that give trees: a tree of trees, as JAX's."""

from typing import NamedTuple

import numpy as np
import pytest
import relay
import relay.numpy as rnp

BOTH = pytest.mark.parametrize("jacobian", [relay.jacobian, relay.jacrev, relay.jacfwd])


class Layer(NamedTuple):
    w: object
    b: object


def values(tree):
    return relay.tree.map(lambda leaf: np.asarray(leaf).tolist(), tree)


@BOTH
def test_a_tree_of_trees(jacobian):
    weights = {"layer": Layer(rnp.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), rnp.asarray([0.5, -1.0])), "scale": [2.0]}
    x = np.asarray([1.0, -1.0, 2.0], "float32")

    def run(p, x):
        y = p["layer"].w @ x + p["layer"].b
        return {"y": y * p["scale"][0], "parts": (y.sum(), p["layer"].b ** 2)}

    found = jacobian(run)(weights, x)
    assert set(found) == {"y", "parts"} and isinstance(found["y"]["layer"], Layer) and isinstance(found["parts"], tuple)
    w, b = np.asarray(weights["layer"].w), np.asarray(weights["layer"].b)
    y, eye = w @ x + b, np.eye(2)
    np.testing.assert_allclose(found["y"]["layer"].w, 2 * eye[:, :, None] * x, rtol=1e-6)
    np.testing.assert_allclose(found["y"]["layer"].b, 2 * eye, rtol=1e-6)
    np.testing.assert_allclose(found["y"]["scale"][0], y, rtol=1e-6)
    total, squares = found["parts"]
    np.testing.assert_allclose(total["layer"].w, np.tile(x, (2, 1)), rtol=1e-6)
    assert values(total["layer"].b) == [1, 1] and values(total["scale"]) == [0]
    assert values(squares) == {"layer": Layer(np.zeros((2, 2, 3)).tolist(), [[1, 0], [0, -2]]), "scale": [[0, 0]]}


@BOTH
def test_several_arguments_lie_inside_of_the_result(jacobian):
    a, b = rnp.asarray([1.0, 2.0]), {"k": rnp.asarray(3.0)}
    found = jacobian(lambda a, b: [a * b["k"], a.sum()], argnums=(1, 0))(a, b)
    assert values(found) == [({"k": [1, 2]}, [[3, 0], [0, 3]]), ({"k": 0}, [1, 1])]
    assert values(jacobian(lambda a, b: [a * b["k"]], argnums=(0,))(a, b)) == [([[3, 0], [0, 3]],)]
    assert values(jacobian(lambda p: p)([])) == [] and values(jacobian(lambda p, q: q, 0)({}, a)) == {}


@BOTH
def test_dtypes_may_differ(jacobian):
    p = {"half": rnp.asarray([1.0, 2.0], dtype="float16"), "whole": rnp.asarray([3.0], dtype="float64")}
    found = jacobian(lambda p: (p["half"] * 2, p["whole"] * 3))(p)
    narrow, wide = "float16", "float64"  # forward, the dtype is that of the result; in reverse that of the argument
    assert [str(leaf.dtype) for leaf in relay.tree.leaves(found)] == ([narrow, narrow, wide, wide] if jacobian is relay.jacfwd else [narrow, wide] * 2)
    assert values(found) == ({"half": [[2, 0], [0, 2]], "whole": [[0], [0]]}, {"half": [[0, 0]], "whole": [[3]]})


def test_hessians_by_trees():
    def f(p, q):
        return (p["a"] ** 3).sum() * q + p["a"][0] * p["b"][1] ** 2

    p, q = {"a": rnp.asarray([1.0, 2.0]), "b": rnp.asarray([3.0, 5.0])}, rnp.asarray(2.0)
    found = relay.hessian(f)(p, q)
    assert values(found) == {"a": {"a": [[12, 0], [0, 24]], "b": [[0, 10], [0, 0]]}, "b": {"a": [[0, 0], [10, 0]], "b": [[0, 0], [0, 2]]}}
    both = relay.hessian(f, argnums=(1, 0))(p, q)
    assert values({name: both[1][name][1] for name in both[1]}) == values(found)
    assert values(both[0]) == (0, {"a": [3, 12], "b": [0, 0]}) and values(both[1]["a"][0]) == [3, 12] and values(both[1]["b"][0]) == [0, 0]


def test_examples_each_with_a_hessian():
    def energy(p, x):
        return rnp.tanh(p["w"] @ x + p["b"]).sum()

    p = {"w": rnp.asarray([[0.5, -1.0], [1.0, 0.25]]), "b": rnp.asarray([0.1, 0.2])}
    x = rnp.asarray([[1.0, 2.0], [-1.0, 0.5], [0.0, 1.0]])
    each = relay.vmap(relay.hessian(energy, argnums=(0, 1)), in_axes=(None, 0))(p, x)
    for i in range(3):
        one = relay.hessian(energy, argnums=(0, 1))(p, x[i])
        for found, expected in zip(relay.tree.leaves(each), relay.tree.leaves(one), strict=True):
            np.testing.assert_allclose(found[i], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("jacobian, name", [(relay.jacobian, "jacobian"), (relay.jacfwd, "jacfwd")])
def test_what_has_no_jacobian(jacobian, name):
    x = rnp.asarray([1.0, 2.0])
    with pytest.raises(TypeError, match=rf"{name} is by arrays of floats, and argument 2\['n'\] is of int64\[\]: choose another with argnums"):
        jacobian(lambda x, p: x * p["n"], 1)(x, {"n": 3})
    with pytest.raises(TypeError, match=rf"{name} is by arrays, and argument 1\[0\] is 'a'"):
        jacobian(lambda p: p[1])(["a", x])
    with pytest.raises(TypeError, match=rf"{name} is of arrays of floats, and the result\[1\] is of int32\[\]: use astype"):
        jacobian(lambda x: (x, x.astype("int32").sum()))(x)
