"""`tvm.contrib`: the graph executor, folders, archives and compilers; vendors' libraries are out of scope."""

from __future__ import annotations

from typing import Any

from .. import _absent
from .._submodules import submodule
from . import graph_executor, utils

__all__ = ["graph_executor", "graph_runtime", "utils"]

# The name before TVM 0.8.
graph_runtime = submodule(__name__, "graph_runtime", GraphModule=graph_executor.GraphModule, create=graph_executor.create)


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
