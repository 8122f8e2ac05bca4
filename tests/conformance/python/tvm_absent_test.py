"""Names out of scope: files import them, print them and write them into signatures; a use says what is missing."""

import importlib
import re
from typing import Optional

import pytest

import tvm
from tvm import _surface, relay
from tvm._absent import OutOfScope, is_absent
from tvm._reasons import REASONS

SOURCE = [name for name in REASONS if name.rstrip(".") not in ("tvm.script", "tvm.relax")]


@pytest.mark.parametrize("statement", [
    "import tvm.tir.schedule.schedule", "from tvm import rpc, micro", "from tvm.rpc import connect, Server, LocalSession",
    "import tvm.relay.op.strategy.x86 as x86", "from tvm.relay.frontend import from_tflite", "from tvm.topi.nn import conv2d_infer_layout",
    "from tvm.script import tir as T, ir as I, relax as R", "import tvm.script.tir", "from tvm.script.parser.tir import prim_func",
    "from tvm.rpc import *", "import tvm.contrib.nvcc", "from tvm.relay.backend.te_compiler import get_shape", "from tvm.tir.expr import Cast",
    "from tvm.tir.stmt_functor import post_order_visit", "from tvm._ffi.base import check_call", "import tvm.relay.op.nn._nn",
])  # fmt: skip
def test_names_of_tvm_can_be_imported(statement):
    names = {}
    exec(statement, names)
    assert any(is_absent(thing) for key, thing in names.items() if key not in ("__builtins__", "tvm")) or statement.startswith("import tvm.")


@pytest.mark.parametrize("name", SOURCE)
def test_every_reason_is_given(name):
    """An import of the name works, and its text says why it is not there, unless it is there by now."""
    within, _, last = name.rstrip(".").rpartition(".")
    names = {}
    exec(f"from {within} import {last}", names)
    if is_absent(names[last]):
        assert REASONS[name] in repr(names[last])


def test_a_use_says_what_is_missing():
    needs = re.escape("tuning schedules of TIR")
    for use in (
        lambda: tvm.te.create_schedule(None), lambda: tvm.te.Schedule(), lambda: tvm.te.AXIS_SEPARATOR + 1, lambda: tvm.te.create_schedule[0],
        lambda: tvm.te.AXIS_SEPARATOR.anything(), lambda: bool(tvm.te.AXIS_SEPARATOR), lambda: tvm.te.AXIS_SEPARATOR == 1,
        lambda: tvm.te.create_schedule.__enter__(), lambda: list(tvm.te.create_schedule), lambda: setattr(tvm.te.create_schedule, "x", 1),
        lambda: tvm.te.create_schedule.number,
    ):  # fmt: skip
        with pytest.raises(OutOfScope, match=r"^tvm\.te\.[\w.]+ is not there. It needs: "):
            use()
    with pytest.raises(NotImplementedError, match=f"^tvm.te.create_schedule is not there. It needs: {needs}"):
        tvm.te.create_schedule(None)
    with pytest.raises(NotImplementedError, match="front end of another system"):
        relay.frontend.from_tflite(None)


def test_what_it_prints_says_what_it_is():
    assert repr(tvm.rpc) == "<module tvm.rpc of TVM, which is not here: it needs remote devices: programs run in this process>"
    assert repr(tvm.rpc.connect).startswith("<function tvm.rpc.connect of TVM, which is not here: it needs remote devices")
    assert repr(tvm.tir.Buffer).startswith("<class tvm.tir.Buffer of TVM, which is not here: it needs TIR programs")
    assert repr(tvm.te.AXIS_SEPARATOR).startswith("<value tvm.te.AXIS_SEPARATOR of TVM")


def test_classes_stand_in_signatures_and_nothing_is_one():
    def function(a: Optional[tvm.tir.Buffer], b: "tvm.tir.PrimFunc | None" = None, *c: tvm.te.Schedule | None) -> list[tvm.tir.Stmt]:
        raise AssertionError

    assert not isinstance(relay.const(1), tvm.tir.Buffer) and not isinstance(1, (tvm.tir.PrimFunc, tvm.te.Schedule))

    class Mutator(tvm.tir.PrimFunc):
        def visit(self):
            raise AssertionError

    assert issubclass(Mutator, tvm.tir.PrimFunc) and not isinstance(3, Mutator)
    with pytest.raises(OutOfScope, match="tvm.tir.PrimFunc is not there"):
        Mutator()
    assert tvm.tir.Buffer.vload is not None
    with pytest.raises(AttributeError, match="has no member 'vloda'; the nearest name is 'vload'"):
        tvm.tir.Buffer.vloda


def test_exceptions_can_be_caught():
    with pytest.raises(ValueError):
        try:
            raise ValueError
        except (tvm.rpc.server.ServerError if hasattr(tvm.rpc.server, "ServerError") else tvm.tir.ScheduleError):
            raise AssertionError from None


def test_decorators_leave_the_file_readable():
    from tvm.script import ir as I, tir as T  # noqa: E741

    @tvm.register_extension
    class Extension:
        pass

    @tvm.target.generic_func
    def kernel(n):
        return n + 1

    @kernel_of_another("cpu")
    def other(n):
        return n

    @I.ir_module
    class Module:
        @T.prim_func
        def main(a: T.handle, b: T.Buffer[(16, 16), "float32"], c: T.Buffer((1,), "int8")) -> None:
            T.func_attr({"global_symbol": "main"})

    @tvm.te.hybrid.script
    def hybrid(a):
        return a

    assert kernel(1) == 2 and other(3) == 3 and Extension()
    for use in (lambda: Module["main"], lambda: Module.main, lambda: Module(), lambda: hybrid(1)):
        with pytest.raises(OutOfScope, match=r"^(Module|hybrid) cannot be used here: tvm\.[\w.]+ is not there. It needs: TIR programs"):
            use()


kernel_of_another = tvm.relay.op.strategy.generic.conv2d_strategy.register


def test_questions_with_one_answer_are_answered():
    from tvm.contrib import cudnn, nvcc
    from tvm.relay.op.contrib import arm_compute_lib, tensorrt

    assert nvcc.have_fp16("7.0") is False and nvcc.have_tensorcore() is False and cudnn.exists() is False
    assert arm_compute_lib.is_arm_compute_runtime_enabled() is False and tensorrt.is_tensorrt_runtime_enabled() is False


def test_one_name_in_several_places_is_one_thing():
    import tvm.relay.transform.transform as passes
    from tvm.ir.type import TypeVar
    from tvm.relay.op.nn.nn import conv2d

    assert passes.FoldConstant is relay.transform.FoldConstant and TypeVar is relay.TypeVar and conv2d is relay.nn.conv2d
    assert relay.op.nn.bitserial_conv2d is relay.op.nn.bitserial_conv2d and is_absent(relay.nn.bitserial_conv2d)


def test_names_that_tvm_never_had_are_errors_with_the_nearest_name():
    with pytest.raises(AttributeError, match="module 'tvm' has no attribute 'nothing_of_this_name', and TVM has none, either$") as caught:
        tvm.nothing_of_this_name
    assert not isinstance(caught.value, NotImplementedError)
    with pytest.raises(AttributeError, match="the nearest name is 'FoldConstant'$"):
        relay.transform.FoldConstnat
    with pytest.raises(AttributeError, match="the nearest name is 'create_schedule'$"):
        tvm.te.create_schedul
    with pytest.raises(ImportError, match="cannot import name 'conect' from 'tvm.rpc', and TVM has no such name; the nearest name is 'connect'$"):
        exec("from tvm.rpc import conect", {})
    with pytest.raises(ImportError, match="cannot import name 'nothing' from 'tvm.relay.transform'"):
        exec("from tvm.relay.transform import nothing", {})
    assert not hasattr(tvm.te, "create_schedul") and getattr(relay.op.nn, "conv2dd", None) is None


def test_private_names_of_tvm_say_so():
    with pytest.raises(ImportError, match="tvm.relay.frontend.onnx._nothing is private to TVM"):
        exec("from tvm.relay.frontend.onnx import _nothing", {})
    with pytest.raises(AttributeError, match="tvm.relay._nothing is private to TVM"):
        relay._nothing


@pytest.mark.parametrize("module", ["tvm.relay", "tvm.relay.ty", "tvm.tir", "tvm.relay.testing", "tvm.te", "tvm.rpc", "tvm.contrib.debugger.debug_executor"])
def test_star_imports_give_every_name_of_tvm(module):
    scope = {}
    exec(f"from {module} import *", scope)
    known = importlib.import_module(module)
    missing = [name for name in _surface.names(module) if _surface.find(module, name)[0] != "m" and name not in scope]
    assert not missing
    assert not [name for name in vars(known).get("__all__", ()) if name not in scope]


@pytest.mark.parametrize("name", ["tvm.relay.transform.nothing", "tvm.relay.analysis.nothing", "tvm.relay.op.nn.nothing", "tvm.nothing"])
def test_imports_of_unknown_modules_are_plain_errors(name):
    with pytest.raises(ModuleNotFoundError, match="No module named") as caught:
        importlib.import_module(name)
    assert not isinstance(caught.value, NotImplementedError)
