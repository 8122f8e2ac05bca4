"""`relay.function`: what asks for the truth value of a traced array is named, with what to write instead."""

import pytest

import relay
import relay.numpy as rnp


def factorial(n):
    if n < 1:
        return 1
    return n * factorial(n - 1)


def returns_in_a_loop(v):
    while v < 100:
        v = v * 2
        if v > 50:
            return v
    return v


def loop_with_else(v):
    s = 0.0
    for i in range(10):
        if s > v:
            break
        s = s + i
    else:
        s = s + 100
    return s


def jump_out_of_try(v):
    for _ in range(3):
        try:
            if v > 3:
                break
        finally:
            v = v + 1
    return v


def asserts(v):
    assert v > 0
    return v


def matches(v):
    match 3:
        case 3:
            if v > 0:
                v = v + 3
    return v


def comprehension(v):
    return [one for one in (1.0, 2.0) if v > one]


def helper(v):
    if v > 0:
        return v
    return -v


def calls_a_helper(v):
    return helper(v) + 1


def yields(v):
    if v > 0:
        yield v
    yield -v


def calls_a_generator(v):
    return list(yields(v))


def largest(v):
    return max(v, 1.0)


def any_(v):
    return any([v > 0, v < -2])


def contained(v):
    return v in [1, 2]


def helper_lambda(v):
    return rnp.asarray(0.0) + list(map(lambda one: 1.0 if one > 0 else 2.0, [v]))[0]


@pytest.mark.parametrize("fn, message", [
    (factorial, "factorial calls itself, and a tracer would go on without end"), (returns_in_a_loop, "A loop with a `return` in it stays Python's"),
    (loop_with_else, "A loop with an `else` stays Python's"), (jump_out_of_try, "leaves out of `with` or `try` stays Python's"),
    (asserts, "An assert asks while the function is traced"), (matches, "A `match` stays Python's"), (comprehension, "A condition in a comprehension"),
    (calls_a_helper, r"functions that @relay.function decorates \(and those inside of them\), and helper stays Python's: decorate it"),
    (calls_a_generator, "yields is a generator or a coroutine"), (largest, r"Python's max\(\) compares while the function is traced: use relay.numpy.maximum"),
    (any_, r"Python's any\(\) compares"), (contained, r"Python's `in` compares while the function is traced: use \(values == x\).any\(\)"),
], ids=lambda one: getattr(one, "__name__", ""))  # fmt: skip
def test_the_construct_is_named(fn, message):
    with pytest.raises(relay.TraceError, match=r"^the truth value of a traced array of .* is not known: it has a value only .*" + message):
        relay.function(fn)(2.0)


def test_lambdas_inside_are_rewritten_and_what_has_no_source_gets_neutral_words():
    assert relay.function(helper_lambda)(2.0).item() == 1
    made = {}
    exec("def f(v):\n    return v if v > 0 else -v", made)
    with pytest.raises(relay.TraceError, match="runs. Use relay.cond, relay.while_loop or relay.numpy.where"):
        relay.function(made["f"])(2.0)
