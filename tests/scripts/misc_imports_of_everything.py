"""The head of a test file that imports far more than the one test that runs here uses."""
import logging
from typing import Dict, List, Optional, Tuple

import numpy as np
import pytest

import tvm
import tvm.relay.op as reg
import tvm.relay.testing
import tvm.topi.testing
from tvm import auto_scheduler, autotvm, meta_schedule as ms, micro, relay, rpc, te, tir, topi
from tvm._ffi.base import TVMError, check_call, py_str
from tvm.contrib import cc, cblas, cudnn, graph_executor, nvcc, pipeline_executor, tar, utils, xcode
from tvm.contrib.nvcc import have_fp16
from tvm.driver import tvmc
from tvm.ir.instrument import pass_instrument
from tvm.micro.testing import get_target
from tvm.relay import expr as _expr, testing, transform
from tvm.relay.analysis import detect_feature
from tvm.relay.backend import Executor, Runtime, te_compiler
from tvm.relay.backend.te_compiler import get as get_te_compiler
from tvm.relay.frontend.tensorflow import from_tensorflow
from tvm.relay.op.contrib import arm_compute_lib, get_pattern_table, tensorrt
from tvm.relay.op.strategy.generic import wrap_topi_schedule
from tvm.relay.testing.tflite import TFLiteModel
from tvm.rpc import LocalSession, TrackerSession
from tvm.rpc.tracker import Tracker
from tvm.script import ir as I, tir as T
from tvm.testing.aot import AOTTestModel, compile_and_run
from tvm.tir.expr import Cast
from tvm.tir.schedule import Schedule
from tvm.topi.cuda.conv2d import conv2d_nchw as conv2d_nchw_cuda
from tvm.topi.nn.utils import get_pad_tuple
from tvm.topi.utils import get_const_tuple, traverse_inline

MatmulLayout = Dict[str, Optional[tvm.tir.Buffer]]


@tvm.script.ir_module
class Doubling:
    @T.prim_func
    def main(a: T.handle, b: T.handle) -> None:
        A = T.match_buffer(a, (16,), "float32")
        B = T.match_buffer(b, (16,), "float32")
        for i in T.serial(16):
            with T.block("double"):
                vi = T.axis.spatial(16, i)
                B[vi] = A[vi] * T.float32(2)


@autotvm.template("scripts/matmul")
def matmul_template(n: int, dtype: str) -> Tuple[te.Schedule, List[te.Tensor]]:
    a = te.placeholder((n, n), name="a", dtype=dtype)
    return te.create_schedule(a.op), [a]


@auto_scheduler.register_workload
def workload(n):
    return [te.placeholder((n,))]


def schedule_of(task: tvm.meta_schedule.TuneContext, sch: Schedule) -> None:
    sch.reorder(*sch.get_loops(sch.get_block("double")))


class Rewriter(tvm.tir.PrimFunc):
    pass


@pytest.mark.skipif(not arm_compute_lib.is_arm_compute_runtime_enabled(), reason="ACL runtime")
def test_acl():
    raise AssertionError


@tvm.testing.requires_micro
def test_micro(board=None, west_cmd=None):
    raise AssertionError


@tvm.testing.requires_rpc
def test_rpc():
    raise AssertionError


@pytest.mark.xfail(raises=NotImplementedError, strict=True)
def test_a_schedule_says_what_is_missing():
    matmul_template(4, "float32")


def test_what_the_file_is_for():
    x = relay.var("x", shape=(3, 4))
    out = relay.create_executor("graph").evaluate(relay.Function([x], relay.nn.softmax(x)))(np.zeros((3, 4), "float32"))
    np.testing.assert_allclose(out.numpy(), topi.testing.softmax_python(np.zeros((3, 4), "float32")), rtol=1e-6)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    pytest.main([__file__])
