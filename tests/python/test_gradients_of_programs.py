"""Gradients of programs with closures, data types, match, recursion and references, to the third order."""

import numpy as np
import pytest
import relay
from relay import RelayError

PROGRAMS = {
    "loop": """
def @loop(%i: int32, %x: float64, %acc: float64) -> float64 {
  if (%i < 5) { @loop(%i + 1, %x, %acc * tanh(%x) + %x) } else { %acc }
}
def @main(%x: float64, %y: float64) { @loop(0, %x * %y, 1f64) }
""",
    "local loop": """
def @main(%x: float64, %y: float64) {
  let %loop = fn (%i: int32, %acc: float64) -> float64 { if (%i < 4) { %loop(%i + 1, %acc * %x + %y) } else { %acc } };
  %loop(0, %y)
}
""",
    "loops in loops": """
def @inner(%k: int32, %a: float64, %b: float64) -> float64 { if (%k == 0) { %a } else { @inner(%k - 1, sin(%a) * %b, %b) } }
def @outer(%i: int32, %x: float64, %acc: float64, %y: float64) -> float64 {
  if (%i < 3) { let %in = @inner(%i, %acc, %x); @outer(%i + 1, %x, %acc * %in + @inner(2, %y, %in), %y) } else { %acc * @inner(1, %x, %y) }
}
def @main(%x: float64, %y: float64) { @outer(0, %x, %y, %x * %y) * @inner(2, %x, 0.5f64) }
""",
    "a loop with several ways": """
def @walk(%i: int32, %x: float64, %step: float64, %seen: (float64, int32)) -> (float64, (float64, int32)) {
  let %next = %x * %step;
  if (9 <= %i) {
    if (%x < 1f64) { (%x * %step, (%seen.0, %i)) } else { (%x / %step, %seen) }
  } else if (%next < 1f64) {
    let %more = %step + 0.5f64;
    if (%i == 4) { (%next * %x, (%x, 7)) } else { @walk(%i + 1, %next + 0.3f64, %more, (%seen.0 * %x, %i)) }
  } else {
    @walk(%i + 2, %x - 0.4f64, %step * %x, %seen)
  }
}
def @main(%x: float64, %y: float64) {
  let %end = @walk(0, %x, %y, (%x, 3));
  let %other = @walk(3, 2f64 * %y, %x, (%y, 3));
  %end.0 * %end.1.0 + %other.0 * %x + %other.1.0
}
""",
    "loops in branches": """
def @loop(%i: int32, %x: float64, %acc: float64) -> float64 {
  if (%i < 3) { @loop(%i + 1, %x, (if (%acc < %x) { %acc * sin(%x) } else { %acc + %x })) } else { %acc }
}
def @main(%x: float64, %y: float64) {
  let %a = if (%x < %y) { @loop(0, %x, %y) * @loop(1, %y, %x) } else { %x };
  let %b = if (%y < %x) { @loop(0, %x, %y) } else { %a * %a };
  %a * %b
}
""",
    "loops beside closures": """
def @loop(%i: int32, %x: float64, %acc: float64) -> float64 { if (%i < 3) { @loop(%i + 1, %x, %acc * cos(%x)) } else { %acc } }
def @main(%x: float64, %y: float64) {
  let %f = fn (%a: float64) -> float64 { @loop(0, %a, %y) };
  let %g = if (%x < %y) { %f } else { fn (%a: float64) -> float64 { %a } };
  %g(%x) * @loop(1, %y, %g(%y))
}
""",
    "a gradient that ends": """
def @loop(%i: int32, %x: float64, %round: float64) -> float64 { if (%i < 3) { @loop(%i + 1, %x * %x, floor(%x) + 1f64) } else { %round * %x } }
def @main(%x: float64, %y: float64) { @loop(0, %x, %y) + %y * @loop(3, 0.5f64, %y) }
""",
    "local loops in loops": """
def @main(%x: float64, %y: float64) {
  let %outer = fn (%i: int32, %acc: float64) -> float64 {
    let %start = %acc * %y;
    let %inner = fn (%k: int32, %a: float64) -> float64 { if (%k < %i) { %inner(%k + 1, sin(%a) * %x + %start) } else { %a } };
    if (%i < 4) { %outer(%i + 1, %inner(0, %acc) * %x) } else { %acc }
  };
  %outer(1, %y) + %outer(3, %x)
}
""",
    "general recursion": """
def @power(%n: int32, %x: float64) -> float64 { if (%n == 0) { 1f64 } else { %x * @power(%n - 1, %x) } }
def @main(%x: float64, %y: float64) { @power(5, %x) * @power(3, %y) + @power(2, %x) }
""",
    "mutual recursion": """
def @even(%n: int32, %x: float64) -> float64 { if (%n == 0) { %x } else { @odd(%n - 1, %x * sin(%x)) } }
def @odd(%n: int32, %x: float64) -> float64 { if (%n == 0) { -%x } else { @even(%n - 1, %x + cos(%x)) } }
def @main(%x: float64, %y: float64) { @even(3, %x) * @even(2, %y) }
""",
    "closures": """
def @twice(%f: fn (float64) -> float64) -> fn (float64) -> float64 { fn (%a: float64) -> float64 { %f(%f(%a)) } }
def @main(%x: float64, %y: float64) {
  let %f = fn (%a: float64) { %a * %x + sin(%y) };
  let %g = if (%x < %y) { @twice(%f) } else { %f };
  %g(%y) * %g(%x)
}
""",
    "polymorphic": """
def @apply[A, B](%f: fn (A) -> B, %a: A) -> B { %f(%a) }
def @main(%x: float64, %y: float64) {
  let %pair = fn (%a) { (%a, %a) };
  let %p = %pair(%x * %y);
  @apply(fn (%q: (float64, float64)) { %q.0 * exp(%q.1) }, %p) + @apply(fn (%n: int32) { %y }, 3)
}
""",
    "references": """
def @main(%x: float64, %y: float64) {
  let %r = ref(%x);
  let %step = fn (%a: float64) { ref_write(%r, ref_read(%r) * %a + %y); ref_read(%r) };
  let %one = %step(%y);
  let %two = %step(%one);
  %two * ref_read(%r)
}
""",
    "references to functions": """
def @main(%x: float64, %y: float64) {
  let %r = ref(fn (%a: float64) -> float64 { %a * %x });
  let %old = ref_read(%r);
  ref_write(%r, fn (%a: float64) -> float64 { %old(%old(%a)) + %y });
  let %f = ref_read(%r);
  %f(%y) * %f(%x)
}
""",
    "lists": """
import "prelude.rly"
def @map_list[A, B](%f: fn (A) -> B, %l: List[A]) -> List[B] {
  match (%l) { Cons(%x, %r) => Cons(%f(%x), @map_list(%f, %r)), Nil => Nil }
}
def @total(%l: List[float64]) -> float64 { match (%l) { Cons(%x, %r) => %x + @total(%r), Nil => 0f64 } }
def @main(%x: float64, %y: float64) {
  @total(@map_list(fn (%q: float64) { %q * %q * %x }, Cons(%y, Cons(%x * 2f64, Nil))))
}
""",
    "data types with tensors": """
type Tree { Leaf(float64, int32), Node(Tree, Tree), Lazy(fn (float64) -> float64) }
def @value(%t: Tree, %x: float64) -> float64 {
  match (%t) {
    Leaf(%v, 1) => %v * %x, Leaf(%v, _) => sin(%v), Node(%a, %b) => @value(%a, %x) * @value(%b, %x), Lazy(%f) => %f(%x)
  }
}
def @main(%x: float64, %y: float64) {
  @value(Node(Node(Leaf(%x, 1), Leaf(%x * %y, 2)), Lazy(fn (%a: float64) { %a * %y + %x })), %y)
}
""",
    "branches": """
def @main(%x: float64, %y: float64) {
  let %a = %x * %y;
  let %b = if (%x < %y) { let %u = sin(%a); if (%u < 2f64) { %u * %a } else { %x } } else { exp(%a) };
  let %c = if (%y < %x) { %b } else { %b * %b };
  %c * %a
}
""",
    "tuples with functions": """
def @main(%x: float64, %y: float64) {
  let %t = (%x * %y, (fn (%a: float64) { %a * %x }, (%y, 3)), %x);
  let %n = %t.1;
  let %f = %n.0;
  %f(%t.0) + %f(%n.1.0) * %t.2
}
""",
    "not reached": """
def @main(%x: float64, %y: float64) { let %f = fn (%a: float64) { %a * %a }; let %r = ref(%f(%x)); ref_read(%r) }
""",
}
PROGRAMS["data types with tensors"] = PROGRAMS["data types with tensors"].replace("Leaf(%v, 1) => %v * %x, Leaf(%v, _) => sin(%v)", "Leaf(%v, %k) => if (%k == 1) { %v * %x } else { sin(%v) }")
AT = (0.7, 1.3)


def scalar(run):
    return lambda *args: float(np.asarray(run(*args)))


def differences(run, args):
    step = 1e-6
    return [(run(*[a + step * (k == i) for i, a in enumerate(args)]) - run(*[a - step * (k == i) for i, a in enumerate(args)])) / (2 * step)
            for k in range(len(args))]


def both(mod, *args, level=3):
    found = relay.compile(mod, opt_level=level)(*args)
    other = relay.evaluate(mod, *args)
    np.testing.assert_allclose(np.hstack([np.ravel(one) for one in flat(found)]), np.hstack([np.ravel(one) for one in flat(other)]), rtol=1e-9)
    return found


def flat(value):
    return [leaf for part in value for leaf in flat(part)] if isinstance(value, tuple) else [value]


@pytest.mark.parametrize("name", PROGRAMS)
def test_reverse_is_differences(name):
    mod = relay.parse(PROGRAMS[name])
    run = scalar(relay.compile(mod))
    expected = differences(run, AT)
    mod["main"] = relay.value_and_grad("main", (0, 1), mod)
    for level in (0, 3, 4):
        value, grads = both(mod, *AT, level=level)
        np.testing.assert_allclose(value, run(*AT), rtol=1e-9)
        np.testing.assert_allclose(grads, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", PROGRAMS)
def test_forward_is_reverse(name):
    mod = relay.parse(PROGRAMS[name])
    mod["reverse"] = relay.value_and_grad("main", (0, 1), mod)
    mod["forward"] = relay.jvp("main", mod)
    reverse, forward = relay.compile(mod, entry="reverse"), relay.compile(mod, entry="forward")
    value, (gx, gy) = reverse(*AT)
    found, derivative = forward(*AT, 0.3, -0.8)
    np.testing.assert_allclose(found, value, rtol=1e-9)
    np.testing.assert_allclose(derivative, 0.3 * gx - 0.8 * gy, rtol=1e-9)


@pytest.mark.parametrize("name", PROGRAMS)
def test_third_order(name):
    mod = relay.parse(PROGRAMS[name])
    functions = ["main"]
    for order in range(3):
        functions.append(f"order{order}")
        mod[functions[-1]] = relay.grad(functions[-2], 0, mod)
    for lower, higher in zip(functions, functions[1:]):
        run = scalar(relay.compile(mod, entry=lower))
        found = float(np.asarray(relay.compile(mod, entry=higher)(*AT)))
        np.testing.assert_allclose(found, differences(run, AT)[0], rtol=1e-5, atol=1e-7)


def test_long_loops():
    mod = relay.parse("""
def @loop(%i: int32, %x: float64, %acc: float64) -> float64 { if (%i < 100000) { @loop(%i + 1, %x, %acc * %x + 0.001f64) } else { %acc } }
def @main(%x: float64) { @loop(0, %x, 1f64) }
""")
    mod["main"] = relay.value_and_grad("main", mod=mod)
    value, gradient = both(mod, 0.999)
    np.testing.assert_allclose(value, 1.0, rtol=1e-9)
    np.testing.assert_allclose(gradient, 1000.0, rtol=1e-6)


def test_data_types_as_parameters():
    mod = relay.parse("""
import "prelude.rly"
type Layer { Dense(Tensor[(2, 2), float64], Tensor[(2), float64]), Tanh }
def @run(%l: List[Layer], %x: Tensor[(2), float64]) -> Tensor[(2), float64] {
  match (%l) {
    Cons(Dense(%w, %b), %r) => @run(%r, sum(%w * %x, axis=[1]) + %b),
    Cons(Tanh, %r) => @run(%r, tanh(%x)),
    Nil => %x,
  }
}
def @loss(%l: List[Layer], %x: Tensor[(2), float64]) { sum(@run(%l, %x)) }
def @weights(%w: Tensor[(2, 2), float64]) -> List[Layer] { Cons(Dense(%w, zeros(shape=[2], dtype="float64")), Cons(Tanh, Cons(Dense(%w, ones(shape=[2], dtype="float64")), Nil))) }
def @norms(%l: List[Layer]) -> float64 {
  match (%l) { Cons(Dense(%w, %b), %r) => sum(%w) + sum(%b) + @norms(%r), Cons(_, %r) => @norms(%r), Nil => 0f64 }
}
""")
    mod["grad"] = relay.grad("loss", mod=mod)
    mod["main"] = relay.parse_expr("fn (%w: Tensor[(2, 2), float64], %x: Tensor[(2), float64]) { @norms(@grad(@weights(%w), %x)) }")
    at, x = np.array([[0.1, 0.2], [-0.3, 0.4]]), np.array([1.0, 2.0])
    h = np.tanh(at @ x)
    back = at.T @ np.ones(2) * (1 - h**2)
    expected = np.outer(np.ones(2), h).sum() + 2 + np.outer(back, x).sum() + back.sum()
    np.testing.assert_allclose(both(mod, at, x), expected)


@pytest.mark.parametrize(("program", "message"), [
    ("def @main(%f: fn (float64) -> float64, %x: float64) { %f(%x) }", "a parameter is or holds a function"),
    ("def @main(%r: ref(float64)) { ref_read(%r) }", "a parameter is or holds a reference"),
    ("def @main(%x: Tensor[(4), float64]) { let %r = ref(unique(%x).0); sum(ref_read(%r)) }", "unique has no gradient"),
    ("def @main(%x: float64) { let %f = fn (%a: float64) { fn (%b: float64) { %a * %b } }; (%f(%x), %x) }", "the result is or holds a function"),
])  # fmt: skip
def test_refusals(program, message):
    mod = relay.parse(program)
    with pytest.raises(RelayError, match=message):
        relay.transform.gradient(mod["main"], mod)


def test_what_grad_takes_is_said_where_it_is_given_something_else():
    mod = relay.parse("def @net(%w: float32) -> float32 { %w * %w }\ndef @loss(%w: float32) -> float32 { @net(%w) }")
    for what in (relay.grad, relay.value_and_grad):
        with pytest.raises(TypeError, match=rf"^argnums is a module, which stands behind it: relay.{what.__name__}\(fn, mod=module\)"):
            what("loss", mod)
        with pytest.raises(ValueError, match=f"^has_aux is for functions of Python; {what.__name__} is of a function of a program"):
            what("loss", 0, mod, has_aux=True)
        with pytest.raises(ValueError, match="^fn calls @net, a function of a module: give the module that has it as mod$"):
            what(mod["loss"])


def test_an_entry_that_a_module_does_not_have_names_those_it_has():
    mod = relay.parse("def @loss(%w: float32) -> float32 { %w }\ndef @step(%w: float32) -> float32 { %w }")
    for call in (lambda name: relay.compile(mod, entry=name), lambda name: relay.evaluate(mod, 1.0, entry=name)):
        with pytest.raises(relay.RelayError, match=r"there is no function @stp: did you mean @step\? The module has @loss, @step"):
            call("stp")
        with pytest.raises(relay.RelayError, match="there is no function @q; the module has @loss, @step"):
            call("q")


def test_extents_from_elements_of_an_integer_input() -> None:
    # The derivative of a reshape reads no element of its shape; the shape decides all the same.
    mod = relay.parse("def @main(%x: Tensor[(2, 3, 4), float32], %y: Tensor[(8, 3), float32]) { dyn.reshape(%x, shape_of(%y)) }")
    gradient = relay.IRModule.from_expr(relay.transform.gradient(relay.transform.InferType()(mod)["main"]))
    x, y = np.ones((2, 3, 4), "float32"), np.zeros((8, 3), "float32")
    for value, gradients in (relay.evaluate(gradient, x, y), relay.compile(gradient).run([x, y])):
        assert value.shape == (8, 3) and gradients[0].shape == (2, 3, 4) and np.all(np.asarray(gradients[0]) == 1)
