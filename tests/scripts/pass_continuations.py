"""to_cps, un_cps, EtaExpand, PartialEvaluate."""
import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.relay import create_executor, transform
from tvm.relay.analysis import detect_feature
from tvm.relay.analysis import Feature
from tvm.relay.transform import EtaExpand, to_cps, un_cps


def test_there_and_back():
    y = relay.var("y", shape=(10, 10))
    mod = transform.InferType()(tvm.IRModule.from_expr(relay.Function([y], relay.exp(y + y) - y)))
    back = un_cps(to_cps(mod["main"], mod=mod))
    data = np.random.rand(10, 10).astype("float32")
    res = create_executor("debug", mod=mod, device=tvm.cpu(0), target="llvm").evaluate(back)(data)
    np.testing.assert_allclose(res.numpy(), np.exp(2 * data) - data, rtol=1e-5)


def test_recursion():
    mod = tvm.IRModule()
    p = relay.prelude.Prelude(mod)
    p.mod.import_from_std("nat.rly")
    shape = (4,)
    x = relay.var("x", relay.TensorType(shape, "float32"))
    double = relay.Function([x], x + x)
    i = relay.var("i", relay.TensorType(shape, "float32"))
    func = relay.Function([i], p.mod.get_global_var("nat_iterate")(double, relay.testing.make_nat_expr(p, 3))(i))
    mod["main"] = func
    mod = transform.InferType()(mod)
    mod["main"] = to_cps(mod["main"], mod=mod)
    mod = transform.InferType()(mod)
    mod["main"] = un_cps(mod["main"])
    out = create_executor("debug", mod=mod, device=tvm.cpu(0), target="llvm").evaluate()(np.ones(4, "float32"))
    np.testing.assert_allclose(out.numpy(), np.full(4, 8.0))


def test_eta_expand_constructors():
    mod = tvm.relay.parse("""#[version = "0.0.5"]
type Pair[A] { Pair(A, A) }
def @main[A]() -> fn(A, A) -> Pair[A] { Pair }
""")
    after = EtaExpand(expand_constructor=True)(mod)
    assert isinstance(after["main"].body, relay.Function) and len(after["main"].body.params) == 2
    assert Feature.fConstructor in detect_feature(mod["main"])


if __name__ == "__main__":
    pytest.main([__file__])
