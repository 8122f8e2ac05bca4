"""Models of PyTorch, with the arguments of TVM's front end."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from relay import IRModule, NDArray
from relay import frontend as _frontend

from ... import _absent
from ..._errors import operators_not_implemented

__all__ = ["from_pytorch"]


# The front end's message about an operator without a converter, by the name that custom_convert_map takes.
_UNSUPPORTED = re.compile(r"the operator (\S+) of PyTorch is not supported$")


def from_pytorch(
    script_module: Any,
    input_infos: Sequence[Any],
    custom_convert_map: Mapping[str, Callable[..., Any]] | None = None,
    default_dtype: str = "float32",
    use_parser_friendly_name: bool = False,
    keep_quantized_weight: bool = False,
    export_renamed_c_graph_path: str | None = None,
    preserve_pytorch_scopes: bool = False,
) -> tuple[IRModule, dict[str, NDArray]]:
    """A traced, scripted or plain module, or a traced or scripted function, as a module and its weights by their names in the state dict.

    `relay.frontend.from_pytorch` says what the arguments are. Raises OpNotImplemented for operators that are not supported, all of them at
    once, RelayError for what PyTorch does not record, ImportError without PyTorch.
    """
    with operators_not_implemented(_UNSUPPORTED):
        return _frontend.from_pytorch(
            script_module, input_infos, custom_convert_map, default_dtype, use_parser_friendly_name, keep_quantized_weight,
            export_renamed_c_graph_path, preserve_pytorch_scopes,
        )  # fmt: skip


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
