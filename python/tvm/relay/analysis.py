"""Questions about programs."""

from __future__ import annotations

from typing import Any

from relay.analysis import *  # noqa: F403
from relay.analysis import __all__ as _names

from relay import Function, IRModule as IRModule, sparse as _sparse

from .. import _absent
from ..error import TVMError
from .._submodules import submodule
from relay.analysis import check_basic_block_normal_form as _in_blocks, count_layers as _count_layers
from relay.analysis import get_calibration_data as _calibration_data, well_formed as _well_formed
from .origins import analyze_operations_distribution as analyze_operations_distribution
from ..runtime.ndarray import array as _array
from ..runtime.ndarray import cpu as cpu

__all__ = [*_names, "analyze_operations_distribution"]

sparse_dense = submodule(__name__, "sparse_dense", process_params=_sparse.process_dense_params, SparseAnalysisResult=_sparse.SparseAnalysisResult,
                         _search_dense_op_weight=_sparse.dense_weights)
sparse_conv2d = submodule(__name__, "sparse_conv2d", process_params=_sparse.process_conv2d_params, SparseAnalysisResult=_sparse.SparseAnalysisResult,
                          _search_conv2d_op_weight=_sparse.conv2d_weights)
operations_distribution = submodule(__name__, "operations_distribution", analyze_operations_distribution=analyze_operations_distribution)


def well_formed(expr: Any) -> bool:  # type: ignore[no-redef]
    """True if every variable is bound once and used only in its scope. A variable that is bound nowhere may be used, as in TVM."""
    free = [] if isinstance(expr, IRModule) else free_vars(expr)  # noqa: F405
    return _well_formed(Function(free, expr) if free else expr)


def check_basic_block_normal_form(expr: Any) -> bool:  # type: ignore[no-redef]
    """True for an expression in basic block normal form. Raises TVMError for others, as TVM does: `ToBasicBlockNormalForm` gives the form."""
    if not _in_blocks(expr):
        raise TVMError("the expression is not in basic block normal form: a node that several branches or functions use is not bound outside of them")
    return True


def count_layers(expr: Any, valid_ops: Any) -> int:  # type: ignore[no-redef]
    """The most calls of these operators along one path of the dataflow of an expression, or of a module's `main`."""
    return _count_layers(expr["main"] if isinstance(expr, IRModule) else expr, valid_ops)


def get_calibration_data(mod: IRModule, data: Any) -> Any:  # type: ignore[no-redef]
    """The values that go into the functions of code generators that ``main`` calls, and come out of them, as arrays in lists
    ``inputs`` and ``outputs`` by global variable."""
    plain = {name: value.numpy() if hasattr(value, "numpy") else value for name, value in data.items()}
    found = _calibration_data(mod, plain)
    return {var: {side: [_array(value) for value in values] for side, values in entry.items()} for var, entry in found.items()}


# A package without files: imports of what TVM has below it give the reason why it is not there.
__path__: list[str] = []


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
