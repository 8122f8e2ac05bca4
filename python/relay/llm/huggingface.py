"""Language models in folders of Hugging Face: config.json, *.safetensors, tokenizer.json."""

from __future__ import annotations

import json
import math
import pathlib
from typing import Any

import numpy as np

from .._checks import shown
from .config import Config, UnsupportedModel
from .formats import Matrix, plain
from .tokens import Vocabulary

_MOST_TOKENS = 2**22  # sixteen times those of the largest vocabularies
_HALVES: dict[str, Any] = {"positions": "halves"}
# Names of activations in config.json, and in the program. Those with tanh differ in how they round.
_ACTIVATIONS = {
    "silu": "silu", "swish": "silu", "gelu_new": "gelu", "gelu_pytorch_tanh": "gelu", "gelu_fast": "gelu", "gelu_accurate": "gelu",
    "gelu": "gelu by erf", "gelu_python": "gelu by erf", "quick_gelu": "gelu by sigmoid", "relu": "relu",
}  # fmt: skip
# Where config.json names the activation, and which one it is where it does not.
_ACTIVATION_KEYS = {"gemma": ("hidden_activation", "gelu_pytorch_tanh"), "gpt2": ("activation_function", "gelu_new")}
# What config.json may leave out: folders name what differs from the class of the kind.
_GEMMA_SIZES = {
    "hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 26, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
    "rms_norm_eps": 1e-6, "query_pre_attn_scalar": 256, "sliding_window": 4096,
}  # fmt: skip
_DEFAULTS: dict[str, dict[str, Any]] = {
    "gemma2": {**_GEMMA_SIZES, "vocab_size": 256000, "max_position_embeddings": 8192, "attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0},
    "gemma3_text": {**_GEMMA_SIZES, "vocab_size": 262208, "max_position_embeddings": 131072},
}
_BASES = {"gemma3_text": 1_000_000.0}
# Where models have their weights, the first that a name begins with.
_ROOTS = ("transformer.", "model.language_model.", "model.", "language_model.model.", "")
# Kinds with windows that config.json switches on by layer, and the layer from which on it does.
_WINDOWS = {"mistral": 0, "phi3": 0, "qwen2": 28, "qwen3": 28}
# Tensors of older files that follow from numbers: angles, masks.
_DERIVED = ("rotary_emb.inv_freq", "attn.bias", "attn.masked_bias")
_GEMMA: dict[str, Any] = {**_HALVES, "activation": "gelu", "norm_results": True}
# What differs between kinds of models beyond the numbers of config.json.
_KINDS: dict[str, dict[str, Any]] = {
    "llama": _HALVES,
    "mistral": _HALVES,
    "qwen2": _HALVES,
    "qwen3": {**_HALVES, "norm_heads": True},
    "phi3": _HALVES,
    "gemma": {**_HALVES, "activation": "gelu"},
    "gemma2": {**_GEMMA, "window_every": 2},
    "gemma3_text": {**_GEMMA, "norm_heads": True, "window_every": 6},
    "gpt2": {"positions": "table", "activation": "gelu", "norm": "layer", "gated": False, "rotated": 0},
}
_LAYER = {
    "input_layernorm": "attention_norm",
    "self_attn.q_proj": "q",
    "self_attn.k_proj": "k",
    "self_attn.v_proj": "v",
    "self_attn.q_norm": "q_norm",
    "self_attn.k_norm": "k_norm",
    "self_attn.o_proj": "o",
    "post_attention_layernorm": "network_norm",
    "mlp.gate_proj": "gate",
    "mlp.up_proj": "up",
    "mlp.down_proj": "down",
}
_LAYER_OF_GPT2 = {
    "ln_1": "attention_norm",
    "attn.c_proj": "o",
    "ln_2": "network_norm",
    "mlp.c_fc": "up",
    "mlp.c_proj": "down",
}
# With norms of results the norm behind attention is that of its result.
_LAYER_WITH_RESULTS = {
    **_LAYER,
    "post_attention_layernorm": "attention_result_norm",
    "pre_feedforward_layernorm": "network_norm",
    "post_feedforward_layernorm": "network_result_norm",
}
_DTYPES: dict[str, np.dtype[Any]] = {"F32": np.dtype("<f4"), "F16": np.dtype("<f2"), "BF16": np.dtype("<u2")}


class ModelFolder:
    """A folder with a model. ValueError for one that is damaged, UnsupportedModel for a model that is not known."""

    def __init__(self, path: pathlib.Path):
        self.path = path
        self.settings = self._json("config.json")
        if not isinstance(self.settings, dict):
            raise ValueError(f"{path / 'config.json'} holds no object")
        if self.settings.get("model_type") == "gemma3" and "text_config" in self.settings:
            self.settings = self.settings["text_config"]
            if not isinstance(self.settings, dict):
                raise ValueError(f"{path / 'config.json'}: text_config is no object")
        self.kind = str(self.settings.get("model_type"))
        if self.kind not in _KINDS:
            raise UnsupportedModel(f"{path} holds a model of kind {self.kind}; known are {', '.join(sorted(_KINDS))}")
        self.settings = {**_DEFAULTS.get(self.kind, {}), **self.settings}
        self.tensors: dict[str, tuple[str, np.ndarray[Any, Any] | None]] = {}
        self._taken: set[str] = set()
        self._quantised: Any = None
        self._llama3: list[float] | None = None
        self._rotation_factors: np.ndarray[Any, Any] | None = None
        files = sorted(path.glob("*.safetensors"))
        if not files:
            raise ValueError(f"{path} has no .safetensors files")
        for file in files:
            self.tensors.update(_read_safetensors(file))

    def _json(self, name: str) -> Any:
        try:
            return json.loads((self.path / name).read_text())
        except FileNotFoundError:
            raise ValueError(f"{self.path} has no {name}") from None
        except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
            raise ValueError(f"{self.path / name}: {error}") from None

    def config(self) -> Config:
        """The numbers of the model."""
        try:
            return self._config()
        except UnsupportedModel:
            raise
        except (TypeError, ValueError, KeyError, AttributeError, ArithmeticError) as error:
            message = str(error)
            raise ValueError(message if str(self.path) in message else f"{self.path / 'config.json'}: {message}") from None

    def _config(self) -> Config:
        s = self.settings

        def number(*names: str, default: Any = None) -> Any:
            value = next((s[name] for name in names if s.get(name) is not None), default)
            if value is None:
                raise ValueError(f"{self.path / 'config.json'} has no {names[0]}")
            return value

        if s.get("quantization_config"):
            self._quantised = s["quantization_config"].get("quant_method", "that config.json leaves out")
        if s.get("use_bidirectional_attention"):
            raise UnsupportedModel(f"{self.path}: positions see those behind them, which is not known")
        switches = dict(_KINDS[self.kind])
        width, heads = number("hidden_size", "n_embd"), number("num_attention_heads", "n_head")
        size = number("head_dim", default=width // heads)
        # Newer files keep all about positions in one object, or in one for each kind of layers.
        parameters = s.get("rope_parameters") or {}
        scaling = s.get("rope_scaling") or parameters.get("full_attention") or parameters
        method = scaling.get("rope_type", scaling.get("type", "default"))
        if method not in ("default", "linear", "llama3", "longrope", "su"):
            raise UnsupportedModel(f"{self.path}: positions are scaled by the method {method}, which is not known")
        turns = parameters.get("full_attention") or parameters
        base = float(number("rope_theta", default=turns.get("rope_theta", _BASES.get(self.kind, 10000.0))))
        context = number("max_position_embeddings", "n_positions")
        turned = number("partial_rotary_factor", default=scaling.get("partial_rotary_factor", 1.0))
        if turned != 1 and self.kind != "phi3":
            raise UnsupportedModel(f"{self.path}: a share {turned} of each head is turned, which is not known of models of kind {self.kind}")
        switches.setdefault("rotated", int(size * turned))
        if method == "llama3":
            self._llama3 = [float(scaling[name]) for name in _LLAMA3]
        if method in ("longrope", "su"):
            # The shorter factors hold up to the context that the model had at first.
            first = s.get("original_max_position_embeddings") or scaling["original_max_position_embeddings"]
            longer = context / first if context > first else float(scaling.get("factor") or 1.0)
            usual = math.sqrt(1 + math.log(longer) / math.log(first)) if longer > 1 else 1.0
            switches["turn_scale"] = float(scaling.get("attention_factor") or usual)
            self._rotation_factors = np.array(scaling["short_factor"], "float32")
            context = min(context, first)
        if self.kind == "gemma3_text":
            near = parameters.get("sliding_attention", {}).get("rope_theta", 10000.0)
            switches["window_base"] = float(number("rope_local_base_freq", default=near))
        window = self._windows(switches)
        # Gemma was trained with the one activation, whatever older files say.
        key, preset = _ACTIVATION_KEYS.get("gemma" if self.kind.startswith("gemma") else self.kind, ("hidden_act", "silu"))
        activation = number(key, default=preset)
        if activation not in _ACTIVATIONS:
            raise UnsupportedModel(f"{self.path}: the activation {activation} is not known; known are {', '.join(sorted(_ACTIVATIONS))}")
        switches["activation"] = _ACTIVATIONS[activation]
        if s.get("scale_attn_by_inverse_layer_idx"):
            raise UnsupportedModel(f"{self.path}: attention is scaled by the number of the layer, which is not known")
        if s.get("scale_attn_weights") is False:
            switches["attention_scale"] = 1.0
        if self.kind.startswith("gemma"):
            switches["embedding_scale"] = math.sqrt(width)
            scalar = s.get("query_pre_attn_scalar")
            if scalar and self.kind != "gemma":
                switches["attention_scale"] = scalar**-0.5
        return Config(
            **switches,
            layers=number("num_hidden_layers", "n_layer"),
            width=width,
            heads=heads,
            kv_heads=number("num_key_value_heads", default=heads),
            head_size=size,
            hidden=number("intermediate_size", "n_inner", default=4 * width),
            vocabulary=number("vocab_size"),
            context=context,
            epsilon=float(number("rms_norm_eps", "layer_norm_epsilon")),
            base=base,
            stretch=float(scaling.get("factor", 1.0)) if method == "linear" else 1.0,
            score_cap=float(s.get("final_logit_softcapping") or 0.0),
            attention_cap=float(s.get("attn_logit_softcapping") or 0.0),
            window=window,
        )

    def _windows(self, switches: dict[str, Any]) -> int:
        """The positions that layers with windows see, 0 if there are none; `switches` gets which layers these are."""
        s = self.settings
        window, kinds = s.get("sliding_window") or 0, s.get("layer_types")
        if self.kind not in _WINDOWS and "window_every" not in switches:
            return 0
        if kinds:
            wrong = next((kind for kind in kinds if kind not in ("full_attention", "sliding_attention")), None)
            if wrong is not None:
                raise UnsupportedModel(f"{self.path}: layers of type {wrong} are not known")
            switches["window_layers"] = tuple(kind == "sliding_attention" for kind in kinds)
        elif "window_every" in switches:
            switches["window_every"] = s.get("sliding_window_pattern") or s.get("_sliding_window_pattern") or switches["window_every"]
        elif window and s.get("use_sliding_window", not self.kind.startswith("qwen")):
            switches["window_every"] = 1 << 30
            if self.kind.startswith("qwen"):
                switches["window_from"] = s.get("max_window_layers", _WINDOWS[self.kind])
        return int(window)

    # ---- Weights ------------------------------------------------------------------------------------

    def _vector(self, name: str) -> np.ndarray[Any, Any]:
        vector = self._weight(name)
        if isinstance(vector, Matrix):
            raise ValueError(f"{self.path}: tensor {name} has two dimensions, not one")
        return vector

    def _matrix(self, name: str) -> Matrix:
        matrix = self._weight(name)
        if not isinstance(matrix, Matrix):
            raise ValueError(f"{self.path}: tensor {name} has one dimension, not two")
        return matrix

    def _weight(self, name: str) -> Matrix | np.ndarray[Any, Any]:
        if name not in self.tensors:
            raise ValueError(f"{self.path} has no tensor {name}")
        self._taken.add(name)
        dtype, data = self.tensors[name]
        if data is None:
            raise UnsupportedModel(f"{self.path}: tensor {name} is stored as {dtype}; known are {', '.join(_DTYPES)}")
        if data.ndim > 2:
            raise UnsupportedModel(f"{self.path}: tensor {name} has {data.ndim} dimensions; weights have one or two")
        if data.ndim == 2:
            if self.kind == "gpt2" and name.split(".")[-2].startswith("c_"):
                data = np.ascontiguousarray(data.T)
            return plain(data, "bfloat16" if dtype == "BF16" else "")
        vector = (data.astype(np.uint32) << 16).view(np.float32) if dtype == "BF16" else data.astype(np.float32)
        # The norms of Gemma multiply by one plus their weight.
        return vector + np.float32(1) if self.kind.startswith("gemma") and "norm" in name else vector

    def weights(self, config: Config) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Weights of the whole, and of each layer, by the names of the program."""
        gpt2 = self.kind == "gpt2"
        root = next(r for r in _ROOTS if r == "" or any(name.startswith(r) for name in self.tensors))
        self._refuse_quantised(root)
        names = (
            [("wte.weight", "embedding"), ("ln_f.weight", "norm"), ("ln_f.bias", "norm_bias"), ("wpe.weight", "positions")]
            if gpt2
            else [("embed_tokens.weight", "embedding"), ("norm.weight", "norm")]
        )
        whole: dict[str, Any] = {place: self._weight(root + name) for name, place in names}
        output = f"{root.removesuffix('model.') if root == 'language_model.model.' else ''}lm_head."
        if not self.settings.get("tie_word_embeddings", gpt2 or self.kind.startswith("gemma")):
            whole["output"] = self._weight(output + "weight")
        self._taken.add(output + "weight")  # the matrix of the embedding once more, in some folders
        if self._llama3 is not None:
            whole["rotation_factors"] = _llama3_factors(config.base, config.rotated, self._llama3)
        if self._rotation_factors is not None:
            whole["rotation_factors"] = self._rotation_factors
        layers = f"{root}{'h' if gpt2 else 'layers'}."
        found = []
        for i in range(config.layers):
            found.append(self._layer(config, f"{layers}{i}."))
            if not found[-1]:
                raise ValueError(f"{self.path} has no weights of layer {i} of {config.layers}")
        self._refuse_others((root, output), layers, config.layers)
        return whole, found

    def _refuse_quantised(self, root: str) -> None:
        """Raises UnsupportedModel for weights that are quantised. A configuration that says so may be that of a model before it was merged."""
        names = [name for name in self.tensors if name.startswith(root) and not name.endswith(_DERIVED)]
        if self._quantised is not None and any(self.tensors[name][1] is None or not name.endswith((".weight", ".bias")) for name in names):
            raise UnsupportedModel(f"{self.path}: weights are quantised by the method {self._quantised}, which is not known")

    def _refuse_others(self, roots: tuple[str, str], layers: str, number: int) -> None:
        """Raises UnsupportedModel for a weight that no part of the program takes: without it, results would be wrong."""
        for name in self.tensors:
            index = name.removeprefix(layers).partition(".")[0] if name.startswith(layers) else ""
            beyond = index.isdecimal() and int(index) >= number
            if name.startswith(roots) and name not in self._taken and not beyond and not name.endswith(_DERIVED):
                raise UnsupportedModel(f"{self.path}: models of kind {self.kind} have no place for the tensor {name}")

    def _layer(self, config: Config, root: str) -> dict[str, Any]:
        parts: dict[str, Any] = {}
        gpt2 = self.kind == "gpt2"
        for name, place in (_LAYER_OF_GPT2 if gpt2 else _LAYER_WITH_RESULTS if config.norm_results else _LAYER).items():
            for end, suffix in ((".weight", ""), (".bias", "_bias")):
                if root + name + end in self.tensors:
                    parts[place + suffix] = self._weight(root + name + end)
        # A part that stands for itself is not one of those joined.
        joined = root + ("attn.c_attn" if gpt2 else "self_attn.qkv_proj")
        if joined + ".weight" in self.tensors and not parts.keys() & set("qkv"):
            parts.update(zip("qkv", self._matrix(joined + ".weight").parted(*config.qkv)))
            if joined + ".bias" in self.tensors:
                bias = self._vector(joined + ".bias")
                parts.update(zip(("q_bias", "k_bias", "v_bias"), np.split(bias, np.cumsum(config.qkv)[:2])))
        joined = root + "mlp.gate_up_proj.weight"
        if joined in self.tensors and not gpt2 and not parts.keys() & {"gate", "up"}:
            parts["gate"], parts["up"] = self._matrix(joined).parted(config.hidden, config.hidden)
        return parts

    # ---- Texts --------------------------------------------------------------------------------------

    def vocabulary(self) -> Vocabulary | None:
        """Tokens, by tokenizer.json; None if there is no such file."""
        if not (self.path / "tokenizer.json").exists():
            return None
        try:
            return self._vocabulary()
        except (TypeError, ValueError, KeyError, AttributeError, IndexError) as error:
            message = str(error)
            raise ValueError(message if str(self.path) in message else f"{self.path}: tokens are not described as they should be: {message}") from None

    def _vocabulary(self) -> Vocabulary:
        described = self._json("tokenizer.json")
        settings = self._json("tokenizer_config.json") if (self.path / "tokenizer_config.json").exists() else {}
        places: dict[str, int] = dict(described.get("model", {}).get("vocab", {})) if isinstance(described.get("model", {}).get("vocab"), dict) else {}
        places.update({token["content"]: token["id"] for token in described.get("added_tokens", [])})
        for token, place in places.items():
            if type(place) is not int or not 0 <= place < _MOST_TOKENS:
                raise ValueError(f"token {shown(token)} has the number {shown(place)}; numbers are from 0 to {_MOST_TOKENS - 1}")
        tokens = [""] * (max(places.values(), default=-1) + 1)
        for token, place in places.items():
            tokens[place] = token

        def place_of(name: str) -> int:
            token = settings.get(name)
            return places.get(str(token.get("content") if isinstance(token, dict) else token), -1)

        begin = place_of("bos_token")
        if begin < 0 and isinstance(self.settings.get("bos_token_id"), int):
            begin = self.settings["bos_token_id"]
        # Configurations may name tokens that the model does not have.
        most = max(len(tokens), self.settings["vocab_size"])
        begin = begin if begin < most else -1
        generation = self._json("generation_config.json") if (self.path / "generation_config.json").exists() else {}
        stops = generation.get("eos_token_id", self.settings.get("eos_token_id"))
        ends = [*(stops if isinstance(stops, list) else [-1 if stops is None else stops]), place_of("eos_token")]
        template = settings.get("chat_template") or ""
        if isinstance(template, list):  # several by name
            template = next((str(one["template"]) for one in template if one["name"] == "default"), "")
        if not template and (self.path / "chat_template.jinja").exists():
            template = (self.path / "chat_template.jinja").read_text()
        return Vocabulary(
            kind="tokenizers",
            cut=str(self.path / "tokenizer.json"),
            tokens=tokens,
            begin=begin,
            stops={stop for stop in ends if 0 <= stop < most},
            adds_begin=settings.get("add_bos_token"),
            template=template if isinstance(template, str) else "",
        )


# What Llama 3 says of positions, in the order in which `_llama3_factors` takes it.
_LLAMA3 = ("original_max_position_embeddings", "low_freq_factor", "high_freq_factor", "factor")


def _llama3_factors(base: float, rotated: int, numbers: list[float]) -> np.ndarray[Any, Any]:
    """What the frequencies are divided by: slow turns by the factor, quick ones by 1, those between by a mean.

    Source: Llama 3.1, "Effective long-context scaling" as its published configuration applies it.
    """
    first, low, high, factor = numbers
    frequencies = base ** (-np.arange(0, rotated, 2) / rotated)
    turns = first * frequencies / (2 * math.pi)
    share = np.clip((turns - low) / (high - low), 0, 1)
    divisors: np.ndarray[Any, Any] = 1 / ((1 - share) / factor + share)
    return divisors.astype(np.float32)


def _read_safetensors(path: pathlib.Path) -> dict[str, tuple[str, np.ndarray[Any, Any] | None]]:
    """The tensors of a file by name, mapped: bfloat16 as the 16 bits of its numbers, which NumPy has no dtype for; None for other dtypes."""
    size = path.stat().st_size
    if size < 8:
        raise ValueError(f"{path} is no safetensors file: it has {size} bytes")
    data = np.memmap(path, mode="r", dtype=np.uint8)
    length = int.from_bytes(bytes(data[:8]), "little")
    if length > size - 8:
        raise ValueError(f"{path} is no safetensors file: its header would have {length} bytes")
    try:
        header = json.loads(bytes(data[8 : 8 + length]))
        tensors: dict[str, tuple[str, np.ndarray[Any, Any] | None]] = {}
        for name, entry in header.items():
            if name == "__metadata__":
                continue
            begin, end = (8 + length + int(offset) for offset in entry["data_offsets"])
            dtype, shape = entry["dtype"], tuple(int(extent) for extent in entry["shape"])
            if not isinstance(dtype, str) or dtype not in _DTYPES:
                tensors[name] = str(dtype), None  # a mask of an older file, or what is refused where it is wanted
                continue
            if not 8 + length <= begin <= end <= size or end - begin != math.prod(shape) * _DTYPES[dtype].itemsize:
                raise ValueError(f"tensor {name} does not lie in the file")
            tensors[name] = dtype, np.asarray(data[begin:end]).view(_DTYPES[dtype]).reshape(shape)
        return tensors
    except (KeyError, TypeError, AttributeError, RecursionError, UnicodeDecodeError, ValueError, ArithmeticError) as error:
        raise ValueError(f"{path} is no safetensors file that can be read: {error}") from None
