"""Operators whose kernel is a Python function over NumPy arrays."""

from __future__ import annotations

import gc
import pickle
import threading
import traceback

import numpy as np
import pytest

import relay

X = np.arange(6, dtype="float32").reshape(2, 3)


def program(op, *shapes, wrap=lambda call: call, dtype="float32", **attrs):
    params = [relay.var(f"x{i}", shape=shape, dtype=dtype) for i, shape in enumerate(shapes)]
    return relay.IRModule.from_expr(relay.Function(params, wrap(op(*params, **attrs))))


EXECUTORS = {"eval": lambda mod: lambda *args: relay.evaluate(mod, *args), "compiled": lambda mod: relay.compile(mod)}
executors = pytest.mark.parametrize("execute", EXECUTORS.values(), ids=EXECUTORS)


@executors
def test_returns_its_result(execute):
    with relay.op.registered("test.sort", relation="Identity", kernel=lambda x, *, axis: np.sort(x, axis), attrs={"axis": -1}) as op:
        mod = program(op, (2, 3), wrap=lambda call: relay.negative(call) + 1.0, axis=0)
        np.testing.assert_array_equal(execute(mod)(X[::-1].copy()), -np.sort(X, 0) + 1)


@executors
def test_writes_into_out(execute):
    def kernel(x, *, out):
        out[:] = x * 2

    with relay.op.registered("test.twice", relation="Identity", kernel=kernel) as op:
        np.testing.assert_array_equal(execute(program(op, (2, 3)))(X), X * 2)


@executors
def test_a_library_function_as_it_is(execute):
    with relay.op.registered("test.inv", inputs=["a"], relation="Identity", kernel=np.linalg.inv) as op:
        np.testing.assert_allclose(execute(program(op, (2, 2)))(np.float32([[2, 0], [0, 4]])), [[0.5, 0], [0, 0.25]])


@executors
def test_several_results_and_tuples(execute):
    def kernel(parts, scale):
        return parts[0] + parts[1], parts[0] * scale

    relation = lambda call, parts, scale: relay.TupleType(parts.fields)  # noqa: E731
    with relay.op.registered("test.two", inputs=[relay.op.Input("parts", tuple=True), "scale"], relation=relation, kernel=kernel) as op:
        x, y, s = relay.var("x", shape=(3,)), relay.var("y", shape=(3,)), relay.var("s", shape=())
        mod = relay.IRModule.from_expr(relay.Function([x, y, s], op((x, y), s)))
        found = execute(mod)(np.ones(3, "float32"), np.ones(3, "float32"), np.float32(5))
        np.testing.assert_array_equal(found[0], [2, 2, 2])
        np.testing.assert_array_equal(found[1], [5, 5, 5])


@executors
def test_numbers_and_strided_results(execute):
    with relay.op.registered("test.total", relation=lambda call, x: relay.TensorType((), "float32"), kernel=lambda x: float(x.sum())) as op:
        assert execute(program(op, (2, 3)))(X) == 15
    with relay.op.registered("test.turn", relation=lambda call, x: relay.TensorType(x.shape[::-1], x.dtype), kernel=lambda x: x.T[::-1]) as op:
        np.testing.assert_array_equal(execute(program(op, (2, 3)))(X), X.T[::-1])
    with relay.op.registered("test.swapped", relation="Identity", kernel=lambda x: x.astype(">f4")) as op:
        np.testing.assert_array_equal(execute(program(op, (2, 3)))(X), X)


@executors
def test_extents_that_the_kernel_decides(execute):
    relation = lambda call, x: relay.TensorType((relay.Dim.any(),), x.dtype)  # noqa: E731
    with relay.op.registered("test.positive", relation=relation, kernel=lambda x: x[x > 0]) as op:
        run = execute(program(op, (5,)))
        np.testing.assert_array_equal(run(np.float32([1, -1, 2, 0, 3])), [1, 2, 3])
        assert run(np.zeros(5, "float32")).shape == (0,)


def test_symbolic_shapes():
    with relay.op.registered("test.sort", relation="Identity", kernel=np.sort, inputs=["x"]) as op:
        run = relay.compile(program(op, (relay.ShapeVar("n"), 3)))
        for rows in (1, 4):
            x = np.random.default_rng(rows).random((rows, 3)).astype("float32")
            np.testing.assert_array_equal(run(x), np.sort(x))


@executors
@pytest.mark.parametrize(
    "kernel, message",
    [
        (lambda x: x.astype("float64"), r"its kernel gave Tensor\[\(2, 3\), float64\], not Tensor\[\(2, 3\), float32\]"),
        (lambda x: x[:1], r"its kernel gave Tensor\[\(1, 3\), float32\], not Tensor\[\(2, 3\), float32\]"),
        (lambda x: x[0], r"its kernel gave Tensor\[\(3\), float32\], not"),
        (lambda x: None, "its kernel gave None: it must return its results, or take arrays for them as `out`"),
        (lambda x: "text", "its kernel gave str: a tensor cannot be made of this str"),
        (lambda x: x.astype(object), "its kernel gave ndarray: .*array of objects"),
        (lambda x: (x, x), r"its kernel gave Tensor\[\(2, 2, 3\), float32\], not"),
    ],
)
def test_wrong_results(execute, kernel, message):
    with relay.op.registered("test.bad", relation="Identity", kernel=kernel) as op:
        with pytest.raises(relay.ExecutionError, match="test.bad: " + message):
            execute(program(op, (2, 3)))(X)


@executors
def test_wrong_number_of_results(execute):
    pair = lambda call, x: relay.TupleType([x, x])  # noqa: E731
    for kernel, message in ((lambda x: x, "gave ndarray, not a tuple of 2 arrays"), (lambda x: (x,), "gave 1 results, not 2")):
        with relay.op.registered("test.bad", relation=pair, kernel=kernel) as op:
            with pytest.raises(relay.ExecutionError, match=message):
                execute(program(op, (2, 3)))(X)


@executors
def test_inputs_are_read_only_and_may_be_kept(execute):
    kept = []

    def kernel(x):
        kept.append(x)
        with pytest.raises(ValueError, match="read-only"):
            x[0] = 1
        return x

    with relay.op.registered("test.keep", relation="Identity", kernel=kernel) as op:
        mod = program(op, (2, 3), wrap=lambda call: call + 1.0)
        mod = relay.IRModule.from_expr(relay.Function(mod["main"].params, op(relay.nn.relu(mod["main"].params[0] * 2.0)) + 1.0))
        run = execute(mod)
        for _ in range(3):
            run(X)
        del run, mod
    gc.collect()
    np.testing.assert_array_equal(kept[-1], X * 2)


class Odd(Exception):
    pass


@executors
def test_exceptions_come_out_whole(execute):
    def deep(x):
        raise Odd("three is odd")

    with relay.op.registered("test.odd", relation="Identity", kernel=lambda x: deep(x)) as op:
        run = execute(program(op, (2, 3)))
        for _ in range(2):  # the machine is as good as before
            with pytest.raises(Odd, match="three is odd") as caught:
                run(X)
            frames = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
            assert frames[0] == "test_exceptions_come_out_whole" and frames[-1] == "deep"
            if hasattr(caught.value, "__notes__"):
                assert "test.odd: its kernel raised Odd: three is odd" in caught.value.__notes__[0]


@executors
def test_what_ends_programs_comes_through(execute):
    def kernel(x):
        raise KeyboardInterrupt

    with relay.op.registered("test.stop", relation="Identity", kernel=kernel) as op:
        with pytest.raises(KeyboardInterrupt):
            execute(program(op, (2, 3)))(X)
        with pytest.raises(KeyboardInterrupt):
            execute(program(op, (2, 3)))(X)


@executors
def test_calls_back_into_the_compiler(execute):
    def kernel(x):
        y = relay.var("y", shape=(2, 3))
        return relay.compile(relay.IRModule.from_expr(relay.nn.relu(y) + 1.0))(x)

    with relay.op.registered("test.inner", relation="Identity", kernel=kernel) as op:
        np.testing.assert_array_equal(execute(program(op, (2, 3)))(-X), np.ones_like(X))


def test_calls_its_own_program():
    depth = []

    def kernel(x):
        depth.append(1)
        return run(x - 1) if x[0, 0] > 0 else x

    with relay.op.registered("test.again", relation="Identity", kernel=kernel) as op:
        run = relay.compile(program(op, (2, 3), wrap=lambda call: call * 1.0))
        np.testing.assert_array_equal(run(X + 3), X)
        assert len(depth) == 4


def test_several_threads():
    with relay.op.registered("test.sort", relation="Identity", kernel=np.sort, inputs=["x"]) as op:
        run = relay.compile(program(op, (64, 64), wrap=lambda call: call * 2.0))
        failed = []

        def work(seed):
            x = np.random.default_rng(seed).random((64, 64)).astype("float32")
            for _ in range(50):
                if not np.array_equal(run(x), np.sort(x) * 2):
                    failed.append(seed)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failed


def test_cannot_be_saved(tmp_path):
    with relay.op.registered("test.sort", relation="Identity", kernel=np.sort, inputs=["x"]) as op:
        run = relay.compile(program(op, (2, 3)))
        message = "the program cannot be saved: operator test.sort has a Python function as its kernel"
        with pytest.raises(relay.RelayError, match=message):
            run.save(str(tmp_path / "x.rlx"))
        assert not (tmp_path / "x.rlx").exists()
        with pytest.raises(relay.RelayError, match=message):
            pickle.dumps(run)


def test_constants_are_computed_beforehand_unless_impure():
    calls = []

    def kernel(x):
        calls.append(1)
        return x

    for pure, expected in ((True, 0), (False, 2)):
        with relay.op.registered("test.count", relation="Identity", kernel=kernel, pure=pure) as op:
            run = relay.compile(relay.IRModule.from_expr(relay.Function([], op(relay.const(X)))))
            calls.clear()
            run(), run()
            assert len(calls) == expected


def test_a_kernel_that_fails_is_not_an_error_of_compiling():
    def kernel(x):
        raise Odd("later")

    with relay.op.registered("test.fails", relation="Identity", kernel=kernel) as op:
        run = relay.compile(relay.IRModule.from_expr(relay.Function([], op(relay.const(X)))))
        with pytest.raises(Odd, match="later"):
            run()


def test_gradient():
    cube = lambda call, grad: [relay.const(3.0) * call.args[0] * call.args[0] * grad]  # noqa: E731
    with relay.op.registered("test.cube", relation="Identity", kernel=lambda x: x**3, gradient=cube):
        assert "by a rule" in relay.op.describe("test.cube")
        x, g = relay.var("x", shape=(2, 3)), relay.var("g", shape=(2, 3))
        call = relay.op.function("test.cube")(x)
        relay.check(relay.Function([x], call))
        (found,) = relay.op.gradients(call, g)
        mod = relay.IRModule.from_expr(relay.Function([x, g], found))
        np.testing.assert_allclose(relay.compile(mod)(X, X), 3 * X**3)
    with relay.op.registered("test.cube", relation="Identity", kernel=lambda x: x**3, no_gradient="nobody needs it"):
        with pytest.raises(relay.RelayError, match="test.cube has no gradient: nobody needs it"):
            relay.check(relay.parse("def @main(%x: Tensor[(2), float32]) { grad.test.cube(%x, %x) }"))
    with relay.op.registered("test.cube", relation="Identity", kernel=lambda x: x**3):
        with pytest.raises(relay.RelayError, match="test.cube has no gradient: "):
            relay.check(relay.parse("def @main(%x: Tensor[(2), float32]) { grad.test.cube(%x, %x) }"))
