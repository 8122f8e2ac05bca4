"""Files of programs with C source: which code they keep, the settings of the build, a second export, damage."""

import io
import json
import shutil
import zipfile

import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.contrib import cc, graph_executor

pytestmark = pytest.mark.skipif(shutil.which("cc") is None and cc.get_cc() is None, reason="the machine has no compiler of C")

# out = FACTOR * first.
C = """
#include <tvm/runtime/c_runtime_api.h>
TVM_EXTERN_C TVM_DLL int %s(TVMValue* args, int* codes, int count, TVMValue* ret, int* ret_code, void* handle) {
  DLTensor *x = (DLTensor*)args[0].v_handle, *out = (DLTensor*)args[count - 1].v_handle;
  int64_t n = 1;
  for (int k = 0; k < out->ndim; ++k) n *= out->shape[k];
  for (int64_t i = 0; i < n; ++i) ((float*)out->data)[i] = %d * ((float*)x->data)[i];
  return 0;
}
"""
X = np.arange(6, dtype="float32").reshape(2, 3)


@pytest.fixture
def generators():
    """Registers code generators by name."""
    names = []

    def register(**functions):
        for name, function in functions.items():
            names.append(name)
            tvm.register_func(f"relay.ext.{name}", function, override=True)

    def forget():
        while names:
            tvm._ffi.registry.remove_global_func(f"relay.ext.{names.pop()}")

    register.forget = forget
    yield register
    forget()


def c_source(factor, name=None):
    """A code generator of functions in C."""

    def generate(function):
        symbol = name or (str(function.attrs["global_symbol"]) if "global_symbol" in function.attrs.keys() else "without")
        return tvm.get_global_func("runtime.CSourceModuleCreate")(C % (symbol, factor), "c", [symbol], [])

    return generate


def part(compiler, symbol, ty=(2, 3)):
    a = relay.var("a", shape=ty)
    return relay.Function([a], a + relay.const(1.0)).with_attr({"Primitive": 1, "Compiler": compiler, **({"global_symbol": symbol} if symbol else {})})


def chain(*parts):
    """A program of functions of code generators one after the other, by (compiler, symbol)."""
    mod = tvm.IRModule()
    x = value = relay.var("x", shape=(2, 3))
    for i, (compiler, symbol) in enumerate(parts):
        name = relay.GlobalVar(f"g{i}")
        mod[name] = part(compiler, symbol)
        value = name(value)
    mod["main"] = relay.Function([x], value)
    return relay.transform.InferType()(mod)


def run(lib, x=X):
    module = graph_executor.GraphModule(lib["default"](tvm.cpu()))
    module.run(x=x)
    return module.get_output(0).numpy()


def reloaded(lib, path):
    lib.export_library(path)
    return tvm.runtime.load_module(path)


def test_names_that_are_not_the_symbol(generators, tmp_path):
    generators(csource=c_source(2, "only"), other=c_source(3))
    lib = relay.build(chain(("csource", "p0"), ("other", "p1"), ("csource", "p2"), ("other", None)), "llvm")
    np.testing.assert_array_equal(run(lib), 36 * X)
    generators.forget()
    np.testing.assert_array_equal(run(reloaded(lib, tmp_path / "lib.so")), 36 * X)


def test_functions_of_relay_and_those_that_nobody_takes(generators, tmp_path):
    def minus(function):
        y = relay.var("y")
        return relay.Function([y], relay.negative(y))

    def of_kernel(function):
        y = relay.var("y", shape=(2, 3))
        return relay.Function([y], y * relay.const(5.0)).with_attr("Primitive", 1)

    generators(csource=c_source(2), minus=minus, kernel=of_kernel)
    lib = relay.build(chain(("csource", "p0"), ("minus", "p1"), ("dnnl", "p2"), ("kernel", "p3")), "llvm")
    want = 5 * (1 - 2 * X)
    np.testing.assert_array_equal(run(lib), want)
    generators.forget()
    generators(dnnl=c_source(7), csource=c_source(7))
    np.testing.assert_array_equal(run(reloaded(lib, tmp_path / "lib.so")), want)


def test_functions_of_python_are_refused(generators, tmp_path):
    generators(csource=c_source(2), pygen=lambda function: lambda x: x + 1)
    lib = relay.build(chain(("csource", "p0"), ("pygen", "p1")), "llvm")
    np.testing.assert_array_equal(run(lib), 2 * X + 1)
    with pytest.raises(tvm.TVMError, match="cannot be exported: the code generator pygen gave a function of Python for p1"):
        lib.export_library(tmp_path / "lib.so")
    assert not (tmp_path / "lib.so").exists()


def test_two_functions_of_one_symbol(generators, tmp_path):
    factors = iter([2, 3, 5, 5])
    generators(csource=lambda function: c_source(next(factors))(function))
    lib = relay.build(chain(("csource", "p0"), ("csource", "p0")), "llvm")
    np.testing.assert_array_equal(run(lib), 6 * X)
    with pytest.raises(tvm.TVMError, match="cannot be exported: two functions of the code generator csource are called p0, and have different code"):
        lib.export_library(tmp_path / "lib.so")
    lib = relay.build(chain(("csource", "p0"), ("csource", "p0")), "llvm")
    np.testing.assert_array_equal(run(reloaded(lib, tmp_path / "lib.so")), 25 * X)


def weighted():
    mod = chain(("csource", "p0"))
    x, w = (relay.var(name, shape=(2, 3)) for name in "xw")
    mod["main"] = relay.Function([x, w], mod.get_global_var("g0")(x) + w)
    return relay.transform.InferType()(mod)


def test_files_of_loaded_programs(generators, tmp_path):
    generators(csource=c_source(2))
    lib = relay.build(weighted(), "llvm", params={"w": X})
    generators.forget()
    second = reloaded(reloaded(lib, tmp_path / "one.so"), tmp_path / "two.so")
    np.testing.assert_array_equal(run(second), 3 * X)
    module = graph_executor.GraphModule(second["default"](tvm.cpu()))
    module.set_input("w", 2 * X)
    module.run(x=X)
    np.testing.assert_array_equal(module.get_output(0).numpy(), 4 * X)
    without = reloaded(second.without_params(), tmp_path / "three.so")
    assert not without.get_params()
    module = graph_executor.GraphModule(without["default"](tvm.cpu()))
    module.run(x=X, w=X)
    np.testing.assert_array_equal(module.get_output(0).numpy(), 3 * X)


def test_the_settings_of_the_build(generators, tmp_path):
    generators(csource=c_source(2))
    settings = {"required_pass": ["FastMath"], "disabled_pass": ["SimplifyExpr", "OfTVMAlone"], "config": {"relay.FuseOps.max_depth": 7}}
    config = {**settings["config"], "tir.disable_vectorize": object()}
    executor = tvm.relay.backend.Executor("aot", {"unpacked-api": True})
    with tvm.transform.PassContext(opt_level=1, **{**settings, "config": config}):
        lib = relay.build(chain(("csource", "p0")), {"cpu": "llvm -mcpu=x86-64-v3"}, executor=executor)
    for loaded in (first := reloaded(lib, tmp_path / "one.so"), reloaded(first, tmp_path / "two.so")):
        context, target = loaded.weights.built()
        assert (context.opt_level, context.required_pass, context.config) == (1, ["FastMath"], settings["config"])
        assert context.disabled_pass == [*settings["disabled_pass"], "FakeQuantizationToInteger"]
        assert target.mcpu == loaded.target.mcpu == "x86-64-v3" and loaded.executor == executor and loaded.type_key == "AotExecutorFactory"
    with tvm.target.Target("llvm -mcpu=x86-64-v2"):
        lib = relay.build(chain(("csource", "p0")))
    assert reloaded(lib, tmp_path / "lib.so").target.mcpu == "x86-64-v2"
    assert lib.weights.built()[1].mcpu == "x86-64-v2"
    lib = relay.build(chain(("csource", "p0")), {1: "llvm", 2: tvm.target.Target("llvm", host="llvm -mcpu=haswell")})
    assert [each.host and each.host.mcpu for each in reloaded(lib, tmp_path / "lib.so").target] == [None, "haswell"]


def quantized():
    """A product in QDQ form, whose integers depend on the passes and on the rounding."""
    random = np.random.RandomState(0)
    scale, zero = (lambda value: relay.const(np.float32(value))), relay.const(np.int32(3))
    x = relay.var("x", shape=(2, 64))
    data = relay.qnn.op.dequantize(relay.qnn.op.quantize(x, scale(0.05), zero), scale(0.05), zero)
    weight = relay.qnn.op.dequantize(relay.const(random.randint(-127, 127, (3, 64)).astype("int8")), scale(0.013), relay.const(np.int32(0)))
    made = relay.qnn.op.dequantize(relay.qnn.op.quantize(relay.nn.dense(data, weight), scale(0.01), zero), scale(0.01), zero)
    mod = chain(("csource", "p0"))
    mod["main"] = relay.Function([x], mod.get_global_var("g0")(made))
    return relay.transform.InferType()(mod)


@pytest.mark.parametrize("disabled", [[], ["FakeQuantizationToInteger"]])
def test_passes_of_the_build_run_once(generators, tmp_path, disabled):
    generators(csource=c_source(2))
    with tvm.transform.PassContext(opt_level=3, disabled_pass=disabled), relay.qnn.op.requantize_config(rounding="TONEAREST"):
        lib = relay.build(quantized(), "llvm")
    lib.export_library(tmp_path / "lib.so")
    text = tvm.ir.load_json(zipfile.ZipFile(tmp_path / "lib.so").read("program.json").decode()).astext()
    assert ("qnn.dense" in text) == (not disabled) and ('rounding="TONEAREST"' in text) == ("qnn.requantize" in text)
    with relay.qnn.op.requantize_config(compute_dtype="float32"):
        loaded = tvm.runtime.load_module(tmp_path / "lib.so")
    for seed in range(5):
        x = np.random.RandomState(seed).randn(2, 64).astype("float32")
        np.testing.assert_array_equal(run(loaded, x), run(lib, x))


@pytest.fixture
def damage(generators, tmp_path):
    """Loads a file with facts or parts changed, which fails with a text."""
    generators(csource=c_source(2))
    path = tmp_path / "lib.so"
    relay.build(weighted(), "llvm", params={"w": X}).export_library(path)
    with zipfile.ZipFile(path) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    whole = path.read_bytes()

    def fails(message, facts=None, data=None, **changed):
        if facts is not None:
            changed["facts_json"] = json.dumps({**json.loads(parts["facts.json"]), **facts}).encode()
        with zipfile.ZipFile(path, "w") as file:
            for name, part in {**parts, **{key.replace("_", "."): value for key, value in changed.items()}}.items():
                file.writestr(name, part)
        if data is not None:
            path.write_bytes(data)
        with pytest.raises(tvm.TVMError, match=f"lib.so cannot be loaded: .*{message}") as error:
            tvm.runtime.load_module(path)
        assert isinstance(error.value, tvm.TVMError) and type(error.value).__name__ == "RelayError"

    fails.whole = whole
    return fails


def test_damaged_facts(damage):
    for level in (-1, 10**20, 1e400, 2.0, True, "3", None):
        damage("opt_level", {"opt_level": level})
    damage("no executor is called 'zzz'", {"executor": {"name": "zzz", "options": {}}})
    damage("has no option 'zzz'", {"executor": {"name": "graph", "options": {"zzz": 1}}})
    damage("no target kind is called 'zzz'", {"targets": ["zzz -q"]})
    damage("facts.json names no target", {"targets": []})
    damage("programs are compiled for CPUs", {"targets": ["cuda"]})
    damage("mod_name is the name of what is built", {"name": ""})
    damage("facts.json has no name that is of str", {"name": 5})
    damage("facts.json has no functions that is of list", {"functions": {}})
    damage("it has no library with the function p0 of the code generator csource", {"functions": []})
    damage("library5.so", {"functions": [["csource", "p0", 5, "p0"]]})
    damage("", {"functions": [["csource", "p0", 0]]})
    damage("absent", {"functions": [["csource", "p0", 0, "absent"]]})
    damage("", {"disabled_pass": [1]})
    damage("no config option 'zzz'", {"config": {"zzz": 1}})
    damage("", {"config": {"relay.FuseOps.max_depth": "x"}})
    damage("facts.json has no format that is of int", facts_json=b"[]")
    damage("", facts_json=b"[" * 100000)


def test_damaged_parts(damage):
    damage("", constants_params=b"zz")
    damage("program.json has Var, and no module", program_json=tvm.ir.save_json(relay.var("x")).encode())
    damage("", program_json=b"\xff")
    damage("", program_json=tvm.ir.save_json(tvm.IRModule()).encode())
    damage("", library0_so=b"no library")


def test_damaged_bytes(damage):
    """Libraries stay as they are: the loader of the system would run into what is wrong with them."""
    whole = damage.whole
    damage("", data=whole[: len(whole) // 2])
    with zipfile.ZipFile(io.BytesIO(whole)) as file:
        info = file.getinfo("program.json")
    start = info.header_offset + 30 + len("program.json")
    for at in range(start, start + info.compress_size, max(1, info.compress_size // 50)):
        changed = bytearray(whole)
        changed[at] ^= 0x55
        damage("", data=bytes(changed))
    # The way of compression, and encryption, in the central directory.
    entry = whole.rindex(b"PK\x01\x02", 0, whole.rindex(b"program.json"))
    for at, value in ((entry + 8, 1), (entry + 10, 77)):
        changed = bytearray(whole)
        changed[at] = value
        damage("", data=bytes(changed))
