"""Functions of Python over arrays, for those who know JAX or NumPy: traced, compiled, differentiated. `relay.function` and `relay.numpy`."""

from .array import Array, Tracer
from .control import cond, dynamic_slice, dynamic_update_slice, fori_loop, map, scan, stop_gradient, switch, while_loop
from .dtypes import DTYPES, DType, Spec
from .explain import Explanation, Lowered
from .traced import TracedFunction, function
from .lanes import vmap
from .places import TraceError
from .tree import flatten, map_tree, register, unflatten

jit = function
fori = fori_loop

f16, bf16, f32, f64 = (DTYPES[_name] for _name in ("float16", "bfloat16", "float32", "float64"))
i8, i16, i32, i64 = (DTYPES[_name] for _name in ("int8", "int16", "int32", "int64"))
u8, u16, u32, u64 = (DTYPES[_name] for _name in ("uint8", "uint16", "uint32", "uint64"))

__all__ = [
    "Array", "DType", "Explanation", "Lowered", "Spec", "TraceError", "TracedFunction", "Tracer", "cond", "dynamic_slice", "dynamic_update_slice", "flatten",
    "fori_loop", "function", "map", "map_tree", "register", "scan", "stop_gradient", "switch", "unflatten", "vmap", "while_loop",
]
