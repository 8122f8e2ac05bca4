"""Quantised operators."""

import ml_dtypes
import numpy as np

from recording import contrib, form, integers, numbers, scalar

# Integers that are half a unit apart may be rounded the other way.
CLOSE = {"atol": 1, "rtol": 0}


def contrib_quantised():
    close = CLOSE
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
    quantised_forms()
    contrib("quantise_int16", "QuantizeLinear", [numbers("x", 2, 3), scalar(0.001), scalar(0, np.int8)], **close)


def quantised_forms():
    """The forms that the quantiser and the optimiser of ONNX Runtime make."""
    close = CLOSE
    zero, signed_zero = scalar(128, np.uint8), scalar(-3, np.int8)
    a = integers("a", 2, 3, 4)
    one = [a, scalar(0.03), scalar(120, np.uint8)]
    for opset, axis in ((13, -1), (13, 1), (11, 1)):
        contrib(f"qlinear_softmax_{opset}_{axis}", "QLinearSoftmax", [*one, scalar(1 / 256), scalar(0, np.uint8)],
                axis=axis, more={"opset": opset}, **close)
    # 1 / 255 is rounded up: 254 of it are the most that fit.
    for steps in (255, 238.1):
        contrib(f"qlinear_softmax_{steps:.0f}_steps", "QLinearSoftmax",
                [integers("wide", 4, 20), scalar(0.02), scalar(120, np.uint8), scalar(1 / steps), scalar(0, np.uint8)],
                more={"opset": 13}, atol=0)
    signed = integers("signed", 2, 3, 4, low=-128, high=127, dtype=np.int8)
    contrib("qlinear_softmax_signed", "QLinearSoftmax",
            [signed, scalar(0.03), None, scalar(1 / 256), scalar(-128, np.int8)], more={"opset": 13}, **close)
    column = signed[0, :, :1].copy()
    contrib("qlinear_add_signed", "QLinearAdd",
            [signed, scalar(0.03), scalar(7, np.int8), column, scalar(0.02), signed_zero, scalar(0.04), signed_zero], **close)
    contrib("qlinear_where", "QLinearWhere",
            [integers("c", 3, 1, high=1).astype(bool), *one, integers("b", 4), scalar(0.05), scalar(100, np.uint8),
             scalar(0.07), zero], **close)
    x = integers("image", 1, 5, 6, 4)
    w = integers("w", 6, 2, 3, 3, low=-30, high=30, dtype=np.int8)
    parameters = [w, numbers("s", 6, low=0.01, high=0.02), np.zeros(6, np.int8), scalar(0.05), zero]
    contrib("qlinear_conv_last", "QLinearConv", [x, scalar(0.02), scalar(120, np.uint8), *parameters,
            integers("b", 6, low=-500, high=500, dtype=np.int32)], channels_last=1, group=2, pads=[1, 0, 1, 1],
            strides=[2, 1], constants=[3, 4, 5], **close)
    contrib("qlinear_conv_first", "QLinearConv", [x.transpose(0, 3, 1, 2).copy(), scalar(0.02), scalar(120, np.uint8),
            *parameters], group=2, constants=[3, 4, 5], **close)
    contrib("nhwc_max_pool", "NhwcMaxPool", [x], kernel_shape=[2, 3], pads=[0, 1, 1, 1], strides=[2, 1], **close)
    contrib("nhwc_max_pool_signed", "NhwcMaxPool", [signed], kernel_shape=[2], ceil_mode=1, strides=[2], **close)
    quantised_products(close)
    embedding = [integers("words", 2, 4, high=9, dtype=np.int32), integers("segments", 2, 4, high=1, dtype=np.int32)]
    embedding += [integers(n, *shape) for n, shape in (("wt", (10, 8)), ("pt", (6, 8)), ("st", (2, 8)), ("g", (8,)),
                                                       ("be", (8,)))]
    scales = [scalar(0.01 + 0.003 * k) for k in range(5)]
    zeros = [scalar(120 + k, np.uint8) for k in range(5)]
    mask = np.array([[1, 1, 1, 0], [1, 1, 0, 0]], np.int32)
    contrib("qembed", "QEmbedLayerNormalization", [*embedding, mask, *scales, *zeros], 2, atol=1e-4)
    contrib("qembed_no_segments", "QEmbedLayerNormalization",
            [embedding[0], None, *embedding[2:4], None, *embedding[5:], None, *scales[:2], None, *scales[3:], *zeros[:2],
             None, *zeros[3:]], 2, atol=1e-4)


def quantised_products(close):
    b = integers("b", 4, 5, low=-60, high=60, dtype=np.int8)
    head = [integers("a", 3, 4), scalar(0.02), scalar(100, np.uint8)]
    columns = [numbers("s", 5, low=0.01, high=0.02), integers("z", 5, low=-5, high=5, dtype=np.int8)]
    c = integers("c", 5, low=-900, high=900, dtype=np.int32)
    one = [b, scalar(0.03), scalar(4, np.int8)]
    contrib("qgemm", "QGemm", [*head, *one, c, scalar(0.05), scalar(128, np.uint8)], **close)
    contrib("qgemm_numbers", "QGemm", [*head, b, *columns, c], alpha=0.5)
    contrib("qgemm_turned", "QGemm", [head[0].T.copy(), *head[1:], b.T.copy(), *columns, None, scalar(0.05),
            scalar(128, np.uint8)], transA=1, transB=1, **close)
    batches = [integers("b", 2, 4, 5, low=-60, high=60, dtype=np.int8), numbers("s", 2, 1, 5, low=0.01, high=0.02)]
    rows = integers("z", 2, 1, 5, low=-5, high=5, dtype=np.int8)
    a = integers("a", 2, 3, 4)
    contrib("matmul_to_float_batches", "MatMulIntegerToFloat",
            [a, batches[0], scalar(0.02), batches[1], scalar(100, np.uint8), rows, numbers("bias", 5)])
    contrib("matmul_to_float_plain", "MatMulIntegerToFloat", [a, b, np.array([0.02], np.float32), scalar(0.01)])
    contrib("dynamic_matmul_batch_rows", "DynamicQuantizeMatMul", [numbers("a", 2, 3, 4), *batches])
    x, k = numbers("x", 2, 3, 40), 40
    for bits in (2, 4, 8):
        blocks = (k + 15) // 16
        weights = integers("w", 6, blocks, 2 * bits)
        scale = numbers("s", 6, blocks, low=0.01, high=0.1)
        packed = integers("z", 6, (blocks * bits + 7) // 8)
        attributes = {"bits": bits, "N": 6, "K": k, "block_size": 16, "atol": 1e-4}
        contrib(f"matmul_{bits}_bits", "MatMulNBits", [x, weights, scale], constants=[1, 2], **attributes)
        contrib(f"matmul_{bits}_bits_zeros", "MatMulNBits", [x, weights, scale, packed, None, numbers("b", 6)],
                constants=[1, 2, 3], **attributes)
        table = {"bits": bits, "block_size": 16, "quantize_axis": 1, "gather_axis": 0, "atol": 1e-4}
        places = np.array([[0, 5], [-6, 2]], np.int64)
        contrib(f"gather_{bits}_bits", "GatherBlockQuantized", [weights.reshape(6, -1), places, scale], **table)
        contrib(f"gather_{bits}_bits_zeros", "GatherBlockQuantized",
                [weights.reshape(6, -1), places[0].astype(np.int32), scale, packed], constants=[0, 2, 3], **table)
    four = {"bits": 4, "N": 6, "K": k, "block_size": 16}
    weights, scale = integers("w", 6, 3, 8), numbers("s", 6, 3, low=0.01, high=0.1)
    contrib("matmul_4_bits_float_zeros", "MatMulNBits", [x, weights, scale, numbers("z", 6, 3, low=0, high=15)],
            atol=1e-4, **four)
    contrib("matmul_4_bits_flat", "MatMulNBits", [x, weights, scale.reshape(-1), integers("z", 12)], atol=1e-4, **four)
    contrib("matmul_4_bits_groups", "MatMulNBits",
            [x, weights, scale, numbers("z", 6, 3, low=0, high=15), integers("g", k, high=2, dtype=np.int32)], atol=1e-4,
            **four)
    contrib("matmul_4_bits_groups_plain", "MatMulNBits",
            [x, weights, scale, None, integers("g", 48, high=2, dtype=np.int32)], atol=1e-4, **four)
    half = [x.astype(np.float16), weights, scale.astype(np.float16)]
    contrib("matmul_4_bits_half", "MatMulNBits", half, atol=1e-2, **four)


def dynamic_products():
    """Products of data that is quantised on the way, by its own range."""
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


NARROW = {"uint4": (ml_dtypes.uint4, 0, 15), "int4": (ml_dtypes.int4, -8, 7)}
FLOATS = {name: getattr(ml_dtypes, name) for name in ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")}


def linear_forms():
    """QuantizeLinear and DequantizeLinear: shapes of scale and zero point, axes, blocks, types of few bits."""
    x = numbers("x", 4, 6, 5, low=-9, high=9)
    wide = integers("x", 4, 6, 5)
    for first in ((), (1,)):
        for second in ((), (1,)):
            ends = [np.full(first, 0.07, np.float32), np.full(second, 120, np.uint8)]
            kind = f"{len(first)}_{len(second)}"
            for add, domain in ((form, ""), (contrib, "microsoft_")):
                add(f"{domain}quantize_shapes_{kind}", "QuantizeLinear", [x, *ends], **CLOSE)
                add(f"{domain}dequantize_shapes_{kind}", "DequantizeLinear", [wide, *ends])
    rows = [numbers("s", 6, low=0.01, high=0.1), integers("z", 6)]
    for axis in (1, -2):
        for add, domain in ((form, ""), (contrib, "microsoft_")):
            add(f"{domain}quantize_axis_{axis}", "QuantizeLinear", [x, *rows], axis=axis, **CLOSE)
            add(f"{domain}dequantize_axis_{axis}", "DequantizeLinear", [wide, *rows], axis=axis)
    form("dequantize_int32", "DequantizeLinear", [integers("x", 4, 6, low=-9999, high=9999, dtype=np.int32), rows[0]], axis=1)
    form("dequantize_half", "DequantizeLinear", [wide, rows[0].astype(np.float16), rows[1]], axis=1, atol=1e-2)
    for kind, low, high in ((np.int16, -32768, 32767), (np.uint16, 0, 65535)):
        ends = [numbers("s", 6, low=0.001, high=0.01), integers(f"z {kind.__name__}", 6, low=low, high=high, dtype=kind)]
        form(f"quantize_{kind.__name__}", "QuantizeLinear", [x, *ends], then=("Cast", {"to": 1}), **CLOSE)
        form(f"dequantize_{kind.__name__}", "DequantizeLinear",
             [integers(f"x {kind.__name__}", 4, 6, 5, low=low, high=high, dtype=kind), *ends])
    blocks = numbers("s", 4, 2, 5, low=0.2, high=0.9)
    form("quantize_blocks", "QuantizeLinear", [x, blocks, integers("z", 4, 2, 5)], axis=1, block_size=3, **CLOSE)
    form("dequantize_blocks", "DequantizeLinear", [wide, blocks, integers("z", 4, 2, 5)], axis=-2, block_size=4)
    for name, (kind, low, high) in NARROW.items():
        zeros = integers(f"z {name}", 6, low=low, high=high, dtype=np.int32).astype(kind)
        ends = [numbers("s", 6, low=0.4, high=0.9), zeros]
        form(f"quantize_{name}", "QuantizeLinear", [x, *ends], constants=[2], then=("Cast", {"to": 1}), **CLOSE)
        form(f"quantize_{name}_stated", "QuantizeLinear", [x, scalar(0.5)], then=("Cast", {"to": 1}),
             output_dtype={"uint4": 21, "int4": 22}[name], **CLOSE)
        part = integers(f"z {name}", 4, 2, 5, low=low, high=high, dtype=np.int32).astype(kind)
        form(f"quantize_{name}_blocks", "QuantizeLinear", [x, blocks, part], constants=[2], axis=1, block_size=3,
             then=("Cast", {"to": 1}), **CLOSE)
        # An odd number of elements.
        data = integers(f"x {name}", 3, 6, 5, low=low, high=high, dtype=np.int32).astype(kind)
        form(f"dequantize_{name}", "DequantizeLinear", [data, *ends], constants=[0, 2])
        form(f"dequantize_{name}_plain", "DequantizeLinear", [data[:, :3, :3].copy(), scalar(0.5)], constants=[0])
        table = integers(f"t {name}", 5, 32, low=low, high=high, dtype=np.int32).astype(kind)
        ends = [numbers("s", 5, 2), integers(f"t {name}", 5, 2, low=low, high=high, dtype=np.int32).astype(kind)]
        places = np.array([[0, 4], [-5, 2]], np.int64)
        contrib(f"gather_{name}", "GatherBlockQuantized", [table, places, ends[0]], constants=[0, 3], block_size=16)
        contrib(f"gather_{name}_zeros", "GatherBlockQuantized", [table, places, *ends], constants=[0, 3], block_size=16)
        turned = [a.T.copy() for a in (table, *ends)]
        contrib(f"gather_{name}_rows", "GatherBlockQuantized", [turned[0], places, *turned[1:]], constants=[0, 3],
                block_size=16, quantize_axis=0, gather_axis=1)
    # Halves, the smallest numbers, and what is far beyond the greatest.
    edges = np.array([0, 1, 1.0625, 1.1875, -1.0625, 17, 100, 2.0 ** -9, 2.0 ** -10, 3 * 2.0 ** -10, 2.0 ** -17, -2.0 ** -20,
                      1e6, -1e6, 440, -200], np.float32)
    for name, kind in FLOATS.items():
        zero = np.zeros((), kind)
        for saturate in (0, 1):
            form(f"quantize_{name}_{saturate}", "QuantizeLinear", [edges, scalar(1), zero], constants=[2], saturate=saturate,
                 then=("Cast", {"to": 1}), atol=0)
        form(f"dequantize_{name}", "DequantizeLinear", [edges[:12].astype(kind), scalar(0.3), zero], constants=[0, 2])
        form(f"dequantize_{name}_axis", "DequantizeLinear", [x.astype(kind), rows[0]], constants=[0])


def bitsandbytes():
    """Weights of four bits as bitsandbytes packs them."""
    for kind in (0, 1):
        for rows, columns, block in ((5, 32, 16), (3, 10, 16)):
            packed = integers(f"bnb{kind}", (rows * columns + 1) // 2)
            scale = numbers("absmax", (rows * columns + block - 1) // block, low=0.1, high=2.0)
            contrib(f"matmul_bnb4_{kind}_{block}_{columns}", "MatMulBnb4", [numbers("x", 2, 3, columns), packed, scale],
                    constants=(1, 2), N=rows, K=columns, block_size=block, quant_type=kind)
