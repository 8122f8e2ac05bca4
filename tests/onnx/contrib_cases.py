"""Operators of com.microsoft: activations, norms, products, attention."""

import numpy as np

from recording import CASES, Case, contrib, integers, numbers, scalar


def simple_contrib():
    x, bias = numbers("x", 2, 3, 8, low=-3, high=3), numbers("bias", 8)
    contrib("gelu", "Gelu", [x])
    contrib("bias_gelu", "BiasGelu", [x, bias])
    contrib("fast_gelu", "FastGelu", [x])
    contrib("fast_gelu_bias", "FastGelu", [x, bias])
    contrib("quick_gelu", "QuickGelu", [x])
    contrib("quick_gelu_alpha", "QuickGelu", [x], alpha=0.7)
    skip, gamma, beta = numbers("skip", 2, 3, 8), numbers("gamma", 8), numbers("beta", 8)
    contrib("skip_layer_norm", "SkipLayerNormalization", [x, skip, gamma, beta, bias], [1, 0, 0, 1], epsilon=1e-6)
    contrib("skip_layer_norm_plain", "SkipLayerNormalization", [x, skip, gamma])
    contrib("skip_rms_norm", "SkipSimplifiedLayerNormalization", [x, skip, gamma, bias], [1, 0, 0, 1], epsilon=1e-6)
    CASES["contrib"].append(Case("rms_norm", "SimplifiedLayerNormalization", [x, gamma], 1, epsilon=1e-6, axis=-1))
    words, segments = integers("words", 2, 4, high=9, dtype=np.int32), integers("segments", 2, 4, high=1, dtype=np.int32)
    tables = [numbers("words", 10, 8), numbers("places", 6, 8), numbers("segments", 2, 8), gamma, beta]
    mask = np.array([[1, 1, 1, 0], [1, 1, 0, 0]], np.int32)
    contrib("embed", "EmbedLayerNormalization", [words, segments, *tables, mask], 2)
    contrib("embed_no_segments", "EmbedLayerNormalization", [words, None, tables[0], tables[1], None, gamma, beta], 2)
    places = integers("place_ids", 2, 4, high=5, dtype=np.int32)
    contrib("embed_places", "EmbedLayerNormalization", [words, segments, *tables, mask, places], [1, 1, 1])
    a, b = numbers("a", 2, 3, 4), numbers("b", 2, 4, 5)
    contrib("fused_matmul", "FusedMatMul", [a, b], alpha=0.5)
    contrib("fused_matmul_b", "FusedMatMul", [a, b.swapaxes(1, 2).copy()], transB=1)
    contrib("fused_matmul_a", "FusedMatMul", [a.swapaxes(1, 2).copy(), b], transA=1, alpha=2.0)
    contrib("fused_matmul_weights", "FusedMatMul", [a, numbers("w", 5, 4)], transB=1, constants=[1])
    contrib("fused_matmul_batch", "FusedMatMul", [numbers("ab", 3, 2, 4), b], transBatchA=1)
    data, weight = numbers("image", 1, 4, 6, 6), numbers("kernel", 6, 2, 3, 3)
    for name, params in (("Relu", None), ("LeakyRelu", [0.2]), ("Clip", [-0.25, 0.5]), ("HardSigmoid", [0.3, 0.4]),
                         ("Tanh", None), ("Sigmoid", None)):
        more = {"activation_params": params} if params else {}
        contrib(f"fused_conv_{name}", "FusedConv", [data, weight, numbers("bias", 6)], group=2, pads=[1, 1, 1, 1],
                activation=name, **more)
    contrib("fused_conv_sum", "FusedConv", [data, weight, numbers("bias", 6), numbers("sum", 1, 6, 6, 6)], group=2,
            pads=[1, 1, 1, 1], activation="Relu")


def contrib_attention():
    x, w, bias = numbers("x", 2, 4, 12), numbers("w", 12, 36), numbers("bias", 36)
    contrib("attention", "Attention", [x, w, bias], num_heads=3)
    raw = np.array([[1, 1, 1, 0], [1, 1, 0, 0]], np.int32)
    contrib("attention_mask", "Attention", [x, w, bias, raw], num_heads=3)
    contrib("attention_lengths", "Attention", [x, w, bias, np.array([3, 2], np.int32)], num_heads=3)
    contrib("attention_ends_begins", "Attention", [x, w, bias, np.array([3, 4, 0, 1], np.int32)], num_heads=3)
    pairs = integers("pairs", 2, 4, 4, high=1, dtype=np.int32)
    pairs[:, :, 0] = 1
    contrib("attention_pairs", "Attention", [x, w, bias, pairs], num_heads=3)
    contrib("attention_causal", "Attention", [x, w, bias], num_heads=3, unidirectional=1)
    contrib("attention_sizes", "Attention", [x, numbers("w", 12, 30), numbers("bias", 30)], num_heads=3,
            qkv_hidden_sizes=[12, 12, 6], scale=0.3)
    past = numbers("past", 2, 2, 3, 2, 4)
    contrib("attention_past", "Attention", [x, w, bias, None, past], 2, num_heads=3, unidirectional=1)
    contrib("attention_bias", "Attention", [x, w, bias, None, None, numbers("more", 1, 3, 4, 4)], num_heads=3)
    q, k, v = numbers("q", 2, 4, 12), numbers("k", 2, 5, 12), numbers("v", 2, 5, 12)
    contrib("mha", "MultiHeadAttention", [q, k, v], num_heads=3)
    contrib("mha_bias", "MultiHeadAttention", [q, k, v, bias], num_heads=3, scale=0.4)
    padding = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 0]], np.int32)
    contrib("mha_padding", "MultiHeadAttention", [q, k, v, None, padding], num_heads=3)
    contrib("mha_scores_bias", "MultiHeadAttention", [q, k, v, None, None, numbers("more", 2, 3, 4, 5)], num_heads=3)
    pk, pv = numbers("pk", 2, 3, 2, 4), numbers("pv", 2, 3, 2, 4)
    contrib("mha_past", "MultiHeadAttention", [q, k, v, None, None, None, pk, pv], 3, num_heads=3)
    contrib("mha_heads", "MultiHeadAttention", [q, numbers("k4", 2, 3, 5, 4), numbers("v4", 2, 3, 5, 4)], num_heads=3)
    contrib("mha_causal", "MultiHeadAttention", [q, q, q], num_heads=3, unidirectional=1)
    cos, sin = numbers("cos", 8, 2), numbers("sin", 8, 2)
    place = np.array([[0, 1, 2, 3], [3, 4, 5, 6]], np.int64)
    for interleaved in (0, 1):
        contrib(f"rotary_{interleaved}", "RotaryEmbedding", [x, place, cos, sin], interleaved=interleaved)
    contrib("rotary_offset", "RotaryEmbedding", [numbers("x4", 2, 3, 4, 4), np.array([2], np.int64), cos, sin])
    contrib("rotary_part", "RotaryEmbedding", [numbers("x6", 2, 4, 18), place, cos, sin], num_heads=3,
            rotary_embedding_dim=4)
    group_query_attention()
    contrib("qattention", "QAttention",
            [integers("qx", 2, 4, 12), integers("qw", 12, 36, low=-60, high=60, dtype=np.int8), bias, scalar(0.02),
             scalar(0.01), np.array([4, 3], np.int32), scalar(120, np.uint8), scalar(0, np.int8)], num_heads=3)


def group_query_attention():
    """Four heads of queries and two of keys, of 16 elements."""
    def gqa(name, inputs, outputs=3, **rest):
        contrib(f"gqa_{name}", "GroupQueryAttention", inputs, outputs, num_heads=4, kv_num_heads=2, **rest)

    def lengths(*of):
        return np.array(of, np.int32)

    q, k, v = numbers("q", 1, 5, 64), numbers("k", 1, 5, 32), numbers("v", 1, 5, 32)
    prompt = [q, k, v, None, None, lengths(4), scalar(5, np.int32)]
    cos, sin = numbers("cos", 12, 8), numbers("sin", 12, 8)
    gqa("prompt", prompt)
    gqa("packed", [np.concatenate([q, k, v], 2), None, None, *prompt[3:]])
    gqa("scale_softcap", prompt, scale=0.3, softcap=2.0)
    gqa("window", prompt, local_window_size=2)
    gqa("bidirectional", prompt, causal=0)
    gqa("bias", [*prompt, None, None, None, numbers("bias", 1, 4, 5, 5)])
    for interleaved in (0, 1):
        gqa(f"rotary_{interleaved}", [*prompt, cos, sin], do_rotary=1, rotary_interleaved=interleaved)
    past = [numbers("pk", 1, 2, 3, 16), numbers("pv", 1, 2, 3, 16)]
    token = [a[:, :1].copy() for a in (q, k, v)] + [*past, lengths(3), scalar(4, np.int32)]
    gqa("past", token)
    gqa("past_rotary", [*token, cos, sin], do_rotary=1)
    gqa("past_window", [*token, cos, sin], do_rotary=1, local_window_size=2)
    gqa("past_places", [*token, cos, sin, np.array([[7]], np.int64)], do_rotary=1)
    two = [numbers(n, 2, 1, size) for n, size in (("q", 64), ("k", 32), ("v", 32))]
    two += [numbers("pk", 2, 2, 3, 16), numbers("pv", 2, 2, 3, 16)]
    gqa("rows", [*two, lengths(3, 3), scalar(4, np.int32), cos, sin], do_rotary=1)
    gqa("uneven_rows", [*two, lengths(3, 1), scalar(4, np.int32), cos, sin], do_rotary=1)
