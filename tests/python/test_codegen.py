"""Code generators of others: functions with the attribute Compiler through the whole system (docs/external-code.md)."""

import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import relay

SOURCE = """
def @part(%x: Tensor[(n, 4), float32], %t: (Tensor[(3, 4), float32], Tensor[(3), float32]), Compiler="mine", global_symbol="part_0")
    -> (Tensor[(n, 3), float32], Tensor[(n), float32]) {
  let %y = nn.bias_add(nn.dense(%x, %t.0, units=3), %t.1);
  (%y, sum(%y, axis=[1]))
}
def @main(%x: Tensor[(n, 4), float32], %w: Tensor[(3, 4), float32], %b: Tensor[(3), float32]) {
  let %r = @part(%x, (%w, %b));
  (nn.relu(%r.0), %r.1 + 1f)
}
"""


def data(rows=5):
    rng = np.random.default_rng(7)
    return [rng.standard_normal(shape).astype("float32") for shape in [(rows, 4), (3, 4), (3,)]]


def through_numpy(func):
    """NumPy computes it."""

    def run(x, w, b):
        y = x @ w.T + b
        return y, y.sum(axis=1)

    return run


def agrees(program, mod, args):
    for found, wanted in zip(program(*args), relay.evaluate(mod, *args)):
        np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=1e-5, atol=1e-5)


def test_a_callable_runs_in_the_place_of_the_function():
    mod = relay.parse(SOURCE)
    asked, ran = [], []

    def generate(func):
        asked.append((func.attrs["Compiler"], func.attrs["global_symbol"], str(func.checked_type)))
        inner = through_numpy(func)
        return lambda *arrays: (ran.append(len(arrays)), inner(*arrays))[1]

    with relay.codegen.registered("mine", generate):
        program = relay.compile(mod)
    agrees(program, mod, data())
    agrees(program, mod, data(2))  # the extent is open in the code, too
    assert len(asked) == 1 and asked[0][:2] == ("mine", "part_0") and "(n, 3)" in asked[0][2]
    assert ran == [3, 3]


def test_a_function_is_compiled_in_its_place():
    def generate(func):
        x, t = func.params
        y = relay.nn.matmul(x, relay.TupleGetItem(t, 0), transpose_b=True) + relay.TupleGetItem(t, 1)
        return relay.Function(func.params, relay.Tuple([y, relay.sum(y, axis=[1])]))

    mod = relay.parse(SOURCE)
    with relay.codegen.registered("mine", generate):
        agrees(relay.compile(mod), mod, data())
        code = relay.transform.GenerateExternalCode()(mod)
    assert "nn.matmul" in str(code) and "Compiler" not in str(code)
    agrees(relay.compile(code), mod, data())


def test_the_function_itself_is_code():
    mod = relay.parse(SOURCE)
    with relay.codegen.registered("mine", lambda func: func):
        agrees(relay.compile(mod), mod, data())


def test_a_function_inside_one_that_nobody_takes():
    mod = relay.parse("""def @main(%x: Tensor[(3), float32]) {
      let %f = fn (%a: Tensor[(3), float32], Compiler="nobody") -> Tensor[(3), float32] {
        let %g = fn (%b: Tensor[(3), float32], Compiler="mine") -> Tensor[(3), float32] { tanh(%b) };
        %g(%a) + %a
      };
      %f(%x)
    }""")
    ran = []
    x = np.array([0.5, 1.0, -2.0], "float32")
    with relay.codegen.registered("mine", lambda func: lambda b: (ran.append(1), np.tanh(b))[1]), pytest.warns(UserWarning, match="nobody"):
        np.testing.assert_allclose(relay.compile(mod)(x), np.tanh(x) + x, rtol=1e-6)
    assert ran == [1]


def test_what_is_inside_belongs_to_the_generator_outside():
    mod = relay.parse("""def @part(%x: Tensor[(3), float32], Compiler="outer") -> Tensor[(3), float32] {
      let %g = fn (%b: Tensor[(3), float32], Compiler="mine") -> Tensor[(3), float32] { tanh(%b) };
      %g(%x)
    }
    def @main(%x: Tensor[(3), float32]) { @part(%x) }""")
    asked = []
    x = np.array([0.5, 1.0, -2.0], "float32")
    with relay.codegen.registered("mine", lambda func: asked.append("mine")):
        with relay.codegen.registered("outer", lambda func: (asked.append("outer"), np.tanh)[1]):
            np.testing.assert_allclose(relay.compile(mod)(x), np.tanh(x), rtol=1e-6)
    assert asked == ["outer"]


def test_a_function_where_it_stands():
    mod = relay.parse("""def @main(%x: Tensor[(3), float32]) {
      let %f = fn (%a: Tensor[(3), float32], Compiler="mine") -> Tensor[(3), float32] { tanh(%a) };
      %f(%x) + %f(%x)
    }""")
    with relay.codegen.registered("mine", lambda func: np.tanh):
        program = relay.compile(mod)
    x = np.array([0.5, 1.0, -2.0], "float32")
    np.testing.assert_allclose(program(x), 2 * np.tanh(x), rtol=1e-6)


def test_constants_are_in_the_function():
    weight = np.arange(6, dtype="float32").reshape(2, 3)
    x = relay.var("x", shape=(1, 3))
    func = relay.Function([x], relay.nn.dense(x, relay.const(weight))).with_attr("Compiler", "mine")
    mod = relay.IRModule.from_expr(relay.Function([y := relay.var("y", shape=(1, 3))], relay.Call(func, [y])))

    def generate(func):
        call = func.body
        kept = call.args[1].data.numpy()
        return lambda x: x @ kept.T

    with relay.codegen.registered("mine", generate):
        program = relay.compile(mod)
    np.testing.assert_allclose(program(np.ones((1, 3), "float32")), np.ones((1, 3)) @ weight.T)


def test_a_generator_that_is_not_registered_is_a_warning():
    mod = relay.parse(SOURCE)
    with pytest.warns(UserWarning, match='there is no code generator "mine": relay compiles its functions'):
        program = relay.compile(mod)
    agrees(program, mod, data())


def test_a_program_with_a_callable_cannot_be_saved(tmp_path):
    with relay.codegen.registered("mine", through_numpy):
        program = relay.compile(relay.parse(SOURCE))
    with pytest.raises(relay.RelayError, match="cannot be saved: operator mine@part_0 has a Python function as its kernel"):
        program.save(tmp_path / "program.rlx")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "generate, wanted",
    [
        (lambda func: func, lambda x: np.exp(np.tanh(x))),
        (lambda func: func.with_body(relay.exp(func.body)), lambda x: np.exp(np.exp(np.tanh(x)))),
    ],
)
def test_a_partitioned_function_of_open_extents_comes_back(generate, wanted):
    mod = relay.parse("def @main(%x: Tensor[(n, 4), float32]) { exp(tanh(%x)) }")
    passes = [relay.transform.AnnotateTarget("back", operators=["tanh"]), relay.transform.MergeCompilerRegions(), relay.transform.PartitionGraph()]
    parts = relay.transform.Sequential(passes)(mod)
    x = np.linspace(-1, 1, 12, dtype="float32").reshape(3, 4)
    with relay.codegen.registered("back", generate):
        np.testing.assert_allclose(relay.compile(parts)(x), wanted(x), rtol=1e-5)


def test_code_of_one_name_is_that_of_its_program():
    programs = []
    for factor in (2, 3):
        with relay.codegen.registered("mine", lambda func, factor=factor: lambda x: factor * x):
            programs.append(relay.compile(relay.parse('def @main(%x: Tensor[(3), float32], Compiler="mine") -> Tensor[(3), float32] { tanh(%x) }')))
    x = np.ones(3, "float32")
    assert [program(x).tolist() for program in programs] == [[2] * 3, [3] * 3]


def refused(func):
    raise ValueError("this machine has no adder")


def broken(func):
    return {}["table"]


@pytest.mark.parametrize(
    "generate, says",
    [
        (refused, "error: this machine has no adder"),
        (broken, "the code generator mine raised KeyError: 'table'"),
        (lambda func: 3, "it gave int for @part_0: a callable over arrays or a relay.Function is wanted"),
        (lambda func: relay.Function([], relay.const(1.0)), "the code takes 0 parameters, the function 2"),
        (lambda func: relay.Function(func.params, func.params[0]), "the result of the function: expected"),
        (
            lambda func: relay.Function([relay.var("x", shape=(2, 4), dtype="float64"), relay.var("t")], relay.const(1.0)),
            "parameter 1 of the code is Tensor[(2, 4), float64], that of the function Tensor[(n, 4), float32]",
        ),
    ],
)
def test_refusals_name_the_function(generate, says):
    with relay.codegen.registered("mine", generate), pytest.raises(relay.RelayError) as raised:
        relay.compile(relay.parse(SOURCE))
    assert says in str(raised.value)
    assert 'note: in @part_0, which is for the code generator "mine"' in str(raised.value)


def test_a_wrong_result_fails_the_run():
    with relay.codegen.registered("mine", lambda func: lambda x, w, b: (x, b)):
        program = relay.compile(relay.parse(SOURCE))
    with pytest.raises(relay.ExecutionError, match="error: mine@part_0: its kernel gave"):
        program(*data())


def test_an_exception_of_the_code_comes_out():
    def generate(func):
        def run(*arrays):
            raise ZeroDivisionError("of the device")

        return run

    with relay.codegen.registered("mine", generate):
        program = relay.compile(relay.parse(SOURCE))
    with pytest.raises(ZeroDivisionError, match="of the device"):
        program(*data())


def test_names():
    assert "dnnl" in relay.codegen.names()
    relay.codegen.register("mine", through_numpy)
    try:
        assert relay.codegen.names()["mine"] == "NumPy computes it."
        with pytest.raises(relay.RelayError, match='there is a code generator "mine" already'):
            relay.codegen.register("mine", through_numpy)
        relay.codegen.register("mine", through_numpy, replace=True, doc="Again.")
        assert relay.codegen.names()["mine"] == "Again."
    finally:
        relay.codegen.unregister("mine")
    with pytest.raises(KeyError, match="there is no code generator mine"):
        relay.codegen.unregister("mine")
    with pytest.raises(TypeError, match="a code generator is a function, not int"):
        relay.codegen.register("mine", 3)


def test_references_cannot_go_into_code():
    mod = relay.parse('def @main(%r: ref(float32), Compiler="mine") -> float32 { ref_read(%r) }')
    with relay.codegen.registered("mine", lambda func: lambda r: r), pytest.raises(relay.RelayError, match="only tensors and tuples of them"):
        relay.compile(mod)


def test_threads_compile_at_once():
    mod = relay.parse(SOURCE)
    failures = []

    def work():
        try:
            for _ in range(5):
                agrees(relay.compile(mod), mod, data())
        except Exception as error:  # noqa: BLE001
            failures.append(error)

    with relay.codegen.registered("mine", through_numpy):
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failures == []


def test_onednn_computes_what_is_marked_for_it():
    mod = relay.parse(SOURCE.replace('"mine"', '"dnnl"'))
    agrees(relay.compile(mod), mod, data())


def test_functions_of_tvm_scripts_are_code_generators():
    # In a process of its own: the package gives classes of relay further members and other texts.
    program = "import sys; sys.path.insert(0, sys.argv[1]); import test_codegen; test_codegen.generate_as_scripts_of_tvm_do()"
    done = subprocess.run([sys.executable, "-c", program, str(Path(__file__).parent)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def generate_as_scripts_of_tvm_do():
    import tvm

    @tvm.register_func("relay.ext.mine")
    def generate(func):
        return through_numpy(func)

    try:
        mod = relay.parse(SOURCE)
        agrees(relay.compile(mod), mod, data())
    finally:
        tvm._ffi.registry.remove_global_func("relay.ext.mine")
    assert "mine" not in relay.codegen.names()
