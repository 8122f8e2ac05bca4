"""TVM's names over `relay`, for scripts that say ``import tvm; from tvm import relay``.

Nothing is computed here: nodes, types, passes and programs are those of the package `relay`. A name that has no feature behind
it raises an error that says what is missing (`tvm._absent`).
"""

from __future__ import annotations

from . import _guard

_guard.refuse_to_shadow()

from . import _absent  # noqa: E402

_absent.install_finder()

from . import error  # noqa: E402
from .error import TVMError  # noqa: E402
from . import runtime  # noqa: E402
from .runtime import Object, nd  # noqa: E402
from .runtime.ndarray import Device, cpu, cuda, device, gpu  # noqa: E402
from .runtime.registry import get_global_func, register_func  # noqa: E402
from .runtime import container  # noqa: E402
from . import ir, instrument, parser, target, te, tir, topi, transform  # noqa: E402
from .ir import IRModule  # noqa: E402
from .target import Target  # noqa: E402
from .runtime import convert  # noqa: E402

import sys as _sys  # noqa: E402

_sys.modules[__name__ + ".nd"] = nd
_sys.modules[__name__ + ".container"] = container
from . import contrib, relay, support  # noqa: E402

__version__ = "0.18.0"

_LAZY = {"testing"}


def __getattr__(name: str) -> object:
    if name in _LAZY:
        import importlib

        return importlib.import_module("." + name, __name__)
    return _absent.lookup(__name__, name)
