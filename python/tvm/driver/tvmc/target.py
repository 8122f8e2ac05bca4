"""Targets as the command line has them: one, or names of code generators before one, with commas between."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import Any

from ... import _absent
from ...target import Target
from .model import TVMCException

__all__ = ["is_inline_json", "parse_target", "reconstruct_target_args", "target_from_cli", "tokenize_target", "validate_targets"]

# A word: quoted parts, and what holds neither a space nor a comma; commas without a space behind them stand inside of an option's value.
_WORD = re.compile(r"""(?:"[^"]*"|'[^']*'|,(?=[^\s,-])|[^\s,"'])+,?|,""")


def tokenize_target(target: str) -> list[str]:
    """The words of a target. A comma at the end of one ends a code generator."""
    return [word for word in _WORD.findall(target) if word]


def _split(target: str) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for word in tokenize_target(target):
        bare = word.removesuffix(",")
        # A name directly behind the comma: "foo,llvm".
        pieces = bare.split(",") if not bare.startswith("-") and not parts[-1] else [bare]
        for at, piece in enumerate(pieces):
            if at:
                parts.append([])
            if piece:
                parts[-1].append(piece)
        if word.endswith(","):
            parts.append([])
    return parts


def _option(word: str) -> tuple[str, Any]:
    if word.startswith("--"):
        return word[2:], True
    name, equals, value = word.removeprefix("-").partition("=")
    if not equals or not name:
        raise TVMCException(f"Error when parsing '{word}': an option is -name=value, or --name")
    if len(value) > 1 and value[0] in "'\"" and value[-1] == value[0]:
        value = value[1:-1]
    return name, value


def parse_target(target: str) -> list[dict[str, Any]]:
    """Of each code generator: `name`, `opts`, its text `raw`, and `is_tvm_target`, which says if it is a kind of target. Raises TVMCException."""
    kinds = set(Target.list_kinds())
    found = []
    for words in _split(target):
        if not words:
            raise TVMCException(f"the target {target!r} names no code generator at one place")
        found.append({"name": words[0], "opts": dict(_option(word) for word in words[1:]), "raw": " ".join(words), "is_tvm_target": words[0] in kinds})
    return found


def is_inline_json(target: str) -> bool:
    """True if a target is a JSON document."""
    try:
        json.loads(target)
    except (ValueError, RecursionError):
        return False
    return True


def validate_targets(parse_targets: list[dict[str, Any]], additional_target_options: Mapping[str, Any] | None = None) -> None:
    """Raises TVMCException for what cannot be compiled: code generators alone, and more than two targets."""
    own = [each["name"] for each in parse_targets if each["is_tvm_target"]]
    if not own:
        raise TVMCException("No available targets: name a kind of target, such as llvm, behind the code generators")
    if len(own) > 2:
        raise TVMCException(f"Only two of the following targets can be used at a time. Found: {', '.join(own)}.")
    for name in additional_target_options or {}:
        if name not in own:
            raise TVMCException(f"Passed --target-{name}-… but did not specify {name} target")


def reconstruct_target_args(args: Any) -> dict[str, dict[str, Any]]:
    """The options ``target_KIND_OPTION`` of parsed words, by kind."""
    found: dict[str, dict[str, Any]] = {}
    for kind in Target.list_kinds():
        before = f"target_{kind}_"
        given = {name[len(before) :]: value for name, value in vars(args).items() if name.startswith(before) and value is not None}
        if given:
            found[kind] = given
    return found


def target_from_cli(target: str, additional_target_options: Mapping[str, Any] | None = None) -> tuple[Target, list[dict[str, Any]]]:
    """The target of a text, a JSON document or a file with one, and the code generators before it. Raises TVMCException."""
    if os.path.isfile(target):
        with open(target, encoding="utf-8") as stream:
            target = stream.read().strip()
    try:
        if is_inline_json(target):
            return Target(json.loads(target)), []
        parts = parse_target(target)
        validate_targets(parts, additional_target_options)
        more = {
            kind: "".join(f" -{name.replace('_', '-')}={value}" for name, value in options.items())
            for kind, options in (additional_target_options or {}).items()
        }
        texts = [part["raw"] + more.get(part["name"], "") for part in parts if part["is_tvm_target"]]
        made = Target(texts[-1]) if len(texts) == 1 else Target(texts[0], texts[1])
    except (TypeError, ValueError) as error:
        if isinstance(error, TVMCException):
            raise
        raise TVMCException(f"the target {target!r} cannot be read: {error}") from None
    return made, [part for part in parts if not part["is_tvm_target"]]


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
