"""Language models between `load` and their first use: files, child processes, pickles, threads."""

import pathlib
import pickle
import subprocess
import sys

import numpy as np
import pytest
from relay import llm
from relay.llm import formats
from relay.llm.gguf import GGUFModel
from relay.llm.gguf_file import Strings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import models  # noqa: E402
from models import FIELDS, folder_of, llama_tensors  # noqa: E402

TOKENS = [f"<{i}>" for i in range(224)]  # rows of whole panels


def in_blocks():
    """The model of `llama_tensors` with its matrices in blocks."""
    tensors = {}
    for name, (kind, shape, raw) in llama_tensors().items():
        if len(shape) == 2:
            values = np.frombuffer(raw, "<f4").reshape(shape)
            if len(values) == models.VOCABULARY:
                values = np.concatenate([values, values[: len(TOKENS) - len(values)]])
            kind, shape, (raw, _) = "Q8_0", values.shape, models.q8_0(values)
        tensors[name] = (kind, shape, raw)
    return tensors


@pytest.fixture
def path(tmp_path):
    place = tmp_path / "model.gguf"
    place.write_bytes(models.gguf({**FIELDS, "tokenizer.ggml.tokens": TOKENS}, in_blocks()))
    return place


def run(program, *words):
    """What a Python process prints; its failure, or that it hangs, is one of the test."""
    found = subprocess.run([sys.executable, "-c", program, *map(str, words)], capture_output=True, text=True, timeout=120)
    assert found.returncode == 0, (found.returncode, found.stderr)
    return found.stdout.split()


FORK = """
import os, sys
from relay import llm
model = llm.load(sys.argv[1], threads=2)
def written():
    text = model.start()
    text.read([3, 1, 4, 1, 5])
    return text.write(6)
child = os.fork()
if child == 0:
    print(*written(), flush=True)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print(*written())
"""


def test_a_child_process_uses_a_model_that_its_parent_loaded(path):
    found = run(FORK, path)
    assert len(found) == 12 and found[:6] == found[6:]


FORK_MEANWHILE = """
import os, threading
from relay.llm.model import _Once
begun, done, parent = threading.Event(), threading.Event(), os.getpid()
def make():
    if os.getpid() == parent:
        begun.set()
        done.wait()
    return os.getpid()
once = _Once(make)
other = threading.Thread(target=once.get)
other.start()
begun.wait()
child = os.fork()
if child == 0:
    os._exit(0 if once.get() == os.getpid() else 1)
assert os.waitpid(child, 0)[1] == 0
done.set()
assert once.get() == parent
"""


def test_a_child_process_makes_what_a_thread_of_its_parent_was_making():
    run(FORK_MEANWHILE)


LOADED_ONLY = """
import os, sys, threading
from relay import llm
model = llm.load(sys.argv[1])
os.truncate(sys.argv[1], 0)
print(threading.active_count())
"""


def test_nothing_reads_the_file_of_a_model_that_is_not_used(path):
    assert run(LOADED_ONLY, path) == ["1"]


def test_weights_are_taken_apart_once_and_when_they_are_wanted(path, monkeypatch):
    found, unpacked = [], formats.Matrix.unpacked
    monkeypatch.setattr(formats.Matrix, "unpacked", lambda self, threads: found.append(threads) or unpacked(self, threads))
    model = llm.load(path, threads=3)
    assert found == []
    weights = model.weights
    assert set(found) == {3}
    number = len(found)
    model.compile()
    assert model.weights is weights and len(found) == number


def test_a_model_of_one_thread_compiles_for_one(path, monkeypatch):
    found, compiled = [], formats.execution.compile

    def compile(*arguments, threads=0, **more):
        found.append(threads)
        return compiled(*arguments, threads=threads, **more)

    monkeypatch.setattr(formats.execution, "compile", compile)
    formats._in_panels.cache_clear()
    model = llm.load(path, threads=1)
    assert model.weights and found == [1]
    model.compile()
    assert set(found) == {1} and len(found) > 1


def test_weights_that_fail_are_an_error_of_whoever_asks(path, monkeypatch):
    def fail(self, threads):
        raise MemoryError("no room")

    model = llm.load(path)
    with monkeypatch.context() as patch:
        patch.setattr(formats.Matrix, "unpacked", fail)
        for act in (model.compile, lambda: model.weights):
            with pytest.raises(MemoryError, match="no room"):
                act()
    assert model.weights


# ---- Pickles and equality ---------------------------------------------------------------------------------------------------------------


def texts_of(model):
    text = model.start()
    text.read([3, 1, 4, 1, 5])
    return text.write(6)


@pytest.mark.parametrize("used", [False, True])
def test_models_are_pickled(used, path):
    model = llm.load(path, threads=1)
    expected = texts_of(llm.load(path, threads=1))
    if used:
        model.compile()
    raw = pickle.dumps(model)
    path.unlink()  # a pickle needs no file
    again = pickle.loads(raw)
    assert texts_of(again) == expected and texts_of(model) == expected
    assert again.config == model.config and again.vocabulary == model.vocabulary and again.text == model.text and again._threads == 1


def test_texts_are_pickled_with_their_model(path):
    text = llm.load(path, threads=1).start()
    text.read([3, 1, 4, 1, 5])
    again = pickle.loads(pickle.dumps(text))
    assert again.tokens == text.tokens and again.write(6) == text.write(6)


def test_models_of_folders_are_pickled(tmp_path):
    model = llm.load(folder_of("llama", tmp_path / "model"), threads=1)
    assert texts_of(pickle.loads(pickle.dumps(model))) == texts_of(model)


def test_vocabularies_of_one_file_are_equal(path):
    one, other = (GGUFModel(path).vocabulary() for _ in range(2))
    assert isinstance(one.tokens, Strings)
    assert one == other and pickle.loads(pickle.dumps(one)) == one
    path.with_name("other.gguf").write_bytes(path.read_bytes().replace(b"<7>", b"<8>"))
    changed = GGUFModel(path.with_name("other.gguf")).vocabulary()
    assert one != changed and len(one.tokens) == len(changed.tokens)


def test_strings_of_a_file_compare_as_lists_do(path):
    tokens = GGUFModel(path).vocabulary().tokens
    assert tokens == TOKENS and TOKENS == tokens
    assert tokens != TOKENS[:-1] and tokens != tuple(TOKENS)
    with pytest.raises(TypeError, match="unhashable"):
        hash(tokens)
