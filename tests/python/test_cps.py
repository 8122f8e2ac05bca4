"""Continuation-passing style of single functions."""

import numpy as np
import pytest

import relay

PROGRAM = """
def @square(%x: float32) -> float32 { %x * %x }
def @main(%x: float32) -> float32 { @square(@square(%x)) + 1f }
"""


def test_there_and_back():
    mod = relay.parse(PROGRAM)
    cps = relay.transform.to_cps(mod["main"], mod)
    assert len(cps.params) == 2 and "square_cps" in mod.function_names
    mod["main"] = relay.transform.un_cps(cps)
    assert relay.evaluate(mod, np.float32(2)) == 17


def test_without_a_module():
    x = relay.var("x", "float32")
    cps = relay.transform.to_cps(relay.Function([x], relay.op.exp(x)))
    assert [param.name_hint for param in cps.params] == ["x", "k"]


def test_other_forms_are_refused():
    x = relay.var("x", "float32")
    with pytest.raises(relay.RelayError, match="not in continuation-passing style"):
        relay.transform.un_cps(relay.Function([x], x))
    with pytest.raises(TypeError, match="func"):
        relay.transform.to_cps(x)
