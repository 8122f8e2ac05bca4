"""Every public function of the package, with what nobody should give it: the answer is a clear exception, or a result."""

import importlib
import inspect

import numpy as np
import pytest
import relay

MODULES = [
    "relay", "relay._core", "relay.analysis", "relay.display", "relay.equality", "relay.execution", "relay.expr", "relay.expr_functor",
    "relay.frontend", "relay.instrument", "relay.module", "relay.op", "relay.op.annotation", "relay.op.image", "relay.op.nn",
    "relay.op.random", "relay.op.tensor", "relay.op.vision", "relay.qnn", "relay.scope_builder", "relay.transform", "relay.ty",
    "relay.type_functor",
]  # fmt: skip

# The classes that an exception may have. InternalError, SystemError and RuntimeError are none of these.
EXPECTED = (
    TypeError, ValueError, OverflowError, KeyError, IndexError, AttributeError, NotImplementedError, RecursionError, OSError,
    relay.RelayError,
)  # fmt: skip

# These stop or change the process, run for long on purpose, or are tested with what they are for.
# Those that change something for the whole process, so that tests after these would see it, are left out, too.
LEFT_OUT = {"relay._core.reduce", "relay.instrument.pass_instrument", "relay._core.set_integer_dims", "relay._core.set_gradient"}


class Odd:
    """Something that pretends."""

    def __getattr__(self, name):
        raise ValueError(f"no {name} here")


class Lying:
    """An array of a foreign device, a sequence without an end, a text that is none."""

    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, **_):
        return 3

    def __len__(self):
        return 2**62

    def __repr__(self):
        return "L" * 10_000


def hostile_values():
    x = relay.var("x", shape=(2,))
    loop: list = []
    loop.append(loop)
    return [
        None, -1, 0, 2**31, 2**70, -(2**70), True, 1.5, float("nan"), float("inf"), 1j, "", "\0", "x", "\ud800", "a" * 100_000, b"\xff",
        [], (), {}, [None], [[1], [2, 3]], loop, {"a": None}, {3: np.ones(2)}, {None: None}, object(), Odd(), Lying(), int, Odd, len,
        lambda *a, **k: None, iter(()), x, relay.const(1.0), x + 1.0, relay.Function([x], x), relay.IRModule(),
        relay.IRModule.from_expr(relay.Function([x], x)), relay.TensorType((2,), "float32"), relay.TupleType([]), relay.Span(),
        relay.Any(), relay.ShapeVar("n"), relay.TypeVar("t"), relay.GlobalVar("g"), relay.GlobalTypeVar("G"), relay.RelayError("mine"),
        relay.op.get("add"), relay.PatternWildcard(), relay.NDArray(np.ones(2, "float32")), np.ones((), "float32"), np.ones(2, ">f8"),
        np.ones((4, 4), "float32")[::-2, ::-1], np.array([None, 1], object), np.array("text"), np.zeros(2, [("a", "f4")]),
        np.zeros((0, 3), "float16"), np.float16(1), np.datetime64("2020"), np.ones(2, "complex64"), np.dtype("int8"),
        np.ones([1] * 30, "float32"), np.broadcast_to(np.float32(1), (2**20, 2**20)),
    ]  # fmt: skip


def public(module):
    for name in sorted(getattr(module, "__all__", dir(module))):
        if name.startswith("_"):
            continue
        thing = getattr(module, name)
        if callable(thing) and not (inspect.isclass(thing) and issubclass(thing, BaseException)):
            if getattr(thing, "__module__", "").startswith("relay") or type(thing).__name__ == "nb_func":
                yield f"{module.__name__}.{name}", thing


def check(what, call, values):
    try:
        result = call()
    except EXPECTED as error:
        text = str(error)
        assert "std::" not in text and "bad_cast" not in text, (what, values, text)
        assert "incompatible function arguments" not in text, (what, values, text)
        return
    except ImportError as error:  # of a library that the function is about
        assert "needs PyTorch" in str(error), (what, values)
        return
    except MemoryError as error:  # NumPy's, of an array that cannot be copied
        assert "Unable to allocate" in str(error), (what, values)
        return
    except RuntimeError as error:
        assert what.startswith("ScopeBuilder."), (what, values, error)  # calls in another order
        return
    except BaseException as error:
        raise AssertionError(f"{what}: {type(error).__name__}: {error}") from error
    # A list of a million foreign arrays, such as the rows of a broadcast one, takes minutes to print.
    if not callable(result) and not (isinstance(result, list) and len(result) > 1000):
        try:
            repr(result)
        except EXPECTED:
            pass


FILES = ("save", "load", "dump", "DumpIR", "from_onnx", "serve")


@pytest.mark.parametrize("name", MODULES)
def test_functions(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    values = hostile_values()
    seen = 0
    for what, thing in public(module):
        if what in LEFT_OUT:
            continue
        seen += 1
        check(what, lambda: thing(), ())
        for i, value in enumerate(values):
            check(what, lambda: thing(value), (i,))
            check(what, lambda: thing(value, value), (i, i))
            check(what, lambda: thing(values[-i], value, values[i // 2]), (-i, i, i // 2))
            check(what, lambda: thing(x=value), ("x", i))
    assert seen > 0 or name in ("relay.op.annotation",)


def objects():
    x = relay.var("x", shape=(2,))
    call = x + 1.0
    mod = relay.parse("type L { A, B(float32) } def @main(%x: Tensor[(2), float32]) { match (B(%x)) { A => 0f, B(%y) => %y } }")
    run = relay.compile(relay.Function([x], call))
    data = relay.compile(relay.parse("type L { A, B(float32) } def @main() { (B(1f), ref(1f), fn(%x: float32) { %x }) }"))()
    error = None
    try:
        relay.parse("def @main(%x) { %y }")
    except relay.RelayError as caught:
        error = caught
    context = relay.transform.PassContext(trace=True)
    things = [
        x, call, relay.const(1.0), relay.Function([x], call), relay.Tuple([x, x]), relay.If(relay.const(True), x, x), mod, run, *data,
        relay.TensorType((2,), "float32"), relay.TupleType([]), relay.Any(), relay.ShapeVar("n") + 1, next(iter(mod.type_definitions.values())),
        relay.Span(), relay.NDArray(np.ones(2, "float32")), context, relay.transform.FoldConstant(), relay.transform.FoldConstant().info,
        relay.ExprVisitor(), relay.ExprMutator(), relay.ScopeBuilder(), relay.instrument.PassTimingInstrument(),
        relay.split(x, 2, 0), relay.nn.dense(x, x).attrs, relay.analysis, relay.PatternWildcard(),
    ]  # fmt: skip
    if error is not None:
        things += [error.diagnostics[0], error.diagnostics[0].span]
    return things


@pytest.mark.parametrize("thing", objects(), ids=lambda one: type(one).__name__)
def test_members(thing, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    values = hostile_values()
    for name in dir(thing):
        special = name.startswith("__") and name.endswith("__")
        if special and name in ("__class__", "__init_subclass__", "__subclasshook__", "__new__", "__init__", "__del__", "__setattr__",
                                "__delattr__", "__dict__", "__sizeof__", "__reduce_ex__"):  # fmt: skip
            continue
        if not special and name.startswith("_"):
            continue
        what = f"{type(thing).__name__}.{name}"
        try:
            member = getattr(thing, name)
        except EXPECTED:
            continue
        if not callable(member) or inspect.isclass(member):
            continue
        if what == "PassContext.__enter__":
            continue
        check(what, lambda: member(), ())
        for i, value in enumerate(values):
            check(what, lambda: member(value), (i,))
            check(what, lambda: member(value, values[-i]), (i, -i))
