"""Tensors that scripts describe outside of operators, what is built of them, and strategies that are asked with them."""

import numpy as np
import pytest
import tvm
from tvm import relay, te, tir
from tvm.relay.backend.te_compiler import get_valid_implementations, select_implementation

X = np.arange(12, dtype="float32").reshape(3, 4)
Y = (X - 5) / 3


def built(*tensors, name="f"):
    module = tvm.build(te.create_prim_func(list(tensors)), target="llvm", name=name)
    return module[name]


def run(function, *inputs, shape, dtype="float32"):
    out = tvm.nd.empty(shape, dtype)
    function(*map(tvm.nd.array, inputs), out)
    return out.numpy()


def test_elementwise_and_reduced():
    a, b = te.placeholder((3, 4), name="a"), te.placeholder((3, 4), name="b")
    c = te.compute((3, 4), lambda i, j: a[i, j] + b[i, j] * 2.0, name="c")
    np.testing.assert_allclose(run(built(a, b, c), X, Y, shape=(3, 4)), X + 2 * Y, rtol=1e-6)
    k = te.reduce_axis((0, 4), name="k")
    rows = te.compute((3,), lambda i: te.sum(c[i, k], axis=k), name="rows")
    top = te.compute((3,), lambda i: te.max(rows[i], 0.0))
    np.testing.assert_allclose(run(built(a, b, top), X, Y, shape=(3,)), np.maximum((X + 2 * Y).sum(1), 0), rtol=1e-6)
    np.testing.assert_allclose(run(built(a, b, a * b - a), X, Y, shape=(3, 4)), X * Y - X, rtol=1e-5)


def test_several_results_and_what_is_made_twice():
    a = te.placeholder((3, 4), name="a")
    low, high = te.compute((3, 4), lambda i, j: (a[i, j] - 1.0, a[i, j] + 1.0), name="ends")
    product = te.compute((3, 4), lambda i, j: low[i, j] * high[i, j])
    outs = [tvm.nd.empty((3, 4)) for _ in range(2)]
    built(a, high, product)(tvm.nd.array(X), *outs)
    np.testing.assert_array_equal(outs[0].numpy(), X + 1)
    np.testing.assert_array_equal(outs[1].numpy(), (X - 1) * (X + 1))


def test_what_tensors_say():
    a, n = te.placeholder((3, 4), name="a"), te.placeholder((2,), "int8")
    c = te.compute((3, 4), lambda i, j: a[i, j] > 1.0, name="c")
    assert (a.dtype, n.dtype, c.dtype, c.ndim) == ("float32", "int8", "bool", 2) and [int(extent) for extent in c.shape] == [3, 4]
    assert c.op.name == "c" and c.op.input_tensors == [a] and c.op.output(0) is c and c.op.num_outputs == 1 and c.value_index == 0
    assert str(c) == "Tensor(shape=[3, 4], op.name=c)" and str(a.op) == "placeholder(a, (3, 4))"
    places = te.compute((3,), lambda i: i * 2, name="places")
    np.testing.assert_array_equal(run(built(a, places), X, shape=(3,), dtype="int32"), [0, 2, 4])
    np.testing.assert_array_equal(run(built(a, te.compute((3,), lambda i: 1.5)), X, shape=(3,)), [1.5] * 3)
    k = te.reduce_axis((0, 2))
    assert te.compute((1,), lambda i: te.sum(n[k].astype("int32"), axis=k)).dtype == "int32"
    assert te.compute((2,), lambda i: tir.if_then_else(i < 1, n[i], 0)).dtype == "int8"
    product = te.comm_reducer(lambda x, y: x * y, lambda dtype: tir.const(1, dtype))
    k = te.reduce_axis((0, 4))
    many = te.compute((3,), lambda i: product(a[i, k], axis=k))
    np.testing.assert_allclose(run(built(a, many), X, shape=(3,)), X.prod(1), rtol=1e-6)


def test_several_functions_and_measurements():
    a = te.placeholder((4,), name="a")
    funcs = {"twice": te.create_prim_func([a, te.compute((4,), lambda i: a[i] * 2.0)]), "more": te.create_prim_func([a, te.compute((4,), lambda i: a[i] + 1.0)])}
    module = tvm.build(funcs, target=tvm.target.Target("llvm"))
    assert run(module["twice"], X[0], shape=(4,)).tolist() == [0, 2, 4, 6] and run(module["more"], X[0], shape=(4,)).tolist() == [1, 2, 3, 4]
    assert run(module, X[0], shape=(4,)).tolist() == [0, 2, 4, 6]
    arrays = tvm.nd.array(X[0]), tvm.nd.empty((4,))
    assert module.time_evaluator("more", tvm.cpu(), number=2, repeat=3)(*arrays).mean > 0
    with pytest.raises(AttributeError, match="no function none; it has twice, more"):
        module["none"]
    with pytest.raises(TypeError, match="twice takes 2 arrays, inputs and outputs, not 1"):
        module["twice"](arrays[0])


def test_files_of_functions(tmp_path):
    a, b = te.placeholder((4,), name="a"), te.placeholder((4,), name="b")
    more = te.create_prim_func([a, te.compute((4,), lambda i: a[i] + 1.0)])
    path = str(tmp_path / "f.so")
    tvm.build(te.create_prim_func([a, te.compute((4,), lambda i: a[i] - b[i]), b]), target="llvm", name="minus").export_library(path)
    loaded, out = tvm.runtime.load_module(path), tvm.nd.empty((4,))
    loaded["minus"](tvm.nd.array(X[0]), out, tvm.nd.array(X[1]))
    assert out.numpy().tolist() == [-4] * 4
    loaded.export_library(path)
    assert tvm.runtime.load_module(path).entry_name == "minus"
    with pytest.raises(NotImplementedError, match="the module has f, g: build and export each by itself"):
        tvm.build({"f": more, "g": more}, target="llvm").export_library(path)
    for note in ("3", "{", '{"f": [true]}', '{"f": [true, 1, true]}', '{"f": [true, false], "g": []}'):
        loaded.program.with_notes({"arrays": note}).save(path)
        with pytest.raises(ValueError, match="note 'arrays' does not say"):
            tvm.runtime.load_module(path)


def test_outputs_that_do_not_fit():
    a = te.placeholder((4,), name="a")
    function, given = built(a, te.compute((4,), lambda i: a[i] + 0.5)), tvm.nd.array(X[0])
    with pytest.raises(TypeError, match="f writes float32, and the array for it is int32"):
        function(given, tvm.nd.empty((4,), "int32"))
    with pytest.raises(ValueError, match=r"f writes an array of shape \(4,\), and the one for it has \(3,\)"):
        function(given, tvm.nd.empty((3,)))
    with pytest.raises(TypeError, match="f writes to a tvm.nd.array, not to ndarray"):
        function(given, np.zeros(4, "float32"))


def test_functions_have_as_many_threads_as_were_chosen(monkeypatch):
    import relay as native

    asked = []
    compiled = native.compile
    monkeypatch.setattr(native, "compile", lambda *args, threads=0, **kwargs: asked.append(threads) or compiled(*args, threads=threads, **kwargs))
    a = te.placeholder((4,), name="a")
    choose = tvm.get_global_func("runtime.config_threadpool")
    try:
        choose(1, 1)
        built(a, te.compute((4,), lambda i: a[i] * 4.0))
    finally:
        choose(1, 0)
    assert asked == [1]


def test_what_cannot_be_built():
    a, b = te.placeholder((4,), name="a"), te.placeholder((te.var("n"),), name="b")
    c = te.compute((4,), lambda i: a[i] + 1.0)
    with pytest.raises(ValueError, match="placeholder a is no input of what is built"):
        tvm.build(te.create_prim_func([c]), target="llvm")
    with pytest.raises(ValueError, match="the placeholder a is 2 of the arguments"):
        tvm.build([a, a, c], target="llvm")
    with pytest.raises(ValueError, match="there is nothing to build"):
        tvm.build([a], target="llvm")
    with pytest.raises(NotImplementedError, match="b, whose extents are not numbers"):
        tvm.build([b, te.compute((te.var("n"),), lambda i: b[i])], target="llvm")
    with pytest.raises(TypeError, match="tensors of te.placeholder and te.compute, not int"):
        te.create_prim_func([3])
    with pytest.raises(NotImplementedError, match="tvm.build is not there"):
        tvm.build(3, target="llvm")
    with pytest.raises(NotImplementedError, match="CPUs"):
        tvm.build([a, c], target="cuda")


def test_a_code_generator_that_builds(tmp_path):
    @tvm.register_func("relay.ext.te_here", override=True)
    def generate(func):
        x = te.placeholder([int(extent) for extent in func.params[0].checked_type.shape], name="x")
        y = te.compute(x.shape, lambda *i: x(*i) * 3.0, name="y")
        return tvm.build(te.create_prim_func([x, y]), target="llvm", name=func.attrs["global_symbol"])

    p = relay.var("p", shape=(3, 4))
    inner = relay.Function([p], relay.exp(p)).with_attr({"Compiler": "te_here", "Primitive": 1, "global_symbol": "te_here_0"})
    x = relay.var("x", shape=(3, 4))
    mod = tvm.IRModule({"te_here_0": inner})
    mod["main"] = relay.Function([x], relay.add(mod.get_global_var("te_here_0")(x), x))
    try:
        lib = relay.build(mod, "llvm")
    finally:
        tvm._ffi.registry.remove_global_func("relay.ext.te_here")
    lib.export_library(str(tmp_path / "lib.so"))
    for made in (lib, tvm.runtime.load_module(str(tmp_path / "lib.so"))):
        module = tvm.contrib.graph_executor.GraphModule(made["default"](tvm.cpu()))
        module.run(x=X)
        np.testing.assert_array_equal(module.get_output(0).numpy(), 4 * X)


def test_implementations_of_operators():
    data, weight = te.placeholder((1, 16, 8, 8), name="d"), te.placeholder((8, 16, 3, 3), name="w")
    call = relay.nn.conv2d(relay.var("d", shape=(1, 16, 8, 8)), relay.var("w", shape=(8, 16, 3, 3)), padding=(1, 1))
    target, kind = tvm.target.Target("llvm"), relay.TensorType((1, 8, 8, 8))
    found = get_valid_implementations(relay.op.get("nn.conv2d"), call.attrs, [data, weight], kind, target)
    assert [(way.name, way.plevel) for way in found] == [("conv2d.relay", 10)]
    best, outs = select_implementation(relay.op.get("nn.conv2d"), call.attrs, [data, weight], kind, target)
    assert best.name == "conv2d.relay" and [int(extent) for extent in outs[0].shape] == [1, 8, 8, 8] and outs[0].op.input_tensors == [data, weight]
    with pytest.raises(ValueError, match="opaque conv2d is no input of what is built"):
        tvm.build([data, weight, outs[0]], target)
