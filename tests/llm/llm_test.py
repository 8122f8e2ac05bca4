"""Language models: architectures against recorded scores, formats of blocks, files that are damaged, generation."""

import json
import pathlib
import sys

import numpy as np
import pytest
import relay
from relay import llm
from relay.llm.formats import from_gguf
from relay.llm.gguf import GGUFModel
from relay.llm.tokens import Vocabulary

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import models  # noqa: E402

RECORDED = json.loads((HERE / "recorded.json").read_text())


def folder_of(name, path, dtype="F32"):
    recorded = RECORDED["models"][name]
    path.mkdir(exist_ok=True)
    (path / "config.json").write_text(json.dumps(recorded["config"]))
    models.write_safetensors(path / "model.safetensors", models.weights(recorded["shapes"]), dtype)
    return path


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


def test_bfloat16_is_the_rounded_model(tmp_path):
    rounded = folder_of("llama", tmp_path / "rounded")
    values = models.weights(RECORDED["models"]["llama"]["shapes"])
    cut = {name: (array.view("uint32") & 0xFFFF0000).view("float32") for name, array in values.items()}
    models.write_safetensors(rounded / "model.safetensors", cut)
    small = folder_of("llama", tmp_path / "small", "BF16")
    texts = [llm.load(path, threads=1).start() for path in (rounded, small)]
    for text in texts:
        text.read(models.tokens())
    np.testing.assert_allclose(texts[0].scores, texts[1].scores, atol=1e-4)
    assert texts[0].write(8) == texts[1].write(8)


# ---- Blocks -----------------------------------------------------------------------------------------------------------------------------


def numbers_of(matrix):
    """A matrix as the program computes it, by the product with the unit rows."""
    form = matrix.form
    body = form.matrix.replace("$N", str(matrix.n)).replace("$K", str(matrix.k)).replace("$B", str(matrix.k // form.block))
    return np.asarray(relay.evaluate(relay.parse(f"def @main(%w: {matrix.type}) {{\n{body}\n}}"), matrix.arrays))


def product_of(matrix, x):
    form = matrix.form
    body = form.row.replace("$N", str(matrix.n)).replace("$K", str(matrix.k)).replace("$B", str(matrix.k // form.block))
    text = f"def @main(%x: Tensor[(1, {matrix.k}), float32], %w: {matrix.type}) {{\n{body}\n}}"
    return np.asarray(relay.compile(relay.parse(text))(x[None], matrix.arrays))


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


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_plain_numbers(dtype):
    rng = np.random.default_rng(0)
    data, x = rng.standard_normal((5, 7)).astype(dtype), rng.standard_normal(7).astype("float32")
    matrix = from_gguf({"float32": "F32", "float16": "F16"}[dtype], data)
    np.testing.assert_array_equal(numbers_of(matrix), data.astype("float32"))
    np.testing.assert_allclose(product_of(matrix, x), data.astype("float32") @ x, rtol=1e-5, atol=1e-5)


# ---- GGUF -------------------------------------------------------------------------------------------------------------------------------

FIELDS = {
    "general.architecture": "llama", "llama.block_count": 3, "llama.embedding_length": 64, "llama.attention.head_count": 4,
    "llama.attention.head_count_kv": 2, "llama.feed_forward_length": 96, "llama.context_length": 128,
    "llama.attention.layer_norm_rms_epsilon": 1e-6, "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.tokens": [f"<{i}>" for i in range(models.VOCABULARY)], "tokenizer.ggml.eos_token_id": 7,
}  # fmt: skip


def pairs(array, heads):
    """Rows of halves of heads become rows of pairs, as files of the architecture llama hold them."""
    return array.reshape(heads, 2, -1, array.shape[1]).swapaxes(1, 2).reshape(array.shape)


def llama_tensors():
    values = models.weights(RECORDED["models"]["llama"]["shapes"])
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
    fields |= {"general.architecture": "phi3", "phi3.attention.layer_norm_rms_epsilon": 1e-5, "phi3.rope.scaling.type": "longrope"}
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
        ("llama.attention.layer_norm_rms_epsilon", float("nan"), "epsilon of a model is a number of 0 or more"),
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


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("num_hidden_layers", 4, "has no weights of layer 3 of 4"),
        ("num_hidden_layers", "x", "for layers, not 'x'"),
        ("num_attention_heads", 0, "config.json: integer "),
        ("hidden_size", [64], "config.json: "),
        ("rope_scaling", {"rope_type": "yarn"}, "scaled by the method yarn"),
        ("intermediate_size", 50, "model: the weight gate of layer 0 has the extents"),
        ("hidden_act", "relu2", "the activation relu2 is not known; known are gelu, "),
        ("quantization_config", {"quant_method": "gptq"}, "quantised by the method gptq, which is not known"),
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
    (folder / "config.json").write_text(json.dumps({**config, **changes}))
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
        ("model.safetensors", lambda raw: raw.replace(b"1.mlp.up_proj", b"1.mlp.uq_proj"), "have no place for the tensor model.layers.1.mlp.uq_proj.weight"),
        ("model.safetensors", lambda raw: raw.replace(b"1.self_attn.v_proj", b"1.self_attn.q_norm"), "layer 1 has no weight v"),
        ("model.safetensors", lambda raw: raw.replace(b'"F32"', b'"F64"'), "is stored as F64; known are F32, F16, BF16"),
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


# ---- Generation -------------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return llm.load(folder_of("llama", tmp_path_factory.mktemp("llm") / "model"), threads=1)


def test_what_a_seed_draws_is_the_same_again(model):
    def drawn(seed, **how):
        text = model.start(seed)
        text.read([3, 1, 4])
        return text.write(20, **how)

    warm = {"temperature": 5.0, "top_k": 128, "top_p": 1.0}
    assert drawn(1, **warm) == drawn(1, **warm)
    assert len({tuple(drawn(seed, **warm)) for seed in range(6)}) > 3
    assert drawn(1, temperature=5.0, top_k=1) == drawn(2)
    assert drawn(1, temperature=5.0, top_p=1e-6) == drawn(2)


def test_draws_follow_the_scores(model):
    text = model.start(0)
    text.read([3, 1, 4])
    scores = text.scores.astype("float64")
    best = np.argsort(-scores)[:4]
    shares = np.exp(scores[best] / 3 - scores[best].max() / 3)
    shares /= shares.sum()
    counts = dict.fromkeys(best.tolist(), 0)
    for seed in range(400):
        again = model.start(seed)
        again.read([3, 1, 4])
        counts[again.write(1, temperature=3.0, top_k=4, top_p=1.0)[0]] += 1
    np.testing.assert_allclose(np.array(list(counts.values())) / 400, shares, atol=0.08)


def test_caches_grow_with_the_text(model):
    tokens = [i * 7 % models.VOCABULARY for i in range(100)]
    whole, parts = model.start(), model.start()
    whole.read(tokens)
    for begin in range(0, 100, 9):
        parts.read(tokens[begin : begin + 9])
    np.testing.assert_allclose(whole.scores, parts.scores, atol=1e-3)
    assert whole.write(28) == parts.write(28)
    assert whole.write(1) == []  # the context of 128 is full


def test_a_text_ends_with_its_token(tmp_path):
    path = tmp_path / "model.gguf"
    written = RECORDED["models"]["llama"]["written"]
    path.write_bytes(models.gguf({**FIELDS, "tokenizer.ggml.eos_token_id": written[3]}, llama_tensors()))
    text = llm.load(path, threads=1).start()
    text.read(models.tokens())
    assert text.write(8) == written[: written.index(written[3]) + 1]
    assert text.ended and text.write(8) == []
    text.read([5])
    assert not text.ended and len(text.write(2)) == 2


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda text: text.read([]), "the prompt is empty"),
        (lambda text: text.read([199]), "numbers from 0 to 198; 199 is none"),
        (lambda text: text.read([-1]), "numbers from 0 to 198; -1 is none"),
        (lambda text: (text.read([1]), text.become([])), "the prompt is empty"),
        (lambda text: text.model.start(-1), "a seed is a number from 0 to 2.64 - 1, not -1"),
        (lambda text: text.model.start(1 << 64), "a seed is a number from 0 to 2.64 - 1"),
        (lambda text: (text.read([1]), text.write(1, temperature=float("nan"))), "temperature must be 0 or more"),
        (lambda text: (text.read([1]), text.write(1, temperature=float("inf"))), "temperature must be 0 or more"),
        (lambda text: text.read([1] * 129), "would have 129 tokens; the model takes 128"),
        (lambda text: text.read("hello"), "this model has no vocabulary: give tokens"),
        (lambda text: text.write(3), "nothing was read yet"),
        (lambda text: text.scores, "nothing was read yet"),
        (lambda text: (text.read([1]), text.write(1, temperature=-1.0)), "temperature must be 0 or more"),
        (lambda text: (text.read([1]), text.write(1, top_p=0.0)), "top_p above 0"),
        (lambda text: (text.read([1]), text.write(1, top_k=0)), "top_k 1 or more"),
    ],
)
def test_wrong_use(act, message, model):
    with pytest.raises(ValueError, match=message):
        act(model.start())


def test_a_step_copies_no_cache(model):
    text = model.start()
    text.read([1, 2, 3])

    def places():
        return [part.__array_interface__["data"][0] for pair in text._caches for part in pair]

    text.write(4)
    before = places()
    text.write(4)
    assert places() == before


@pytest.mark.parametrize("act", [lambda text: text.read([1.5]), lambda text: text.write("3"), lambda text: text.write(2.5), lambda text: text.write(1, top_k=2.5)])
def test_counts_and_tokens_are_whole_numbers(act, model):
    text = model.start()
    text.read([1])
    with pytest.raises(TypeError):
        act(text)


def test_a_prompt_that_is_refused_changes_nothing(model):
    text = model.start()
    text.read([3, 1, 4, 1, 5])
    before = text.scores
    for wrong in ([], [3, 1, 199], [3] * 129):
        with pytest.raises(ValueError):
            text.become(wrong)
    assert text.tokens == [3, 1, 4, 1, 5] and np.array_equal(text.scores, before)


def test_more_best_tokens_than_there_are(model):
    text = model.start()
    text.read([1])
    assert len(text.write(2, temperature=1.0, top_k=1 << 40)) == 2


# ---- Texts ------------------------------------------------------------------------------------------------------------------------------


class Ids:
    def __init__(self, ids):
        self.ids = ids


class Letters:
    """A tokenizer of letters, whose file says that texts begin with token 9, if `special`."""

    def __init__(self, special):
        self.special = special

    def encode(self, text, add_special_tokens):
        return Ids([9] * (add_special_tokens and self.special) + [ord(letter) - ord("a") for letter in text])


@pytest.mark.parametrize(("adds", "special", "expected"), [(None, True, [9]), (None, False, []), (True, False, [9]), (False, True, [])])
def test_texts_begin_as_the_settings_say_or_else_the_tokenizer(adds, special, expected, model):
    vocabulary = Vocabulary("tokenizers", "", [], begin=9, adds_begin=adds)
    other = llm.LanguageModel.__new__(llm.LanguageModel)
    other.vocabulary, other._tokenizer = vocabulary, Letters(special)
    assert other.encode("abc") == [*expected, 0, 1, 2]
    assert other.encode("jab") == [9, 0, 1]  # the text has that token itself


def test_files_of_llama_3_begin_texts(tmp_path):
    path = tmp_path / "model.gguf"
    for change, expected in [({}, False), ({"tokenizer.ggml.pre": "llama-bpe"}, True), ({"tokenizer.ggml.model": "llama"}, True)]:
        path.write_bytes(models.gguf({**FIELDS, **change}, {}))
        assert GGUFModel(path).vocabulary().adds_begin is expected


def test_tokens_that_a_model_does_not_have_neither_begin_nor_end_texts(tmp_path):
    path = tmp_path / "model.gguf"
    none = 2**32 - 1  # what files hold for "none"
    path.write_bytes(models.gguf({**FIELDS, "tokenizer.ggml.eos_token_id": none, "tokenizer.ggml.eot_token_id": 5, "tokenizer.ggml.bos_token_id": none}, {}))
    vocabulary = GGUFModel(path).vocabulary()
    assert vocabulary.begin == -1 and vocabulary.stops == {5}
    folder = folder_of("llama", tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "bos_token_id": 10**6, "eos_token_id": [2**40, 7]}))
    (folder / "tokenizer.json").write_text('{"model": {"vocab": {"a": 0}}}')
    loaded = llm.load(folder)
    assert loaded.vocabulary.begin == -1 and loaded.vocabulary.stops == {7}
    text = loaded.start()
    text.read([1])
    assert len(text.write(2)) <= 2


@pytest.mark.parametrize(
    ("fields", "stretch"),
    [({"factor": 4.0}, 4.0), ({"factor": 0.0}, 1.0), ({"type": "none", "factor": 4.0}, 1.0), ({"scale_linear": 2.0}, 2.0), ({}, 1.0)],
)
def test_positions_of_gguf_are_stretched_without_a_word(fields, stretch, tmp_path):
    keys = {"factor": "scaling.factor", "type": "scaling.type", "scale_linear": "scale_linear"}
    path = tmp_path / "model.gguf"
    path.write_bytes(models.gguf({**FIELDS, **{f"llama.rope.{keys[name]}": value for name, value in fields.items()}}, {}))
    assert GGUFModel(path).config().stretch == stretch


def test_texts_that_are_no_unicode_are_refused(model):
    other = llm.LanguageModel.__new__(llm.LanguageModel)
    other.vocabulary, other._tokenizer = Vocabulary("tokenizers", "", []), Letters(False)
    with pytest.raises(ValueError, match="a character that is none in UTF-8, at place 1"):
        other.encode("a\ud800")


@pytest.mark.parametrize("text", ["[]", '{"model": 3}', '{"added_tokens": [{}]}', '{"added_tokens": [{"content": "a", "id": -7}]}'])
def test_tokenizers_that_are_damaged(text, tmp_path):
    folder = folder_of("llama", tmp_path / "model")
    (folder / "tokenizer.json").write_text(text)
    with pytest.raises(ValueError, match="model: tokens are not described as they should be"):
        llm.load(folder)


def test_vocabularies_that_are_damaged(tmp_path):
    pytest.importorskip("tokenizers")
    path = tmp_path / "tokenizer.json"
    path.write_text('{"version": "1.0"}')
    damaged = [
        Vocabulary("tokenizers", str(path), []),
        Vocabulary("gpt2", "default", ["a", "b"], merges=["ab"]),
        Vocabulary("llama", "default", ["a", "b", "ab"], scores=[1.0]),
    ]
    for vocabulary in damaged:
        with pytest.raises(ValueError, match="the vocabulary of the model is damaged: "):
            vocabulary.tokenizer()


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{% for %}", "does not work: TemplateSyntaxError"),
        ("{{ 1 / 0 }}", "does not work: ZeroDivisionError"),
        ("{{ a.b.c }}", "does not work: UndefinedError: 'a' is undefined"),
        ("{% for i in range(10**9) %}x{% endfor %}", "does not work: OverflowError"),
        ("{{ raise_exception('no system') }}", "refuses the conversation: no system"),
    ],
)
def test_templates_that_fail(template, message, model):
    pytest.importorskip("jinja2")
    other = llm.LanguageModel.__new__(llm.LanguageModel)
    other.vocabulary = Vocabulary("gpt2", "", [], template=template)
    with pytest.raises(ValueError, match=message):
        other.conversation([{"role": "user", "content": "x"}])
    other.vocabulary = Vocabulary("gpt2", "", [], template="{% for m in messages %}{{ m.content }}{% break %}{% endfor %}")
    assert other.conversation([{"role": "user", "content": "x"}, {"role": "user", "content": "y"}]) == "x"


def test_a_named_template_of_several(tmp_path):
    folder = folder_of("llama", tmp_path / "model")
    (folder / "tokenizer.json").write_text('{"model": {"vocab": {"a": 0}}}')
    templates = [{"name": "tools", "template": "t"}, {"name": "default", "template": "d"}]
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": templates}))
    assert llm.load(folder).vocabulary.template == "d"


def test_pieces_go_on_where_the_text_ends(model, monkeypatch):
    monkeypatch.setattr(llm.LanguageModel, "decode", lambda self, tokens: " ".join(map(str, tokens)))
    text = model.start()
    text.read([1, 2, 3, 4, 5, 6])
    pieces = list(text.stream(20))
    assert "".join(pieces) == "".join(f" {token}" for token in text.tokens[6:]) and len(pieces) == 3
    text = model.start()
    text.read([1, 2])
    assert "".join(text.stream(3)).split() == [str(token) for token in text.tokens[2:]] and len(text.tokens) == 5
    assert list(text.stream(0)) == []


def test_tokens_of_control_are_no_text_and_those_of_users_are():
    pytest.importorskip("tokenizers")
    for kind, tokens in [("gpt2", ["a", "b", "<end>", "\n\n"]), ("llama", ["a", "b", "<end>", "\n\n"])]:
        made = Vocabulary(kind, "default", tokens, kinds=[1, 1, 3, 4], scores=[0.0] * 4).tokenizer()
        assert made.encode("a\n\nb<end>").ids == [0, 3, 1, 2]
        assert made.decode([0, 3, 1, 2], skip_special_tokens=True) == "a\n\nb"


def test_one_long_token_has_few_ways_to_be_made():
    long = "a" * 3_000_000
    made = Vocabulary("llama", "default", ["a", "aa", long], scores=[0.0, -1.0, -2.0])
    assert made._merges_by_score({"a": 0, "aa": 1, long: 2}) == [("a", "a")]
