"""Language models: architectures against recorded scores, formats of blocks, files that are damaged."""

import json
import pathlib
import re
import sys

import numpy as np
import pytest
import relay
from relay import llm
from relay.llm.formats import from_gguf
from relay.llm.gguf import GGUFModel
from relay.llm.huggingface import ModelFolder

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import models  # noqa: E402
from models import FIELDS, RECORDED, folder_of, llama_tensors  # noqa: E402


@pytest.mark.parametrize("name", models.MODELS)
def test_scores_are_those_recorded(name, tmp_path):
    model = llm.load(folder_of(name, tmp_path / "model"), threads=1)
    tokens, recorded = models.tokens(), RECORDED["models"][name]
    text = model.start()
    text.read(tokens[:10])
    np.testing.assert_allclose(text.scores, recorded["scores"][0], rtol=0, atol=2e-5 * np.abs(recorded["scores"]).max())
    text.read(tokens[10:])
    np.testing.assert_allclose(text.scores, recorded["scores"][1], rtol=0, atol=2e-5 * np.abs(recorded["scores"]).max())
    assert text.write(5) + text.write(3) == recorded["written"]


def test_both_executors_agree(tmp_path):
    model = llm.load(folder_of("llama", tmp_path / "model"), threads=1)
    tokens = models.tokens()[:5].astype("int32")
    caches = tuple((np.zeros((8, 32), "float32"), np.zeros((8, 32), "float32")) for _ in range(3))
    arguments = (tokens, np.arange(5, dtype="int32"), 4, np.arange(8, dtype="int32"), caches, model.weights)
    compiled = relay.compile(model.module, entry="read")(*arguments)
    evaluated = relay.evaluate(model.module, *arguments, entry="read")
    np.testing.assert_allclose(compiled[0], evaluated[0], atol=1e-4)
    for ours, theirs in zip(compiled[1], evaluated[1]):
        np.testing.assert_allclose(ours[0], theirs[0], atol=1e-4)
        np.testing.assert_allclose(ours[1], theirs[1], atol=1e-4)


def bfloat16(array):
    return (array.view("uint32") & 0xFFFF0000).view("float32")


def float16(array):
    return array.astype("float16").astype("float32")


@pytest.mark.parametrize(("name", "dtype", "cut"), [*((n, "BF16", bfloat16) for n in models.MODELS), ("llama", "F16", float16), ("gpt2", "F16", float16)])
def test_numbers_of_two_bytes_are_the_rounded_model(name, dtype, cut, tmp_path):
    rounded = folder_of(name, tmp_path / "rounded")
    values = models.weights(RECORDED["models"][name]["shapes"])
    models.write_safetensors(rounded / "model.safetensors", {weight: cut(array) for weight, array in values.items()})
    small = folder_of(name, tmp_path / "small", dtype)
    texts = [llm.load(path, threads=1).start() for path in (rounded, small)]
    for text in texts:
        text.read(models.tokens())
    np.testing.assert_allclose(texts[0].scores, texts[1].scores, rtol=0, atol=2e-5 * np.abs(texts[0].scores).max())
    assert texts[0].write(8) == texts[1].write(8)


def test_positions_of_gpt2_may_lie_in_blocks(tmp_path):
    shapes = RECORDED["models"]["gpt2"]["shapes"]
    parts = {"ln_1": "attn_norm", "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output", "ln_2": "ffn_norm", "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down"}
    names = {f"transformer.h.{i}.{ours}": f"blk.{i}.{theirs}" for i in range(3) for ours, theirs in parts.items()}
    names |= {"transformer.wte": "token_embd", "transformer.ln_f": "output_norm", "transformer.wpe": "position_embd"}
    texts = []
    for kind in ("F32", "Q8_0"):
        tensors = {}
        for name, array in models.weights(shapes).items():
            place, _, end = name.rpartition(".")
            array = array.T if ".c_" in name and array.ndim == 2 else array
            blocks, rounded = models.q8_0(array) if place.endswith("wpe") else (b"", array)
            stored, raw = ("Q8_0", blocks) if blocks and kind == "Q8_0" else ("F32", np.ascontiguousarray(rounded, "<f4").tobytes())
            tensors[f"{names[place]}.{end}"] = (stored, array.shape, raw)
        fields = {name.replace("llama.", "gpt2."): value for name, value in FIELDS.items()}
        fields |= {"general.architecture": "gpt2", "gpt2.attention.head_count_kv": 4, "gpt2.feed_forward_length": 256, "gpt2.attention.layer_norm_epsilon": 1e-5}
        path = tmp_path / f"{kind}.gguf"
        path.write_bytes(models.gguf(fields, tensors))
        texts.append(llm.load(path, threads=1).start())
        texts[-1].read(models.tokens())
    np.testing.assert_allclose(texts[0].scores, texts[1].scores, rtol=0, atol=2e-5 * np.abs(texts[0].scores).max())
    np.testing.assert_allclose(texts[0].scores, RECORDED["models"]["gpt2"]["scores"][1], rtol=0, atol=0.05 * np.abs(texts[0].scores).max())
    assert texts[0].write(8) == texts[1].write(8)


# ---- Blocks -----------------------------------------------------------------------------------------------------------------------------


def numbers_of(matrix):
    """A matrix as the program computes it, by the product with the unit rows."""
    form = matrix.form
    body = form.matrix.replace("$N", str(matrix.n)).replace("$K", str(matrix.k)).replace("$B", str(matrix.k // form.block))
    return np.asarray(relay.evaluate(relay.parse(f"def @main(%w: {matrix.type}) {{\n{body}\n}}"), matrix.unpacked()))


def product_of(matrix, x):
    form = matrix.form
    body = form.row.replace("$N", str(matrix.n)).replace("$K", str(matrix.k)).replace("$B", str(matrix.k // form.block))
    text = f"def @main(%x: Tensor[(1, {matrix.k}), float32], %w: {matrix.type}) {{\n{body}\n}}"
    return np.asarray(relay.compile(relay.parse(text))(x[None], matrix.unpacked()))


@pytest.mark.parametrize("kind", RECORDED["blocks"])
def test_blocks_are_the_numbers_recorded(kind):
    recorded = RECORDED["blocks"][kind]
    raw, expected = np.array(recorded["raw"], "uint8"), np.array(recorded["numbers"], "float32")
    # Two blocks a row, the second of other bytes.
    rng = np.random.default_rng(0)
    rows = np.stack([np.concatenate([raw, raw]) for _ in range(3)])
    matrix = from_gguf(kind, rows)
    numbers = numbers_of(matrix)
    np.testing.assert_allclose(numbers, np.tile(expected, (3, 2)), rtol=1e-6, atol=1e-6 * np.abs(expected).max())
    x = rng.standard_normal(matrix.k).astype("float32")
    np.testing.assert_allclose(product_of(matrix, x), numbers.astype("float64") @ x, rtol=1e-4, atol=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize("kind", ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K"])
@pytest.mark.parametrize("one", [True, False])
def test_panels_are_the_rows_side_by_side(kind, one):
    raw = np.array(RECORDED["blocks"][kind]["raw"], "uint8")
    rng = np.random.default_rng(0)
    rows = np.tile(raw, (96, 2))
    rows[:, 5:15] = rng.integers(0, 256, (96, 10))  # numbers, not scales
    matrix = from_gguf(kind, rows[:40]).joined(from_gguf(kind, rows[40:]))
    panels = matrix.in_panels()
    assert panels.form is not matrix.form and [part.shape[-1] for part in panels.unpacked()] == [32] * len(panels.unpacked())
    assert from_gguf(kind, rows[:40]).in_panels().form is matrix.form  # no whole panels
    x = rng.standard_normal((1 if one else 7, matrix.k)).astype("float32")
    leading = "1" if one else "t"
    text = f"def @main(%x: Tensor[({leading}, {matrix.k}), float32], %w: {panels.type}) {{\n{panels.form.product(matrix.n, matrix.k, one)}\n}}"
    expected = x @ numbers_of(matrix).astype("float64").T
    np.testing.assert_allclose(relay.compile(relay.parse(text))(x, panels.unpacked()), expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize("tokens", [224, 200])  # of which one is whole panels
def test_a_model_in_blocks_is_that_of_its_numbers(tokens, tmp_path):
    fields = {**FIELDS, "tokenizer.ggml.tokens": [f"<{i}>" for i in range(tokens)]}
    blocks, numbers = {}, {}
    for name, (kind, shape, raw) in llama_tensors().items():
        values = np.frombuffer(raw, "<f4").reshape(shape)
        if shape[0] == models.VOCABULARY:
            values = np.concatenate([values, values[: tokens - len(values)]])
        if values.ndim == 1:
            blocks[name] = numbers[name] = (kind, shape, raw)
            continue
        raw, rounded = models.q8_0(values)
        blocks[name] = ("Q8_0", values.shape, raw)
        numbers[name] = ("F32", values.shape, rounded.astype("<f4").tobytes())
    texts = []
    for name, tensors in (("blocks", blocks), ("numbers", numbers)):
        (tmp_path / name).write_bytes(models.gguf(fields, tensors))
        texts.append(llm.load(tmp_path / name, threads=1).start())
    for prompt in ([5], [199, 3], list(range(40))):
        for text in texts:
            text.read(prompt)
        np.testing.assert_allclose(texts[0].scores, texts[1].scores, rtol=0, atol=1e-4 * np.abs(texts[1].scores).max())
    assert texts[0].write(8) == texts[1].write(8)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_plain_numbers(dtype):
    rng = np.random.default_rng(0)
    data, x = rng.standard_normal((5, 7)).astype(dtype), rng.standard_normal(7).astype("float32")
    matrix = from_gguf({"float32": "F32", "float16": "F16"}[dtype], data)
    np.testing.assert_array_equal(numbers_of(matrix), data.astype("float32"))
    np.testing.assert_allclose(product_of(matrix, x), data.astype("float32") @ x, rtol=1e-5, atol=1e-5)


# ---- GGUF -------------------------------------------------------------------------------------------------------------------------------

def test_gguf_is_the_model_of_the_folder(tmp_path):
    path = tmp_path / "model.gguf"
    path.write_bytes(models.gguf(FIELDS, llama_tensors()))
    text = llm.load(path, threads=1).start()
    text.read(models.tokens())
    recorded = RECORDED["models"]["llama"]["scores"]
    np.testing.assert_allclose(text.scores, recorded[1], rtol=0, atol=2e-5 * np.abs(recorded).max())


def test_long_positions_of_gguf_are_those_of_the_folder(tmp_path):
    recorded = RECORDED["models"]["phi3, long"]
    names = {"input_layernorm": "attn_norm", "self_attn.qkv_proj": "attn_qkv", "self_attn.o_proj": "attn_output", "post_attention_layernorm": "ffn_norm"}
    names |= {"mlp.gate_up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}
    places = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
    places |= {f"model.layers.{i}.{ours}": f"blk.{i}.{theirs}" for i in range(3) for ours, theirs in names.items()}
    values = models.weights(recorded["shapes"])
    tensors = {places[n.removesuffix(".weight")] + ".weight": ("F32", v.shape, v.astype("<f4").tobytes()) for n, v in values.items()}
    factors = np.array(models.LONG["short_factor"], "<f4")
    tensors["rope_factors_short.weight"] = ("F32", factors.shape, factors.tobytes())
    tensors["rope_factors_long.weight"] = ("F32", factors.shape, (4 * factors).tobytes())
    fields = {name.replace("llama.", "phi3."): value for name, value in FIELDS.items()}
    fields |= {"general.architecture": "phi3", "phi3.attention.layer_norm_rms_epsilon": 1e-5}
    fields |= {"phi3.rope.scaling.original_context_length": 64, "phi3.rope.scaling.attn_factor": float(np.sqrt(1 + np.log(2) / np.log(64)))}
    path = tmp_path / "model.gguf"
    path.write_bytes(models.gguf(fields, tensors))
    text = llm.load(path, threads=1).start()
    text.read(models.tokens())
    np.testing.assert_allclose(text.scores, recorded["scores"][1], rtol=0, atol=2e-5 * np.abs(recorded["scores"]).max())
    with pytest.raises(ValueError, match="the model takes 64"):
        text.read([1] * 41)


def test_the_greatest_gemma_scales_by_its_width(tmp_path):
    path = tmp_path / "model.gguf"
    fields = {name.replace("llama.", "gemma2."): value for name, value in FIELDS.items()}
    fields |= {"general.architecture": "gemma2", "gemma2.block_count": 46, "gemma2.attention.key_length": 32}
    path.write_bytes(models.gguf(fields, {}))
    assert GGUFModel(path).config().scale == 0.25
    path.write_bytes(models.gguf({**fields, "gemma2.block_count": 42}, {}))
    assert GGUFModel(path).config().scale == 32**-0.5


def test_old_files_of_gemma_2_have_windows_and_caps(tmp_path):
    path = tmp_path / "model.gguf"
    fields = {name.replace("llama.", "gemma2."): value for name, value in FIELDS.items()} | {"general.architecture": "gemma2"}
    path.write_bytes(models.gguf(fields, {}))
    config = GGUFModel(path).config()
    assert (config.window, config.attention_cap, config.score_cap) == (4096, 50.0, 30.0)
    path.write_bytes(models.gguf(fields | {"gemma2.attention.sliding_window": 8, "gemma2.attn_logit_softcapping": 0.0}, {}))
    config = GGUFModel(path).config()
    assert (config.window, config.attention_cap) == (8, 0.0)
    path.write_bytes(models.gguf({name.replace("gemma2", "gemma3"): value for name, value in fields.items()} | {"general.architecture": "gemma3"}, {}))
    with pytest.raises(ValueError, match="model.gguf: layers have windows whose size is not said"):
        GGUFModel(path).config()


def test_numbers_that_cannot_be_computed(tmp_path):
    path = tmp_path / "bad.gguf"
    fields = {name.replace("llama.", "gemma2."): value for name, value in FIELDS.items()} | {"general.architecture": "gemma2"}
    fields |= {"gemma2.block_count": 46, "gemma2.embedding_length": 4, "gemma2.attention.head_count": 8, "gemma2.attention.key_length": 16}
    path.write_bytes(models.gguf(fields, {}))
    with pytest.raises(ValueError, match="bad.gguf: 0.0 cannot be raised to a negative power|bad.gguf: zero to a negative power"):
        GGUFModel(path).config()
    path.write_bytes(models.gguf(FIELDS | {"tokenizer.ggml.eos_token_id": float("inf")}, {}))
    with pytest.raises(ValueError, match="bad.gguf: tokens are not described as they should be: cannot convert float infinity"):
        GGUFModel(path).vocabulary()


def test_frontend_gives_module_and_weights(tmp_path):
    path = tmp_path / "model.gguf"
    path.write_bytes(models.gguf(FIELDS, llama_tensors()))
    mod, weights = relay.frontend.from_gguf(path)
    assert {"read", "write", "choose"} <= {var.name_hint for var in mod.get_global_vars()}
    assert len(weights) == 2 and len(weights[1]) == 3
    relay.check(mod)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda raw: raw[:10], "is no GGUF file: it has 10 bytes"),
        (lambda raw: b"GGML" + raw[4:], "does not begin with GGUF"),
        (lambda raw: raw[:4] + b"\x09" + raw[5:], "version 9 is not known"),
        (lambda raw: raw[: len(raw) // 2], "ends at byte"),
        (lambda raw: raw[:16] + b"\xff" * 8 + raw[24:], "bytes are wanted at byte"),
        (lambda raw: raw.replace(b"llama.block_count", b"llama.block_c0unt"), "has no llama.block_count"),
        (lambda raw: raw.replace(b"token_embd", b"token_emb_"), "has no tensor token_embd.weight"),
        (lambda raw: raw.replace(b"blk.1.ffn_up", b"blk.1.ffn_uq"), "have no place for the tensor blk.1.ffn_uq.weight"),
        (lambda raw: raw.replace(b"output_norm", b"output_morn"), "has no tensor output_norm.weight"),
        (lambda raw: raw.replace(b"\0output.weight", b"\0output.wei_ht"), "have no place for the tensor output.wei_ht"),
        (lambda raw: raw.replace(b"blk.1.ffn_up", b"blk.7.ffn_up"), "bad.gguf: layer 1 has no weight up"),
        (lambda raw: raw.replace(b"\x05\0\0\0\0\0\0\0llama", b"\x05\0\0\0\0\0\0\0mamba"), "architecture mamba; known are gemma, "),
    ],
)
def test_damaged_gguf(change, message, tmp_path):
    path = tmp_path / "bad.gguf"
    path.write_bytes(change(models.gguf(FIELDS, llama_tensors())))
    with pytest.raises(ValueError, match=message):
        llm.load(path)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("llama.block_count", 4, "has no weights of layer 3 of 4"),
        ("llama.block_count", 2**31, "a model has 1 to 10000 for layers, not 2147483648"),
        ("llama.block_count", "three", "for layers, not 'three'"),
        ("llama.attention.head_count", 0, "one head of attention or more"),
        ("llama.attention.head_count_kv", 3, "4 heads cannot share keys of 3 heads"),
        ("llama.embedding_length", 32, "the weight embedding of the model has the extents"),
        ("llama.feed_forward_length", 97, "the weight gate of layer 0 has the extents"),
        ("llama.rope.dimension_count", 5, "5 numbers of heads of 16 cannot be turned in pairs"),
        ("llama.attention.layer_norm_rms_epsilon", float("nan"), "epsilon of a model is 0, or a number from 1.2e-38 to 8.5e.37, not nan"),
        ("llama.attention.layer_norm_rms_epsilon", -1.0, "epsilon of a model is 0, or a number from 1.2e-38 to 8.5e.37, not -1.0"),
        ("llama.rope.scaling.factor", 1e-40, "bad.gguf: stretch of a model is 0, or a number from 1.2e-38"),
        ("llama.rope.freq_base", 3e38, "bad.gguf: base of a model is 0, or a number from 1.2e-38 to 8.5e.37, not 3"),
        ("llama.final_logit_softcapping", 1e-45, "bad.gguf: score_cap of a model is 0, or a number from 1.2e-38"),
        ("llama.rope.scaling.type", "yarn", "positions are scaled by the method yarn"),
        ("tokenizer.ggml.tokens", ["a"], "the weight embedding of the model has the extents"),
        ("tokenizer.ggml.eos_token_id", "seven", "bad.gguf: tokens are not described as they should be: invalid literal"),
        ("general.alignment", 0, "general.alignment is 0"),
    ],
)
def test_numbers_that_no_model_has(key, value, message, tmp_path):
    path = tmp_path / "bad.gguf"
    path.write_bytes(models.gguf({**FIELDS, key: value}, llama_tensors()))
    with pytest.raises(ValueError, match=message):
        llm.load(path)


@pytest.mark.parametrize("value", [2.0**-126, 2.0**126])
def test_the_least_and_the_greatest_numbers_of_a_model_are_those_of_its_program(value, tmp_path):
    path = tmp_path / "model.gguf"
    numbers = ("attention.layer_norm_rms_epsilon", "rope.freq_base", "rope.scaling.factor", "rope.scaling.attn_factor")
    numbers += ("final_logit_softcapping", "attn_logit_softcapping")
    path.write_bytes(models.gguf({**FIELDS, **{f"llama.{name}": value for name in numbers}}, llama_tensors()))
    config = llm.load(path).config
    assert {config.epsilon, config.base, config.stretch, config.turn_scale, config.score_cap, config.attention_cap} == {value}


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("num_hidden_layers", 4, "has no weights of layer 3 of 4"),
        ("num_hidden_layers", "x", "for layers, not 'x'"),
        ("num_attention_heads", 0, "config.json: integer "),
        ("hidden_size", [64], "config.json: "),
        ("rope_scaling", {"rope_type": "yarn"}, "scaled by the method yarn"),
        ("rms_norm_eps", 1e300, "config.json: epsilon of a model is 0, or a number from 1.2e-38 to 8.5e.37, not 1e.300"),
        ("rms_norm_eps", 10**400, "config.json: int too large to convert to float"),
        ("rms_norm_eps", "small", "config.json: could not convert string to float: 'small'"),
        ("rope_theta", 1e-300, "config.json: base of a model is 0, or a number from"),
        ("intermediate_size", 50, "model: the weight gate of layer 0 has the extents"),
        ("hidden_act", "relu2", "the activation relu2 is not known; known are gelu, "),
        ("quantization_config", 4, "config.json: "),
    ],
)
def test_configurations_that_no_model_has(key, value, message, tmp_path):
    check_configuration("llama", {"head_dim": None, "rope_parameters": None, key: value}, message, tmp_path)


@pytest.mark.parametrize(
    ("name", "key", "value", "message"),
    [
        ("qwen2", "layer_types", ["full_attention"] * 2, "of 2 layers whether they have windows; the model has 3"),
        ("qwen2", "layer_types", ["sliding_attention"] * 3, "layers have windows whose size is not said"),
        ("qwen2", "layer_types", ["linear_attention"] * 3, "layers of type linear_attention are not known"),
        ("gemma3", "use_bidirectional_attention", True, "positions see those behind them"),
        ("qwen2", "partial_rotary_factor", 0.5, "a share 0.5 of each head is turned, which is not known of models of kind qwen2"),
        ("llama3", "head_dim", 1 << 40, "a model has 1 to 65536 for head_size, not 1099511627776"),
        ("llama3", "rope_parameters", {"rope_type": "llama3"}, "config.json: 'original_max_position_embeddings'"),
        ("gemma3", "text_config", 3, "config.json: text_config is no object"),
        ("gpt2", "scale_attn_by_inverse_layer_idx", True, "attention is scaled by the number of the layer"),
        ("phi3", "num_key_value_heads", 1, r"model: a matrix of 128 rows is not one of 64 \+ 16 \+ 16"),
        ("phi3", "intermediate_size", 90, r"model: a matrix of 192 rows is not one of 90 \+ 90"),
        ("phi3, long", "rope_parameters", {"rope_type": "longrope", "short_factor": [1.0]}, r"rotation_factors of the model has the extents \(1,\), not \(8,\)"),
    ],
)
def test_settings_of_kinds(name, key, value, message, tmp_path):
    check_configuration(name, {key: value}, message, tmp_path)


def check_configuration(name, changes, message, tmp_path):
    folder = folder_of(name, tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    kind = {"model_type": "gemma3"} if "text_config" in changes else {}
    (folder / "config.json").write_text(json.dumps({**config, **changes, **kind}))
    with pytest.raises(ValueError, match=message):
        llm.load(folder)


def test_gguf_with_any_byte_changed_never_crashes(tmp_path):
    whole = bytearray(models.gguf({**FIELDS, "tokenizer.ggml.tokens": ["a", "b"]}, {"output_norm.weight": ("F32", (64,), bytes(256))}))
    path = tmp_path / "bad.gguf"
    rng = np.random.default_rng(0)
    for _ in range(400):
        changed = bytearray(whole)
        for place in rng.integers(0, len(whole) - 256, 2):
            changed[place] = rng.integers(0, 256)
        path.write_bytes(changed)
        with pytest.raises(ValueError):
            llm.load(path)


def with_number(place, number):
    """A change of a safetensors file: another first number behind each such place of its header."""

    def change(raw):
        size = int.from_bytes(raw[:8], "little")
        header = re.sub(re.escape(place) + rb"\d+", place + number, raw[8 : 8 + size])
        return len(header).to_bytes(8, "little") + header + raw[8 + size :]

    return change


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("config.json", lambda raw: None, "has no config.json"),
        ("config.json", lambda raw: b"{", "config.json: Expecting property name"),
        ("config.json", lambda raw: b"[]", "config.json holds no object"),
        ("config.json", lambda raw: raw.replace(b'"llama"', b'"rwkv"'), "of kind rwkv; known are gemma, "),
        ("config.json", lambda raw: raw.replace(b"num_hidden_layers", b"hidden_layers"), "config.json has no num_hidden_layers"),
        ("model.safetensors", lambda raw: None, "has no .safetensors files"),
        ("model.safetensors", lambda raw: raw[:3], "is no safetensors file: it has 3 bytes"),
        ("model.safetensors", lambda raw: b"\xff" * 8 + raw[8:], "its header would have"),
        ("model.safetensors", lambda raw: raw[:-100], "does not lie in the file"),
        ("model.safetensors", lambda raw: raw.replace(b"model.norm", b"model.form"), "has no tensor model.norm.weight"),
        ("model.safetensors", lambda raw: raw.replace(b"lm_head", b"lm_hood"), "has no tensor lm_head.weight"),
        ("model.safetensors", lambda raw: raw.replace(b"1.mlp.up_proj", b"1.mlp.uq_proj"), "have no place for the tensor model.layers.1.mlp.uq_proj.weight"),
        ("model.safetensors", lambda raw: raw.replace(b"1.self_attn.v_proj", b"1.self_attn.q_norm"), "layer 1 has no weight v"),
        ("model.safetensors", lambda raw: raw.replace(b'"F32"', b'"F64"'), "is stored as F64; known are F32, F16, BF16"),
        *(
            ("model.safetensors", with_number(place, number), "model.safetensors is no safetensors file that can be read: ")
            for place in (b'"shape": [', b'"data_offsets": [')
            for number in (b"1e400", b"Infinity", b"NaN", b"-1e400", b"-1", b"[]", b"null")
        ),
        ("model.safetensors", lambda raw: raw.replace(b'"F32"', b"[1.0]"), r"is stored as \[1.0\]; known are F32, F16, BF16"),
    ],
)
def test_damaged_folders(name, change, message, tmp_path):
    folder = folder_of("llama", tmp_path / "model")
    changed = change((folder / name).read_bytes())
    (folder / name).unlink()
    if changed is not None:
        (folder / name).write_bytes(changed)
    with pytest.raises(ValueError, match=message):
        llm.load(folder)


@pytest.mark.parametrize("name", ["llama", "gpt2"])
def test_weights_of_other_kinds_are_refused(name, tmp_path):
    folder = folder_of(name, tmp_path / "model")
    values = models.weights(RECORDED["models"][name]["shapes"])
    layer = "model.layers.0.self_attn." if name == "llama" else "transformer.h.0.attn."
    ignored = {layer + "rotary_emb.inv_freq": np.ones(8, "float32"), layer.removesuffix("self_attn.") + "attn.bias": np.ones((1, 1, 8, 8), "float32")}
    models.write_safetensors(folder / "model.safetensors", values | ignored)
    llm.load(folder)
    models.write_safetensors(folder / "model.safetensors", values | {layer.replace("attn.", "attn.q_norm.", 1) + "weight": np.ones(16, "float32")})
    with pytest.raises(llm.UnsupportedModel, match="a weight q_norm, for which models of its kind have no place|have no place for the tensor"):
        llm.load(folder)


@pytest.mark.parametrize(
    ("name", "tensor", "shape"),
    [
        ("llama", "model.layers.0.pre_feedforward_layernorm.weight", (64,)),
        ("gemma", "model.layers.0.post_feedforward_layernorm.weight", (64,)),
        ("llama", "model.layers.0.ln_1.weight", (64,)),
        ("llama", "model.layers.0.self_attn.qkv_proj.weight", (128, 64)),
        ("phi3", "model.layers.0.mlp.gate_up_proj.bias", (192,)),
        ("llama", "lm_head.bias", (models.VOCABULARY,)),
        ("llama", "model.norm.bias", (64,)),
        ("llama", "model.embed_tokens.bias", (64,)),
        ("gpt2", "transformer.ln_f.scale", (64,)),
    ],
)
def test_tensors_without_a_place_are_refused(name, tensor, shape, tmp_path):
    folder = folder_of(name, tmp_path / "model")
    values = models.weights(RECORDED["models"][name]["shapes"])
    models.write_safetensors(folder / "model.safetensors", values | {tensor: np.ones(shape, "float32")})
    with pytest.raises(llm.UnsupportedModel, match=f"have no place for the tensor {tensor}"):
        llm.load(folder)


def parts_of(folder):
    opened = ModelFolder(folder)
    config = opened.config()
    return config, *opened.weights(config)


def test_tied_folders_may_hold_the_matrix_twice(tmp_path):
    folder = folder_of("llama, tied", tmp_path / "model")
    values = models.weights(RECORDED["models"]["llama, tied"]["shapes"])
    models.write_safetensors(folder / "model.safetensors", values | {"lm_head.weight": values["model.embed_tokens.weight"]})
    assert "output" not in parts_of(folder)[1]


def test_weights_are_quantised_if_they_look_like_it(tmp_path):
    folder = folder_of("llama", tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "quantization_config": {"quant_method": "bitsandbytes"}}))
    assert len(parts_of(folder)[2]) == 3  # a merged model, whose configuration is that of before
    plain = (folder / "model.safetensors").read_bytes()
    values = models.weights(RECORDED["models"]["llama"]["shapes"])
    (folder / "model.safetensors").write_bytes(plain.replace(b'"F32"', b'"U8" '))
    with pytest.raises(llm.UnsupportedModel, match="quantised by the method bitsandbytes, which is not known"):
        llm.load(folder)
    models.write_safetensors(folder / "model.safetensors", values | {"model.layers.0.self_attn.q_proj.weight_scale": np.ones(1, "float32")})
    with pytest.raises(llm.UnsupportedModel, match="quantised by the method bitsandbytes, which is not known"):
        llm.load(folder)


def test_windows_have_a_size(tmp_path):
    check_configuration("gemma2", {"sliding_window": None, "layer_types": None}, "layers have windows whose size is not said", tmp_path)


def test_what_folders_of_gemma_leave_out(tmp_path):
    said = {"hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34, "sliding_window": 1024, "model_type": "gemma3_text"}
    said["rope_scaling"] = {"factor": 8.0, "rope_type": "linear"}
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "gemma3", "text_config": said}))
    models.write_safetensors(tmp_path / "model.safetensors", {})
    config = ModelFolder(tmp_path).config()
    assert (config.vocabulary, config.heads, config.kv_heads, config.head_size, config.context) == (262208, 8, 4, 256, 131072)
    assert (config.base, config.window_base, config.stretch, config.epsilon, config.scale) == (1e6, 1e4, 8.0, 1e-6, 1 / 16)
    assert [config.has_window(i) for i in range(7)] == [True] * 5 + [False, True]
    (tmp_path / "config.json").write_text(json.dumps({**said, "model_type": "gemma2", "rope_scaling": None}))
    config = ModelFolder(tmp_path).config()
    assert (config.vocabulary, config.base, config.attention_cap, config.score_cap) == (256000, 1e4, 50.0, 30.0)


@pytest.mark.parametrize("root", ["language_model.model.", "model.language_model."])
def test_texts_of_gemma_3_lie_beside_pictures(root, tmp_path):
    folder = folder_of("gemma3", tmp_path / "model")
    inner = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({"model_type": "gemma3", "text_config": inner}))
    values = models.weights(RECORDED["models"]["gemma3"]["shapes"])
    renamed = {name.replace("model.", root, 1): value for name, value in values.items()}
    models.write_safetensors(folder / "model.safetensors", renamed | {"vision_tower.embedding.table": np.ones((2, 2, 2, 2), "float32")})
    assert len(parts_of(folder)[2]) == 7
