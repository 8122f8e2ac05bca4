"""Language models: architectures against recorded scores, formats of blocks, files that are damaged, generation."""

import json
import pathlib
import sys

import numpy as np
import pytest
import relay
from relay import llm
from relay.llm.formats import from_gguf

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
        ("intermediate_size", 50, "the weight gate of layer 0 has the extents"),
    ],
)
def test_configurations_that_no_model_has(key, value, message, tmp_path):
    folder = folder_of("llama", tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "head_dim": None, "rope_parameters": None, key: value}))
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
        (lambda text: text.read([199]), "token 199 is not below 199"),
        (lambda text: text.read([-1]), "token -1 is not below 199"),
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
