"""Networks of several operators between DequantizeLinear and QuantizeLinear, which are computed on bytes: ONNX Runtime
computes each operator on floats here, so results may differ by one step of the last quantisation."""

import numpy as np
from onnx import helper, numpy_helper

from recording import CASES, OPSETS, TYPES, Case, integers, numbers

STEP = 0.05


class Network(Case):
    """Nodes that read x; the last one's result is dequantised."""

    def __init__(self, name, x, add, **options):
        super().__init__(name, "QuantizeLinear", [x], **options)
        self.nodes, self.stored, self.count = [], [], 0
        last = add(self, self.quantised("x0", 0.04, np.uint8(110)))
        self.node("DequantizeLinear", [*last], "y0")

    def store(self, array):
        self.count += 1
        self.stored.append(numpy_helper.from_array(np.asarray(array), f"c{self.count}"))
        return f"c{self.count}"

    def node(self, op, inputs, result=None, **attrs):
        self.count += 1
        self.nodes.append(helper.make_node(op, inputs, [result or f"t{self.count}"], **attrs))
        return result or f"t{self.count}"

    def quantised(self, x, scale, zero):
        ends = [self.store(np.float32(scale)), self.store(zero)]
        return [self.node("QuantizeLinear", [x, *ends]), *ends]

    def floats(self, parts, **attrs):
        return self.node("DequantizeLinear", parts, **attrs)

    def weights(self, array, scale, zero=None):
        parts = [self.store(array), self.store(np.asarray(scale, np.float32))]
        zeros = np.zeros(np.shape(scale), array.dtype) if zero is None else zero
        return self.floats([*parts, self.store(zeros)], axis=0)

    def model(self):
        given = [helper.make_tensor_value_info("x0", TYPES[np.dtype("float32")], self.inputs[0].shape)]
        wanted = [helper.make_empty_tensor_value_info("y0")]
        graph = helper.make_graph(self.nodes, self.name, given, wanted, self.stored)
        imports = [helper.make_opsetid("", OPSETS[""])]
        return helper.make_model(graph, opset_imports=imports, ir_version=10)


def bytes_of(name, *shape):
    return integers(name, *shape, low=-127, high=127, dtype=np.int8)


def network(name, x, add):
    CASES["forms"].append(Network(f"qdq_{name}", x, add, atol=STEP * 1.001, rtol=0))


def convolution(weight, scale, zero=np.uint8(0), bias=None, weight_zero=None, **attrs):
    def add(net, x):
        inputs = [net.floats(x), net.weights(weight, scale, weight_zero)]
        if bias is not None:
            inputs.append(net.store(bias))
        return net.quantised(net.node("Conv", inputs, **attrs), STEP, zero)
    return add


def of_zeros(add):
    """The same behind a Relu, whose zero point is 0."""
    return lambda net, x: add(net, net.quantised(net.node("Relu", [net.floats(x)]), 0.02, np.uint8(0)))


def qdq_convolutions():
    x = numbers("image", 2, 6, 9, 11)
    each = np.linspace(0.002, 0.01, 6)
    mixed, alone = bytes_of("mixed", 6, 6, 3, 3), bytes_of("alone", 6, 1, 3, 3)
    same = {"pads": [1, 1, 1, 1]}
    network("conv", x, convolution(mixed, 0.004, np.uint8(131), **same))
    network("conv_bias", x, convolution(mixed, each, np.uint8(128), numbers("bias", 6), **same))
    network("conv_groups", x, convolution(mixed[:, :2].copy(), each, np.uint8(99), group=3, **same))
    network("depthwise", x, convolution(alone, each, np.uint8(120), group=6, **same))
    network("depthwise_of_zeros", x, of_zeros(convolution(alone, each, np.uint8(120), group=6, **same)))
    network("depthwise_step", x, of_zeros(convolution(alone, each, group=6, strides=[2, 2], pads=[1, 0, 1, 2])))
    network("depthwise_no_padding", x, convolution(alone, 0.01, np.uint8(7), group=6))
    zeros = integers("zeros", 6, low=-9, high=9, dtype=np.int8)
    network("depthwise_zeros", x, of_zeros(convolution(alone, each, np.uint8(77), group=6, weight_zero=zeros, **same)))
    wide = integers("unsigned", 6, 1, 5, 5, low=0, high=255, dtype=np.uint8)
    network("depthwise_unsigned", x, of_zeros(convolution(wide, 0.001, np.uint8(3), group=6, pads=[2, 2, 2, 2])))
    network("depthwise_large", numbers("large", 1, 3, 20, 33),
            of_zeros(convolution(bytes_of("taps", 3, 1, 5, 5), 0.002, np.uint8(128), group=3, pads=[2, 2, 2, 2])))


def qdq_pools():
    x = numbers("pooled", 1, 5, 10, 13)

    def pooled(scale, zero, **attrs):
        def add(net, parts):
            pool = net.node("MaxPool", [net.floats(parts)], kernel_shape=[3, 3], **attrs)
            return net.quantised(pool, scale, zero)
        return add

    network("max_pool", x, pooled(0.04, np.uint8(110), strides=[2, 2], pads=[1, 1, 1, 1]))
    network("max_pool_other_scale", x, pooled(STEP, np.uint8(100), pads=[0, 1, 2, 1]))
    network("max_pool_other_dtype", x, pooled(0.04, np.int8(0)))
    network("max_pool_ceil", x, pooled(0.04, np.uint8(110), strides=[2, 3], ceil_mode=1))
    network("max_pool_dilated", x, pooled(0.04, np.uint8(110), dilations=[2, 2], pads=[2, 2, 2, 2]))
    network("quantised_again", x, lambda net, parts: net.quantised(net.floats(parts), 0.04, np.uint8(110)))


def qdq_products():
    x, w = numbers("rows", 5, 40), bytes_of("columns", 40, 21)

    def product(op, zero, **attrs):
        def add(net, parts):
            stored = [net.store(w), net.store(np.float32(0.003)), net.store(np.int8(0))]
            return net.quantised(net.node(op, [net.floats(parts), net.floats(stored)], **attrs), STEP, zero)
        return add

    network("matmul", x, product("MatMul", np.uint8(128)))
    network("gemm", x, product("Gemm", np.uint8(40)))


def qdq_sums():
    """Biases, activations and sums between: all of it is one multiplication of each sum of integers."""
    x = numbers("summed", 2, 6, 7, 8)
    mixed, each = bytes_of("sums", 6, 6, 1, 1), np.linspace(0.002, 0.01, 6).astype(np.float32)
    bias = integers("whole", 6, low=-3000, high=3000, dtype=np.int32)

    def convolved(net, parts, scale=None):
        """Of the integers in `parts`, with a bias that has a scale of its own or that of the sums."""
        own = np.float32(0.04) * each if scale is None else np.float32(scale)
        shift = net.weights(bias, own, np.zeros(np.shape(own), np.int32))
        return net.node("Conv", [net.floats(parts), net.weights(mixed, each), shift])

    def clipped(net, value, *ends):
        return net.node("Clip", [value, *[net.store(np.float32(end)) if end is not None else "" for end in ends]])

    def residual(net, parts, zero):
        sums = net.quantised(convolved(net, parts), 0.07, zero)
        return net.node("Add", [net.floats(sums), net.floats(parts)])

    def biased(net, parts):
        shift = net.weights(bias[:, None, None], 0.0004, np.int32(0))
        product = net.node("Conv", [net.floats(parts), net.weights(mixed, each)])
        return net.node("Add", [shift, product])

    def added(name, add, zero=np.uint8(121)):
        network(name, x, lambda net, parts: net.quantised(add(net, parts), STEP, zero))

    added("bias_of_sums", convolved)
    added("bias_of_other_scale", lambda net, parts: convolved(net, parts, 0.0003))
    added("sums_relu", lambda net, parts: net.node("Relu", [convolved(net, parts)]), np.uint8(0))
    added("sums_relu_within", lambda net, parts: net.node("Relu", [convolved(net, parts)]), np.int8(-100))
    added("sums_clip", lambda net, parts: clipped(net, convolved(net, parts), -1.3, 2.21))
    added("sums_clip_above", lambda net, parts: clipped(net, convolved(net, parts), None, 0.99))
    added("sums_clip_outside", lambda net, parts: clipped(net, convolved(net, parts), 50, 60), np.int8(5))
    added("sums_clip_twice", lambda net, parts: clipped(net, clipped(net, convolved(net, parts), 0, 2), 3, 4))
    added("residual", lambda net, parts: residual(net, parts, np.uint8(99)))
    added("residual_relu", lambda net, parts: net.node("Relu", [residual(net, parts, np.uint8(128))]), np.uint8(0))
    added("residual_twice", lambda net, parts: net.node("Add", [residual(net, parts, np.uint8(3)), net.floats(parts)]))
    added("bias_added", biased)

    def joined(net, parts):
        sums = net.node("Relu", [convolved(net, parts)])
        again = net.floats(net.quantised(convolved(net, parts), 0.07, np.uint8(99)))
        return net.node("Concat", [sums, net.floats(parts), again], axis=1)

    added("joined", joined)
    added("joined_as_they_are", lambda net, parts: net.node("Concat", [net.floats(net.quantised(convolved(net, parts), STEP, np.uint8(121)))] * 2,
                                                            axis=-1))
