"""The standard library's names on an object."""

from __future__ import annotations

from typing import Any

from relay import IRModule

from .stdlib import source


class Prelude:
    """A module with lists, options and trees; functions and types are members: `p.map`, `p.hd`."""

    def __init__(self, mod: IRModule | None = None) -> None:
        self.mod = mod if mod is not None else IRModule()
        self.load_prelude()

    def load_prelude(self) -> None:
        """Adds the definitions to the module, and their names to this object."""
        self.mod.import_from_std("prelude.rly")  # type: ignore[attr-defined]
        for name in source("prelude.rly").names:
            setattr(self, name, self.mod.get_global_var(name))

    def get_type(self, canonical: str, dtype: str = "") -> Any:
        """The data type of a name. Raises NotImplementedError for tensor arrays."""
        return self.mod.get_global_type_var(_plain(canonical, dtype))

    def get_ctor(self, ty_name: str, canonical: str, dtype: str = "") -> Any:
        """The constructor of a name. Raises NotImplementedError for tensor arrays."""
        return self.mod.get_constructor(_plain(canonical, dtype))

    def get_global_var(self, canonical: str, dtype: str = "") -> Any:
        """The function of a name. Raises NotImplementedError for tensor arrays."""
        return self.mod.get_global_var(_plain(canonical, dtype))

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("get_tensor", "get_")):
            raise NotImplementedError(f"Prelude.{name}: the library of tensor arrays is not there yet")
        raise AttributeError(f"the prelude has no {name}")


def _plain(canonical: str, dtype: str) -> str:
    if dtype:
        raise NotImplementedError(f"{canonical} for {dtype}: the library of tensor arrays is not there yet")
    return canonical


class StaticTensorArrayOps:
    """Lists of tensors of one shape: not there yet."""

    def __init__(self, prelude: Prelude, dtype: str, shape: Any, batch_dim: int | None = None) -> None:
        raise NotImplementedError("StaticTensorArrayOps: the library of tensor arrays is not there yet")


StaticTensorArrayOps.__relay_missing__ = "the library of tensor arrays"  # type: ignore[attr-defined]
