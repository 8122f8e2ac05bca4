"""Questions about programs."""

from __future__ import annotations

import sys
import types
from typing import Any

from relay.analysis import *  # noqa: F403
from relay.analysis import __all__ as __all__

from relay import IRModule as IRModule, sparse as _sparse

from .. import _absent
from ..runtime.ndarray import cpu as cpu


def _submodule(name: str, **names: Any) -> Any:
    """A module of TVM that has only these names."""
    made = types.ModuleType(f"{__name__}.{name}")
    vars(made).update(names, __all__=list(names))
    sys.modules[made.__name__] = made
    return made


sparse_dense = _submodule("sparse_dense", process_params=_sparse.process_dense_params, SparseAnalysisResult=_sparse.SparseAnalysisResult)
sparse_conv2d = _submodule("sparse_conv2d", process_params=_sparse.process_conv2d_params, SparseAnalysisResult=_sparse.SparseAnalysisResult)


# A package without files: imports of what TVM has below it give the reason why it is not there.
__path__: list[str] = []


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
