"""`tvm.nd`: arrays and devices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from relay import NDArray, _core

__all__ = [
    "Device", "NDArray", "array", "cl", "cpu", "cuda", "device", "empty", "ext_dev", "from_dlpack", "gpu", "hexagon", "metal", "mtl", "numpyasarray",
    "opencl", "rocm", "vpi", "vulkan", "webgpu",
]  # fmt: skip

_TYPES = {"cpu": 1, "llvm": 1, "c": 1, "stackvm": 1, "cuda": 2, "gpu": 2, "nvptx": 2, "cuda_host": 3, "opencl": 4, "cl": 4, "vulkan": 7,
          "metal": 8, "vpi": 9, "rocm": 10, "rocm_host": 11, "ext_dev": 12, "cuda_managed": 13, "oneapi": 14, "webgpu": 15, "hexagon": 16}  # fmt: skip


class Device:
    """A device: its type, a number, and which one of that type. Programs run on the CPU."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLGPU = 2
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLROCM = 10
    kDLCUDAHost = 3
    kDLVPI = 9
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLAOCL = 32
    kDLSDAccel = 33
    kOpenGL = 34
    kDLMicroDev = 35

    def __init__(self, device_type: int, device_id: int = 0) -> None:
        self.device_type = int(device_type)
        self.device_id = int(device_id)

    # The first name of each number.
    MASK2STR = {number: name for name, number in reversed(_TYPES.items())}
    STR2MASK = _TYPES

    @property
    def exist(self) -> bool:
        """True if programs can run on it."""
        return self.device_type == Device.kDLCPU

    def _unknown(self) -> None:
        """None: it says nothing of itself, since no program runs on it."""

    # Properties that TVM tells of a device, and gives None for where it cannot.
    compute_version = device_name = max_threads_per_block = warp_size = max_shared_memory_per_block = multi_processor_count = property(_unknown)
    max_clock_rate = max_thread_dimensions = api_version = driver_version = l2_cache_size_bytes = total_global_memory = property(_unknown)
    available_global_memory = texture_spatial_limit = property(_unknown)

    def sync(self, stream: Any = None) -> None:
        """Returns: calls are done when they return."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and (self.device_type, self.device_id) == (other.device_type, other.device_id)

    def __hash__(self) -> int:
        return hash((self.device_type, self.device_id))

    def __repr__(self) -> str:
        name = Device.MASK2STR.get(self.device_type, str(self.device_type))
        return f"{name}({self.device_id})"


def device(dev_type: Any, dev_id: int = 0) -> Device:
    """A device by the name or number of its type. Raises ValueError for names that are none."""
    if isinstance(dev_type, Device):
        return dev_type
    if isinstance(dev_type, str):
        name = dev_type.split(" ")[0]
        if name not in _TYPES:
            raise ValueError(f"no device type is called {name!r}")
        return Device(_TYPES[name], dev_id)
    return Device(dev_type, dev_id)


def cpu(dev_id: int = 0) -> Device:
    """The CPU."""
    return Device(Device.kDLCPU, dev_id)


def cuda(dev_id: int = 0) -> Device:
    """A GPU of NVIDIA: can be named in programs; arrays and runs on it are refused."""
    return Device(Device.kDLCUDA, dev_id)


gpu = cuda


def _of(name: str) -> Any:
    def make(dev_id: int = 0) -> Device:
        return Device(_TYPES[name], dev_id)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"A device of the type {name}: can be named in programs; arrays and runs on it are refused."
    return make


opencl = cl = _of("opencl")
metal = mtl = _of("metal")
rocm, vulkan, vpi, ext_dev, hexagon, webgpu = map(_of, ("rocm", "vulkan", "vpi", "ext_dev", "hexagon", "webgpu"))


def require_cpu(dev: Any, what: str) -> None:
    """Raises NotImplementedError for devices that programs do not run on."""
    if dev is None:
        return
    for item in dev if isinstance(dev, (list, tuple)) else [dev]:
        if isinstance(item, Device) and not item.exist:
            raise NotImplementedError(f"{what} on {item}: programs run on the CPU only")


class OwnArray(NDArray):
    """An array that a script made or got: it may be written, and `numpy` gives a copy."""

    def __init__(self, memory: np.ndarray[Any, Any]) -> None:
        super().__init__(memory)
        # Elements in another order of bytes, or at odd addresses, were copied: the copy is the array then.
        self._memory = memory if _at(memory, self) else _writable(np.asarray(self))

    def __dlpack__(self, **options: Any) -> Any:
        """A capsule of DLPack over the same memory, however many others have one."""
        return _core.exchanged_writable(self, **options)

    def numpy(self) -> Any:
        """A copy as an array of NumPy."""
        return self._memory.copy()

    def _create_view(self, shape: Sequence[int], dtype: str | None = None, relative_byte_offset: int = 0) -> NDArray:
        """An array of the same memory with another shape, and another dtype. Raises ValueError where the memory has
        fewer bytes or gaps."""
        if not self._memory.flags.c_contiguous:
            raise ValueError("a view of another shape needs an array whose elements lie side by side")
        kind = np.dtype(dtype if dtype is not None else self._memory.dtype)
        bytes_needed = math.prod(shape) * kind.itemsize
        memory = self._memory.reshape(-1).view(np.uint8)
        if min(shape, default=0) < 0 or not 0 <= relative_byte_offset <= memory.size - bytes_needed:
            raise ValueError(f"a view of {bytes_needed} bytes from {relative_byte_offset} on does not lie in an array of {memory.size} bytes")
        return OwnArray(memory[relative_byte_offset : relative_byte_offset + bytes_needed].view(kind).reshape(shape))


def array(arr: Any, device: Device = cpu(0), mem_scope: str | None = None) -> NDArray:
    """A new array with a copy of what an array, number or nested list holds; Python's floats become float32."""
    require_cpu(device, "an array")
    if isinstance(arr, NDArray):
        if arr.dtype == "bfloat16":
            return arr.copy()
        arr = arr.numpy()
    if not isinstance(arr, np.ndarray):
        made = np.asarray(arr)
        arr = made.astype("float32") if made.dtype == np.float64 and not hasattr(arr, "dtype") else made
    return OwnArray(np.array(arr, order="C"))


def empty(shape: Sequence[int] | int, dtype: str = "float32", device: Device = Device(1, 0), mem_scope: str | None = None) -> NDArray:
    """A new array, filled with zeros."""
    require_cpu(device, "an array")
    return OwnArray(np.zeros(shape, dtype=str(dtype)))


class _Writable:
    """Memory as NumPy asks for it, with what keeps it."""

    def __init__(self, seen: np.ndarray[Any, Any]) -> None:
        self.keeper = seen
        self.__array_interface__ = {**seen.__array_interface__, "data": (seen.__array_interface__["data"][0], False)}


def _writable(seen: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """An array of NumPy over the same memory that may be written."""
    # NumPy's interface has no letter for bfloat16.
    plain = seen.view(np.uint16) if seen.dtype.name == "bfloat16" else seen
    return np.asarray(_Writable(plain)).view(seen.dtype)


def _at(memory: np.ndarray[Any, Any], array: NDArray) -> bool:
    """True if an array of NumPy and one of Relay have the same memory."""
    return memory.size == 0 or memory.__array_interface__["data"][0] == np.asarray(array).__array_interface__["data"][0]


def _read_only_in_numpy(given: Any) -> bool:
    """True if an object shows NumPy a read-only array: so packages say it whose DLPack has no word for it, JAX for one."""
    if not (hasattr(given, "__array__") or hasattr(given, "__array_interface__")):
        return False
    try:
        return not np.asarray(given).flags.writeable
    except Exception:  # whatever another package raises where NumPy has no such dtype
        return False


def from_dlpack(dltensor: Any) -> NDArray:
    """An array of the same memory as one of another package, through DLPack: an array, or a capsule of one. It may be written where its owner
    lets others write: not where the array is NumPy's and read-only, or a program gave it, or DLPack (of version 1 and later) says so, or, where it
    cannot say, the array is read-only for NumPy. Raises TypeError for what cannot be shared."""
    if isinstance(dltensor, NDArray):
        memory = getattr(dltensor, "_memory", None)
        return NDArray(dltensor) if memory is None else OwnArray(memory)
    if isinstance(dltensor, np.ndarray):
        return numpyasarray(dltensor)
    made, writable = _core.exchanged_array(dltensor)
    if writable is False or (writable is None and _read_only_in_numpy(dltensor)):
        return NDArray(made)
    return OwnArray(_writable(np.asarray(made)))


def numpyasarray(np_data: np.ndarray[Any, Any]) -> NDArray:
    """An array of the same memory as one of NumPy, which may be written where that one may. Raises TypeError for elements in another order of
    bytes and at odd addresses: arrays have none such, and would be copies."""
    if np_data.size > 1 and all(stride == 0 for stride, extent in zip(np_data.strides, np_data.shape) if extent > 1):
        return NDArray(np_data)  # one element stands for all: who writes to one does not expect others to change
    made = OwnArray(np_data) if np_data.flags.writeable else NDArray(np_data)
    if not _at(np_data, made):
        raise TypeError("memory of elements in another order of bytes, or at odd addresses, cannot be shared: tvm.nd.array(a) is a copy")
    return made
