"""Compiling, running, evaluating; arrays in and out."""

import ctypes
import pickle
import threading

import numpy as np
import pytest

import relay

MAIN = "def @main(%x: Tensor[(2, 3), float32]) { nn.relu(add(%x, 1f)) }"


@pytest.fixture(scope="module")
def program():
    return relay.compile(relay.parse(MAIN))


@pytest.fixture
def data():
    return np.arange(6, dtype="float32").reshape(2, 3) - 3


def expected(x):
    return np.maximum(np.asarray(x, "float32") + 1, 0)


LAYOUTS = {
    "plain": lambda a: a,
    "big-endian": lambda a: a.astype(">f4"),
    "Fortran": np.asfortranarray,
    "negative strides": lambda a: a[::-1, ::-1],
    "steps": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
    "transposed": lambda a: np.ascontiguousarray(a.T).T,
    "broadcast": lambda a: np.broadcast_to(a[:1], (2, 3)),
    "offset": lambda a: np.frombuffer(b"\0\0\0\0" + a.tobytes(), "float32")[1:].reshape(2, 3),
    "unaligned": lambda a: np.frombuffer(b"\0" + a.tobytes(), np.uint8)[1:].view("float32").reshape(2, 3),
    "list": lambda a: a.tolist(),
    "NDArray": relay.NDArray,
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_of_arrays(program, data, layout):
    given = LAYOUTS[layout](data)
    want = expected(given.numpy() if isinstance(given, relay.NDArray) else given)
    for _ in range(2):
        got = program(given)
        assert isinstance(got, np.ndarray) and got.dtype == np.float32 and np.array_equal(got, want)
    assert np.array_equal(relay.evaluate(relay.parse(MAIN), np.asarray(given, "float32") if layout == "list" else given), want)


def test_read_only_arrays_stay_as_they_are(program, data):
    data.setflags(write=False)
    before = data.copy()
    assert np.array_equal(program(data), expected(data)) and np.array_equal(data, before)


def test_results_are_not_written_over(program, data):
    first = program(data)
    kept = first.copy()
    program(data + 10)
    assert np.array_equal(first, kept)
    first[:] = 0
    assert np.array_equal(program(data), kept)


@pytest.mark.parametrize(
    "value, error, text",
    [
        (np.zeros((2, 3), object), TypeError, "array of objects"),
        (None, TypeError, "NoneType"),
        ("abc", TypeError, "this str"),
        (np.zeros((2, 3), "c8"), TypeError, "complex64"),
        (np.zeros((2, 3), "M8[D]"), TypeError, "datetime64"),
        (np.zeros((2, 3), [("a", "f4")]), TypeError, "elements of type"),
        ([[1, 2], [3]], TypeError, "inhomogeneous"),
        (np.zeros((3, 2), "f4"), relay.RelayError, r"expected Tensor\[\(2, 3\), float32\], found Tensor\[\(3, 2\)"),
        (np.zeros((2, 3), "f8"), relay.RelayError, "found Tensor.*float64"),
        (np.zeros((2, 3), "i4"), relay.RelayError, "found Tensor.*int32"),
        (np.float32(1), relay.RelayError, "found float32"),
        (np.zeros((), "f4"), relay.RelayError, "found float32"),
        (np.zeros((0, 3), "f4"), relay.RelayError, r"found Tensor\[\(0, 3\)"),
        ((1.0, 2.0), relay.RelayError, "found"),
    ],
)  # fmt: skip
def test_wrong_arrays(program, value, error, text):
    with pytest.raises(error, match=text):
        program(value)


def test_wrong_arguments(program, data):
    for args, kwargs, text in [
        ((), {}, "needs a value for x"),
        ((data, data), {}, "takes 1 argument, not 2"),
        ((), {"y": data}, r"has no parameter y; did you mean x\?$"),
        ((), {"weights": data}, "has no parameter weights; it has x$"),
        ((data,), {"x": data}, "two values for x"),
    ]:
        with pytest.raises(TypeError, match=text):
            program(*args, **kwargs)
    assert np.array_equal(program(x=data), expected(data))
    with pytest.raises(KeyError, match="no function f; it has main"):
        program.call("f", data)


def test_foreign_devices_are_refused(program):
    class Elsewhere:
        def __dlpack_device__(self):
            return (2, 0)

        def __dlpack__(self, **_):
            raise AssertionError("not asked for")

    with pytest.raises(TypeError, match="another device"):
        program(Elsewhere())

    class Fails(Elsewhere):
        def __dlpack_device__(self):
            raise RuntimeError("broken on purpose")

    with pytest.raises((RuntimeError, TypeError), match="broken on purpose"):
        program(Fails())


class Exchanges:
    """Speaks DLPack with what a function gives."""

    def __init__(self, give):
        self.give = give

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **_):
        return self.give()


def raises_boom():
    raise ValueError("boom")


def read_only():
    array = np.zeros(3, "float32")
    array.setflags(write=False)
    return array.__dlpack__()


def used():
    capsule = np.zeros(3, "float32").__dlpack__()
    relay.NDArray(capsule)
    return capsule


@pytest.mark.parametrize(
    "give, text, cause",
    [
        (raises_boom, "its __dlpack__ raised ValueError: boom", ValueError),
        (read_only, "its __dlpack__ raised BufferError: .*readonly", BufferError),
        (used, "its DLPack tensor was taken already", None),
        (lambda: np.zeros(3, "complex64").__dlpack__(), "no element type has DLPack's type code 5 with 64 bits", None),
        (lambda: 3, "its __dlpack__ gave 3, which is not a capsule", None),
    ],
)
def test_why_an_object_that_speaks_dlpack_is_no_tensor(give, text, cause):
    with pytest.raises(TypeError, match="a tensor cannot be made of this Exchanges: " + text) as caught:
        relay.NDArray(Exchanges(give))
    assert type(caught.value.__cause__) is (cause or type(None))
    if give is used:
        with pytest.raises(TypeError, match="a tensor cannot be made of this PyCapsule: its DLPack tensor was taken already"):
            relay.NDArray(used())


def dlpack_capsule(ndim=1, code=2, bits=32, lanes=1, device=1):
    """A capsule as other libraries make it, by its layout in memory."""

    class Tensor(ctypes.Structure):
        _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32), ("index", ctypes.c_int32), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
                    ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p),
                    ("offset", ctypes.c_uint64), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]  # fmt: skip

    memory, shape = (ctypes.c_float * 4)(), (ctypes.c_int64 * 100)(*[1] * 100)
    tensor = Tensor(ctypes.addressof(memory), device, 0, ndim, code, bits, lanes, ctypes.addressof(shape), None, 0, None, None)
    kept.append((memory, shape, tensor))
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return make(ctypes.addressof(tensor), b"dltensor", None)


kept = []


@pytest.mark.parametrize(
    "layout, text",
    [
        ({"lanes": 4}, "its elements have 4 lanes"),
        ({"code": 0, "bits": 4}, "no element type has DLPack's type code 0 with 4 bits"),
        ({"ndim": -1}, "it has -1 dimensions; 0 to 64 are possible"),
        ({"ndim": 65}, "it has 65 dimensions; 0 to 64 are possible"),
        ({"device": 2}, "it is on another device; bring it to the processor first"),
    ],
)
def test_why_a_capsule_is_no_tensor(layout, text):
    assert relay.NDArray(dlpack_capsule()).shape == (1,)
    with pytest.raises(TypeError, match="a tensor cannot be made of this PyCapsule: " + text):
        relay.NDArray(dlpack_capsule(**layout))


def test_fields_of_structures(data):
    pairs = np.zeros((2, 3), [("tag", "i1"), ("value", "f4")])
    pairs["value"] = data
    program = relay.compile(relay.parse(MAIN))
    assert np.array_equal(program(pairs["value"]), expected(data))
    assert np.array_equal(relay.NDArray(pairs["value"][::-1, 1:]).numpy(), data[::-1, 1:])


def test_what_lives_on_keeps_no_array_of_the_caller():
    source = "type Box { Box(Tensor[(2), float32]), }\n" + (
        "def @main(%x: Tensor[(2), float32]) { (fn() { %x }, Box(%x), ref(%x), fn(%y: Tensor[(2), float32]) { fn() { %y } }) }"
    )
    mod = relay.parse(source)
    for run in (relay.compile(mod), lambda x: relay.evaluate(mod, x)):
        given = np.ones(2, "float32")
        function, box, cell, make = run(given)
        inner, own = make(given), relay._core.reference_value(given)
        cell.value = given
        given[:] = 7
        for kept in (function(), box.fields[0], cell.value, inner(), own.value):
            assert kept.tolist() == [1, 1]


def test_values_can_be_copied_and_pickled():
    import copy

    mod = relay.parse(
        "type List[A] { Cons(A, List[A]), Nil, }\n"
        "def @main() { (Cons((1i64, [1f]), Nil), ref(3), fn(%x: int32) { %x }) }\n"
        "def @length(%l: List[(int64, Tensor[(1), float32])]) { match (%l) { Cons(_, %t) => 1 + @length(%t), Nil => 0 } }".replace("[1f]", "ones(shape=[1])")
    )
    values, cell, function = relay.compile(mod)()
    assert copy.copy(values) is values and copy.copy(function) is function and copy.deepcopy(function) is function
    for same in (copy.deepcopy(values), pickle.loads(pickle.dumps(values))):
        assert same == values and same is not values and relay.evaluate(mod, same, entry="length") == 1
    for other in (copy.deepcopy(cell), pickle.loads(pickle.dumps(cell))):
        other.value = 5
        assert other.value == 5 and cell.value == 3
    with pytest.raises(TypeError, match="a function value cannot be pickled: it is code of this process"):
        pickle.dumps(function)


def test_arrays_are_shared_not_copied():
    array = np.zeros(4, "float32")
    view = relay.NDArray(array)
    array[1] = 7
    assert view.numpy()[1] == 7 and np.shares_memory(view.numpy(), array)
    assert np.shares_memory(np.from_dlpack(view), array)
    assert not np.shares_memory(view.copy().numpy(), array)
    assert np.asarray(view, dtype="float64").dtype == np.float64
    assert view.shape == (4,) and view.dtype == "float32" and view.ndim == 1 and len(view) == 4 and view.nbytes == 16


def flags_of(capsule):
    """The flags of a tensor of DLPack 1.0; None for one of before."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    if "dltensor_versioned" not in repr(capsule):
        return None
    return ctypes.c_uint64.from_address(pointer(capsule, b"dltensor_versioned") + 24).value


def test_what_programs_rely_on_cannot_be_written_to():
    constant = relay.const(np.arange(3, dtype="float32"))
    run = relay.compile(relay.IRModule.from_expr(relay.Function([], constant)))
    with pytest.raises(ValueError, match="WRITEABLE"):
        run().setflags(write=True)
    given = np.arange(3, dtype="float32")
    x = relay.var("x", shape=(3,))
    same, fresh = relay.compile(relay.IRModule.from_expr(relay.Function([x], relay.Tuple([x, x + constant]))))(given)
    with pytest.raises(ValueError, match="WRITEABLE"):
        same.setflags(write=True)
    fresh[0] = 5
    assert given.tolist() == [0, 1, 2] and run().tolist() == [0, 1, 2]
    # DLPack: a mark where the consumer knows it, else a copy.
    data = constant.data
    assert flags_of(data.__dlpack__(max_version=(1, 0))) == 1 and flags_of(data.__dlpack__(max_version=(0, 8))) is None
    assert flags_of(data.__dlpack__(max_version=(1, 0), copy=True)) == 2
    old = type("Old", (), {"__dlpack__": lambda self, **_: data.__dlpack__(), "__dlpack_device__": lambda self: (1, 0)})()
    assert not np.shares_memory(np.from_dlpack(old), data.numpy())
    assert np.shares_memory(np.from_dlpack(data), data.numpy()) and not np.from_dlpack(data).flags.writeable
    with pytest.raises(BufferError, match="not the caller's alone"):
        data.__dlpack__(copy=False)
    with pytest.raises(BufferError, match="on the device where it is"):
        data.__dlpack__(dl_device=(2, 0))
    own = data.copy()
    flags = flags_of(own.__dlpack__(max_version=(1, 0)))  # a capsule in the assertion would live on
    assert flags == 0
    assert own.__dlpack__(copy=False) is not None


def test_arrays_outlive_programs(data):
    import gc

    result = relay.compile(relay.parse(MAIN))(data)
    gc.collect()
    assert np.array_equal(result, expected(data))


def test_arrays_of_all_dtypes():
    for dtype in ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"]:
        array = np.array([[1, 0, 1]], dtype)
        back = relay.NDArray(array)
        assert back.dtype == dtype and np.array_equal(back.numpy(), array)
        swapped = relay.NDArray(array.astype(array.dtype.newbyteorder()))
        assert swapped.dtype == dtype and np.array_equal(swapped.numpy(), array)
        assert np.array_equal(pickle.loads(pickle.dumps(back)).numpy(), array)
    assert relay.NDArray([1.5]).astype("bfloat16").dtype == "bfloat16"
    assert relay.NDArray(np.zeros((2, 0, 3))).shape == (2, 0, 3)


def test_scalars_tuples_and_several_results():
    mod = relay.parse("def @main(%a: int32, %t: (float32, Tensor[(2), bool])) { (add(%a, 1), %t.0, (%t.1,)) }")
    for run in (relay.compile(mod), lambda *args: relay.evaluate(mod, *args)):
        a, b, (c,) = run(np.int32(2), (np.float32(1.5), np.array([True, False])))
        assert a == 3 and a.dtype == np.int32 and b == np.float32(1.5) and c.tolist() == [True, False]
    assert relay.compile(mod)(2, (1.5, [True, False]))[0] == 3


def test_data_closures_and_references_as_values():
    mod = relay.parse(
        """
        type List { Cons(int32, List), Nil, }
        def @main(%n: int32) -> (List, fn (int32) -> int32, ref(int32)) {
          (Cons(%n, Nil), fn (%x: int32) -> int32 { add(%x, %n) }, ref(%n))
        }
        def @sum(%l: List) -> int32 { match (%l) { Cons(%h, %t) => add(%h, @sum(%t)), Nil => 0, } }
        """
    )
    program = relay.compile(mod)
    for run in (program, lambda *args: relay.evaluate(mod, *args)):
        values, function, cell = run(np.int32(4))
        assert (values.kind, values.constructor, values.fields[0], values.fields[1].constructor) == ("data", "Cons", 4, "Nil")
        assert function(np.int32(3)) == 7 and function.kind == "closure" and cell.value == 4
        with pytest.raises(TypeError, match="only closures can be called"):
            values(1)
        with pytest.raises(TypeError, match="only a reference holds a value"):
            values.value
    assert relay.evaluate(mod, relay.evaluate(mod, np.int32(4))[0], entry="sum") == 4
    with pytest.raises(TypeError, match="@main takes 1 argument, not 2"):
        relay.evaluate(mod, 1, 2)
    length = relay.parse(
        """
        type List[A] { Cons(A, List[A]), Nil, }
        def @main() -> List[int32] { Nil }
        def @empty(%l: List[int32]) -> bool { match (%l) { Nil => True, Cons(_, _) => False, } }
        def @any[A](%l: List[A]) -> bool { match (%l) { Nil => True, Cons(_, _) => False, } }
        """
    )
    nothing = relay.evaluate(length)
    assert relay.evaluate(length, nothing, entry="empty").item() is True
    with pytest.raises(relay.RelayError, match="does not follow from its value"):
        relay.evaluate(length, nothing, entry="any")


def test_values_tell_the_types_of_polymorphic_functions():
    mod = relay.parse(
        """
        type List[A] { Cons(A, List[A]), Nil, }
        type Tree[A, B] { Leaf(B), Node(Tree[A, B], A, Tree[A, B]), }
        type Box[S: Shape, D: BaseType] { Box(Tensor[S, D]), }
        def @ints() { Cons(1, Cons(2, Nil)) }
        def @rows(%x: Tensor[(2, 3), float32]) { Cons(Nil, Cons(Cons(%x, Nil), Nil)) }
        def @tree() { Node(Node(Leaf((1f, 2)), 1i8, Leaf((3f, 4))), 2i8, Leaf((5f, 6))) }
        def @box(%x: Tensor[(2, 3), float32]) { Box(%x) }
        def @empty() -> List[List[int32]] { Cons(Nil, Nil) }
        def @size[A](%l: List[A]) -> int32 { match (%l) { Nil => 0, Cons(_, %t) => 1 + @size(%t) } }
        def @head[A](%l: List[A], %or: A) -> A { match (%l) { Nil => %or, Cons(%h, _) => %h } }
        def @leaf[A, B](%t: Tree[A, B]) -> B { match (%t) { Leaf(%b) => %b, Node(%l, _, _) => @leaf(%l) } }
        def @open[S: Shape, D: BaseType](%b: Box[S, D], %more: Tensor[S, D]) { match (%b) { Box(%x) => %x + %more } }
        """
    )
    ones = np.ones((2, 3), "float32")

    def made(entry, *args):
        return relay.evaluate(mod, *args, entry=entry)

    ints, rows, tree = made("ints"), made("rows", ones), made("tree")
    assert made("size", ints) == 2 and made("head", ints, np.int32(7)) == 1
    assert made("size", rows) == 2 and made("head", rows, rows.fields[1].fields[0]).constructor == "Nil"
    assert [float(part) for part in made("leaf", tree)] == [1, 2]
    assert (made("open", made("box", ones), ones) == 2).all()
    with pytest.raises(relay.RelayError, match="does not follow from its value: it may be any List"):
        made("size", made("empty"))
    with pytest.raises(relay.RelayError, match="does not follow from its value: it may be any Tree"):
        made("leaf", tree.fields[2])
    # Data that share their parts are looked at once: this tree has 2^60 leaves as text.
    grow = relay.parse("type Tree[A, B] { Leaf(B), Node(Tree[A, B], A, Tree[A, B]), } def @leaf[A, B](%t: Tree[A, B], %a: A) -> B { match (%t) { Leaf(%b) => %b, Node(%l, _, _) => @leaf(%l, %a) } }"
                       "def @grow(%n: int32, %t: Tree[int32, float32]) -> Tree[int32, float32] { if (%n == 0) { %t } else { @grow(%n - 1, Node(%t, 1, %t)) } } def @main() { @grow(60, Leaf(1f)) }")  # fmt: skip
    assert relay.evaluate(grow, relay.evaluate(grow), np.int32(1), entry="leaf") == 1


def test_closures_of_one_program_in_many_threads():
    mod = relay.parse("def @main(%n: int32) { fn (%x: Tensor[(1000), int32]) -> Tensor[(1000), int32] { multiply(%x, %n) } }")
    program = relay.compile(mod)
    functions = [program(np.int32(n)) for n in range(4)]
    ones, wrong = np.ones(1000, "int32"), []

    def call(n):
        for _ in range(200):
            if not (functions[n](ones) == n).all() or not (program(np.int32(n))(ones) == n).all():
                wrong.append(n)

    run_threads(call, 4)
    assert wrong == []


def run_threads(target, count):
    threads = [threading.Thread(target=target, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_two_threads_call_one_program(program, data):
    wrong = []

    def call(n):
        given = data + n
        want = expected(given)
        for _ in range(500):
            if not np.array_equal(program(given), want):
                wrong.append(n)

    run_threads(call, 4)
    assert wrong == []


def test_params_become_constants(data):
    mod = relay.parse("def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32]) { nn.dense(%x, %w) }")
    weight = np.random.default_rng(0).standard_normal((4, 3)).astype("float32")
    bound = relay.compile(mod, params={"w": weight})
    assert bound.parameters == [("x", "Tensor[(2, 3), float32]")] and np.allclose(bound(data), data @ weight.T, atol=1e-5)
    assert np.allclose(relay.compile(mod, {mod["main"].params[1]: weight})(data), data @ weight.T, atol=1e-5)
    with pytest.raises(relay.RelayError, match="@main has no parameter %v"):
        relay.compile(mod, {"v": weight})
    with pytest.raises(relay.RelayError):
        relay.compile(mod, {"w": weight[:, :2]})


def test_what_cannot_be_compiled():
    with pytest.raises(relay.RelayError, match="unknown target 'toaster'"):
        relay.compile(relay.parse(MAIN), target="toaster")
    with pytest.raises(relay.RelayError, match="no function @f"):
        relay.compile(relay.parse(MAIN), entry="f")
    with pytest.raises(relay.RelayError, match="choose its entry, of @f, @g"):
        relay.compile(relay.parse("def @f() { 1 } def @g() { 2 }"))
    with pytest.raises(relay.RelayError, match="annotate the parameter"):
        relay.compile(relay.Function([x := relay.var("x")], x))


def test_expressions_compile():
    x = relay.var("x", shape=(2, 3))
    assert relay.compile(x + 1.0)(np.ones((2, 3), "float32"))[0, 0] == 2


def test_save_load_and_pickle(program, data, tmp_path):
    path = tmp_path / "program.rlx"
    program.save(str(path))
    other = tmp_path / "other.rlx"
    program.save(other)
    assert other.read_bytes() == path.read_bytes()
    with pytest.raises(TypeError):
        program.save(3)
    assert repr(program).startswith("<relay.Executable for ") and repr(program).endswith(
        ": main(x: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32]>"
    )
    for loaded in (relay.load(path), pickle.loads(pickle.dumps(program))):
        assert np.array_equal(loaded(data), expected(data)) and loaded.entries == ["main"]
    with pytest.raises(relay.RelayError, match="nothing-here"):
        relay.load(tmp_path / "nothing-here.rlx")
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(relay.RelayError):
        relay.load(path)


def test_profile(program, data):
    rows = program.profile(data)
    assert rows and all(row["calls"] >= 1 and row["seconds"] >= 0 and row["name"] for row in rows)
    x, n = relay.var("x", shape=(2, 3)), relay.var("n", dtype="int32", shape=())
    (row,) = relay.compile(relay.Function([x, n], relay.cast(n, "float32") * x)).profile(np.ones((2, 3), "float32"), np.int32(2))
    assert row["arguments"] in ([[("int32", ()), ("float32", (2, 3)), ("float32", (2, 3))]], [[("float32", (2, 3)), ("int32", ()), ("float32", (2, 3))]])


def test_failures_of_programs_are_execution_errors():
    mod = relay.parse("def @main(%x: int32) { divide(7, %x) }")
    for run in (relay.compile(mod), lambda *args: relay.evaluate(mod, *args)):
        assert run(np.int32(2)) == 3
        with pytest.raises(relay.ExecutionError, match="division by zero") as caught:
            run(np.int32(0))
        assert isinstance(caught.value, relay.RelayError) and caught.value.diagnostics[0].span.line == 1
        assert run(np.int32(7)) == 1


def test_onnx(tmp_path):
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto, helper, numpy_helper

    weight = np.arange(6, dtype="float32").reshape(3, 2)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 2])],
        [numpy_helper.from_array(weight, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    data = np.ones((4, 3), "float32")
    for given in (model, path, str(path), path.read_bytes(), bytearray(path.read_bytes())):
        mod, params = relay.frontend.from_onnx(given, shape={"x": (4, 3)})
        assert params == {} and np.allclose(relay.compile(mod)(data), data @ weight)
    mod, params = relay.frontend.from_onnx(model, {"x": [4, 3]}, "float32", None, False)
    assert list(params) == ["w"] and np.array_equal(params["w"].numpy(), weight)
    assert np.allclose(relay.compile(mod, params)(data), data @ weight)
    with pytest.raises(relay.RelayError):
        relay.frontend.from_onnx(b"no model")
    with pytest.raises(relay.RelayError, match="missing.onnx"):
        relay.frontend.from_onnx(tmp_path / "missing.onnx")
    with pytest.raises(TypeError):
        relay.frontend.from_onnx(3)
    with pytest.raises(TypeError, match="model is an onnx.ModelProto, not GraphProto"):
        relay.frontend.from_onnx(graph)


def test_errors_of_onnx_models_begin_with_the_node(tmp_path):
    onnx = pytest.importorskip("onnx")
    helper, numbers = onnx.helper, onnx.TensorProto
    rows = helper.make_tensor("rows", numbers.FLOAT, [3, 2], [1, 2, 3, 4, 5, 6])
    graph = helper.make_graph(
        [helper.make_node("Gather", ["rows", "i"], ["y"], name="pick")],
        "g",
        [helper.make_tensor_value_info("i", numbers.INT64, ["n"])],
        [helper.make_tensor_value_info("y", numbers.FLOAT, ["n", 2])],
        [rows],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    mod, _ = relay.frontend.from_onnx(model)
    program = relay.compile(mod)
    program.save(tmp_path / "pick.rlx")
    for each in (program, relay.load(tmp_path / "pick.rlx")):
        with pytest.raises(relay.ExecutionError, match='^error: Gather "pick": adv_index: index 7') as caught:
            each(np.array([7]))
        assert caught.value.diagnostics[0].message.startswith('Gather "pick": ')
    for shape, text in [
        (5, "shape is a dictionary of extents by names of inputs, not 5"),
        ({"x": 4}, r"shape\['x'\] is a list of extents, not 4"),
        ({"x": "n3"}, r"shape\['x'\] is a list of extents, not 'n3'"),
        ({3: (4, 3)}, "the name of an input in shape is a str, not 3"),
        ({"x": ("n", 3)}, r"shape\['x'\]: an extent is a whole number of 0 or more, or -1 for what the model says, not 'n'"),
        ({"x": (relay.Any(), 3)}, r"shape\['x'\]: an extent is a whole number"),
        ({"x": (2.5, 3)}, r"shape\['x'\]: an extent is a whole number .*, not 2.5"),
        ({"x": (-2, 3)}, r"shape\['x'\]: an extent is a whole number .*, not -2"),
    ]:
        with pytest.raises(TypeError, match=text):
            relay.frontend.from_onnx(model, shape=shape)
    for dtype, error, text in [
        ("foo", (TypeError, ValueError), "foo"),
        ({"x": "foo"}, (TypeError, ValueError), "foo"),
        ("float16", ValueError, "dtype float16 of all inputs: the model says their dtypes; give those to replace by name"),
        ({3: "float32"}, TypeError, "the name of an input in dtype is a str, not 3"),
    ]:
        with pytest.raises(error, match=text):
            relay.frontend.from_onnx(model, dtype=dtype)
    with pytest.raises(TypeError, match="opset is an integer, not '17'"):
        relay.frontend.from_onnx(model, opset="17")


@pytest.mark.parametrize("level", range(5))
def test_a_reference_keeps_what_was_written_before_work_that_fails(level: int) -> None:
    mod = relay.parse(
        """
def @main(%r: ref(Tensor[(2), float32]), %x: Tensor[(2), float32], %w: Tensor[(n), float32]) {
  ref_write(%r, %x * 3f);
  %x + %w
}
"""
    )
    cell = relay.Value.reference(np.zeros(2, "float32"))
    with pytest.raises(relay.ExecutionError, match="do not broadcast"):
        relay.compile(mod, opt_level=level)(cell, np.ones(2, "float32"), np.ones(3, "float32"))
    np.testing.assert_array_equal(cell.value, [3, 3])
