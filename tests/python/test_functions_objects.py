"""`relay.function`: what a branch of a traced condition does to objects happens in that branch alone."""

import collections
import dataclasses
import types

import numpy as np
import pytest

import relay
import relay.numpy as rnp

TOTAL = 0.0
KEPT = {"a": 0.0}
SETTINGS = types.SimpleNamespace(scale=1.0)


class Counter:
    count = 0.0

    def __init__(self, value):
        self.value = value
        self.items = [value, value]

    def add(self, more):
        self.value = self.value + more
        self.items[0] = self.items[0] - more


class Slotted:
    __slots__ = ("value", "other")

    def __init__(self, value):
        self.value = value


@dataclasses.dataclass
class Point:
    x: object
    y: object


def item_of_a_dictionary(v):
    d = {"a": v, "b": {"c": v}}
    if v > 0:
        d["a"] = v * 2
        d["b"]["c"] = 1.0
    return d["a"] + d["b"]["c"]


def both_sides_write(v):
    d = {"a": v}
    if v > 1:
        d["a"] = v * 2
        d["new"] = v
    elif v > -1:
        d["a"] = d["a"] * 3
        d["new"] = 1.0
    else:
        d["new"] = d["a"] = 5.0
    return d["a"] + d["new"]


def item_of_a_list(v):
    row = [v, 2 * v, 7]
    if v > 0:
        row[0], row[-1] = v * 3, 8
    return row[0] + row[1] + row[2]


def lists_grow_alike(v):
    row = []
    alias = row
    if v > 0:
        row += [v * 2]
    else:
        row.append(v * 3)
    return alias[0] + len(row)


def reversed_list(v):
    row = [1.0, 2.0]
    if v > 0:
        row.reverse()
    return row[0] * v


def loops_in_branches(v):
    d = {"a": v, "b": 2 * v}
    if v > 1:
        for key in d:
            d[key] = d[key] / v
    return d["a"] + 10 * d["b"]


def attributes(v):
    one = Counter(v)
    if v > 0:
        one.value = v * 2
    else:
        one.add(1.0)
    return one.value + 10 * one.items[0]


def attributes_without_dictionary(v):
    one = Slotted(v)
    if v > 0:
        one.value = v * 2
        one.other = v
    else:
        one.other = 1.0
    return one.value + one.other


def attributes_of_a_dataclass(v):
    one = Point(v, v)
    if v > 0:
        one.x = one.x * 2
    return one.x + one.y


def nonlocals(v):
    def add(k):
        nonlocal v
        v = v + k

    if v > 0:
        add(10.0)
    return v


def nonlocals_of_cond(v):
    total = v

    def more():
        nonlocal total
        total = total * 2
        return 1.0

    found = relay.cond(v > 0, more, lambda: 3.0)
    return total + found


def globals_(v):
    global TOTAL
    TOTAL = v
    KEPT["a"] = v
    SETTINGS.scale = v
    if v > 0:
        TOTAL = v + 1
        KEPT["a"] = v + 2
        SETTINGS.scale = v + 3
    found = TOTAL + 10 * KEPT["a"] + 100 * SETTINGS.scale
    TOTAL = KEPT["a"] = SETTINGS.scale = 0.0
    return found


def attribute_of_a_class(v):
    Counter.count = v
    if v > 0:
        Counter.count = v + 1
    found, Counter.count = Counter.count, 0.0
    return found


def queue(v):
    one = collections.deque([v, v])
    if v > 0:
        one.appendleft(1.0)
        one.pop()
    return one[0] + 10 * one[1]


def ordered(v):
    one = collections.OrderedDict(a=v, b=2 * v)
    if v > 0:
        one.move_to_end("a")
        one["b"] = v
    return one["a"] + 10 * one["b"]


def and_or_and_ternary(v):
    row = [v]

    def change(by):
        row[0] = row[0] + by
        return True

    v > 0 and change(1.0)
    v > 1 or change(10.0)
    (change(100.0) if v > 2 else change(1000.0)) and change(0.5)
    return row[0]


def after_a_return(v):
    one = Counter(v)

    def through():
        if v > 0:
            one.add(2.0)
            return one.value
        return one.value * 2

    return through() + 10 * one.value


def branches_in_branches(v):
    d = {"a": v}
    if v > 0:
        d["a"] = 1.0
        if v > 2:
            d["a"] = 2.0
            if v > 5:
                d["a"] = v
    return d["a"]


def methods_that_a_helper_calls(v):
    one = Counter(v)
    things = (one.add, {"f": lambda: one.add(3.0)})
    if v > 0:
        things[1]["f"]()
        things[0](2.0)
    return one.value


def results_that_were_changed(v):
    row = [v, v]
    if v > 0:
        row[0] = v * 5
        found = row
    else:
        row[1] = v * 7
        found = [row[1], row[0]]
    return found[0] + 10 * found[1] + 100 * row[0] + 1000 * row[1]


def a_cycle(v):
    row = [v]
    row.append(row)
    if v > 0:
        row[1][1][0] = v * 2
    return row[0]


def in_a_loop(v):
    total = 0.0
    for k in range(4):
        d = {"a": v}
        if k > v:
            d["a"] = v * 10
        total = total + d["a"]
    return total


MERGED = [item_of_a_dictionary, both_sides_write, item_of_a_list, lists_grow_alike, reversed_list, loops_in_branches, attributes,
          attributes_without_dictionary, attributes_of_a_dataclass, nonlocals, nonlocals_of_cond, globals_, attribute_of_a_class, queue, ordered, and_or_and_ternary,
          after_a_return, branches_in_branches, methods_that_a_helper_calls, results_that_were_changed, a_cycle, in_a_loop]  # fmt: skip


@pytest.mark.parametrize("fn", MERGED, ids=lambda fn: fn.__name__)
def test_the_branch_that_is_taken_changes_objects(fn):
    compiled = relay.function(fn)
    slope = relay.grad(lambda v: fn_of(v) * 1.0)
    fn_of = compiled.python
    for v in (-3.0, 0.5, 1.5, 2.5, 7.0):
        assert compiled(v).item() == pytest.approx(float(fn(v)), rel=1e-6), v
        step = 0.25
        expected = (float(fn(v + step)) - float(fn(v - step))) / (2 * step)
        assert slope(v).item() == pytest.approx(expected, rel=1e-5), v
    assert compiled.programs == 1


def test_gradients_that_are_clipped_in_a_branch():
    @relay.function
    def clip(grads):
        norm = rnp.sqrt(sum((g**2).sum() for g in grads.values()))
        if norm > 1.0:
            for key in grads:
                grads[key] = grads[key] / norm
        return grads

    assert clip({"w": rnp.asarray([3.0, 4.0])})["w"].tolist() == pytest.approx([0.6, 0.8])
    assert clip({"w": rnp.asarray([0.3, 0.4])})["w"].tolist() == pytest.approx([0.3, 0.4])


def appended(v):
    row = [v]
    if v > 0:
        row.append(v)  # one element more
    return row


def popped(v):
    d = {"row": [v, v]}
    x = d["row"].pop() if v > 0 else v
    return x


def new_key(v):
    d = {"a": v}
    if v > 0:
        d["b"] = v
    return d


def lost_key(v):
    one = Counter(v)
    if v > 0:
        del one.value
    return v


def set_(v):
    seen = {1}
    if v > 0:
        seen.add(2)
    return len(seen) * v


def bytes_(v):
    seen = bytearray(b"ab")
    if v > 0:
        seen[0] = 1
    return v


def iterator(v):
    numbers = iter([1.0, 2.0])
    if v > 0:
        v = v + next(numbers)
    return v + next(numbers)


def generator(v):
    numbers = (k for k in (1.0, 2.0))
    if v > 0:
        v = v + next(numbers)
    return v + next(numbers)


def text(v):
    d = {"a": "x"}
    if v > 0:
        d["a"] = "y"
    return v


def shapes(v):
    d = {"a": v}
    if v > 0:
        d["a"] = rnp.ones((3,))
    return v


def objects(v):
    a = Counter(v)
    if v > 0:
        a = Counter(v * 2)
    return a.value


def trees(v):
    a = [v]
    if v > 0:
        a = [v, v]
    return a


class Memory:
    """An array that NumPy cannot make writeable again, as those of other libraries."""

    def __init__(self):
        self.own = np.zeros(3)

    @property
    def __array_interface__(self):
        return dict(self.own.__array_interface__)


WEIGHTS = np.zeros(3)
ROWS = WEIGHTS[:2]
BYTES = np.frombuffer(bytearray(8 * 3))
VIEW = np.asarray(Memory())


def numpy_(v):
    if v > 0:
        WEIGHTS[0] = 1.0
    return v


def numpy_rows(v):
    if v > 0:
        np.add(ROWS, len(WEIGHTS), out=ROWS)
    return v


def numpy_bytes(v):
    if v > 0:
        BYTES[0] = 1.0
    return v


def numpy_view(v):
    if v > 0:
        VIEW[0] = 1.0
    return v


REFUSED = [
    (appended, r"row, which has 2 elements after one branch and 1 after the other: both must leave as many\. Append in both"),
    (popped, r"d\['row'\], which has 1 elements after one branch and 2"), (new_key, r"d\['b'\], which one branch alone leaves with a value: give it one before"),
    (lost_key, r"one\.value, which one branch alone leaves with a value"), (set_, "seen: no program can choose between two contents of one set"),
    (bytes_, "seen: no program can choose between two contents of one bytearray"), (iterator, "numbers: an iterator gives its next element in both"),
    (generator, "numbers: an iterator gives"), (text, r"d\['a'\] is 'y' in one branch and 'x' in the other: arrays of one type can be chosen"),
    (shapes, r"d\['a'\] is an array of float32\[3\] in one branch and of"), (objects, "a is a Counter of its own in one branch and a Counter of its own in the other"),
    (trees, "a: the two branches give different trees"), (numpy_, "a branch of a traced `if` writes into an array of NumPy"),
    (numpy_rows, "a branch of a traced `if` writes into an array of NumPy"), (numpy_bytes, "a branch of a traced `if` writes into an array of NumPy"),
    (numpy_view, "VIEW: no program can choose between two contents of one array of NumPy"),
]  # fmt: skip


@pytest.mark.parametrize("fn, message", REFUSED, ids=lambda one: getattr(one, "__name__", ""))
def test_changes_that_no_condition_can_choose_are_errors(fn, message):
    with pytest.raises(relay.TraceError, match=message) as caught:
        relay.function(fn)(-3.0)
    lines = [line.strip() for line in str(caught.value).splitlines()[1:]]
    assert lines[0].endswith(f"in {fn.__name__}") and any(one in lines[1] for one in ("v > 0", "WEIGHTS[0]", "ROWS", "BYTES[0]"))
    assert WEIGHTS.tolist() == VIEW.tolist() == BYTES.tolist() == [0, 0, 0] and all(one.flags.writeable for one in (WEIGHTS, ROWS, BYTES, VIEW))


def test_a_branch_that_raises_leaves_objects_as_they_were():
    one, row, place = Counter(1.0), [1], {}

    def f(v):
        name = 1
        if v > 0:
            one.value, row[0], name, place["new"] = 5.0, 2, 3, v
            row.append(4)
            WEIGHTS.sum()
            raise KeyError("own")
        return v + name

    with pytest.raises(KeyError, match="own"):
        relay.function(f)(1.0)
    assert one.value == 1.0 and row == [1] and place == {} and WEIGHTS.flags.writeable

    @relay.function
    def g(v):
        name = 1
        try:
            if v > 0:
                name = 2
                row.append(4)
                raise KeyError
        except KeyError:
            return v + name + len(row)

    assert g(1.0).item() == 3


def test_what_no_branch_changes_stays_the_same_object():
    memory = {"list": [1, 2], "array": rnp.ones((3,))}

    @relay.function
    def f(v):
        kept = memory["list"]
        if v > 0:
            kept = memory["list"]
            v = v + memory["array"].sum()
        assert kept is memory["list"]
        return v

    assert f(1.0).item() == 4


def test_values_of_python_decide_as_ever():
    @relay.function
    def f(v, names=("a", "b")):
        found = []
        for name in names:
            if name == "a":
                found.append(v)
        found.extend([v] if len(found) else [])
        return found

    assert [one.item() for one in f(2.0)] == [2, 2]


def item_in_a_while(v):
    d = {"a": v}
    while d["a"] < 5:
        d["a"] = d["a"] + 1
    return d["a"]


def item_in_a_for(v):
    d = {"a": [v]}
    for k in range(v):
        d["a"][0] = k
    return d["a"][0]


def attribute_in_a_while(v):
    one = Counter(v)
    while v < 5:
        v = v + 1
        one.value = v
    return one.value


def append_in_a_for(v):
    row = []
    for k in range(v):
        row.append(1)
    return v + len(row)


@pytest.mark.parametrize("fn, what", [
    (item_in_a_while, r"d\['a'\]"), (item_in_a_for, r"d\['a'\]\[0\]"), (attribute_in_a_while, "one.value"), (append_in_a_for, r"row\[0\]"),
])  # fmt: skip
def test_a_loop_that_changes_objects_says_what_it_would_have_to_carry(fn, what):
    with pytest.raises(relay.TraceError, match=f"^a turn of a loop over traced values changes {what}, which .* Take the value into a variable before"):
        relay.function(fn)(3)


def test_objects_of_a_turn_are_its_own():
    @relay.function
    def f(v, n):
        total, d = 0.0, {"a": v}
        for k in range(n):
            row = [k, v]
            row[0] = row[0] * 2
            if k > 1:
                row.append(d["a"])
            else:
                row.append(1.0)
            for item in row:
                if item > 100:
                    break
                total = total + item
        return total

    assert f(1.5, 4).item() == sum(2 * k + 1.5 + (1.5 if k > 1 else 1) for k in range(4))
