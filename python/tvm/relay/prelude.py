"""The standard library's names on an object, and lists of tensors."""

from __future__ import annotations

import re
from typing import Any

from relay import IRModule, RelayError
from relay import _core

from .static_arrays import StaticTensorArrayOps, get_tensor_array_shape

__all__ = ["Prelude", "StaticTensorArrayOps", "TensorArrayOps", "get_tensor_array_shape"]


class Prelude:
    """A module with lists, options and trees; functions are members: `p.map`, `p.hd`.

    The tensor arrays of a dtype come into the module when one of their names is asked for.
    """

    def __init__(self, mod: IRModule | None = None) -> None:
        self.mod = mod if mod is not None else IRModule()
        self._arrays: dict[str, TensorArrayOps] = {}
        self.load_prelude()

    def load_prelude(self) -> None:
        """Adds the definitions to the module, and their names to this object."""
        self.mod.import_from_std("prelude.rly")
        for name in _core.standard_functions("prelude.rly"):
            setattr(self, name, self.mod.get_global_var(name))

    def _of(self, dtype: str) -> TensorArrayOps:
        if dtype not in self._arrays:
            self._arrays[dtype] = TensorArrayOps(self, dtype)
        return self._arrays[dtype]

    def get_name(self, canonical: str, dtype: str) -> str:
        """The form of a name of the tensor arrays for a dtype: `tensor_take` is `tensor_take_float32`."""
        return self._of(dtype).get_name(canonical)

    def get_global_var(self, canonical: str, dtype: str) -> Any:
        """A function of the tensor arrays, for example `tensor_array_read`. Raises KeyError."""
        return self._of(dtype).get_global_var(canonical)

    def get_type(self, canonical: str, dtype: str) -> Any:
        """The data type `tensor_t` of a dtype. Raises KeyError for another name."""
        return self._of(dtype).get_type(canonical)

    def get_ctor(self, ty_name: str, canonical: str, dtype: str) -> Any:
        """A constructor of a data type of the tensor arrays, for example of `tensor_t`. Raises KeyError."""
        return self._of(dtype).get_ctor(canonical)

    def get_tensor_ctor(self, canonical: str, dtype: str) -> Any:
        """A constructor of `tensor_t`: `tensor_nil`, `tensor0` to `tensor6`. Raises KeyError."""
        return self._of(dtype).get_ctor(canonical)

    def get_var(self, canonical: str, dtype: str) -> Any:
        """A constructor or a function, as the prelude before TVM 0.8 gave both. Raises KeyError."""
        arrays = self._of(dtype)
        return arrays.get_ctor(canonical) if re.fullmatch(r"tensor(\d|_nil)", canonical) else arrays.get_global_var(canonical)

    def get_name_static(self, canonical: str, dtype: str, shape: Any, batch_dim: int | None = None) -> str:
        """The form of a name of the arrays of one shape."""
        return StaticTensorArrayOps(self, dtype, shape, batch_dim).get_name(canonical)

    def get_global_var_static(self, canonical: str, dtype: str, shape: Any, batch_dim: int | None = None) -> Any:
        """A function of the arrays of one shape. Raises KeyError if it was not defined."""
        return StaticTensorArrayOps(self, dtype, shape, batch_dim).get_global_var(canonical)

    def get_type_static(self, canonical: str, dtype: str, shape: Any) -> Any:
        """The data type of tensors of one shape. Raises KeyError if it was not defined."""
        return StaticTensorArrayOps(self, dtype, shape).get_type(canonical)

    def get_ctor_static(self, ty_name: str, name: str, dtype: str, shape: Any) -> Any:
        """A constructor of that type. Raises KeyError if it was not defined."""
        return StaticTensorArrayOps(self, dtype, shape).get_ctor(name)

    def get_tensor_ctor_static(self, name: str, dtype: str, shape: Any) -> Any:
        """A constructor of that type. Raises KeyError if it was not defined."""
        return StaticTensorArrayOps(self, dtype, shape).get_ctor(name)


class TensorArrayOps:
    """Lists of tensors of any rank up to 6, for one dtype; the definitions are `tensor_array.rly` of the standard library."""

    def __init__(self, prelude: Prelude, dtype: str) -> None:
        self.prelude = prelude
        self.dtype = dtype
        try:
            prelude.mod.import_from_std(f"tensor_array_{dtype}.rly")
        except RelayError as error:
            if "has no tensor_array_" in str(error):
                raise ValueError(f"{dtype} is no dtype of tensor arrays") from None
            raise

    def get_name(self, canonical: str) -> str:
        """The form of a name for this dtype."""
        if canonical == "tensor_t":
            return f"tensor_{self.dtype}_t"
        return f"{canonical}_{self.dtype}"

    def get_global_var(self, canonical: str) -> Any:
        """A function. Raises KeyError."""
        return self.prelude.mod.get_global_var(self.get_name(canonical))

    def get_type(self, canonical: str) -> Any:
        """The data type `tensor_t`. Raises KeyError for another name."""
        return self.prelude.mod.get_global_type_var(self.get_name(canonical))

    def get_ctor(self, canonical: str) -> Any:
        """A constructor: `tensor_nil`, `tensor0` to `tensor6`. Raises KeyError."""
        return self.prelude.mod.get_constructor(self.get_name(canonical))

    def register(self) -> None:
        """The definitions are there from the beginning: nothing to do."""

    def define_tensor_array_scatter(self) -> None:
        """Nothing to do: `tensor_array_scatter` is there from the beginning."""

    def define_tensor_array_split(self) -> None:
        """Nothing to do: `tensor_array_split` is there from the beginning."""
