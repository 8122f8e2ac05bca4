"""Language models in GGUF files: numbers, weights and vocabulary."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from .config import Config, UnsupportedModel
from .formats import Matrix, from_gguf
from .gguf_file import GGUFContainer
from .tokens import Vocabulary

# What differs between architectures beyond numbers in the file: positions, activation, and switches.
_ARCHITECTURES: dict[str, dict[str, Any]] = {
    "llama": {"positions": "pairs"},
    "qwen2": {"positions": "halves"},
    "qwen3": {"positions": "halves", "norm_heads": True},
    "phi3": {"positions": "halves"},
    "gemma": {"positions": "halves", "activation": "gelu"},
    "gemma2": {"positions": "halves", "activation": "gelu", "norm_results": True, "window_every": 2},
    "gemma3": {
        "positions": "halves",
        "activation": "gelu",
        "norm_results": True,
        "norm_heads": True,
        "window_every": 6,
        "window_base": 10000.0,
    },
    "gpt2": {"positions": "table", "activation": "gelu", "norm": "layer", "gated": False},
}
# Names in a layer: of the file, and of the program.
_LAYER = {
    "attn_norm": "attention_norm",
    "attn_q": "q",
    "attn_k": "k",
    "attn_v": "v",
    "attn_q_norm": "q_norm",
    "attn_k_norm": "k_norm",
    "attn_output": "o",
    "post_attention_norm": "attention_result_norm",
    "ffn_norm": "network_norm",
    "ffn_gate": "gate",
    "ffn_up": "up",
    "ffn_down": "down",
    "post_ffw_norm": "network_result_norm",
}
_EVERY_LAYER = 1 << 30
_LONGER = {"rope_factors_long.weight"}  # for a context that is not offered
# What files of an architecture leave out where they are old.
_DEFAULTS = {"gemma2": {"attention.sliding_window": 4096, "attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0}}
# Layers of the models of 27 billion weights, whose files do not say that attention is scaled by another size than that of a head.
_SCALED_BY_WIDTH = {"gemma2": 46, "gemma3": 62}


class GGUFModel(GGUFContainer):
    """A language model in a GGUF file."""

    def __init__(self, path: os.PathLike[str] | str):
        super().__init__(path)
        self._taken: set[str] = set()

    def field(self, name: str, default: Any = None) -> Any:
        """The value under a key; ValueError with the name of the file if it is missing and there is no default."""
        value = self.fields.get(name, default)
        if value is None:
            raise ValueError(f"{self.path} has no {name}")
        return value

    def weight(self, name: str) -> Matrix | np.ndarray[Any, Any]:
        """A matrix, or a vector as float32."""
        tensor = self.tensors.get(name)
        if tensor is None:
            raise ValueError(f"{self.path} has no tensor {name}")
        self._taken.add(name)
        if len(tensor.shape) > 2:
            raise UnsupportedModel(f"{self.path}: tensor {name} has {len(tensor.shape)} dimensions; weights have one or two")
        if len(tensor.shape) == 2:
            return from_gguf(tensor.kind, tensor.data)
        if tensor.kind not in ("F32", "F16"):
            raise UnsupportedModel(f"{self.path}: the vector {name} is stored as {tensor.kind}; vectors are F32 or F16")
        return np.array(tensor.data, "float32")

    def config(self) -> Config:
        """The numbers of the model."""
        try:
            return self._config()
        except UnsupportedModel:
            raise
        except (TypeError, ValueError, ArithmeticError) as error:
            message = str(error)
            raise ValueError(message if self.path in message else f"{self.path}: {message}") from None

    def _config(self) -> Config:
        kind = self.field("general.architecture")
        if kind not in _ARCHITECTURES:
            raise UnsupportedModel(f"{self.path} holds a model of architecture {kind}; known are {', '.join(sorted(_ARCHITECTURES))}")

        def number(name: str, default: Any = None) -> Any:
            return self.field(f"{kind}.{name}", _DEFAULTS.get(kind, {}).get(name, default))

        switches = dict(_ARCHITECTURES[kind])
        heads, width = number("attention.head_count"), number("embedding_length")
        if heads == 0:
            raise ValueError(f"{self.path}: a model has one head of attention or more")
        if isinstance(heads, list):
            raise UnsupportedModel(f"{self.path}: layers have different numbers of heads")
        size = number("attention.key_length", width // heads)
        # A file that names no method may still stretch positions, older ones under another key.
        scaling = number("rope.scaling.type", "linear")
        if scaling in ("none", "linear") and "rope_factors_short.weight" in self.tensors:
            scaling = "longrope"
        stretch = float(number("rope.scaling.factor", number("rope.scale_linear", 1.0))) or 1.0
        if scaling not in ("none", "linear", "longrope"):
            raise UnsupportedModel(f"{self.path}: positions are scaled by the method {scaling}, which is not known")
        if kind == "gpt2":
            switches["rotated"] = 0
        context = number("context_length")
        if scaling == "longrope":
            # The shorter factors hold up to the context that the model had at first.
            context = min(context, number("rope.scaling.original_context_length", context))
        if number("block_count") == _SCALED_BY_WIDTH.get(kind):
            switches["attention_scale"] = (width // heads) ** -0.5
        window = number("attention.sliding_window", 0)
        if window and "window_every" not in switches and context > window:
            switches["window_every"] = _EVERY_LAYER
        if kind.startswith("gemma"):
            switches["embedding_scale"] = math.sqrt(width)
        epsilon = "attention.layer_norm_epsilon" if kind == "gpt2" else "attention.layer_norm_rms_epsilon"
        return Config(
            **{"rotated": number("rope.dimension_count", size), **switches},
            layers=number("block_count"),
            width=width,
            heads=heads,
            kv_heads=number("attention.head_count_kv", heads),
            head_size=size,
            hidden=number("feed_forward_length"),
            vocabulary=len(self.field("tokenizer.ggml.tokens")),
            context=context,
            epsilon=float(number(epsilon)),
            base=float(number("rope.freq_base", 10000.0)),
            stretch=stretch if scaling == "linear" else 1.0,
            turn_scale=float(number("rope.scaling.attn_factor", 1.0)),
            score_cap=float(number("final_logit_softcapping", 0.0)),
            attention_cap=float(number("attn_logit_softcapping", 0.0)),
            window=window,
        )

    def weights(self, config: Config) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Weights of the whole, and of each layer, by the names of the program."""
        whole: dict[str, Any] = {"embedding": self.weight("token_embd.weight"), "norm": self.weight("output_norm.weight")}
        for name, place in (("output_norm.bias", "norm_bias"), ("output.weight", "output"), ("position_embd.weight", "positions")):
            if name in self.tensors:
                whole[place] = self.weight(name)
        for name in ("rope_freqs.weight", "rope_factors_short.weight"):
            if name in self.tensors:
                whole["rotation_factors"] = self.weight(name)
        layers = []
        for i in range(config.layers):
            layers.append(self._layer(config, i))
            if not layers[-1]:
                raise ValueError(f"{self.path} has no weights of layer {i} of {config.layers}")
        for name in sorted(self.tensors.keys() - self._taken - _LONGER):
            index = name.split(".")[1] if name.startswith("blk.") else ""
            if not index.isdecimal() or int(index) < config.layers:
                # Without it, results would be wrong.
                raise UnsupportedModel(f"{self.path}: models of its architecture have no place for the tensor {name}")
        return whole, layers

    def _layer(self, config: Config, index: int) -> dict[str, Any]:
        parts: dict[str, Any] = {}
        for name, place in _LAYER.items():
            for end, suffix in ((".weight", ""), (".bias", "_bias")):
                full = f"blk.{index}.{name}{end}"
                if full in self.tensors:
                    parts[place + suffix] = self.weight(full)
        joined = f"blk.{index}.attn_qkv"
        if joined + ".weight" in self.tensors and not parts.keys() & set("qkv"):
            matrix = self.weight(joined + ".weight")
            bias = self.weight(joined + ".bias") if joined + ".bias" in self.tensors else None
            if not isinstance(matrix, Matrix) or isinstance(bias, Matrix):
                raise ValueError(f"{self.path}: {joined} has wrong dimensions")
            parts.update(zip("qkv", matrix.parted(*config.qkv)))
            if bias is not None:
                parts.update(zip(("q_bias", "k_bias", "v_bias"), np.split(bias, np.cumsum(config.qkv)[:2])))
        if config.gated and "gate" not in parts and isinstance(parts.get("up"), Matrix):
            parts["gate"], parts["up"] = parts["up"].parted(config.hidden, config.hidden)
        return parts

    def vocabulary(self) -> Vocabulary:
        """Tokens and how texts are cut."""
        try:
            return self._vocabulary()
        except (TypeError, ValueError, ArithmeticError) as error:
            message = str(error)
            raise ValueError(message if self.path in message else f"{self.path}: tokens are not described as they should be: {message}") from None

    def _vocabulary(self) -> Vocabulary:
        field = self.field
        spaced = field("tokenizer.ggml.model") == "llama"
        cut = str(field("tokenizer.ggml.pre", "default"))
        tokens = field("tokenizer.ggml.tokens")

        def place_of(name: str) -> int:
            """The place of a token, -1 for none: files write some number beyond the tokens for it."""
            place = int(field(f"tokenizer.ggml.{name}_token_id", -1))
            return place if place < len(tokens) else -1

        return Vocabulary(
            kind=field("tokenizer.ggml.model"),
            cut=cut,
            tokens=tokens,
            kinds=field("tokenizer.ggml.token_type", []),
            scores=field("tokenizer.ggml.scores", []),
            merges=field("tokenizer.ggml.merges", []),
            begin=place_of("bos"),
            stops={place_of("eos"), place_of("eot")} - {-1},
            adds_begin=bool(field("tokenizer.ggml.add_bos_token", spaced or cut.startswith("llama"))),
            adds_space=bool(field("tokenizer.ggml.add_space_prefix", spaced)),
            template=field("tokenizer.chat_template", ""),
        )
