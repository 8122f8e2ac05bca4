#!/usr/bin/env python3
"""Records what ONNX Runtime makes of seeded models: tests/onnx/record_cases.py FOLDER

Writes FOLDER/contrib.jsonl (operators of com.microsoft) and FOLDER/forms.jsonl (forms of ONNX's own operators that
the onnx package has no test for), each with a folder of models and data beside it, in the form of write_cases.py.
Needs numpy, onnx and onnxruntime; the tests that read the recorded files need none of them.
"""

import argparse
import json
import pathlib
import shutil
import zlib

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

OPSETS = {"": 21, "com.microsoft": 1}
CASES = {"contrib": [], "forms": []}
TYPES = {np.dtype(t): helper.np_dtype_to_tensor_dtype(np.dtype(t)) for t in
         ("float32", "float64", "float16", "int64", "int32", "int8", "uint8", "bool")}


class Case:
    """One node: inputs are arrays; those in `constants` are initializers."""

    def __init__(self, name, op, inputs, outputs=1, domain="", opset=None, constants=(), atol=1e-5, rtol=1e-4, **attrs):
        self.name, self.op, self.inputs, self.outputs = name, op, inputs, outputs
        self.domain, self.constants, self.attrs = domain, set(constants), attrs
        self.opset, self.atol, self.rtol = opset, atol, rtol

    def model(self):
        names, given, stored = [], [], []
        for i, array in enumerate(self.inputs):
            names.append("" if array is None else f"x{i}")
            if array is None:
                continue
            if i in self.constants:
                stored.append(numpy_helper.from_array(array, f"x{i}"))
            else:
                given.append(helper.make_tensor_value_info(f"x{i}", TYPES[array.dtype], array.shape))
        wanted = self.outputs if isinstance(self.outputs, list) else [True] * self.outputs
        results = [f"y{k}" if want else "" for k, want in enumerate(wanted)]
        node = helper.make_node(self.op, names, results, domain=self.domain, name=self.name, **self.attrs)
        outputs = [onnx.ValueInfoProto(name=name) for name in results if name]
        graph = helper.make_graph([node], self.name, given, outputs, stored)
        opsets = {**OPSETS, "": self.opset or OPSETS[""]}
        imports = [helper.make_opsetid(domain, version) for domain, version in opsets.items()]
        return helper.make_model(graph, opset_imports=imports, ir_version=10)

    def write(self, folder):
        model = self.model()
        onnxruntime.set_default_logger_severity(3)
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
        feeds = {f"x{i}": array for i, array in enumerate(self.inputs) if array is not None and i not in self.constants}
        results = session.run(None, feeds)
        # The types of the results, which ONNX Runtime found out.
        del model.graph.output[:]
        for info, array in zip(session.get_outputs(), results):
            model.graph.output.append(helper.make_tensor_value_info(info.name, TYPES[array.dtype], array.shape))
        onnx.save(model, folder / f"{self.name}.onnx")
        arrays = {f"in{k}": array for k, array in enumerate(feeds.values())}
        arrays.update({f"out{k}": array for k, array in enumerate(results)})
        np.savez_compressed(folder / f"{self.name}.npz", **arrays)
        return {
            "name": self.name,
            "rtol": self.rtol,
            "atol": self.atol,
            "model": f"{folder.name}/{self.name}.onnx",
            "sets": [{
                "data": f"{folder.name}/{self.name}.npz",
                "inputs": [f"in{k}" for k in range(len(feeds))],
                "outputs": [f"out{k}" for k in range(len(results))],
            }],
        }


def numbers(name, *shape, low=-1.0, high=1.0, dtype=np.float32):
    """Numbers that depend on nothing but the name and the shape."""
    seed = zlib.crc32(f"{name} {shape}".encode())
    return np.random.default_rng(seed).uniform(low, high, shape).astype(dtype)


def integers(name, *shape, low=0, high=255, dtype=np.uint8):
    seed = zlib.crc32(f"{name} {shape}".encode())
    return np.random.default_rng(seed).integers(low, high, shape, endpoint=True).astype(dtype)


def scalar(value, dtype=np.float32):
    return np.array(value, dtype)


def contrib(name, op, inputs, outputs=1, **rest):
    CASES["contrib"].append(Case(name, op, inputs, outputs, domain="com.microsoft", **rest))


def form(name, op, inputs, outputs=1, **rest):
    CASES["forms"].append(Case(name, op, inputs, outputs, **rest))


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
    contrib("quantise_int16", "QuantizeLinear", [numbers("x", 2, 3), scalar(0.001), scalar(0, np.int8)], **close)


def convolution_forms():
    x, w = numbers("x", 1, 4, 5, 6), numbers("w", 4, 3, 3, 2)
    for auto_pad in ("SAME_UPPER", "SAME_LOWER", "VALID"):
        form(f"conv_transpose_{auto_pad}", "ConvTranspose", [x, w], auto_pad=auto_pad, strides=[2, 2])
    form("conv_transpose_output_shape", "ConvTranspose", [x, w, numbers("b", 3)], output_shape=[10, 13], strides=[2, 2])
    form("conv_transpose_output_padding", "ConvTranspose", [x, w], output_padding=[1, 0], strides=[2, 2],
         pads=[1, 0, 0, 1])
    form("conv_transpose_group", "ConvTranspose", [x, w], group=2, dilations=[2, 1])
    form("conv_transpose_3d", "ConvTranspose", [numbers("x", 1, 2, 3, 4, 2), numbers("w", 2, 2, 2, 3, 2)],
         strides=[1, 2, 2], pads=[1, 0, 0, 0, 1, 1])
    form("conv_same_lower", "Conv", [numbers("x", 1, 2, 7), numbers("w", 3, 2, 4)], auto_pad="SAME_LOWER", strides=[2])
    form("conv_integer_1d", "ConvInteger",
         [integers("x", 1, 2, 7), integers("w", 3, 2, 3), scalar(120, np.uint8), scalar(100, np.uint8)], pads=[1, 1])
    form("matmul_integer_columns", "MatMulInteger",
         [integers("a", 3, 4), integers("b", 4, 2, low=-100, high=100, dtype=np.int8), scalar(9, np.uint8),
          np.array([3, -4], np.int8)])
    form("qlinear_conv_channels", "QLinearConv",
         # Small weights: ONNX Runtime's sums of two products saturate on some processors.
         [integers("x", 1, 2, 5, 5), scalar(0.02), scalar(120, np.uint8),
          integers("w", 3, 2, 3, 3, low=-30, high=30, dtype=np.int8), numbers("s", 3, low=0.01, high=0.02),
          np.zeros(3, np.int8), scalar(0.05), scalar(128, np.uint8),
          integers("b", 3, low=-500, high=500, dtype=np.int32)], pads=[1, 1, 1, 1], strides=[2, 1], atol=1, rtol=0)


def pool_forms():
    x = numbers("x", 2, 3, 7, 6)
    for order in (0, 1):
        form(f"max_pool_indices_{order}", "MaxPool", [x], 2, kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 1],
             storage_order=order)
    form("max_pool_indices_dilated", "MaxPool", [x], 2, kernel_shape=[2, 2], dilations=[3, 2])
    form("max_pool_indices_1d", "MaxPool", [numbers("x", 2, 2, 9)], 2, kernel_shape=[3], strides=[2], ceil_mode=1)
    form("max_pool_indices_3d", "MaxPool", [numbers("x", 1, 2, 4, 5, 4)], 2, kernel_shape=[2, 3, 2], strides=[2, 1, 2])
    for include in (0, 1):
        form(f"average_pool_ceil_{include}", "AveragePool", [x], kernel_shape=[3, 3], strides=[2, 2],
             pads=[0, 1, 0, 1], ceil_mode=1, count_include_pad=include)
    form("lp_pool_p3", "LpPool", [x], kernel_shape=[3, 2], strides=[2, 2], p=3, pads=[1, 0, 1, 0])
    form("lp_pool_p1", "LpPool", [numbers("x", 1, 2, 9)], kernel_shape=[3], p=1)
    form("global_lp_pool", "GlobalLpPool", [x], p=3)


def norm_forms():
    x = numbers("x", 2, 4, 3)
    form("batch_norm_double", "BatchNormalization",
         [x.astype(np.float64), *(numbers(n, 4, low=0.5, dtype=np.float64) for n in "abcd")], atol=1e-9)
    form("group_norm_18", "GroupNormalization", [x, numbers("s", 2), numbers("b", 2)], num_groups=2, opset=18)
    form("group_norm_21", "GroupNormalization", [x, numbers("s", 4), numbers("b", 4)], num_groups=2, opset=21)
    form("instance_norm_1d", "InstanceNormalization", [x, numbers("s", 4), numbers("b", 4)], epsilon=1e-3)
    form("layer_norm_axis", "LayerNormalization", [x, numbers("s", 4, 3), numbers("b", 4, 3)], 3, axis=1)


def image_forms():
    x = numbers("x", 1, 2, 5, 6)
    sizes = np.array([1, 2, 8, 4], np.int64)
    scales = np.array([1, 1, 1.6, 0.7], np.float32)
    for mode in ("nearest", "linear", "cubic"):
        for places in ("half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners", "half_pixel_symmetric"):
            form(f"resize_sizes_{mode}_{places}", "Resize", [x, None, None, sizes], mode=mode,
                 coordinate_transformation_mode=places, constants=[3], atol=1e-4)
    for mode in ("linear", "cubic"):
        form(f"resize_scales_{mode}", "Resize", [x, None, scales], mode=mode, constants=[2], atol=1e-4)
        form(f"resize_antialias_{mode}", "Resize", [x, None, None, np.array([1, 2, 3, 4], np.int64)], mode=mode,
             antialias=1, constants=[3], atol=1e-4)
        form(f"resize_scales_input_{mode}", "Resize", [x, None, scales], mode=mode, atol=1e-4)
    for nearest in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
        form(f"resize_{nearest}", "Resize", [x, None, None, sizes], nearest_mode=nearest, constants=[3],
             coordinate_transformation_mode="asymmetric")
    form("resize_cubic_excluded", "Resize", [x, None, None, sizes], mode="cubic", exclude_outside=1, cubic_coeff_a=-0.5,
         constants=[3], atol=1e-4)
    form("resize_3d", "Resize", [numbers("x", 1, 1, 3, 4, 3), None, np.array([1, 1, 2, 2, 2], np.float32)],
         mode="linear", constants=[2])
    roi = np.array([0, 0, 0.2, 0.1, 1, 1, 0.9, 1.2], np.float32)
    form("resize_crop", "Resize", [x, roi, None, sizes], mode="linear", extrapolation_value=7.0, constants=[1, 3],
         coordinate_transformation_mode="tf_crop_and_resize", atol=1e-4)
    up = np.array([1, 1, 2, 3], np.float32)
    form("upsample_9", "Upsample", [x, up], opset=9, constants=[1], mode="linear")
    form("upsample_7", "Upsample", [x], opset=7, scales=[1.0, 1.0, 2.0, 2.0])
    form("resize_10", "Resize", [x, up], opset=10, constants=[1])
    for corners in (0, 1):
        for padding in ("zeros", "border", "reflection"):
            for mode in ("linear", "nearest", "cubic"):
                form(f"grid_sample_{mode}_{padding}_{corners}", "GridSample",
                     [x, numbers("grid", 1, 3, 4, 2, low=-1.4, high=1.4)], mode=mode, padding_mode=padding,
                     align_corners=corners, opset=20, atol=1e-4)
    rois = np.array([[0.3, 0.4, 3.2, 4.1], [1.0, 1.0, 1.3, 1.2], [-1.0, 0.0, 6.0, 5.0]], np.float32)
    images = np.array([0, 0, 0], np.int64)
    for places in ("half_pixel", "output_half_pixel"):
        for ratio in (0, 2):
            form(f"roi_align_{places}_{ratio}", "RoiAlign", [x, rois, images], output_height=2, output_width=3,
                 sampling_ratio=ratio, spatial_scale=0.9, coordinate_transformation_mode=places)
    boxes = numbers("boxes", 1, 12, 4, low=0, high=1)
    form("nms", "NonMaxSuppression", [boxes, numbers("scores", 1, 2, 12, low=0), scalar(3, np.int64), scalar(0.3),
                                      scalar(0.2)])
    form("nms_default", "NonMaxSuppression", [boxes, numbers("scores", 1, 2, 12), scalar(4, np.int64)])
    form("max_unpool_2", "MaxUnpool", [numbers("x", 1, 1, 2, 2), np.array([[[[5, 7], [13, 15]]]], np.int64)],
         kernel_shape=[2, 2], strides=[2, 2])
    form("deform_conv_mask", "DeformConv",
         [numbers("x", 1, 4, 5, 5), numbers("w", 2, 2, 3, 3), numbers("o", 1, 36, 5, 5), numbers("b", 2),
          numbers("m", 1, 18, 5, 5, low=0)], group=2, offset_group=2, pads=[1, 1, 1, 1], opset=22)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    options = parser.parse_args()
    for add in (simple_contrib, contrib_attention, contrib_quantised, convolution_forms, pool_forms, norm_forms,
                image_forms):
        add()
    for kind, cases in CASES.items():
        folder = options.folder / kind
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        with open(options.folder / f"{kind}.jsonl", "w", encoding="utf-8") as file:
            for case in cases:
                file.write(json.dumps(case.write(folder)) + "\n")
        print(f"{kind}: {len(cases)} cases")


if __name__ == "__main__":
    main()
