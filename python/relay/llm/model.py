"""Language models: texts in, texts out."""

from __future__ import annotations

import importlib
import math
import operator
import os
import pathlib
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from .. import Executable, execution
from ..module import parse
from .config import Config, UnsupportedModel
from .program import CHOICES, Program, arrays_of
from .tokens import Vocabulary

_ROWS = 64  # a cache has a multiple of so many positions, all of which each token looks at
_CHUNK = 256  # tokens of a prompt that are read at a time: memory grows with them, and larger ones are hardly quicker
_FEW = 3  # so few tokens are read one after the other, which unpacks no whole matrix
_LAYERS = 8  # whose old caches are kept at most while others grow
_LONGER = "def @main(%old: Tensor[(c, {columns}), float32], %new: Tensor[(m, {columns}), float32]) {{ concatenate((%old, %new), axis=0) }}"
_BEFORE = 4  # tokens that show how a text goes on
_BYTES = 4  # of a character, at most
_BURST = 8  # tokens that are written between two looks of the caller


class _Refused(Exception):
    """A template's reason for not taking a conversation."""


class _Once:
    """A value that is made when it is first asked for: one thread makes it, others wait.

    A child process has none of its parent's threads: what one of them was making, it makes itself.
    """

    def __init__(self, make: Callable[[], Any]):
        self._make: Callable[[], Any] | None = make
        self._value: Any = None
        self._guard = (os.getpid(), threading.Lock())

    def get(self) -> Any:
        """The value; what making it raises."""
        process, lock = self._guard
        if process != os.getpid():
            self._guard = process, lock = os.getpid(), threading.Lock()
        with lock:
            if self._make is not None:
                self._value = self._make()
                self._make = None  # and what it holds
        return self._value


class LanguageModel:
    """A decoder that is compiled when it is first used.

    `module` is its program (`read` takes tokens in, `write` makes them), `weights` the arrays that both take as their last argument, `text`
    the program as text. Several generations may run at the same time, each with caches of its own. A pickled model has its weights with it,
    and is compiled again.
    """

    def __init__(
        self,
        config: Config,
        whole: dict[str, Any],
        layers: list[dict[str, Any]],
        vocabulary: Vocabulary | None,
        threads: int = 0,
        forget: Callable[[], None] = lambda: None,
    ):
        """`forget` gives back the memory of what was read of a file; it is called after each matrix."""
        program = Program(config, whole, layers)
        self.config = config
        self.vocabulary = vocabulary
        self.text = program.text()
        self.module = parse(self.text, "language_model.rly")
        weights = program.weights
        self._weights = _Once(lambda: arrays_of(weights, threads, forget))
        self._threads = threads
        self._compiled: tuple[Executable, Executable, Executable] | None = None
        self._tokenizer: Any = None

    def __getstate__(self) -> dict[str, Any]:
        made = {"_weights": self.weights, "_compiled": None, "_tokenizer": None}
        return {**self.__dict__, **made}

    def __setstate__(self, state: dict[str, Any]) -> None:
        weights = state["_weights"]
        self.__dict__.update(state, _weights=_Once(lambda: weights))

    @property
    def weights(self) -> Any:
        """The arrays that both functions take as their last argument: tuples of tuples. They are taken apart when this is first read."""
        return self._weights.get()

    def compile(self) -> None:
        """Compiles the program; later calls do nothing."""
        if self._compiled is not None:
            return
        with ThreadPoolExecutor(1, "relay-weights") as maker:
            # Weights are taken apart while the program is compiled.
            weights = maker.submit(self._weights.get)
            read = execution.compile(self.module, entry="read", donate="caches", threads=self._threads)
            write = execution.compile(self.module, entry="write", donate=["made", "caches"], threads=self._threads)
            # What a program gave it may write to; an array of NumPy it would copy first.
            longer = execution.compile(parse(_LONGER.format(columns=self.config.kv_heads * self.config.head_size)), threads=1)
            weights.result()
        self._compiled = read, write, longer
        execution.release_memory()

    # ---- Texts and tokens ---------------------------------------------------------------------------

    @property
    def tokenizer(self) -> Any:
        """A `tokenizers.Tokenizer`; ValueError for a model without a vocabulary."""
        if self._tokenizer is None:
            if self.vocabulary is None:
                raise ValueError("this model has no vocabulary: give tokens, not texts")
            self._tokenizer = self.vocabulary.tokenizer()
            execution.release_memory()  # tables of tokens that it was made from
        return self._tokenizer

    def encode(self, text: str) -> list[int]:
        """The tokens of a text, with the one that begins texts where the model wants it."""
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise ValueError(f"the text has a character that is none in UTF-8, at place {error.start}") from None
        tokens = list(self.tokenizer.encode(text, add_special_tokens=False).ids)
        assert self.vocabulary is not None
        begins = self.vocabulary.begins(self.tokenizer)
        return tokens if tokens[:1] == begins else begins + tokens

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of tokens, without those that are no text."""
        return str(self.tokenizer.decode(list(tokens), skip_special_tokens=True))

    def conversation(self, messages: Sequence[dict[str, str]]) -> str:
        """Messages, each with "role" and "content", in the form in which the model was trained on them."""
        template = self.vocabulary.template if self.vocabulary is not None else ""
        if not template:
            raise ValueError("this model has no template for conversations: give a plain text")
        try:
            sandbox: Any = importlib.import_module("jinja2.sandbox")
        except ImportError:
            raise ImportError("conversations need the package jinja2: pip install relay-lang[llm]") from None

        def refuse(message: str) -> None:
            raise _Refused(f"the template of this model refuses the conversation: {message}")

        assert self.vocabulary is not None
        environment = sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])
        environment.globals["raise_exception"] = refuse
        tokens = self.vocabulary.tokens

        def text_of(places: list[int]) -> str:
            return next((tokens[place] for place in places if 0 <= place < len(tokens)), "")

        begin, end = text_of([self.vocabulary.begin]), text_of(sorted(self.vocabulary.stops))
        try:
            return str(environment.from_string(template).render(messages=list(messages), add_generation_prompt=True, bos_token=begin, eos_token=end))
        except _Refused as error:
            raise ValueError(str(error)) from None
        except Exception as error:  # a template is a program: it may fail in any way
            raise ValueError(f"the template of this model does not work: {type(error).__name__}: {error}") from None

    # ---- Generation ---------------------------------------------------------------------------------

    def start(self, seed: int = 0) -> Generation:
        """An empty text, to read into and to write from."""
        return Generation(self, seed)

    def generate(
        self,
        prompt: str | Sequence[int],
        max_tokens: int = 128,
        temperature: float = 0.0,
        top_k: int = 40,
        top_p: float = 0.95,
        seed: int = 0,
    ) -> str:
        """The text that follows a prompt; see `Generation.write` for the parameters."""
        generation = self.start(seed)
        generation.read(prompt)
        return "".join(generation.stream(max_tokens, temperature, top_k, top_p))


class Generation:
    """A text that grows: what was read and written, and the caches that go with it."""

    def __init__(self, model: LanguageModel, seed: int = 0):
        self.model = model
        self.tokens: list[int] = []
        self.ended = False  # by a token that ends texts
        if not 0 <= operator.index(seed) < 1 << 64:
            raise ValueError(f"a seed is a number from 0 to 2^64 - 1, not {seed}")
        self._key: Any = np.array([seed, *[0] * 7, 1 << 63, 0], "uint64")
        self._scores: Any = None
        self._capacity = 0
        self._slots = np.zeros(0, "int32")
        self._caches: Any = None

    @property
    def scores(self) -> np.ndarray[Any, Any]:
        """The scores of all tokens as the next one: float32 (vocabulary,)."""
        if self._scores is None:
            raise ValueError("nothing was read yet")
        return np.array(self._scores)

    def read(self, prompt: str | Sequence[int]) -> None:
        """Takes in a text, or tokens. ValueError for an empty one and for what exceeds the model's context."""
        self._read(self._tokens_of(prompt))

    def _tokens_of(self, prompt: str | Sequence[int]) -> list[int]:
        """The tokens of a prompt; ValueError for an empty one and for a token that is none."""
        tokens = self.model.encode(prompt) if isinstance(prompt, str) else [operator.index(token) for token in prompt]
        if not tokens:
            raise ValueError("there is nothing to read: the prompt is empty")
        most = self.model.config.vocabulary - 1
        wrong = next((token for token in tokens if not 0 <= token <= most), None)
        if wrong is not None:
            raise ValueError(f"the tokens of this model are the numbers from 0 to {most}; {wrong} is none")
        return tokens

    def _read(self, tokens: list[int]) -> None:
        self._make_room(len(self.tokens) + len(tokens))
        self.ended = False
        if len(tokens) <= _FEW:
            self._scores = np.zeros(self.model.config.vocabulary, "float32") if self._scores is None else self._scores
            self._run_write(len(tokens), tokens, 0.0, 1, 1.0)
            return
        read, _, _ = self._executables()
        for begin in range(0, len(tokens), _CHUNK):
            some = np.array(tokens[begin : begin + _CHUNK], "int32")
            at = np.arange(len(self.tokens), len(self.tokens) + len(some), dtype="int32")
            self._scores, self._caches = read(some, at, len(some) - 1, self._slots, self._caches, self.model.weights)
            self.tokens += some.tolist()

    def become(self, prompt: str | Sequence[int]) -> None:
        """Makes this the whole text; what it begins with and was read before is not read again."""
        tokens = self._tokens_of(prompt)
        self._make_room(len(tokens))
        same = 0
        while same < min(len(tokens) - 1, len(self.tokens)) and tokens[same] == self.tokens[same]:
            same += 1
        # Rows of the caches behind the text are not seen.
        del self.tokens[same:]
        self._read(tokens[same:])

    def write(self, max_tokens: int = 128, temperature: float = 0.0, top_k: int = 40, top_p: float = 0.95) -> list[int]:
        """Up to so many tokens more, fewer if one of them ends the text or the context is full.

        `temperature` 0 takes the token of the highest score; else one of the `top_k` best (128 at most) that together have a share of
        `top_p` is drawn, by the seed of the generation.
        """
        if self._scores is None:
            raise ValueError("nothing was read yet: a text begins with a prompt")
        max_tokens, top_k = operator.index(max_tokens), operator.index(top_k)
        if not 0 <= temperature < math.inf or not 0 < top_p <= 1 or top_k < 1:
            raise ValueError("temperature must be 0 or more, top_p above 0 and at most 1, top_k 1 or more")
        count = min(max_tokens, self.model.config.context - len(self.tokens))
        if self.ended or count <= 0:
            return []
        self._make_room(len(self.tokens) + count)
        new = self._run_write(count, [], temperature, top_k, top_p)
        vocabulary = self.model.vocabulary
        if new and vocabulary is not None and new[-1] in vocabulary.stops:
            self.ended = True
            self.tokens.pop()  # it has no place in the caches
        return new

    def _run_write(self, count: int, given: list[int], temperature: float, top_k: int, top_p: float) -> list[int]:
        """The tokens that the program adds: those given, then others that it draws."""
        _, write, _ = self._executables()
        vocabulary = self.model.vocabulary
        stops = np.array(sorted(vocabulary.stops) if vocabulary is not None and vocabulary.stops else [-1], "int32")
        made, number, self._scores, self._key, self._caches = write(
            self._scores, len(self.tokens), np.zeros(count, "int32"), 0, count, np.array(given or [0], "int32"), len(given), stops, self._key,
            float(temperature), min(top_k, CHOICES), float(top_p), self._slots, self._caches, self.model.weights,
        )  # fmt: skip
        new = [int(token) for token in np.array(made)[: int(number)]]
        self.tokens += new
        return new

    def stream(self, max_tokens: int = 128, temperature: float = 0.0, top_k: int = 40, top_p: float = 0.95) -> Iterator[str]:
        """The text as it is written, in pieces of whole characters."""
        # The first piece of some vocabularies has a space only if something stands before it.
        written, whole = self._end()
        before = shown = self.model.decode(written)
        max_tokens = operator.index(max_tokens) + len(written)
        while len(written) < max_tokens:
            new = self.write(min(_BURST, max_tokens - len(written)), temperature, top_k, top_p)
            written += new
            text = self.model.decode(written)
            if shown == before and not text.startswith(before):
                shown = whole  # the character that was begun before is a new one
            # A character may need another token.
            if not text.endswith("\ufffd") and len(text) > len(shown):
                yield text[len(shown) :]
                shown = text
            if self.ended or not new:
                break
        rest = self.model.decode(written)[len(shown) :]
        if rest:
            yield rest

    def _end(self) -> tuple[list[int], str]:
        """Tokens at the end that begin with a whole character, and the text of those of them that end with one.

        Some decoders take a run of bytes as a whole: of one that begins within a character none is read.
        """
        damaged: tuple[list[int], str] = [], ""
        for begun in range(_BYTES):  # tokens of a character that is not there whole
            for number in range(_BEFORE, _BEFORE + _BYTES):
                tokens = self.tokens[-number - begun :]
                whole = self.model.decode(tokens[: max(len(tokens) - begun, 0)])
                if not whole.startswith("\ufffd"):
                    if not whole.endswith("\ufffd"):
                        return tokens, whole
                    damaged = damaged if damaged[0] else (tokens, whole.rstrip("\ufffd"))
        return damaged

    def _executables(self) -> tuple[Executable, Executable, Executable]:
        self.model.compile()
        assert self.model._compiled is not None
        return self.model._compiled

    def _make_room(self, positions: int) -> None:
        context = self.model.config.context
        if positions > context:
            raise ValueError(f"the text would have {positions} tokens; the model takes {context}")
        if positions <= self._capacity:
            return
        # A text that grows token by token is not copied each time.
        wanted = max(positions, self._capacity + self._capacity // 4)
        capacity = -(-min(wanted, context) // _ROWS) * _ROWS
        columns = self.model.config.kv_heads * self.model.config.head_size
        _, _, longer = self._executables()
        empty = np.zeros((0, columns), "float32")
        rows = np.zeros((capacity - self._capacity, columns), "float32")
        # The old cache of a layer goes before the next layer has its new one.
        old = list(self._caches or [(empty, empty)] * self.model.config.layers)
        self._caches, self._capacity = None, 0
        new = []
        try:
            while old:
                keys, values = old.pop(0)
                new.append((longer(keys, rows), longer(values, rows)))
                if self.tokens and len(new) % _LAYERS == 0:
                    execution.release_memory()  # old caches would be kept beside the new ones
        except BaseException:
            self.tokens, self._scores = [], None  # what was read is lost with the caches
            raise
        self._caches = tuple(new)
        self._slots = np.arange(capacity, dtype="int32")
        self._capacity = capacity


class Conversation:
    """A talk with a model that was trained for it: messages that take turns.

    `messages` holds them all, as dictionaries with "role" and "content"; a first one with the role "system" says how to answer.
    """

    def __init__(self, model: LanguageModel, system: str = "", seed: int = 0):
        self.model = model
        self.messages: list[dict[str, str]] = [{"role": "system", "content": system}] if system else []
        self._text = model.start(seed)

    def say(self, message: str, max_tokens: int = 512, temperature: float = 0.7, top_k: int = 40, top_p: float = 0.95) -> Iterator[str]:
        """The answer to a message, in pieces as they come. What was said before it is stopped stays in the conversation."""
        asked = {"role": "user", "content": message}
        self._text.become(self.model.conversation([*self.messages, asked]))
        self.messages.append(asked)
        answer = ""
        try:
            for piece in self._text.stream(max_tokens, temperature, top_k, top_p):
                answer += piece
                yield piece
        finally:
            self.messages.append({"role": "assistant", "content": answer})


def load(path: str | os.PathLike[str], threads: int = 0) -> LanguageModel:
    """A language model from a GGUF file, or from a folder with config.json, safetensors and tokenizer.json as Hugging Face keeps them.

    Weights and tokens are read when they are wanted: leave the files as they are, neither changed nor made shorter, while the model is used
    (a new file under the same name is fine). `threads`: how many a call uses; 0 stands for all cores. Raises ValueError for a file that is none, `UnsupportedModel` for a model of
    a kind that is not known, and ImportError where a package of the extra `relay-lang[llm]` is absent.
    """
    place = pathlib.Path(path)
    if place.is_dir():
        from .huggingface import ModelFolder

        folder = ModelFolder(place)
        return _model_of(folder, place, threads)
    from .gguf import GGUFModel

    return _model_of(GGUFModel(place), place, threads)


def _model_of(file: Any, place: pathlib.Path, threads: int) -> LanguageModel:
    """The model of a file or a folder; what is wrong with it says where it lies."""
    try:
        config = file.config()
        whole, layers = file.weights(config)
        return LanguageModel(config, whole, layers, file.vocabulary(), threads, getattr(file, "forget_pages", lambda: None))
    except ValueError as error:
        if str(place) in str(error):
            raise
        kind = UnsupportedModel if isinstance(error, UnsupportedModel) else ValueError
        raise kind(f"{place}: {error}") from None
