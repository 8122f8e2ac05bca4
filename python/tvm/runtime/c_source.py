"""Modules of C source, as code generators of scripts give them: the compiler of the machine makes a library of one, whose functions get tensors in
the layout of DLPack, inputs and then outputs.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import relay as _relay
from relay._checks import require_texts, require_type
from relay.codegen import _leaves

from .module import BenchmarkResult, Module, measure
from .ndarray import OwnArray, from_dlpack, require_cpu

__all__ = ["CSourceModule", "Kernel", "Library", "create", "kernel_of"]

_DLPACK = """#ifndef RELAY_DLPACK_H
#define RELAY_DLPACK_H
#include <stddef.h>
#include <stdint.h>
typedef enum { kDLCPU = 1 } DLDeviceType;
typedef enum { kDLInt = 0U, kDLUInt = 1U, kDLFloat = 2U, kDLOpaqueHandle = 3U, kDLBfloat = 4U } DLDataTypeCode;
typedef struct { DLDeviceType device_type; int32_t device_id; } DLDevice;
typedef struct { uint8_t code; uint8_t bits; uint16_t lanes; } DLDataType;
typedef struct {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
} DLTensor;
#endif
"""
_RUNTIME = """#ifndef RELAY_C_RUNTIME_API_H
#define RELAY_C_RUNTIME_API_H
#include <dlpack/dlpack.h>
#ifdef __cplusplus
#define TVM_EXTERN_C extern "C"
#else
#define TVM_EXTERN_C
#endif
#define TVM_DLL __attribute__((visibility("default")))
typedef DLTensor* TVMArrayHandle;
typedef void* TVMRetValueHandle;
typedef union {
  int64_t v_int64;
  double v_float64;
  void* v_handle;
  const char* v_str;
  DLDataType v_type;
  DLDevice v_device;
} TVMValue;
typedef enum { kTVMArgInt = kDLInt, kTVMArgFloat = kDLFloat, kTVMOpaqueHandle = 3U, kTVMNullptr = 4U, kTVMDLTensorHandle = 7U, kTVMNDArrayHandle = 13U } TVMArgTypeCode;
#endif
"""
_PACKED = """#ifndef RELAY_PACKED_FUNC_H
#define RELAY_PACKED_FUNC_H
#include <tvm/runtime/c_runtime_api.h>
#include <utility>
namespace relay_c_source {
template <class R, class... A, size_t... I>
int call(R (*function)(A...), TVMValue* args, int count, std::index_sequence<I...>) {
  if (count != static_cast<int>(sizeof...(A))) return -1;
  function(static_cast<A>(args[I].v_handle)...);
  return 0;
}
template <class R, class... A>
int call(R (*function)(A...), TVMValue* args, int count) {
  return call(function, args, count, std::index_sequence_for<A...>());
}
}  // namespace relay_c_source
#define TVM_DLL_EXPORT_TYPED_FUNC(NAME, FUNCTION)                                             \\
  extern "C" TVM_DLL int NAME(TVMValue* args, int*, int count, TVMValue*, int*, void*) {      \\
    return ::relay_c_source::call(FUNCTION, args, count);                                     \\
  }
#endif
"""
# What sources may include, besides the headers of the machine.
_HEADERS = {"dlpack/dlpack.h": _DLPACK, "tvm/runtime/c_runtime_api.h": _RUNTIME, "tvm/runtime/packed_func.h": _PACKED}


class _Tensor(ctypes.Structure):
    """DLTensor."""

    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    ]  # fmt: skip


_CPU, _TENSOR = 1, 7
_CODES = {"i": 0, "u": 1, "f": 2, "b": 1}


def _described(array: np.ndarray[Any, Any]) -> tuple[_Tensor, Any]:
    """The array as C sees it, and what has to live as long."""
    extents = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
    bfloat16 = array.dtype.name == "bfloat16"
    code, bits = (4 if bfloat16 else _CODES[array.dtype.kind]), (1 if array.dtype.kind == "b" else array.dtype.itemsize * 8)
    return _Tensor(array.ctypes.data, _CPU, 0, array.ndim, code, bits, 1, ctypes.addressof(extents), None, 0), extents


def _view(name: str, at: int, given: Any) -> np.ndarray[Any, Any]:
    """The argument of a call as an array of NumPy, over its memory. Raises TypeError for others, and for elements that C has not."""
    array = given
    if not isinstance(given, np.ndarray) and hasattr(given, "__dlpack__"):
        shared = from_dlpack(given)
        # Only the memory of arrays that scripts made may be written; that of constants is read-only here.
        array = shared._memory if isinstance(shared, OwnArray) else shared.numpy()
    if not isinstance(array, np.ndarray):
        raise TypeError(f"argument {at} of {name} is an array, not {type(given).__name__}")
    if array.dtype.name != "bfloat16" and array.dtype.kind not in _CODES or not array.dtype.isnative:
        raise TypeError(f"argument {at} of {name} is an array of {array.dtype.str}, which functions of C source do not take")
    return array


def _is_plain(array: np.ndarray[Any, Any]) -> bool:
    """True for an array that C code may have as it is: it may be written, and its elements are in order."""
    return array.flags.c_contiguous and array.flags.writeable and array.flags.aligned


def _not_an_output(name: str, at: int) -> ValueError:
    return ValueError(f"argument {at} of {name} is an output: it has to be C-contiguous, aligned and writable")


class Library:
    """A shared library, as the bytes of its file."""

    def __init__(self, image: bytes) -> None:
        from ..contrib.utils import tempdir

        self.image = image
        # The file may go once it is loaded.
        with tempdir() as folder:
            path = folder.relpath("code.so")
            with open(path, "wb") as file:
                file.write(image)
            self._loaded = ctypes.CDLL(os.path.abspath(path))

    def function(self, symbol: str) -> Any:
        """A function by its name in C. Raises AttributeError if the library has none."""
        try:
            return self._loaded[symbol]  # not its attribute, of which it has some of its own
        except (AttributeError, ValueError):  # a name with a zero is none, either
            raise AttributeError(f"the library has no function {symbol}: C source declares one TVM_EXTERN_C (extern \"C\" in C++), or its name is another "
                                 "there") from None  # fmt: skip

    def call(self, symbol: str, arrays: Sequence[np.ndarray[Any, Any]]) -> None:
        """Calls a function of TVM's interface for compiled functions. Raises RuntimeError where it says that it failed."""
        parts = [_described(array) for array in arrays]
        count = len(parts)
        values = (ctypes.c_void_p * max(count, 1))(*(ctypes.addressof(tensor) for tensor, _ in parts))
        codes = (ctypes.c_int * max(count, 1))(*[_TENSOR] * count)
        value, code = ctypes.c_int64(0), ctypes.c_int(0)
        function = self.function(symbol)
        function.restype = ctypes.c_int
        failed = function(values, codes, ctypes.c_int(count), ctypes.byref(value), ctypes.byref(code), None)
        if failed:
            raise RuntimeError(f"the function {symbol} of C source failed: it gave {failed}")


class Kernel:
    """A function of a library in the place of a typed one of Relay: called with arrays of NumPy, it gives new ones. Raises TypeError for results whose
    extents only a run knows, AttributeError if the library has no such function."""

    def __init__(self, library: Library, name: str, function: Any) -> None:
        self.library, self.name = library, name
        kind = function.checked_type.ret_type
        self._is_tuple = isinstance(kind, _relay.TupleType)
        self._results = []
        for result in _leaves(kind):
            dtype = np.dtype(str(result.dtype))  # a TypeError for those that NumPy has not
            if not all(isinstance(extent, int) for extent in result.shape):
                raise TypeError(f"C source writes into arrays of known extents, and {name} gives {result}")
            self._results.append((tuple(int(extent) for extent in result.shape), dtype))
        library.function(name)

    def __call__(self, *arrays: Any) -> Any:
        made = [np.empty(shape, dtype) for shape, dtype in self._results]
        self.library.call(self.name, [*(np.asarray(array, order="C") for array in arrays), *made])
        return tuple(made) if self._is_tuple else made[0]


class CSourceModule(Module):
    """C or C++ source with functions by name. It is no program: what a program has besides is not there. Raises TypeError for what is no text, and
    for names that are no list of texts."""

    def __init__(self, code: str, fmt: str, func_names: Sequence[str]) -> None:
        self.code: str = require_type("code", code, str)
        self._format: str = require_type("fmt", fmt, str) or "c"
        self.func_names = require_texts("func_names", func_names)
        self._library: Library | None = None

    @property
    def type_key(self) -> str:
        """The kind of the module."""
        return "c"

    @property
    def format(self) -> str:
        """The language: "c", or what stands for C++."""
        return self._format

    @property
    def entry_name(self) -> str:
        """The name of the first function. Raises AttributeError where there is none."""
        if not self.func_names:
            raise AttributeError("the module has no functions")
        return self.func_names[0]

    def get_source(self, fmt: str = "") -> str:
        """The source."""
        return self.code

    def save(self, file_name: Any, fmt: str = "") -> None:
        """Writes the source."""
        with open(os.fspath(file_name), "w", encoding="utf-8") as file:
            file.write(self.code)

    def implements_function(self, name: str, query_imports: bool = False) -> bool:
        """True for the names that it was made with."""
        return name in self.func_names

    def export_library(self, file_name: Any, *, fcompile: Any = None, addons: Any = None, workspace_dir: Any = None, **kwargs: Any) -> str:
        """Writes the shared library that the compiler makes of it."""
        path: str = os.fspath(file_name)
        with open(path, "wb") as file:
            file.write(self.library().image)
        return path

    def time_evaluator(self, func_name: str, dev: Any, number: int = 10, repeat: int = 1, **kwargs: Any) -> Callable[..., BenchmarkResult]:
        """Something to call with arrays that measures a function."""
        require_cpu(dev, "a measurement")
        function = self[func_name]
        return lambda *arrays: measure(lambda: function(*arrays), number, repeat)

    def __getitem__(self, name: str) -> Callable[..., None]:
        """A function of arrays, inputs and outputs. Raises AttributeError for other names. A call raises TypeError for what is no array of numbers, and
        ValueError for an output that is not C-contiguous or may not be written; inputs that are not, or may not, are copied for the call."""
        if name not in self.func_names:
            raise AttributeError(f"the module has no function {name}; it has {', '.join(self.func_names)}")

        def call(*arrays: Any) -> None:
            given = [_view(name, at, array) for at, array in enumerate(arrays, 1)]
            if given and not _is_plain(given[-1]):
                raise _not_an_output(name, len(given))
            passed = [array if _is_plain(array) else array.copy(order="C") for array in given]
            self.library().call(name, passed)
            # Which arguments are outputs only the code knows, but for the last: those that it wrote.
            for at, (array, copy) in enumerate(zip(given, passed), 1):
                if copy is not array and copy.tobytes() != array.tobytes():
                    raise _not_an_output(name, at)

        return call

    def library(self) -> Library:
        """The library of it, made once. Raises RuntimeError without a compiler, and for what the compiler refuses, with its text."""
        if self._library is None:
            from ..contrib import cc
            from ..contrib.utils import tempdir

            with tempdir() as folder:
                for name, text in _HEADERS.items():
                    path = folder.relpath(os.path.join("include", name))
                    os.makedirs(os.path.dirname(path), exist_ok=True)
                    with open(path, "w", encoding="utf-8") as file:
                        file.write(text)
                source, made = folder.relpath("code.c" if self.format == "c" else "code.cc"), folder.relpath("code.so")
                self.save(source)
                cc.create_shared(made, source, ["-O2", "-I", folder.relpath("include")])
                with open(made, "rb") as image:
                    self._library = Library(image.read())
        return self._library


def create(code: str, fmt: str = "c", func_names: Sequence[str] = (), const_vars: Sequence[str] = ()) -> CSourceModule:
    """What scripts reach as `runtime.CSourceModuleCreate`. Raises NotImplementedError for names of constants, which code has in itself here."""
    constants = require_texts("const_vars", const_vars)
    if constants:
        raise NotImplementedError(f"C source with constants of the program ({', '.join(constants)}): write them into the source")
    return CSourceModule(code, fmt, func_names)


def kernel_of(module: CSourceModule, symbol: str, function: Any) -> Kernel:
    """What a code generator gives for a function: that of its name, else the first one."""
    names = module.func_names or [symbol]
    return Kernel(module.library(), symbol if symbol in names else names[0], function)
