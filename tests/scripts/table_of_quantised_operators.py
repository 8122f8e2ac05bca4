"""A simulated network looked at: which operators stand between quantize and dequantize, and what becomes of them on integers."""
import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.relay.expr_functor import ExprVisitor

RNG = np.random.RandomState(11)


class Table(ExprVisitor):
    """Rows of operator, dtype of the result and attributes, operands first."""

    def __init__(self):
        super().__init__()
        self.rows = []

    def visit_call(self, call):
        super().visit_call(call)
        if isinstance(call.op, tvm.ir.Op):
            dtype = call.checked_type.dtype if isinstance(call.checked_type, relay.TensorType) else "tuple"
            self.rows.append((call.op.name, dtype, dict(call.attrs.items()) if call.attrs else {}))


def block():
    x = relay.var("x", shape=(1, 4, 8, 8))
    w = relay.const(RNG.normal(0, 0.3, (4, 4, 3, 3)).astype("float32"))
    a = relay.nn.relu(relay.nn.conv2d(x, w, padding=(1, 1), channels=4, kernel_size=(3, 3)))
    b = relay.nn.conv2d(a, w, padding=(1, 1), channels=4, kernel_size=(3, 3))
    return tvm.IRModule.from_expr(relay.Function([x], relay.nn.max_pool2d(relay.nn.relu(a + b), (2, 2), (2, 2))))


def rows_of(mod):
    table = Table()
    table.visit(relay.transform.InferType()(mod)["main"])
    return table.rows


def simulated(**config):
    with relay.quantize.qconfig(do_simulation=True, skip_conv_layers=[], **config):
        return relay.quantize.quantize(block())


def test_simulation_has_pairs():
    rows = [name for name, _, _ in rows_of(simulated())]
    assert rows.count("qnn.quantize") == rows.count("qnn.dequantize") >= 3 and rows.count("nn.conv2d") == 2
    assert relay.analysis.list_fake_quantized_op_freqs(simulated()) is not None


def test_integers():
    integers = relay.transform.FakeQuantizationToInteger(use_qat=True)(relay.transform.InferType()(simulated()))
    rows = rows_of(integers)
    convolutions = [(dtype, attrs) for name, dtype, attrs in rows if name == "qnn.conv2d"]
    assert len(convolutions) == 2 and all(dtype == "int32" for dtype, _ in convolutions)
    assert all(tuple(attrs["padding"]) in ((1, 1), (1, 1, 1, 1)) for _, attrs in convolutions)


@pytest.mark.parametrize("bits", [4, 6])
def test_fewer_bits_are_clipped(bits):
    names = [name for name, _, _ in rows_of(simulated(nbit_input=bits, nbit_weight=bits))]
    assert names.count("clip") >= 1


def test_unsigned_operands():
    rows = rows_of(simulated(dtype_input="uint8"))
    assert {dtype for name, dtype, _ in rows if name == "qnn.quantize"} == {"uint8", "int8"}


def test_steps_as_passes():
    with relay.quantize.qconfig(skip_conv_layers=[]):
        steps = [relay.quantize.partition(), relay.quantize.annotate(), relay.quantize.calibrate(), relay.quantize.realize()]
    assert [step.info.name for step in steps] == ["QuantizePartition", "QuantizeAnnotate", "QuantizeCalibrate", "QuantizeRealize"]
    assert all(step.info.opt_level == 1 for step in steps)
    mod = relay.transform.InferType()(block())
    for step in steps:
        mod = step(mod)
    names = [name for name, _, _ in rows_of(mod)]
    assert names.count("nn.conv2d") == 2 and not [name for name in names if name.startswith("qnn.")]


if __name__ == "__main__":
    pytest.main([__file__])
