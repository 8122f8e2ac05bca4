"""Texts as tokens and back, as the file of a model says it."""

from __future__ import annotations

import bisect
import importlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .config import UnsupportedModel

# How a text is cut before its pieces become tokens. Sources: the regular expressions that the models' own tokenizers are published with.
_GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_QWEN2 = _LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
_CUTS = {
    "default": (_GPT2, False),
    "gpt-2": (_GPT2, False),
    "smollm": (_GPT2, True),
    "starcoder": (_GPT2, True),
    "llama-bpe": (_LLAMA3, False),
    "llama3": (_LLAMA3, False),
    "llama-v3": (_LLAMA3, False),
    "qwen2": (_QWEN2, False),
}
_CONTROL, _USER_DEFINED = 3, 4


@dataclass(frozen=True)
class Vocabulary:
    """The tokens of a model, and the rules by which a text becomes tokens."""

    # "gpt2": pairs of bytes are merged by rank; "llama": pairs of characters by score; "tokenizers": by the file that `cut` names
    kind: str
    cut: str
    tokens: Sequence[str]
    kinds: Sequence[int] = ()
    scores: Sequence[float] = ()
    merges: Sequence[str] = ()
    begin: int = -1
    stops: set[int] = field(default_factory=set)
    adds_begin: bool | None = False  # None: as the tokenizer's file says
    adds_space: bool = False
    template: str = ""

    def begins(self, tokenizer: Any) -> list[int]:
        """The tokens that stand before each text."""
        adds = self.adds_begin
        if adds is None:
            adds = tokenizer.encode("", add_special_tokens=True).ids[:1] == [self.begin]
        return [self.begin] if adds and self.begin >= 0 else []

    def tokenizer(self) -> Any:
        """A `tokenizers.Tokenizer`. Raises ValueError where the rules of the file contradict themselves."""
        try:
            return self._tokenizer()
        except (UnsupportedModel, ImportError):
            raise
        except Exception as error:  # the library has no type of its own
            raise ValueError(f"the vocabulary of the model is damaged: {error}") from None

    def _tokenizer(self) -> Any:
        try:
            library: Any = importlib.import_module("tokenizers")
        except ImportError:
            raise ImportError("tokens of language models need the package tokenizers: pip install relay-lang[llm]") from None
        models, decoders, normalizers, pre_tokenizers = library.models, library.decoders, library.normalizers, library.pre_tokenizers
        if self.kind == "tokenizers":
            return library.Tokenizer.from_file(self.cut)
        places = {token: i for i, token in enumerate(self.tokens)}
        if self.kind == "gpt2":
            pattern, single_digits = _CUTS.get(self.cut, (None, False))
            if pattern is None:
                raise UnsupportedModel(f"texts are cut by the rules {self.cut!r}, which are not known; known are {', '.join(sorted(_CUTS))}")
            result = library.Tokenizer(models.BPE(places, [tuple(pair.split(" ", 1)) for pair in self.merges], ignore_merges=self.cut.startswith("llama")))
            steps = [pre_tokenizers.Digits(individual_digits=True)] if single_digits else []
            steps += [
                pre_tokenizers.Split(library.Regex(pattern), behavior="isolated"),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
            result.pre_tokenizer = pre_tokenizers.Sequence(steps)
            result.decoder = decoders.ByteLevel()
        elif self.kind == "llama":
            result = library.Tokenizer(models.BPE(places, self._merges_by_score(places), byte_fallback=True, unk_token=self.tokens[0], fuse_unk=True))
            prepend = [normalizers.Prepend("▁")] if self.adds_space else []
            result.normalizer = normalizers.Sequence([*prepend, normalizers.Replace(" ", "▁")])
            strip = [decoders.Strip(" ", 1, 0)] if self.adds_space else []
            result.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), *strip])
        else:
            raise UnsupportedModel(f"the vocabulary is of kind {self.kind!r}; known are gpt2 and llama")

        # Tokens that a user defined are text, as blank lines of Gemma are; those of control are none, and so is what begins or ends texts
        # whatever it is marked as.
        control = {place for place, kind in enumerate(self.kinds) if kind == _CONTROL} | self.stops | {self.begin}
        text = {place for place, kind in enumerate(self.kinds) if kind == _USER_DEFINED} - control

        def whole(places: set[int], special: bool) -> list[Any]:
            chosen = [self.tokens[place] for place in sorted(places) if 0 <= place < len(self.tokens)]
            return [library.AddedToken(token, special=special, normalized=False) for token in chosen]

        result.add_special_tokens(whole(control, True))
        result.add_tokens(whole(text, False))
        return result

    def _merges_by_score(self, places: dict[str, int]) -> list[tuple[str, str]]:
        """Every way to make a token of two others, that with the highest score first."""
        found = []
        lengths = sorted({len(token) for token in places})  # one long token has few ways
        for token, place in places.items():
            for cut in lengths[: bisect.bisect_left(lengths, len(token))]:
                left, right = token[:cut], token[cut:]
                if left in places and right in places:
                    found.append((-self.scores[place], place, cut, left, right))
        found.sort()
        return [(left, right) for _, _, _, left, right in found]
