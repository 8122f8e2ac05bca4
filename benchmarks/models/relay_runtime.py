"""librelay_runtime through its C interface (relay/vm/machine/relay_runtime.h), for programs that take and give tensors."""

import ctypes

import numpy as np

_CODES = {0: "int", 1: "uint", 2: "float", 6: "bool"}
_TENSOR, _TUPLE = 0, 1


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("rank", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
    ]


class Program:
    """A compiled program (.rlx), loaded and ready to run `@main` on `threads` workers."""

    def __init__(self, library, path, threads):
        self.c = ctypes.CDLL(library)
        self.c.relay_last_error.restype = ctypes.c_char_p
        self.c.relay_entry_input_name.restype = ctypes.c_char_p
        self.c.relay_program_find.restype = ctypes.c_int64
        self.c.relay_entry_num_inputs.restype = ctypes.c_size_t
        self.c.relay_value_num_fields.restype = ctypes.c_size_t
        for name in ("relay_tensor_share", "relay_value_field"):
            getattr(self.c, name).restype = ctypes.c_void_p
        self.program, self.machine = ctypes.c_void_p(), ctypes.c_void_p()
        self._check(self.c.relay_program_load(str(path).encode(), ctypes.byref(self.program)))
        self.entry = ctypes.c_size_t(self.c.relay_program_find(self.program, b"main"))
        self._check(self.c.relay_machine_new(self.program, threads, ctypes.byref(self.machine)))
        count = self.c.relay_entry_num_inputs(self.program, self.entry)
        self.names = [
            self.c.relay_entry_input_name(self.program, self.entry, ctypes.c_size_t(i)).decode() for i in range(count)
        ]
        self.values = ()

    def _check(self, status):
        if status != 0:
            raise RuntimeError(self.c.relay_last_error().decode())

    def bind(self, arrays):
        """Inputs by name in the place of those before, used where they are; names as the program's."""
        for value in self.values:
            self.free(ctypes.c_void_p(value))
        self.arrays = [np.asarray(arrays[name], order="C") for name in self.names]
        self.values = (ctypes.c_void_p * len(self.arrays))()
        for i, array in enumerate(self.arrays):
            kind = {"i": 0, "u": 1, "f": 2, "b": 6}[array.dtype.kind]
            shape = (ctypes.c_int64 * array.ndim)(*array.shape)
            tensor = _Tensor(array.ctypes.data, array.ndim, kind, array.dtype.itemsize * 8, shape, None)
            self.values[i] = self.c.relay_tensor_share(ctypes.byref(tensor), None, None)
            if not self.values[i]:
                self._check(1)

    def run(self):
        """Runs on what is bound; the handle of the result, for `free` or `results`."""
        result = ctypes.c_void_p()
        self._check(
            self.c.relay_run(self.machine, self.entry, self.values, ctypes.c_size_t(len(self.arrays)), ctypes.byref(result))
        )
        return result

    def free(self, result):
        self.c.relay_value_free(result)

    def results(self, result):
        """The tensors of a result as arrays of their own."""
        if self.c.relay_value_kind(result) == _TUPLE:
            fields = []
            for i in range(self.c.relay_value_num_fields(result)):
                field = ctypes.c_void_p(self.c.relay_value_field(result, ctypes.c_size_t(i)))
                fields += self.results(field)
                self.free(field)
            return fields
        tensor = _Tensor()
        self._check(self.c.relay_value_tensor(result, ctypes.byref(tensor)))
        shape = [tensor.shape[i] for i in range(tensor.rank)]
        dtype = np.dtype("bool" if tensor.code == 6 else f"{_CODES[tensor.code]}{tensor.bits}")
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        data = ctypes.string_at(tensor.data, size) if size else b""
        return [np.frombuffer(data, dtype).reshape(shape)]
