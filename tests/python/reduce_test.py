"""relay.reduce: programs made small by a predicate in Python."""

import pytest

from relay import _core as core

PROGRAM = """
def @half(%a: Tensor[(4, 6), float32]) -> Tensor[(4, 6), float32] { divide(%a, 2f) }
def @main(%x: Tensor[(4, 6), float32], %c: bool) {
  let %y = if (%c) { tanh(@half(%x)) } else { exp(%x) };
  let %z = nn.softmax(add(%y, %x));
  (%z, sum(%z, axis=[1]))
}
"""


def contains(word):
    return lambda mod: word in mod.astext()


def module():
    return core.parse_module(PROGRAM)


def test_reduces_to_what_is_looked_for():
    result = core.reduce(module(), contains("tanh"))
    assert "tanh" in result.mod.astext() and len(result.mod.astext().splitlines()) <= 4
    assert result.end == "smallest" and result.tries >= result.steps > 0


def test_a_failing_function():
    def fails(mod):
        try:
            core.create_pass("InferType")(mod)
            if "softmax" in mod.astext():
                raise RuntimeError("softmax")
        except RuntimeError:
            return True
        return False

    assert len(core.reduce(module(), fails).mod.astext().splitlines()) <= 4


def test_limits_and_progress():
    seen = []
    result = core.reduce(module(), contains("tanh"), max_tries=3, progress=lambda *what: seen.append(what))
    assert result.end == "tries" and result.tries == 3 and len(seen) == 3
    assert core.reduce(module(), contains("tanh"), time_limit=1e-9).end == "time"
    for bad in ({"max_tries": 0}, {"time_limit": -1.0}, {"time_limit": float("nan")}):
        with pytest.raises(ValueError):
            core.reduce(module(), contains("tanh"), **bad)


def test_what_the_predicate_raises_comes_out():
    with pytest.raises(ZeroDivisionError):
        core.reduce(module(), lambda mod: 1 // 0)
    with pytest.raises(core.RelayError, match="does not fail as it should"):
        core.reduce(module(), lambda mod: False)
