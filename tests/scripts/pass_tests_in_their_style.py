"""Tests as TVM's own files of passes have them: run_opt_pass, expected programs, parametrised, by classes."""
import numpy as np
import pytest

import tvm
import tvm.testing
from tvm import relay
from tvm.relay import transform
from tvm.relay.build_module import bind_params_by_name
from tvm.relay.testing import run_infer_type, run_opt_pass


def test_fold_const():
    c_data = np.array([1, 2, 3]).astype("float32")
    t = relay.TensorType([1, 2, 3], "float32")

    def before():
        c = relay.const(c_data)
        x = relay.var("x", t)
        y = relay.add(c, c)
        y = relay.multiply(y, relay.const(2, "float32"))
        y = relay.add(x, y)
        return relay.Function([x], relay.add(y, c))

    def expected():
        x = relay.var("x", t)
        y = relay.add(x, relay.const((c_data + c_data) * 2))
        return relay.Function([x], relay.add(y, relay.const(c_data)))

    zz = run_opt_pass(before(), transform.FoldConstant())
    tvm.ir.assert_structural_equal(run_infer_type(expected()), zz)


@pytest.mark.parametrize("axis,dtype", [(0, "float32"), (1, "float32"), (-1, "float16")])
def test_simplify(axis, dtype):
    x = relay.var("x", shape=(2, 3), dtype=dtype)
    y = relay.squeeze(relay.expand_dims(x, axis=axis), axis=[axis]) + relay.zeros((2, 3), dtype)
    z = run_opt_pass(relay.Function([x], relay.reshape(relay.reshape(y, (6,)), (3, 2))), transform.SimplifyExpr())
    assert z.checked_type.ret_type == relay.TensorType((3, 2), dtype) and relay.analysis.list_op_freqs(z)["reshape"] == 1


class TestCombine:
    n = tvm.testing.parameter(2, 3)

    def test_conv2d(self, n):
        x = relay.var("x", shape=(1, 4, 8, 8))
        weights = [relay.var(f"w{i}", shape=(4, 4, 1, 1)) for i in range(n)]
        y = relay.Tuple([relay.nn.relu(relay.nn.conv2d(x, w)) for w in weights])
        got = run_opt_pass(relay.Function([x, *weights], y), transform.CombineParallelConv2D(min_num_branches=2))
        assert relay.analysis.list_op_freqs(got)["nn.conv2d"] == 1


def test_eliminate():
    x = relay.var("x", shape=(1, 16))
    y1, y2 = relay.nn.relu(x), relay.nn.relu(x)
    y1, y2 = relay.add(y1, relay.const(1.0, "float32")), relay.add(y2, relay.const(1.0, "float32"))
    z = run_opt_pass(relay.Function([x], relay.add(y1, y2)), transform.EliminateCommonSubexpr())
    a = relay.add(relay.nn.relu(x), relay.const(1.0, "float32"))
    tvm.ir.assert_structural_equal(z, run_opt_pass(relay.Function([x], relay.add(a, a)), transform.InferType()))


def test_dead_code():
    env_x, y, z = relay.Var("x", relay.scalar_type("float32")), relay.Var("y"), relay.Var("z")
    dead = relay.Let(y, env_x + env_x, relay.Let(z, env_x * env_x, env_x))
    got = run_opt_pass(relay.Function([env_x], dead), transform.DeadCodeElimination())
    tvm.ir.assert_structural_equal(got, run_opt_pass(relay.Function([env_x], env_x), transform.InferType()))


def test_sequence_and_info():
    seq = tvm.transform.Sequential([transform.InferType(), transform.FoldConstant(), transform.DeadCodeElimination()], opt_level=2, name="mine")
    assert seq.info.name == "mine" and seq.info.opt_level == 2 and [p.info.name for p in seq.passes][1] == "FoldConstant"

    @tvm.transform.module_pass(opt_level=2, name="adds_a_function", required=["InferType"])
    def adds(mod, ctx):
        v = relay.var("v", shape=(2,))
        mod.update(tvm.IRModule({relay.GlobalVar("added"): relay.Function([v], relay.abs(v))}))
        return mod

    x = relay.var("x", shape=(2,))
    mod = adds(tvm.IRModule.from_expr(relay.Function([x], x)))
    assert {gv.name_hint for gv in mod.get_global_vars()} == {"main", "added"} and adds.info.required == ["InferType"]


def test_bind_and_partial_evaluation():
    x, w = relay.var("x", shape=(2, 2)), relay.var("w", shape=(2, 2))
    func = bind_params_by_name(relay.Function([x, w], relay.nn.dense(x, relay.transpose(w))), {"w": np.eye(2, dtype="float32")})
    got = run_opt_pass(func, tvm.transform.Sequential([transform.FoldConstant(), transform.PartialEvaluate(), transform.DeadCodeElimination(inline_once=True)]))
    assert len(got.params) == 1 and "transpose" not in got.astext(show_meta_data=False)


if __name__ == "__main__":
    tvm.testing.main()
