"""Operators of com.microsoft that ONNX Runtime's tools fuse, and those that the default domain has, too."""

import numpy as np

from recording import CASES, Case, contrib, integers, numbers, scalar


def fused_products():
    a, b = numbers("a", 3, 4), numbers("b", 4, 5)
    contrib("transpose_matmul", "TransposeMatMul", [numbers("a", 2, 4, 3), numbers("b", 2, 4, 5)], transA=1, alpha=0.5)
    contrib("fused_matmul_batches", "FusedMatMul", [numbers("a", 4, 2, 3), numbers("b", 5, 2, 4)], transA=1, transB=1,
            transBatchA=1, transBatchB=1)
    contrib("fused_matmul_double", "FusedMatMul", [a.astype(np.float64), b.astype(np.float64)], alpha=0.3)
    contrib("fused_matmul_row", "FusedMatMul", [numbers("row", 4), numbers("bt", 2, 5, 4)], transA=1, transB=1)
    for name, parameters in (("Relu", {}), ("Sigmoid", {}), ("Tanh", {}), ("LeakyRelu", {"activation_alpha": 0.2}),
                             ("Elu", {"activation_alpha": 0.7}), ("Softplus", {}), ("Softsign", {}),
                             ("HardSigmoid", {"activation_alpha": 0.3, "activation_beta": 0.4}),
                             ("Selu", {"activation_alpha": 1.6, "activation_gamma": 1.1}),
                             ("ThresholdedRelu", {"activation_alpha": 0.3}), ("Celu", {"activation_alpha": 0.4}),
                             ("ScaledTanh", {"activation_alpha": 0.3, "activation_beta": 0.5}),
                             ("ParametricSoftplus", {"activation_alpha": 0.3, "activation_beta": 0.5})):
        contrib(f"fused_gemm_{name}", "FusedGemm", [a, b, numbers("c", 5)], activation=name, **parameters)
    contrib("fused_gemm_turned", "FusedGemm", [a.T.copy(), b.T.copy(), numbers("c", 3, 1)], transA=1, transB=1, alpha=0.5,
            beta=2.0, activation="Relu")
    contrib("matmul_integer16", "MatMulInteger16", [integers("a", 3, 4, low=-300, high=300, dtype=np.int16),
            integers("b", 4, 5, low=-300, high=300, dtype=np.int16)])
    product = a @ b
    contrib("matmul_activation", "FusedMatMulActivation", [a, b.T.copy()], transB=1, alpha=0.5, activation="Tanh",
            expected=[np.tanh(0.5 * product)])
    powers = np.exp(product)
    contrib("matmul_softmax", "FusedMatMulActivation", [a, b], activation="Softmax", activation_axis=0,
            expected=[powers / powers.sum(0)])
    bias = numbers("bias", 5)
    contrib("gemm_fast_gelu", "GemmFastGelu", [a, b, bias],
            expected=Case("", "FastGelu", [product, bias], domain="com.microsoft").run())


def fused_convolutions():
    x, w, bias = numbers("x", 1, 4, 5, 6), numbers("w", 6, 2, 3, 3), numbers("bias", 6)
    form = {"group": 2, "pads": [1, 0, 1, 1], "strides": [2, 1]}
    contrib("fused_conv_plain", "FusedConv", [x, w], **form)
    contrib("fused_conv_HardSwish", "FusedConv", [x, w, bias], activation="HardSwish", **form)
    contrib("fused_conv_1d", "FusedConv", [x[0], numbers("w", 2, 5, 3)[:, :5], numbers("bias", 2)], activation="Relu")
    plain = Case("", "Conv", [x, w, bias], **form).run()[0]
    last = x.transpose(0, 2, 3, 1).copy()
    contrib("nhwc_conv", "NhwcConv", [last, w, bias], expected=[plain.transpose(0, 2, 3, 1)], **form)
    more = numbers("more", *plain.transpose(0, 2, 3, 1).shape)
    contrib("nhwc_fused_conv", "NhwcFusedConv", [last, w, bias, more], activation="Relu",
            expected=[np.maximum(plain.transpose(0, 2, 3, 1) + more, 0)], **form)
    x, w = numbers("x", 1, 4, 5, 6), numbers("w", 4, 3, 3, 2)
    contrib("conv_transpose_pads", "ConvTransposeWithDynamicPads", [x, w, np.array([1, 0, 1, 1], np.int64),
            numbers("b", 3)], strides=[2, 2], output_padding=[1, 0], constants=[2])


def fused_norms():
    x, scale = numbers("x", 2, 3, 8), numbers("scale", 3, 8)
    CASES["contrib"].append(Case("rms_norm_axes", "SimplifiedLayerNormalization", [x, scale], 1, axis=1, epsilon=1e-3))
    CASES["contrib"].append(Case("rms_norm_half", "SimplifiedLayerNormalization",
                                 [x.astype(np.float16), scale[0].astype(np.float16)], 1, atol=1e-2))
    contrib("skip_layer_norm_shared", "SkipLayerNormalization", [x, numbers("skip", 3, 8), scale[0], scale[1]], epsilon=1e-3)
    image = numbers("image", 2, 3, 4, 6)
    gamma, beta = numbers("gamma", 6), numbers("beta", 6)

    def grouped(x, silu):
        first = x.transpose(0, 3, 1, 2).copy()
        y = Case("", "GroupNormalization", [first, gamma, beta], num_groups=2, epsilon=1e-4).run()[0]
        return (y / (1 + np.exp(-y)) if silu else y).transpose(0, 2, 3, 1)

    for silu in (0, 1):
        contrib(f"group_norm_{silu}", "GroupNorm", [image, gamma, beta], activation=silu, groups=2, epsilon=1e-4,
                expected=[grouped(image, silu)])
    contrib("group_norm_first", "GroupNorm", [image.transpose(0, 3, 1, 2).copy(), gamma, beta], activation=0, groups=2,
            channels_last=0, epsilon=1e-4, expected=[grouped(image, 0).transpose(0, 3, 1, 2)])
    skip, bias = numbers("skip", 2, 6), numbers("bias", 6)
    whole = image + skip[:, None, None] + bias
    contrib("skip_group_norm", "SkipGroupNorm", [image, gamma, beta, skip, bias], 2, activation=1, groups=2, epsilon=1e-4,
            expected=[grouped(whole, 1), whole])
    other = numbers("other", 2, 3, 4, 6)
    contrib("skip_group_norm_whole", "SkipGroupNorm", [image, gamma, beta, other], activation=0, groups=2, epsilon=1e-4,
            expected=[grouped(image + other, 0)])
    contrib("bias_add", "BiasAdd", [x, scale[0], x * 2], expected=[3 * x + scale[0]])
    gate = Case("", "Gelu", [(x + scale[0])[..., 4:].copy()], domain="com.microsoft").run()[0]
    contrib("bias_split_gelu", "BiasSplitGelu", [x, scale[0]], expected=[(x + scale[0])[..., :4] * gate])
    powers = np.exp(x + scale)
    contrib("bias_softmax", "BiasSoftmax", [x, scale[None]], axis=2, is_inner_broadcast=0,
            expected=[powers / powers.sum(2, keepdims=True)])
    powers = np.exp(x + x[:, :1])
    contrib("bias_softmax_inner", "BiasSoftmax", [x, x[:, :1].copy()], axis=2, is_inner_broadcast=1,
            expected=[powers / powers.sum(2, keepdims=True)])
    contrib("bias_dropout", "BiasDropout", [x, scale[0], x, scalar(0.5)], expected=[2 * x + scale[0]])


def own_forms():
    square = numbers("square", 2, 4, 4)
    contrib("trilu", "Trilu", [square, scalar(-1, np.int64)], upper=0, constants=[1])
    contrib("gather_nd", "GatherND", [square, np.array([[0, 1], [1, 3]], np.int64)])
    contrib("grid_sample", "GridSample", [numbers("x", 1, 2, 5, 6), numbers("grid", 1, 3, 4, 2, low=-1.4, high=1.4)],
            mode="bilinear", padding_mode="border", align_corners=1)
    contrib("grid_sample_bicubic", "GridSample",
            [numbers("x", 1, 2, 5, 6), numbers("grid", 1, 3, 4, 2, low=-1.2, high=1.2)], mode="bicubic", atol=1e-4)
    contrib("pad", "Pad", [square, np.array([0, 1, 2, 1, 0, 0], np.int64), scalar(7)], constants=[1])
    contrib("pad_reflect", "Pad", [square, np.array([0, 1, 2, 1, 0, 0], np.int64)], mode="reflect", constants=[1])
    contrib("range", "Range", [scalar(2), scalar(9), scalar(1.5)])
    contrib("range_plain", "Range", [np.array([2], np.int64), np.array([6], np.int64)])
    contrib("unique", "Unique", [np.array([2, 1, 1, 3, 4, 3], np.float32)], 3)
    contrib("expand_dims", "ExpandDims", [square, scalar(-2, np.int32)], constants=[1])
    boxes = np.array([[0.1, 0.2, 0.9, 0.8], [0, 0, 1, 1], [0.5, 0.5, 1.2, 1.3]], np.float32)
    for mode in ("bilinear", "nearest"):
        contrib(f"crop_and_resize_{mode}", "CropAndResize",
                [numbers("x", 2, 3, 6, 7), boxes, np.array([0, 1, 1], np.int32), np.array([3, 4], np.int32)], mode=mode,
                extrapolation_value=0.5, constants=[3])
    for metric in ("euclidean", "sqeuclidean"):
        contrib(f"cdist_{metric}", "CDist", [numbers("a", 3, 4), numbers("b", 5, 4)], metric=metric)
    contrib("inverse", "Inverse", [square], atol=1e-4)
    # Pivots have to be looked for.
    contrib("inverse_swapped", "Inverse", [np.array([[0, 2, 0], [1, 0, 3], [0, 0, 4]], np.float64)])
    tokens = np.array([[1, 2, 3, 1, 2], [4, 4, 4, 4, 4], [1, 2, 3, 4, 5]], np.int64)
    for size in (1, 2, 3, 6):
        contrib(f"ngram_repeat_{size}", "NGramRepeatBlock", [tokens, numbers("scores", 3, 7)], ngram_size=size)


def attention_forms():
    x, w, bias = numbers("x", 2, 4, 12), numbers("w", 12, 36), numbers("bias", 36)
    square = integers("square", 2, 1, 8, 8, high=1, dtype=np.int32)
    # ONNX Runtime has masks of 4 axes on other processors: here their part is a mask of 3.
    for name, past in (("", None), ("_past", numbers("past", 2, 2, 3, 2, 4))):
        before = 0 if past is None else 2
        part = square[:, 0, before:before + 4, :before + 4].copy()
        expected = Case("", "Attention", [x, w, bias, part, past], 1 if past is None else 2, domain="com.microsoft",
                        num_heads=3).run()
        contrib(f"attention_square_mask{name}", "Attention", [x, w, bias, square, past], len(expected), num_heads=3,
                expected=expected)
    contrib("attention_no_bias", "Attention", [x, w], num_heads=3, mask_filter_value=-20.0)
    q, k, v = numbers("q", 2, 4, 12), numbers("k", 2, 3, 5, 4), numbers("v", 2, 3, 5, 4)
    contrib("mha_heads_bias", "MultiHeadAttention", [q, k, v, bias], num_heads=3)
    padding = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 0]], np.int32)
    contrib("mha_scores", "MultiHeadAttention",
            [q, numbers("k", 2, 5, 12), numbers("v", 2, 5, 12), None, padding, numbers("more", 1, 3, 4, 5)], [1, 0, 0, 1],
            num_heads=3, mask_filter_value=-20.0, result_type=np.float32)
    contrib("rotary_scale", "RotaryEmbedding", [x, np.array([1], np.int64), numbers("cos", 8, 2), numbers("sin", 8, 2)],
            scale=2.0)

    def gqa(name, inputs, outputs=3, **rest):
        contrib(f"gqa_{name}", "GroupQueryAttention", inputs, outputs, num_heads=4, kv_num_heads=2, **rest)

    q, k, v = numbers("q", 1, 5, 64), numbers("k", 1, 5, 32), numbers("v", 1, 5, 32)
    rest = [None, None, np.array([4], np.int32), scalar(5, np.int32)]
    prompt, none = [q, k, v, *rest], [None] * 4
    gqa("sink", [*prompt, *none, numbers("sink", 4)])
    more = numbers("bias", 1, 4, 5, 5)
    gqa("sink_bias_window", [*prompt, None, None, None, more, numbers("sink", 4)], local_window_size=2, softcap=3.0)
    gqa("smooth", prompt, smooth_softmax=1)
    for mode in (1, 2):
        gqa(f"scores_{mode}", [*prompt, None, None, None, more], 4, qk_output=mode, softcap=3.0)
    past = [numbers("pk", 1, 2, 3, 16), numbers("pv", 1, 2, 3, 16)]
    token = [a[:, :1].copy() for a in (q, k, v)] + [*past, np.array([3], np.int32), scalar(4, np.int32)]
    gqa("sink_past", [*token, *none, numbers("sink", 4)])
    # ONNX Runtime has the norms on other processors: here they are done before.
    weights = numbers("qn", 16, low=0.5), numbers("kn", 16, low=0.5)

    def normalised(x, weight, epsilon):
        heads = x.reshape(*x.shape[:2], -1, 16)
        return Case("", "SimplifiedLayerNormalization", [heads, weight], epsilon=epsilon).run()[0].reshape(x.shape)

    expected = Case("", "GroupQueryAttention", [normalised(q, weights[0], 1e-2), normalised(k, weights[1], 1e-3), v, *rest],
                    3, domain="com.microsoft", num_heads=4, kv_num_heads=2).run()
    gqa("norms", [*prompt, *none, None, None, None, *weights], qk_norm_epsilon=1e-3, q_norm_epsilon=1e-2, expected=expected)
