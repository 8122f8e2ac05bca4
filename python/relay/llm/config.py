"""The kinds of language models that are told apart by numbers and switches alone."""

from __future__ import annotations

from dataclasses import dataclass

from .._checks import shown

# How the network in a layer bends numbers, as expressions of `%wide`.
ACTIVATIONS = {
    "silu": "%wide * sigmoid(%wide)",
    "gelu": "0.5f * %wide * (1f + tanh(0.7978845608f * (%wide + 0.044715f * %wide * %wide * %wide)))",
    "gelu by erf": "0.5f * %wide * (1f + erf(0.7071067812f * %wide))",
    "gelu by sigmoid": "%wide * sigmoid(1.702f * %wide)",
    "relu": "nn.relu(%wide)",
}


_LEAST, _MOST = 2.0**-126, 2.0**126  # numbers that are normal as float32, and so are those that they divide one by


class UnsupportedModel(ValueError):
    """A model that is well formed and of a kind that is not known."""


@dataclass(frozen=True)
class Config:
    """A decoder: token ids in, scores of the next token out."""

    layers: int
    width: int
    heads: int
    kv_heads: int
    head_size: int
    hidden: int  # of the network in each layer
    vocabulary: int
    context: int  # positions that the model was trained on
    epsilon: float  # of norms
    # Positions: rotations of pairs of neighbours ("pairs"), of both halves of a head ("halves"), or a table that is added ("table").
    positions: str = "pairs"
    rotated: int = 0  # numbers of a head that are rotated
    turn_scale: float = 1.0  # what is turned is multiplied by it
    base: float = 10000.0
    stretch: float = 1.0  # positions are divided by it
    norm: str = "rms"  # or "layer"
    norm_heads: bool = False  # queries and keys have norms of their own
    norm_results: bool = False  # results of attention and network have norms, too
    activation: str = "silu"  # a key of ACTIVATIONS
    gated: bool = True
    embedding_scale: float = 1.0
    score_cap: float = 0.0  # softly caps the scores of tokens, by tanh; 0: not
    attention_cap: float = 0.0
    attention_scale: float = 0.0  # 0: one over the root of the head size
    window: int = 0  # positions that a layer with a window sees; 0: all
    window_every: int = 0  # of so many layers in a row the last one sees all, the others have windows; 0: none has one
    window_from: int = 0  # the first layer that may have a window
    window_layers: tuple[bool, ...] = ()  # which layers have windows, if neither of the two says it
    window_base: float = 0.0  # of the rotations in layers with windows, if another

    def __post_init__(self) -> None:
        """Raises ValueError for numbers that no model has."""
        whole = {
            "layers": (1, 10_000), "width": (1, 1 << 20), "heads": (1, 1 << 16), "kv_heads": (1, 1 << 16), "head_size": (1, 1 << 16),
            "hidden": (1, 1 << 24), "vocabulary": (1, 1 << 28), "context": (1, 1 << 30), "rotated": (0, 1 << 16), "window": (0, 1 << 30),
            "window_every": (0, 1 << 30), "window_from": (0, 1 << 30),
        }  # fmt: skip
        for name, (least, most) in whole.items():
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
                raise ValueError(f"a model has {least} to {most} for {name}, not {shown(value)}")
        for name in ("epsilon", "base", "stretch", "embedding_scale", "score_cap", "attention_cap", "attention_scale", "window_base", "turn_scale"):
            value = getattr(self, name)
            if value != 0 and not _LEAST <= value <= _MOST:
                raise ValueError(f"{name} of a model is 0, or a number from {_LEAST:.1e} to {_MOST:.1e}, not {shown(value)}")
        if self.heads % self.kv_heads != 0:
            raise ValueError(f"{self.heads} heads cannot share keys of {self.kv_heads} heads alike")
        if self.rotated % 2 != 0 or self.rotated > self.head_size:
            raise ValueError(f"{self.rotated} numbers of heads of {self.head_size} cannot be turned in pairs")
        if self.window_layers and len(self.window_layers) < self.layers:
            raise ValueError(f"it is said of {len(self.window_layers)} layers whether they have windows; the model has {self.layers}")
        if self.window == 0 and self.has_windows:
            raise ValueError("layers have windows whose size is not said")
        if self.base == 0 or self.stretch == 0:
            raise ValueError("base and stretch of positions are above 0")

    @property
    def qkv(self) -> tuple[int, int, int]:
        """The numbers of queries, keys and values of a position."""
        return self.heads * self.head_size, self.kv_heads * self.head_size, self.kv_heads * self.head_size

    @property
    def scale(self) -> float:
        return self.attention_scale or self.head_size**-0.5

    def has_window(self, layer: int) -> bool:
        if self.window_layers:
            return self.window_layers[layer]
        return self.window_every > 0 and layer >= self.window_from and (layer + 1) % self.window_every != 0

    @property
    def has_windows(self) -> bool:
        return any(self.has_window(layer) for layer in range(self.layers))
