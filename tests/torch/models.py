"""Architectures by name: each builds its module from a seed with random weights, small enough for a test.

A model is built, given inputs at any batch, and (where PyTorch's export allows it) at any length or picture size.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Callable

import torch

__all__ = ["MODELS", "Model"]


class Wrapped(torch.nn.Module):
    """A module whose one input is named and whose result is its tensors, so that results compare one by one."""

    def __init__(self, inner: torch.nn.Module, name: str = "", **fixed: Any) -> None:
        super().__init__()
        self.inner, self.name, self.fixed = inner, name, fixed

    def forward(self, x: torch.Tensor) -> Any:
        result = self.inner(**{self.name: x}, **self.fixed) if self.name else self.inner(x, **self.fixed)
        if isinstance(result, torch.Tensor):
            return result
        values = result.values() if hasattr(result, "values") else result
        return tuple(value for value in values if isinstance(value, torch.Tensor))


@dataclasses.dataclass(frozen=True)
class Model:
    """One architecture: `build()` is the module, `inputs(batch, size)` its input.

    `sizes` are a batch and a size to export at, then a second pair; `axes` are the axes of the input that the size counts and
    that stay open, none where the architecture fixes them. `step` says which sizes are taken: its multiples.
    """

    build: Callable[[], torch.nn.Module]
    inputs: Callable[[int, int], torch.Tensor]
    sizes: tuple[tuple[int, int], tuple[int, int]]
    axes: tuple[int, ...] = ()
    step: int = 1


MODELS: dict[str, Model] = {}


def _picture(batch: int, size: int) -> torch.Tensor:
    return torch.randn(batch, 3, size, size, generator=torch.Generator().manual_seed(batch * 1000 + size))


def _tokens(batch: int, size: int) -> torch.Tensor:
    return torch.randint(3, 96, (batch, size), generator=torch.Generator().manual_seed(batch * 1000 + size))


def _sound(batch: int, size: int) -> torch.Tensor:
    return torch.randn(batch, size, generator=torch.Generator().manual_seed(batch * 1000 + size))


def _spectrum(batch: int, size: int) -> torch.Tensor:
    return torch.randn(batch, 16, size, generator=torch.Generator().manual_seed(batch * 1000 + size))


def _seeded(make: Callable[[], torch.nn.Module]) -> Callable[[], torch.nn.Module]:
    def build() -> torch.nn.Module:
        torch.manual_seed(0)
        return make().eval()

    return build


# torchvision: pictures. Statistics of batch normalisation are those of a new module, so widths do not change what is tested.


def _vision(name: str, size: int, other: int | None = None, family: str = "", **options: Any) -> None:
    def make() -> torch.nn.Module:
        import torchvision

        owner = getattr(torchvision.models, family) if family else torchvision.models
        extra = {"weights_backbone": None} if family == "segmentation" else {}
        return Wrapped(getattr(owner, name)(weights=None, **extra, **options))

    axes = (2, 3) if other else ()
    MODELS[f"torchvision/{name}"] = Model(_seeded(make), _picture, ((2, size), (3, other or size)), axes, 32)


def _pyramid(name: str) -> None:
    def make() -> torch.nn.Module:
        from torchvision.models.detection.backbone_utils import resnet_fpn_backbone

        return Wrapped(resnet_fpn_backbone(backbone_name=name, weights=None))

    MODELS[f"torchvision/{name}_fpn"] = Model(_seeded(make), _picture, ((2, 64), (3, 64)))


for _name in ("resnet18", "resnet50", "wide_resnet50_2", "resnext50_32x4d", "mobilenet_v2", "mobilenet_v3_small", "mobilenet_v3_large",
              "shufflenet_v2_x0_5", "mnasnet0_5", "efficientnet_b0", "efficientnet_v2_s", "regnet_y_400mf", "regnet_x_400mf",
              "densenet121", "convnext_tiny"):  # fmt: skip
    _vision(_name, 64, 96)
for _name in ("squeezenet1_0", "squeezenet1_1"):
    _vision(_name, 64, 96, num_classes=10)
for _name in ("alexnet", "vgg11"):
    _vision(_name, 64, num_classes=10)
_vision("googlenet", 64, init_weights=False, aux_logits=False)
_vision("inception_v3", 96, init_weights=False, aux_logits=False)
_vision("swin_t", 64)
_vision("swin_v2_t", 64)
_vision("vit_b_16", 32, image_size=32)
_vision("maxvit_t", 224)
for _name in ("fcn_resnet50", "deeplabv3_mobilenet_v3_large", "lraspp_mobilenet_v3_large"):
    _vision(_name, 64, family="segmentation", num_classes=5)
_pyramid("resnet18")


# Hugging Face: text, vision and sound by configuration.

_SMALL = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, vocab_size=100)  # fmt: skip
_GROUPED = dict(_SMALL, num_key_value_heads=2, max_position_embeddings=64)
_PATCHES = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, image_size=32, patch_size=8)


def _hugging(name: str, module: str, config: str, inputs: Any, sizes: Any, axes: tuple[int, ...] = (), field: str = "", **options: Any) -> None:
    fixed = options.pop("fixed", {})

    def make() -> torch.nn.Module:
        import transformers

        return Wrapped(getattr(transformers, module)(getattr(transformers, config)(**options)), field, **fixed)

    MODELS[f"transformers/{name}"] = Model(_seeded(make), inputs, sizes, axes)


def _text(name: str, family: str, axes: tuple[int, ...] = (1,), **options: Any) -> None:
    causal = options.pop("causal", False)
    module = options.pop("module", f"{family}Model")
    fixed = {"use_cache": False} if causal else {}
    _hugging(name, module, f"{family}Config", _tokens, ((2, 12), (3, 20) if axes else (3, 12)), axes, "input_ids", fixed=fixed, **options)


for _name, _family in (("bert", "Bert"), ("roberta", "Roberta"), ("electra", "Electra"), ("albert", "Albert"), ("camembert", "Camembert"),
                       ("xlm-roberta", "XLMRoberta"), ("ernie", "Ernie"), ("deberta-v2", "DebertaV2"), ("deberta", "Deberta"),
                       ("mpnet", "MPNet"), ("megatron-bert", "MegatronBert"), ("roformer", "RoFormer"), ("squeezebert", "SqueezeBert")):  # fmt: skip
    _text(_name, _family, **dict(_SMALL, embedding_size=32))
_text("distilbert", "DistilBert", dim=32, n_layers=2, n_heads=4, hidden_dim=64, vocab_size=100)
_text("modernbert", "ModernBert", **_SMALL, global_attn_every_n_layers=2, pad_token_id=0)
_text("gpt2", "GPT2", causal=True, n_embd=32, n_layer=2, n_head=4, vocab_size=100, n_positions=64)
_text("gpt-neo", "GPTNeo", causal=True, hidden_size=32, num_layers=2, num_heads=4, vocab_size=100, max_position_embeddings=64,
      attention_types=[[["global", "local"], 1]], window_size=8)  # fmt: skip
_text("gpt-neox", "GPTNeoX", causal=True, **_SMALL, max_position_embeddings=64)
_text("gptj", "GPTJ", causal=True, n_embd=32, n_layer=2, n_head=4, rotary_dim=8, vocab_size=100, n_positions=64)
_text("opt", "OPT", causal=True, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, ffn_dim=64, vocab_size=100, word_embed_proj_dim=32)
_text("bloom", "Bloom", causal=True, hidden_size=32, n_layer=2, n_head=4, vocab_size=100)
_text("falcon", "Falcon", causal=True, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, vocab_size=100)
for _name, _family in (("llama", "Llama"), ("mistral", "Mistral"), ("qwen2", "Qwen2"), ("qwen3", "Qwen3"), ("gemma", "Gemma"), ("gemma2", "Gemma2"),
                       ("phi", "Phi"), ("phi3", "Phi3"), ("stablelm", "StableLm"), ("olmo", "Olmo"), ("cohere", "Cohere"), ("starcoder2", "Starcoder2"),
                       ("granite", "Granite")):  # fmt: skip
    _text(_name, _family, causal=True, **_GROUPED, head_dim=8, pad_token_id=0)
_text("t5-encoder", "T5", module="T5EncoderModel", d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, vocab_size=100)
_text("bart-encoder-decoder", "Bart", causal=True, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
      encoder_ffn_dim=64, decoder_ffn_dim=64, vocab_size=100)  # fmt: skip
_text("clip-text", "CLIPText", **_SMALL, max_position_embeddings=64, projection_dim=32, module="CLIPTextModel")

for _name, _family in (("vit", "ViT"), ("deit", "DeiT"), ("dinov2", "Dinov2"), ("beit", "Beit"), ("clip-vision", "CLIPVision"), ("siglip-vision", "SiglipVision")):
    _hugging(_name, f"{_family}Model", f"{_family}Config", _picture, ((2, 32), (3, 32)), (), "pixel_values", **_PATCHES)
_hugging("swin", "SwinModel", "SwinConfig", _picture, ((2, 32), (3, 32)), (), "pixel_values", image_size=32, patch_size=2, embed_dim=16, depths=[1, 2],
         num_heads=[2, 4], window_size=4)  # fmt: skip
_hugging("convnext", "ConvNextModel", "ConvNextConfig", _picture, ((2, 64), (3, 96)), (2, 3), "pixel_values", hidden_sizes=[8, 16, 16, 32], depths=[1, 1, 2, 1])
_hugging("resnet", "ResNetModel", "ResNetConfig", _picture, ((2, 64), (3, 96)), (2, 3), "pixel_values", embedding_size=8, hidden_sizes=[8, 16, 16, 32],
         depths=[1, 1, 1, 1], layer_type="basic")  # fmt: skip
_hugging("segformer", "SegformerModel", "SegformerConfig", _picture, ((2, 64), (3, 64)), (), "pixel_values", hidden_sizes=[8, 16, 16, 32], depths=[1, 1, 1, 1],
         num_attention_heads=[1, 2, 2, 4], decoder_hidden_size=16)  # fmt: skip
_hugging("mobilevit", "MobileViTModel", "MobileViTConfig", _picture, ((2, 64), (3, 64)), (), "pixel_values", image_size=64, hidden_sizes=[16, 24, 32])
_hugging("poolformer", "PoolFormerModel", "PoolFormerConfig", _picture, ((2, 64), (3, 64)), (), "pixel_values", hidden_sizes=[8, 16, 16, 32], depths=[1, 1, 1, 1])

_SOUND = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, conv_dim=(16, 16, 16), conv_stride=(5, 2, 2),
              conv_kernel=(10, 3, 3), num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4, vocab_size=32)  # fmt: skip
for _name, _family in (("wav2vec2", "Wav2Vec2"), ("hubert", "Hubert"), ("data2vec-audio", "Data2VecAudio")):
    _hugging(_name, f"{_family}Model", f"{_family}Config", _sound, ((2, 800), (3, 1200)), (1,), "input_values", **_SOUND)
_WHISPER = dict(d_model=32, encoder_layers=2, encoder_attention_heads=4, encoder_ffn_dim=64, num_mel_bins=16, max_source_positions=20)


def _whisper() -> torch.nn.Module:
    from transformers import WhisperConfig
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    return Wrapped(WhisperEncoder(WhisperConfig(**_WHISPER)))


MODELS["transformers/whisper-encoder"] = Model(_seeded(_whisper), _spectrum, ((2, 40), (3, 40)))
