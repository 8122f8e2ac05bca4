"""Language models: generation, its parameters, texts as tokens and back."""

import json
import pathlib
import sys

import numpy as np
import pytest
from relay import llm
from relay.llm.gguf import GGUFModel
from relay.llm.tokens import Vocabulary

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import models  # noqa: E402
from models import FIELDS, RECORDED, folder_of, llama_tensors  # noqa: E402

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


def test_a_text_whose_caches_cannot_grow_is_empty(model, monkeypatch):
    text = model.start()
    text.read([3, 1, 4])
    read, write, longer = model._compiled

    def full(*arrays):
        raise MemoryError

    monkeypatch.setattr(model, "_compiled", (read, write, full))
    with pytest.raises(MemoryError):
        text.read([5] * 100)
    monkeypatch.undo()
    with pytest.raises(ValueError, match="nothing was read yet"):
        text.write(1)
    fresh = model.start()
    for one in (text, fresh):
        one.read([2, 7])
    np.testing.assert_array_equal(text.scores, fresh.scores)


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


DAMAGED = ["[]", '{"model": 3}', '{"added_tokens": [{}]}', *['{"added_tokens": [{"content": "a", "id": %s}]}' % n for n in (-7, 2**40, 1.5, '"b"')]]


@pytest.mark.parametrize("text", DAMAGED)
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


BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


@pytest.mark.parametrize(
    ("text", "read", "left_out", "expected"),
    [
        ("龘龘 hi h", 7, 0, " hi h"),
        ("hi 龘龘龘 hi", 8, 0, "龘 hi"),
        ("hi 龘龘龘 hi", 7, 0, "龘龘 hi"),  # what was read ends within a character
        ("hi 龘龘龘 hi", 7, 1, "\ufffd\ufffd\ufffd hi"),
        ("龘hi", 3, 0, "龘hi"),
        ("龘hi", 3, 1, "hi"),
        ("hi \ufffd hi", 5, 0, " hi"),
        ("hi \ufffd\ufffd hi", 8, 0, " hi"),
        ("hi \ufffd", 5, 0, ""),
        ("hi \ufffd", 2, 0, "\ufffd"),
    ],
)
def test_a_stream_is_what_is_new_behind_characters_of_bytes(text, read, left_out, expected, monkeypatch):
    pytest.importorskip("tokenizers")
    tokens = ["<unk>", *[f"<0x{byte:02X}>" for byte in range(256)], "▁", "h", "i", "hi", "▁hi"]
    vocabulary = Vocabulary("llama", "", tokens, kinds=[2, *[6] * 256, *[1] * 5], scores=[0.0] * 260 + [-1.0, -2.0], adds_space=True)
    other = llm.LanguageModel.__new__(llm.LanguageModel)
    other.vocabulary, other._tokenizer = vocabulary, vocabulary.tokenizer()
    generation = other.start()
    ids = other.encode(text)
    generation.tokens, coming = ids[:read], ids[read + left_out :]

    def write(self, max_tokens, *how):
        new = [coming.pop(0) for _ in range(min(max_tokens, 2, len(coming)))]
        self.tokens += new
        return new

    monkeypatch.setattr(type(generation), "write", write)
    assert "".join(generation.stream(len(coming))) == expected


def test_what_ends_texts_is_no_text_however_it_is_marked():
    pytest.importorskip("tokenizers")
    tokens = ["a", "b", "<begin>", "<end>", "<turn>", "<tag>"]
    for kind in ("gpt2", "llama"):
        for kinds in ([1, 1, 4, 4, 1, 4], []):
            made = Vocabulary(kind, "default", tokens, kinds=kinds, scores=[0.0] * 6, begin=2, stops={3, 4}).tokenizer()
            assert made.encode("<begin>a<end>b<turn>").ids == [2, 0, 3, 1, 4]
            assert made.decode([2, 0, 3, 1, 4, 5], skip_special_tokens=True) == "ab<tag>"


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
