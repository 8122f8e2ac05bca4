"""Targets by names of products, such as "raspberry-pi/4b-aarch64"."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import Target

__all__ = ["list_tags", "register_tag"]

# Makers whose products have names: what a product is, beside its name.
_MAKERS: dict[str, dict[str, Any]] = {
    "nvidia": {"kind": "cuda", "max_threads_per_block": 1024, "thread_warp_size": 32, "shared_memory_per_block": 49152, "registers_per_block": 65536},
    "raspberry-pi": {"kind": "llvm", "mtriple": "aarch64-linux-gnu", "device": "arm_cpu"},
}  # fmt: skip
# The families that products of a maker belong to. There are more products than a list would have.
_FAMILIES = {
    "nvidia": re.compile(r"(?:geforce|jetson|nvidia|nvs|quadro|rtx|tegra|tesla)(?:[-,][a-z0-9]+)+|[tp]\d+"),
    "raspberry-pi": re.compile(r"\d[a-z]?(?:-[a-z0-9]+)*"),
}
# Products, those of one maker with the architecture that they are made for.
_ARCHITECTURES = {
    "jetson-nano": "sm_53", "jetson-tx2": "sm_62", "jetson-agx-xavier": "sm_72", "jetson-agx-orin-32gb": "sm_87", "jetson-agx-orin-64gb": "sm_87",
    "geforce-gtx-1080-ti": "sm_61", "geforce-rtx-2080-ti": "sm_75", "geforce-rtx-3060": "sm_86", "geforce-rtx-3070": "sm_86", "geforce-rtx-3080": "sm_86",
    "geforce-rtx-3090": "sm_86", "geforce-rtx-4090": "sm_89", "nvidia-v100": "sm_70", "tesla-t4": "sm_75", "nvidia-t4": "sm_75", "nvidia-a10": "sm_86",
    "nvidia-a100": "sm_80", "nvidia-a40": "sm_86", "nvidia-h100": "sm_90a",
}  # fmt: skip
_PRODUCTS = ("raspberry-pi/3b-aarch64", "raspberry-pi/4b-aarch64", *(f"nvidia/{name}" for name in _ARCHITECTURES))
_registered: dict[str, dict[str, Any]] = {}


def is_tag(name: str) -> bool:
    """True for names of products: those that were registered, and MAKER/PRODUCT of makers and families that are known."""
    maker, _, product = name.partition("/")
    return name in _registered or maker in _FAMILIES and _FAMILIES[maker].fullmatch(product) is not None


def options_of(name: str) -> dict[str, Any]:
    """The kind and the options of a product. Raises ValueError for a name that is none."""
    if not is_tag(name):
        raise ValueError(f"no target is called {name!r}: register_tag gives a name to one")
    if name in _registered:
        return dict(_registered[name])
    maker, _, product = name.partition("/")
    return {**_MAKERS[maker], **({"arch": _ARCHITECTURES[product]} if product in _ARCHITECTURES else {})}


def register_tag(name: str, config: Mapping[str, Any], override: bool = False) -> Target | None:
    """Gives a name to a kind with options. Raises ValueError if the name is taken, unless `override`."""
    from . import Target

    if name in _registered and not override:
        raise ValueError(f"a target is called {name!r} already")
    options = {key: value for key, value in config.items() if key != "tag"}
    if "tag" in config and "kind" not in config:  # by another name, which may be given to something else later
        options = {**options_of(str(config["tag"])), **options}
    made = Target({**options, "tag": name})
    _registered[name] = options
    return made


def list_tags() -> dict[str, Target] | None:
    """The targets that have names, by these: those that were registered, and some products of makers that are known."""
    from . import Target

    return {name: Target({"tag": name}) for name in [*_PRODUCTS, *_registered]}
