"""The steps of quantisation, under the module's name in TVM."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import relay as _relay
from relay.quantize import *  # noqa: F403
from relay.quantize import __all__ as __all__

from ... import _absent
from .forms import quantize as quantize, realize as realize


def _bind_params(func: _relay.Function, params: Mapping[str, Any]) -> _relay.Function:
    """The function with values for parameters by name."""
    from ..build_module import bind_params_by_name

    return bind_params_by_name(func, params)


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
