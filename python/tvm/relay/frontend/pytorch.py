"""Models of PyTorch, with the arguments of TVM's front end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relay import IRModule, NDArray
from relay import frontend as _frontend

from ... import _absent

__all__ = ["from_pytorch"]


def from_pytorch(
    script_module: Any,
    input_infos: Sequence[Any],
    custom_convert_map: Any = None,
    default_dtype: str = "float32",
    use_parser_friendly_name: bool = False,
    keep_quantized_weight: bool = False,
    export_renamed_c_graph_path: str | None = None,
) -> tuple[IRModule, dict[str, NDArray]]:
    """A traced, scripted or plain module as a module and its weights, which are constants of the program: the dictionary is empty.

    `input_infos` lists (name, shape) or (name, (shape, dtype)). The module is exported by `torch.export`; `relay.frontend.from_torch` takes
    what that gives, with open dimensions too. `use_parser_friendly_name` changes nothing: all names can be parsed. Raises NotImplementedError
    for what would change the conversion, RelayError for operators that are not supported, ImportError without PyTorch.
    """
    for name, given in (("custom_convert_map", custom_convert_map), ("keep_quantized_weight", keep_quantized_weight),
                        ("export_renamed_c_graph_path", export_renamed_c_graph_path)):  # fmt: skip
        if given:
            raise NotImplementedError(f"from_pytorch({name}=…): the program that torch.export gives is converted, and not TorchScript's graph")
    return _frontend.from_pytorch(script_module, input_infos, None, default_dtype)


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
