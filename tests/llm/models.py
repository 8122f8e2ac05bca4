"""Small models of each known kind, whose weights follow from a seed: what recording and testing share."""

import json
import pathlib
import struct

import numpy as np

PLACE = pathlib.Path(__file__).resolve().parent / "recorded.json"
RECORDED = json.loads(PLACE.read_text()) if PLACE.exists() else {}
VOCABULARY, TOKENS = 199, 24
SMALL = {
    "vocab_size": VOCABULARY, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 3, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 128,
}  # fmt: skip
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 64}
LONG = {
    "rope_type": "longrope", "short_factor": [1.0, 1.1, 1.2, 1.3, 1.5, 1.7, 2.0, 2.5], "long_factor": [4.0] * 8, "rope_theta": 10000.0,
}  # fmt: skip
# The name of a model: its class in the transformers package, and what its configuration adds.
MODELS = {
    "llama": ("LlamaConfig", {}),
    "llama, tied": ("LlamaConfig", {"tie_word_embeddings": True}),
    "llama3": ("LlamaConfig", {"rope_scaling": LLAMA3}),
    "llama, gelu": ("LlamaConfig", {"hidden_act": "gelu"}),
    "llama, linear": ("LlamaConfig", {"rope_scaling": {"rope_type": "linear", "factor": 2.0}}),
    "mistral": ("MistralConfig", {"sliding_window": 8}),
    "qwen2": ("Qwen2Config", {}),
    "qwen2, windows": ("Qwen2Config", {"use_sliding_window": True, "sliding_window": 8, "max_window_layers": 1}),
    "qwen3": ("Qwen3Config", {"head_dim": 32}),
    "phi3": ("Phi3Config", {"pad_token_id": 0}),
    "phi3, partial": ("Phi3Config", {"pad_token_id": 0, "partial_rotary_factor": 0.5}),
    "phi3, long": ("Phi3Config", {"pad_token_id": 0, "original_max_position_embeddings": 64, "rope_parameters": LONG}),
    "gemma": ("GemmaConfig", {"head_dim": 32}),
    "gemma2": ("Gemma2Config", {"head_dim": 32, "sliding_window": 8, "query_pre_attn_scalar": 20}),
    "gemma3": ("Gemma3TextConfig", {"num_hidden_layers": 7, "head_dim": 32, "sliding_window": 8}),
    "gpt2": ("GPT2Config", {}),
    "gpt2, relu": ("GPT2Config", {"activation_function": "relu", "scale_attn_weights": False, "n_inner": 80}),
}
GPT2 = {"vocab_size": VOCABULARY, "n_embd": 64, "n_layer": 3, "n_head": 4, "n_positions": 128}


def tokens():
    return np.random.default_rng(0).integers(0, VOCABULARY, TOKENS)


def weights(shapes):
    """Values by name: of vectors near 1 (norms) or 0 (biases), of matrices 0.2 times normal numbers."""
    made = {}
    for i, (name, shape) in enumerate(sorted(shapes.items())):
        rng = np.random.default_rng(1000 + i)
        values = 0.2 * rng.standard_normal(shape)
        if len(shape) == 1 and not name.endswith("bias"):
            values += 1
        made[name] = values.astype("float32")
    return made


def write_safetensors(path, arrays, dtype="F32"):
    header, parts, at = {}, [], 0
    for name, array in arrays.items():
        raw = (array.view("uint32") >> 16).astype("uint16").tobytes() if dtype == "BF16" else array.astype({"F32": "<f4", "F16": "<f2"}[dtype]).tobytes()
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [at, at + len(raw)]}
        parts.append(raw)
        at += len(raw)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(parts))


def folder_of(name, path, dtype="F32"):
    recorded = RECORDED["models"][name]
    path.mkdir(exist_ok=True)
    (path / "config.json").write_text(json.dumps(recorded["config"]))
    write_safetensors(path / "model.safetensors", weights(recorded["shapes"]), dtype)
    return path


# ---- GGUF -------------------------------------------------------------------------------------------------------------------------------

_KINDS = {bool: 7, int: 4, float: 6, str: 8}
TENSOR_TYPES = {"F32": 0, "F16": 1, "Q4_0": 2, "Q4_1": 3, "Q5_0": 6, "Q5_1": 7, "Q8_0": 8, "Q4_K": 12, "Q5_K": 13, "Q6_K": 14, "BF16": 30}


def _text(value):
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def _value(value):
    if isinstance(value, list):
        kind = _KINDS[type(value[0])] if value else 4
        return struct.pack("<IIQ", 9, kind, len(value)) + b"".join(_value(element)[4:] for element in value)
    kind = _KINDS[type(value)]
    body = _text(value) if kind == 8 else struct.pack("<" + {7: "?", 4: "I", 6: "f"}[kind], value)
    return struct.pack("<I", kind) + body


def gguf(fields, tensors):
    """The bytes of a GGUF file. `tensors`: the type, the shape and the bytes of each by name."""
    out = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(fields))
    out += b"".join(_text(name) + _value(value) for name, value in fields.items())
    at, parts = 0, []
    for name, (kind, shape, raw) in tensors.items():
        out += _text(name) + struct.pack("<I", len(shape)) + b"".join(struct.pack("<Q", n) for n in reversed(shape))
        out += struct.pack("<IQ", TENSOR_TYPES[kind], at)
        raw += bytes(-len(raw) % 32)
        at += len(raw)
        parts.append(raw)
    return out + bytes(-len(out) % 32) + b"".join(parts)


FIELDS = {
    "general.architecture": "llama", "llama.block_count": 3, "llama.embedding_length": 64, "llama.attention.head_count": 4,
    "llama.attention.head_count_kv": 2, "llama.feed_forward_length": 96, "llama.context_length": 128,
    "llama.attention.layer_norm_rms_epsilon": 1e-6, "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.tokens": [f"<{i}>" for i in range(VOCABULARY)], "tokenizer.ggml.eos_token_id": 7,
}  # fmt: skip


def pairs(array, heads):
    """Rows of halves of heads become rows of pairs, as files of the architecture llama hold them."""
    return array.reshape(heads, 2, -1, array.shape[1]).swapaxes(1, 2).reshape(array.shape)


def q8_0(array):
    """A matrix in blocks of GGUF: their bytes, and the numbers that they stand for."""
    groups = array.reshape(len(array), -1, 32)
    scales = (np.abs(groups).max(axis=2, keepdims=True) / 127).astype("<f2")
    rounded = np.round(groups / scales.astype("f4")).clip(-127, 127).astype("i1")
    return np.concatenate([scales.view("u1"), rounded.view("u1")], axis=2).tobytes(), (rounded * scales.astype("f4")).reshape(array.shape)


def llama_tensors():
    values = weights(RECORDED["models"]["llama"]["shapes"])
    names = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
    parts = {
        "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
        "self_attn.o_proj": "attn_output", "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
        "mlp.down_proj": "ffn_down",
    }  # fmt: skip
    for i in range(3):
        names.update({f"model.layers.{i}.{ours}": f"blk.{i}.{theirs}" for ours, theirs in parts.items()})
    tensors = {}
    for name, array in values.items():
        place = names[name.removesuffix(".weight")]
        if place.endswith(("attn_q", "attn_k")):
            array = pairs(array, 4 if place.endswith("q") else 2)
        tensors[place + ".weight"] = ("F32", array.shape, array.astype("<f4").tobytes())
    return tensors
