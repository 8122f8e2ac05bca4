"""The array API standard's own texts against `relay.numpy`: every signature, and every special case of real numbers on a grid of them."""

import ast
import functools
import inspect
import itertools
import math
import operator

import array_api_specification as specification
import numpy as np
import pytest

import relay
import relay.numpy as rnp

SIGNATURES = {signature.name: signature for signature in specification.signatures()}
CASES = specification.special_cases()
UNUSUAL = ("In the remaining cases", "Underflow may")  # sentences without a condition of their own
FOR_ARRAYS = ("max", "mean", "min", "prod", "std", "sum", "var")  # cases of whole arrays; names with a dot are of matrices and of methods
ELEMENTWISE = [case for case in CASES if case.name not in FOR_ARRAYS and "." not in case.name and not case.text.startswith(UNUSUAL)]

pytestmark = pytest.mark.skipif(not SIGNATURES, reason="the standard's texts come from PyPI: pip install --no-deps array-api==1.0.0")

# Functions of the standard that the namespace has not, or has in another form, each with the reason.
EXCLUDED = {
    "imag": "no dtype of Relay is complex",
    "fft.irfft": "a spectrum is a pair of arrays, since no dtype of Relay is complex",
    "fft.irfftn": "a spectrum is a pair of arrays, since no dtype of Relay is complex",
    "fft.hfft": "a spectrum is a pair of arrays, since no dtype of Relay is complex",
}
GRID = [0.0, 1.0, 0.5, 1.5, 2.0, 2.5, 3.0, 7.0, 100.0, 1e-3, 1e30, math.inf, math.nan]
GRID += [-x for x in GRID]
INFIX = {"add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "divide": operator.truediv, "floor_divide": operator.floordiv,
         "remainder": operator.mod, "pow": operator.pow, "equal": operator.eq, "not_equal": operator.ne, "less": operator.lt, "less_equal": operator.le,
         "greater": operator.gt, "greater_equal": operator.ge, "abs": operator.abs, "negative": operator.neg, "positive": operator.pos}  # fmt: skip


def named(name):
    """The function or method of that name; None if it is not there."""
    if name.startswith("Array."):
        return getattr(relay.Array, name.removeprefix("Array."), None)
    try:
        return functools.reduce(getattr, name.split("."), rnp)
    except AttributeError:
        return None


def literal(node):
    """A default as a value: a literal, or `inf`."""
    return math.inf if isinstance(node, ast.Name) and node.id == "inf" else ast.literal_eval(node)


def differences(name):
    """What a caller who follows the standard's signature would stumble over."""
    function, wanted = named(name), SIGNATURES[name].arguments
    if function is None:
        return ["it is not there"]
    ours = list(inspect.signature(function).parameters.values())
    if name.startswith("Array."):
        ours = ours[1:]
    by_name = {parameter.name: parameter for parameter in ours}
    positional = [p for p in ours if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    anything, keywords = any(p.kind == p.VAR_POSITIONAL for p in ours), any(p.kind == p.VAR_KEYWORD for p in ours)
    found = []
    placed = wanted.posonlyargs + wanted.args
    for at, argument in enumerate(placed):
        if at >= len(positional) and not anything:
            found.append(f"{argument.arg} cannot stand at place {at}")
        elif at >= len(wanted.posonlyargs) and argument.arg not in by_name and not keywords:
            found.append(f"{argument.arg} has another name")
        elif at < len(positional) and argument.arg in by_name and argument.arg != positional[at].name:
            found.append(f"{argument.arg} stands at another place")
    if wanted.vararg and not anything:
        found.append(f"*{wanted.vararg.arg} is not taken")
    for argument in wanted.kwonlyargs:
        if argument.arg not in by_name and not keywords:
            found.append(f"{argument.arg} is not taken")
    defaults = dict(zip([argument.arg for argument in placed][len(placed) - len(wanted.defaults) :], wanted.defaults))
    defaults |= {argument.arg: value for argument, value in zip(wanted.kwonlyargs, wanted.kw_defaults) if value is not None}
    for argument, value in defaults.items():
        parameter = by_name.get(argument)
        if parameter is not None and (parameter.default is inspect.Parameter.empty or parameter.default != literal(value)):
            found.append(f"{argument} has the default {parameter.default}, and the standard's is {literal(value)}")
    known = {argument.arg for argument in [*placed, *wanted.kwonlyargs]}
    for at, parameter in enumerate(ours):
        required = parameter.default is inspect.Parameter.empty and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        if required and parameter.name not in known and at >= len(placed):
            found.append(f"{parameter.name} is asked for")
    return found


@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures(name):
    if name in EXCLUDED:
        assert differences(name), f"{name} need not be excluded"
        pytest.skip(EXCLUDED[name])
    assert differences(name) == []


def parameters(name):
    """The names that the standard's sentences give to elements of the parameters."""
    count = len(SIGNATURES[name].arguments.posonlyargs)
    return ["x_i", "min_i", "max_i"] if name == "clip" else ["x_i"] if count == 1 else ["x1_i", "x2_i"]


def computed(name, function, dtype):
    """Each combination of numbers of the grid, as a dictionary, and the result for it."""
    names = parameters(name)
    with np.errstate(all="ignore"):
        rows = np.array(list(itertools.product(GRID, repeat=len(names))), dtype)
    results = np.asarray(function(*(rnp.asarray(np.ascontiguousarray(column)) for column in rows.T)))
    return [(dict(zip(names, map(float, row))), float(value)) for row, value in zip(rows, results)]


@functools.cache
def tables(name):
    """The results of a function, and those of its infix, for both dtypes of floats."""
    functions = [named(name), *([INFIX[name]] if name in INFIX else [])]
    return [row for function in functions for dtype in ("float32", "float64") for row in computed(name, function, dtype)]


@pytest.mark.parametrize("case", ELEMENTWISE, ids=lambda case: f"{case.name}: {case.text}".replace("`", ""))
def test_special_cases(case):
    holds, allowed = specification.conditions(case.text), specification.result(case.text)
    assert holds is not None and allowed is not None, "the sentence is of a form that is not known"
    rows = [(numbers, found) for numbers, found in tables(case.name) if holds(numbers)]
    assert rows, "no number of the grid is of this case"
    wrong = [(numbers, found) for numbers, found in rows if not allowed(numbers, found)]
    assert wrong == []


REMAINING = {"add": operator.add, "multiply": operator.mul, "divide": operator.truediv, "floor_divide": operator.floordiv, "remainder": operator.mod,
             "equal": lambda x, y: x == y, "not_equal": lambda x, y: x != y, "isinf": lambda x: False, "isnan": lambda x: False}  # fmt: skip


@pytest.mark.parametrize("name", sorted({case.name for case in CASES if case.text.startswith("In the remaining")}))
def test_remaining_cases(name):
    holds = [specification.conditions(case.text) for case in ELEMENTWISE if case.name == name and "mathematical sign" not in case.text]
    rows = [(numbers, found) for numbers, found in computed(name, named(name), "float64") if not any(one(numbers) for one in holds)]
    finite = [(numbers, found) for numbers, found in rows if name.startswith("is") or all(map(math.isfinite, numbers.values()))]
    assert finite
    wanted = [float(REMAINING[name](*numbers.values())) for numbers, _ in finite]
    assert [(numbers, found) for (numbers, found), value in zip(finite, wanted) if found != value] == []


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_special_cases_of_reductions(dtype):
    none, odd = rnp.zeros((0,), dtype=dtype), rnp.asarray([1.0, math.nan, 2.0], dtype=dtype)
    assert float(rnp.sum(none)) == 0 and float(rnp.prod(none)) == 1
    assert float(rnp.linalg.trace(rnp.zeros((0, 0), dtype=dtype))) == 0
    for name in ("max", "min", "mean", "std", "var"):
        assert math.isnan(float(getattr(rnp, name)(odd))), name
    for name in ("mean", "std", "var"):
        assert math.isnan(float(getattr(rnp, name)(none))), name
    for name in ("std", "var"):
        assert math.isnan(float(getattr(rnp, name)(odd[:1], correction=1))), name
    sign, logarithm = rnp.linalg.slogdet(rnp.zeros((2, 2), dtype=dtype))
    assert (float(sign), float(logarithm)) == (0, -math.inf)


def test_special_cases_of_numbers_of_arrays():
    value = rnp.asarray
    assert [bool(value(x)) for x in (math.nan, math.inf, -math.inf, 0.0, -0.0)] == [True, True, True, False, False]
    assert [int(value(x)) for x in (True, False, 2.7, -2.7, -0.0)] == [1, 0, 2, -2, 0]
    assert [float(value(x)) for x in (True, False)] == [1.0, 0.0]
    assert [complex(value(x)) for x in (True, False, math.inf, -math.inf, 2.5)] == [1, 0, math.inf, -math.inf, 2.5]
    assert math.isnan(complex(value(math.nan)).real)
    for x, kind in ((math.inf, OverflowError), (-math.inf, OverflowError), (math.nan, ValueError)):
        with pytest.raises(kind):
            int(value(x))


def test_each_sentence_is_tested():
    """A newer package with other sentences shows here, and not as fewer tests."""
    assert len(SIGNATURES) == 205 and len(CASES) == 342 and len(ELEMENTWISE) == 303
