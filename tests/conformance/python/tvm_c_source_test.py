"""C source of code generators: compiled by the machine's compiler, called in programs, kept in their files."""

import shutil
import zipfile

import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.contrib import cc, graph_executor

pytestmark = pytest.mark.skipif(shutil.which("cc") is None and cc.get_cc() is None, reason="the machine has no compiler of C")

C = """
#include <tvm/runtime/c_runtime_api.h>
TVM_EXTERN_C TVM_DLL int %s(TVMValue* args, int* codes, int count, TVMValue* ret, int* ret_code, void* handle) {
  DLTensor *x = (DLTensor*)args[0].v_handle, *y = (DLTensor*)args[1].v_handle, *out = (DLTensor*)args[count - 1].v_handle;
  if (count != 3 || codes[0] != kTVMDLTensorHandle || x->dtype.code != kDLFloat || x->dtype.bits != 32 || x->device.device_type != kDLCPU) return -1;
  int64_t n = 1;
  for (int k = 0; k < out->ndim; ++k) n *= out->shape[k];
  for (int64_t i = 0; i < n; ++i) ((float*)out->data)[i] = 2 * ((float*)x->data)[i] + ((float*)y->data)[i];
  return 0;
}
"""
CPP = """
#include <dlpack/dlpack.h>
#include <tvm/runtime/packed_func.h>
#include <algorithm>
int ends(DLTensor* x, DLTensor* least, DLTensor* greatest) {
  const float* data = static_cast<const float*>(x->data);
  *static_cast<float*>(least->data) = *std::min_element(data, data + x->shape[0]);
  *static_cast<float*>(greatest->data) = *std::max_element(data, data + x->shape[0]);
  return 0;
}
TVM_DLL_EXPORT_TYPED_FUNC(%s, ends);
"""
X, Y = np.arange(6, dtype="float32").reshape(2, 3), np.full((2, 3), 7, "float32")


def create(*args):
    return tvm.get_global_func("runtime.CSourceModuleCreate")(*args)


@pytest.fixture
def generator():
    """Makes a function the code generator `csource`."""

    def register(function):
        tvm.register_func("relay.ext.csource", function, override=True)

    yield register
    tvm._ffi.registry.remove_global_func("relay.ext.csource")


def marked(params, body, symbol="part_0"):
    return relay.Function(params, body).with_attr({"Primitive": 1, "Compiler": "csource", "global_symbol": symbol})


def program(shape=(2, 3)):
    a, b = (relay.var(name, shape=shape) for name in "ab")
    mod = tvm.IRModule()
    part = relay.GlobalVar("part_0")
    mod[part] = marked([a, b], a + a + b)
    x, w = relay.var("x", shape=shape), relay.var("w", shape=shape)
    mod["main"] = relay.Function([x, w], relay.exp(part(x, w) * relay.const(0.1)))
    return relay.transform.InferType()(mod)


def symbol_of(function):
    return str(function.attrs["global_symbol"])


def run(lib, *args):
    module = graph_executor.GraphModule(lib["default"](tvm.cpu()))
    module.run(**dict(zip("xw", args)))
    return [module.get_output(i).numpy() for i in range(module.get_num_outputs())]


WANT = np.exp((2 * X + Y) * np.float32(0.1))


def test_in_a_program_and_its_file(generator, tmp_path):
    made = []

    def compile_part(function):
        made.append(symbol_of(function))
        return create(C % made[-1], "c", [made[-1]], [])

    generator(compile_part)
    with tvm.transform.PassContext(opt_level=3):
        lib = relay.build(program(), "llvm", params={"w": Y}, mod_name="net")
    assert made == ["part_0"]
    np.testing.assert_allclose(run(lib, X)[0], WANT, rtol=1e-6)
    path = str(tmp_path / "lib.so")
    lib.export_library(path, options=["-O2"])
    made.clear()
    loaded = tvm.runtime.load_module(path)
    assert not made and loaded.libmod_name == "net"
    np.testing.assert_allclose(run(loaded, X)[0], WANT, rtol=1e-6)
    module = graph_executor.GraphModule(loaded["net"](tvm.cpu()))
    module.run(x=X)
    np.testing.assert_allclose(module.get_output(0).numpy(), WANT, rtol=1e-6)


def test_executors(generator):
    generator(lambda function: create(C % symbol_of(function), "c", [symbol_of(function)], []))
    for kind in ("graph", "vm", "aot"):
        np.testing.assert_allclose(relay.create_executor(kind, program()).evaluate()(X, Y).numpy(), WANT, rtol=1e-6)


def test_source_of_cpp_with_two_results(generator, tmp_path):
    generator(lambda function: create(CPP % symbol_of(function), "cc", [symbol_of(function)], []))
    a = relay.var("a", shape=(5,))
    both = marked([a], relay.Tuple([relay.min(a), relay.max(a)]), "ends_0")
    x = relay.var("x", shape=(5,))
    pair = relay.Call(both, [x])
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.TupleGetItem(pair, 1) - relay.TupleGetItem(pair, 0)))
    lib = relay.build(mod, "llvm")
    lib.export_library(tmp_path / "two.tar")
    for each in (lib, tvm.runtime.load_module(tmp_path / "two.tar")):
        assert run(each, np.array([3, -1, 4, 1, 5], "float32"))[0] == 6


def test_the_module_itself(tmp_path):
    module = create(C % "twice_and", "c", ["twice_and"], [])
    assert isinstance(module, tvm.runtime.Module) and module.entry_name == "twice_and"
    assert module.type_key == "c" and module.format == "c" and module.get_source() == C % "twice_and"
    assert module.implements_function("twice_and") and not module.implements_function("other")
    out = tvm.nd.empty((2, 3))
    module["twice_and"](tvm.nd.array(X), tvm.nd.array(Y), out)
    np.testing.assert_array_equal(out.numpy(), 2 * X + Y)
    assert module.time_evaluator("twice_and", tvm.cpu(), number=2, repeat=3)(tvm.nd.array(X), tvm.nd.array(Y), out).mean >= 0
    module.export_library(tmp_path / "code.so")
    assert (tmp_path / "code.so").read_bytes()[:4] == b"\x7fELF"
    with pytest.raises(AttributeError, match="the module has no functions"):
        create("int x;", "c", [], []).entry_name  # noqa: B018
    module.save(tmp_path / "code.c")
    assert (tmp_path / "code.c").read_text() == C % "twice_and"
    with pytest.raises(AttributeError, match="the module has no function other; it has twice_and"):
        module.get_function("other")


FIRST = """
#include <tvm/runtime/c_runtime_api.h>
TVM_EXTERN_C TVM_DLL int %s(TVMValue* args, int* codes, int count, TVMValue* ret, int* ret_code, void* handle) {
  ((float*)((DLTensor*)args[0].v_handle)->data)[0] = 9;
  return 0;
}
"""
RANKS = FIRST.replace("args[0].v_handle)->data)[0] = 9", "args[2].v_handle)->data)[0] = 1 + 10 * ((DLTensor*)args[0].v_handle)->ndim")


def test_inputs_in_any_order_of_elements():
    out = np.zeros((3, 2), "float32")
    module = create(C % "f", "c", ["f"], [])
    module["f"](X.T, np.broadcast_to(np.float32(1), (3, 2)), out)
    np.testing.assert_array_equal(out, 2 * X.T + 1)
    module["f"](relay.const(X).data, X, tvm.nd.empty((2, 3)))
    with pytest.raises(TypeError, match="argument 2 of f is an array, not list"):
        module["f"](X, [1.0], out)
    with pytest.raises(TypeError, match="argument 1 of f is an array of >f4, which functions of C source do not take"):
        module["f"](X.astype(">f4"), X, out)
    with pytest.raises(TypeError, match="argument 1 of f is an array of <c8"):
        module["f"](X.astype("complex64"), X, out)


def test_outputs_that_cannot_be_written():
    module = create(C % "f", "c", ["f"], [])
    wide, kept = np.zeros((2, 6), "float32"), np.zeros((2, 3), "float32")
    kept.flags.writeable = False
    constant = relay.const(np.zeros((2, 3), "float32")).data
    for output in (wide[:, ::2], kept, constant):
        with pytest.raises(ValueError, match="argument 3 of f is an output: it has to be C-contiguous, aligned and writable"):
            module["f"](X, X, output)
    assert not wide.any() and not kept.any() and not constant.numpy().any()
    first = create(FIRST % "f", "c", ["f"], [])
    for output in (wide[:, ::2], kept, constant):
        with pytest.raises(ValueError, match="argument 1 of f is an output"):
            first["f"](output, np.zeros(1, "float32"))
    assert not wide.any() and not kept.any() and not constant.numpy().any()


def test_scalars_have_rank_0(generator):
    generator(lambda function: create(RANKS % symbol_of(function), "c", [symbol_of(function)], []))
    lib = relay.build(program(()), "llvm")
    np.testing.assert_allclose(run(lib, np.float32(0), np.float32(0))[0], np.exp(np.float32(0.1)), rtol=1e-6)


def refused(generator, code, fmt="c", shape=(2, 3), names=None):
    generator(lambda function: create(code, fmt, [symbol_of(function)] if names is None else names, []))
    with pytest.raises(tvm.TVMError) as error:
        relay.build(program(shape), "llvm")
    return str(error.value)


def test_what_the_compiler_refuses(generator):
    text = refused(generator, "int part_0(void) { return missing; }")
    assert "missing" in text and "@part_0" in text and "code generator" in text
    declared = 'has no function part_0: C source declares one TVM_EXTERN_C (extern "C" in C++), or its name is another there'
    assert declared in refused(generator, "int other(void) { return 0; }")
    assert declared in refused(generator, (C % "part_0").replace("TVM_EXTERN_C ", ""), "cc")
    # Names that a loaded library has for Python alone.
    for name in ("_handle", "_name", "__class__"):
        assert f"has no function {name}" in refused(generator, C % "part_0", names=[name])
    assert "has no function a" in refused(generator, C % "part_0", names=["a\0b"])
    assert "arrays of known extents, and part_0 gives Tensor[(?, 3), float32]" in refused(generator, C % "part_0", shape=(relay.Any(), 3))


def test_without_a_compiler(generator, monkeypatch):
    monkeypatch.setattr(cc, "get_cc", lambda: None)
    assert "there is no compiler to make" in refused(generator, C % "part_0")


def test_constants_are_refused():
    with pytest.raises(NotImplementedError, match=r"C source with constants of the program \(c0\)"):
        create(C % "f", "c", ["f"], ["c0"])


def test_what_is_no_text():
    for args, message in [((None,), "code is a str, not None"), (("int x;", 1), "fmt is a str, not 1"), (("int x;", "c", "part_0"), "func_names is a list"),
                          (("int x;", "c", [0]), "func_names is a list of texts; one is 0"), (("int x;", "c", ["f"], "c0"), "const_vars is a list")]:  # fmt: skip
        with pytest.raises(TypeError, match=message):
            create(*args)
    names = tvm.runtime.convert(["f", "g"])
    assert create("int x;", tvm.runtime.String("c"), names, tvm.runtime.convert([])).func_names == ["f", "g"]


def test_functions_that_fail(generator):
    generator(lambda function: create((C % "part_0").replace("return 0", "return 3"), "c", ["part_0"], []))
    lib = relay.build(program(), "llvm")
    with pytest.raises(RuntimeError, match="the function part_0 of C source failed: it gave 3"):
        run(lib, X, Y)


def test_damaged_files(generator, tmp_path):
    generator(lambda function: create(C % symbol_of(function), "c", [symbol_of(function)], []))
    path = tmp_path / "lib.so"
    relay.build(program(), "llvm").export_library(path)
    whole = path.read_bytes()
    with zipfile.ZipFile(path) as file:
        parts = {name: file.read(name) for name in file.namelist()}

    def fails(message, **changes):
        with zipfile.ZipFile(path, "w") as file:
            for name, data in {**parts, **{key.replace("_", "."): value for key, value in changes.items()}}.items():
                if data is not None:
                    file.writestr(name, data)
        with pytest.raises(tvm.TVMError, match=f"lib.so cannot be loaded: .*{message}"):
            tvm.runtime.load_module(path)

    fails("library0.so", library0_so=None)
    fails("", library0_so=b"no library")
    fails("version 9 of the format; this is 1", facts_json=parts["facts.json"].replace(b'"format": 1', b'"format": 9'))
    fails("", facts_json=b"[]")
    fails("part_1", facts_json=parts["facts.json"].replace(b"part_0", b"part_1"), program_json=parts["program.json"].replace(b"part_0", b"part_1"))
    fails("part_0", facts_json=parts["facts.json"].replace(b"part_0", b"part_1"))
    fails("", program_json=b"{")
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(tvm.TVMError, match="cannot be loaded"):
        tvm.runtime.load_module(path)
