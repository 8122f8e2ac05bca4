"""Quantised operators."""

import numpy as np

from recording import contrib, integers, numbers, scalar


def contrib_quantised():
    # Integers that are half a unit apart may be rounded the other way.
    close = {"atol": 1, "rtol": 0}
    a, b = integers("a", 2, 3, 4), integers("b", 2, 3, 4)
    zero = scalar(128, np.uint8)
    sides = [a, scalar(0.03), scalar(120, np.uint8), b, scalar(0.05), scalar(100, np.uint8), scalar(0.07), zero]
    contrib("qlinear_add", "QLinearAdd", sides, **close)
    contrib("qlinear_mul", "QLinearMul", sides, **close)
    one = [a, scalar(0.03), scalar(120, np.uint8)]
    constant = [1, 2, 3, 4]
    contrib("qlinear_sigmoid", "QLinearSigmoid", [*one, scalar(1 / 256), scalar(0, np.uint8)], constants=constant, **close)
    contrib("qlinear_leaky_relu", "QLinearLeakyRelu", [*one, scalar(0.02), zero], constants=constant, alpha=0.2, **close)
    image = [integers("image", 1, 3, 5, 5), scalar(0.03), scalar(120, np.uint8), scalar(0.02), scalar(110, np.uint8)]
    contrib("qlinear_average_pool", "QLinearAveragePool", image, kernel_shape=[3, 3], pads=[1, 1, 1, 1], **close)
    contrib("qlinear_average_pool_last", "QLinearAveragePool", image, kernel_shape=[2, 2], strides=[2, 2],
            channels_last=1, **close)
    contrib("qlinear_global_average_pool", "QLinearGlobalAveragePool", image, **close)
    contrib("qlinear_global_average_pool_last", "QLinearGlobalAveragePool", image, channels_last=1, **close)
    contrib("qlinear_concat", "QLinearConcat", [scalar(0.05), zero, *one, b, scalar(0.06), scalar(90, np.uint8)], axis=1,
            constants=[0, 1], **close)
    w = integers("w", 4, 5, low=-100, high=100, dtype=np.int8)
    contrib("matmul_to_float", "MatMulIntegerToFloat",
            [integers("a", 3, 4), w, scalar(0.02), numbers("s", 5, low=0.01, high=0.02), scalar(120, np.uint8),
             integers("z", 5, low=-3, high=3, dtype=np.int8), numbers("bias", 5)])
    dynamic_products()
    contrib("quantise_int16", "QuantizeLinear", [numbers("x", 2, 3), scalar(0.001), scalar(0, np.int8)], **close)


def dynamic_products():
    """What is quantised on the way, by its own range."""
    a = numbers("a", 2, 3, 4, low=-2, high=3)
    signed, columns = integers("b", 4, 5, low=-127, high=127, dtype=np.int8), numbers("s", 5, low=0.001, high=0.01)
    contrib("dynamic_matmul", "DynamicQuantizeMatMul", [a, signed, scalar(0.01)])
    contrib("dynamic_matmul_columns", "DynamicQuantizeMatMul",
            [a, signed, columns, integers("z", 5, low=-5, high=5, dtype=np.int8), numbers("bias", 5)])
    contrib("dynamic_matmul_unsigned", "DynamicQuantizeMatMul",
            [np.abs(a), integers("b", 4, 5), np.array([0.01], np.float32), np.array([120], np.uint8)])
    contrib("dynamic_matmul_batches", "DynamicQuantizeMatMul",
            [a, integers("b", 2, 4, 5), scalar(0.01), scalar(120, np.uint8), numbers("bias", 5)])
    contrib("dynamic_matmul_zeros", "DynamicQuantizeMatMul", [a * 0, signed, scalar(0.01), None, numbers("bias", 5)])
    dynamic_lstm()


def dynamic_lstm():
    def lstm(name, directions=1, steps=5, batch=1, columns=False, kind=np.int8, optional=(), lengths=None, outputs=3,
             **attrs):
        hidden, width = 4, 3
        low, zero = (-127, 0) if kind == np.int8 else (0, 120)
        sizes = (directions, 4 * hidden) if columns else (directions,)
        zeros = np.full(sizes, zero, kind)
        given = {3: numbers("b", directions, 8 * hidden), 5: numbers("h", directions, batch, hidden),
                 6: numbers("c", directions, batch, hidden), 7: numbers("p", directions, 3 * hidden)}
        weights = [integers(n, directions, extent, 4 * hidden, low=low, high=low + 254, dtype=kind)
                   for n, extent in (("w", width), ("r", hidden))]
        inputs = [numbers("x", steps, batch, width), *weights]
        inputs += [given[k] if k in optional else None for k in range(3, 8)]
        if lengths:
            inputs[4] = np.array(lengths, np.int32)
        for n in "wr":
            inputs += [numbers(f"scale of {n}", *sizes, low=0.002, high=0.006), zeros]
        contrib(f"dynamic_lstm_{name}", "DynamicQuantizeLSTM", inputs, outputs, constants=[1, 2, 9, 11],
                hidden_size=hidden, atol=2e-5, **attrs)

    lstm("plain")
    lstm("bias", optional=[3], batch=3)
    lstm("all", optional=[3, 5, 6, 7], batch=2)
    lstm("columns", optional=[3], columns=True)
    lstm("unsigned", optional=[3, 5], kind=np.uint8)
    lstm("unsigned_columns", optional=[3], kind=np.uint8, columns=True, batch=2)
    lstm("reverse", optional=[3], direction="reverse")
    lstm("both_ways", 2, optional=[3, 5, 6], columns=True, batch=2, direction="bidirectional")
    lstm("lengths", optional=[3, 5], batch=3, lengths=[4, 2, 3])
    lstm("lengths_both_ways", 2, optional=[3], batch=2, lengths=[2, 5], direction="bidirectional")
    lstm("clip", optional=[3], clip=0.3)
    lstm("coupled", optional=[3], input_forget=1)
    lstm("activations", optional=[3], activations=["HardSigmoid", "Softsign", "Relu"], activation_alpha=[0.3],
         activation_beta=[0.4])
    lstm("last", optional=[3], batch=2, outputs=[0, 1, 1])
