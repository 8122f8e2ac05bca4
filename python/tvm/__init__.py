"""TVM's names over `relay`, for scripts that say ``import tvm; from tvm import relay``.

Nothing is computed here: nodes, types, passes and programs are those of the package `relay`. A name that has no feature behind
it can be imported, and says what is missing when it is used (`tvm._absent`).
"""

from __future__ import annotations

from . import _guard

_guard.refuse_to_shadow()

from . import _absent  # noqa: E402

_absent.install_finder()

from . import error as error  # noqa: E402
from .error import TVMError as TVMError  # noqa: E402
from . import runtime as runtime  # noqa: E402
from .runtime import Object as Object, nd as nd  # noqa: E402
from .runtime.ndarray import NDArray as NDArray, Device as Device, cl as cl, cpu as cpu, cuda as cuda, device as device  # noqa: E402
from .runtime.ndarray import ext_dev as ext_dev, gpu as gpu, hexagon as hexagon, metal as metal, mtl as mtl, opencl as opencl  # noqa: E402
from .runtime.ndarray import rocm as rocm, vpi as vpi, vulkan as vulkan, webgpu as webgpu  # noqa: E402
from .runtime.registry import get_global_func as get_global_func, register_func as register_func  # noqa: E402
from .runtime import container as container  # noqa: E402
from . import ir as ir, instrument as instrument, parser as parser, target as target, te as te, tir as tir  # noqa: E402
from . import topi as topi, transform as transform  # noqa: E402
from .ir import IRModule as IRModule  # noqa: E402
from .target import Target as Target  # noqa: E402
from .runtime import context as context, convert as convert  # noqa: E402
from .te.described import build as build  # noqa: E402

import sys as _sys  # noqa: E402
from typing import Any as _Any  # noqa: E402

_sys.modules[__name__ + ".nd"] = nd
_sys.modules[__name__ + ".container"] = container
from . import contrib as contrib, relay as relay, support as support  # noqa: E402

from .runtime.object import make_objects as _make_objects  # noqa: E402

_make_objects(Target, target.TargetKind, target.VirtualDevice, container.ADT, container.Array, container.Map, container.ShapeTuple, container.String)
_make_objects(ir.EnvFunc, ir.SourceName, ir.SequentialSpan, tir.FloatImm, tir.StringImm, relay.backend.Executor, relay.backend.Runtime)

__version__ = "0.18.0"



def __getattr__(name: str) -> _Any:
    return _absent.lookup(__name__, name)


_absent.open_modules()
