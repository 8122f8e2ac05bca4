"""Where two programs differ, views of arrays, features and hosts of targets: what utilities around TVM ask."""
import numpy as np
import pytest
import tvm
from tvm import relay
from tvm.ir.base import get_first_structural_mismatch
from tvm.runtime.object_path import ObjectPath


def function(number, axis=-1):
    x = relay.var("x", shape=(2, 3))
    return relay.Function([x], relay.nn.softmax(relay.exp(x) * relay.const(number), axis=axis))


def test_first_mismatch():
    assert get_first_structural_mismatch(function(1.0), function(1.0)) is None
    lhs, rhs = get_first_structural_mismatch(function(1.0), function(2.0))
    assert lhs == rhs == ObjectPath.root().attr("body").attr("args").array_index(0).attr("args").array_index(1)
    assert str(lhs) == "<root>.body.args[0].args[1]"
    lhs, _ = get_first_structural_mismatch(tvm.IRModule.from_expr(function(1.0)), tvm.IRModule.from_expr(function(1.0, 0)))
    assert ObjectPath.root().attr("functions").is_prefix_of(lhs) and str(lhs).endswith("['main'].body")


def test_views():
    a = tvm.nd.array(np.arange(6, dtype="float32"))
    view = a._create_view((2, 3))
    assert view.shape == (2, 3)
    view[0] = np.zeros(3, "float32")
    assert (a.numpy() == [0, 0, 0, 3, 4, 5]).all()


def test_features():
    target = tvm.target.Target("llvm -mcpu=skylake-avx512")
    assert not target.features.has_asimd and not target.features.is_aarch64


def test_hosts():
    assert tvm.target.Target("cuda", host="llvm") != tvm.target.Target("cuda", host="llvm -mcpu=haswell")
    assert tvm.target.Target("cuda", host="llvm") == tvm.target.Target({"kind": "cuda", "host": {"kind": "llvm"}})
    assert tvm.target.Target("llvm") != tvm.target.Target("llvm", host="llvm")
    assert len({tvm.target.Target("llvm"), tvm.target.Target("llvm")}) == 1


def test_message():
    with pytest.raises(ValueError, match="body"):
        tvm.ir.assert_structural_equal(function(1.0), function(3.0))
