"""`ChangeDatatype` through a match, and what `structural_equal` and `structural_hash` take for equal."""

import numpy as np
import pytest
import tvm
from tvm import relay
from tvm.relay.frontend import ChangeDatatype

LIST = """#[version = "0.0.5"]
type List[A] { Cons(A, List[A]), Nil }
def @main(%l: List[Tensor[(2), float32]], %z: Tensor[(2), float32]) -> Tensor[(2), float32] {
  match (%l) { Cons(%h, _) => %h, Nil => %z }
}
"""


def test_variables_of_patterns_change_their_dtype():
    mod = relay.transform.InferType()(ChangeDatatype("float32", "float16")(relay.fromtext(LIST)))
    assert mod["main"].checked_type.ret_type == relay.TensorType((2,), "float16")


def clipped(high, dtype="int32"):
    x = relay.var("x", shape=(2,), dtype=dtype)
    return relay.Function([x], relay.clip(x, 0.0, high))


def test_limits_of_integers_differ_though_their_float32_is_one():
    assert not tvm.ir.structural_equal(clipped(2147483647.0), clipped(2147483600.0))
    assert not tvm.ir.structural_equal(clipped(1e39, "float64"), clipped(1e40, "float64"))


def test_equal_programs_have_equal_hashes():
    written, computed = clipped(0.1, "float32"), clipped(float(np.float32(0.1)), "float32")
    assert tvm.ir.structural_equal(written, computed)
    assert tvm.ir.structural_hash(written) == tvm.ir.structural_hash(computed)


def test_a_view_of_an_array_with_gaps_is_refused():
    array = tvm.nd.array(np.zeros((4, 4), "float32"))
    assert array._create_view((16,)).shape == (16,)
    array._memory = array._memory[:, ::2]
    with pytest.raises(ValueError, match="side by side"):
        array._create_view((8,))
