"""relay.tree: trees of values under JAX's names."""

import pytest

import relay
import relay.numpy as rnp


def test_map_and_leaves():
    params = {"w": rnp.ones((2,)), "layers": [(1.0, None), {"b": 2.0}]}
    doubled = relay.tree.map(lambda one, other: one + other, params, params)
    assert doubled["layers"] == [(2.0, None), {"b": 4.0}] and doubled["w"].tolist() == [2, 2]
    leaves, form = relay.tree.flatten(params)
    assert len(leaves) == 3 and relay.tree.structure(params) == form and relay.tree.leaves(params)[0] == leaves[0]
    assert relay.tree.unflatten(form, [1, 2, 3]) == {"w": 3, "layers": [(1, None), {"b": 2}]}
    with pytest.raises(ValueError, match="different forms"):
        relay.tree.map(lambda one, other: one, params, {"w": 1})


def test_inside_of_a_function():
    @relay.jit
    def step(params, slopes):
        return relay.tree.map(lambda w, g: w - 0.5 * g, params, slopes)

    assert step({"w": rnp.ones((2,))}, {"w": rnp.ones((2,))})["w"].tolist() == [0.5, 0.5]
