"""Lists of tensors of one shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import relay as _relay

if TYPE_CHECKING:
    from .prelude import Prelude


def _known(extent: Any) -> int | None:
    """The extent as a number; None for `relay.Any()` and names."""
    try:
        return int(extent)
    except (TypeError, ValueError):
        return None


class StaticTensorArrayOps:
    """The tensor arrays of `relay.Prelude`, for tensors of one shape; extents may be `relay.Any()`.

    `register` defines everything; the `define_…` methods define one thing each, once. `batch_dim` (1) is part of the names only.
    """

    def __init__(self, prelude: Prelude, dtype: str, shape: Sequence[Any], batch_dim: int | None = None) -> None:
        if batch_dim not in (None, 0, 1):
            raise ValueError(f"batch_dim is None, 0 or 1, not {batch_dim}")
        self.prelude = prelude
        self.dtype = dtype
        self.shape = list(shape)
        self.batch_dim = batch_dim

    # Names.

    def _shape_name(self) -> str:
        return "_".join("any" if _known(extent) is None else str(_known(extent)) for extent in self.shape) or "scalar"

    def get_name(self, canonical: str) -> str:
        """The form of a name for this dtype and shape."""
        if canonical == "tensor_t":
            return f"static_tensor_{self.dtype}_{self._shape_name()}_t"
        batch = "batch1_" if self.batch_dim == 1 and canonical not in ("tensor_constructor", "tensor_nil") else ""
        return f"{canonical}_{self.dtype}_{batch}{self._shape_name()}"

    def get_global_var(self, canonical: str) -> Any:
        """A function. Raises KeyError if it was not defined."""
        return self.prelude.mod.get_global_var(self.get_name(canonical))

    def get_type(self, canonical: str) -> Any:
        """The data type `tensor_t`. Raises KeyError if it was not defined."""
        return self.prelude.mod.get_global_type_var(self.get_name(canonical))

    def get_ctor(self, canonical: str) -> Any:
        """A constructor: `tensor_nil`, `tensor_constructor`. Raises KeyError if it was not defined."""
        return self.prelude.mod.get_constructor(self.get_name(canonical))

    def is_cached(self, name: str) -> bool:
        """True if the function of a canonical name is defined."""
        return self.get_name(name) in self.prelude.mod

    # Text.

    def _tensor(self) -> str:
        return _tensor_type(self.shape, self.dtype)

    def _of(self, shape: Sequence[Any]) -> StaticTensorArrayOps:
        """The same for another shape, its data type defined."""
        other = StaticTensorArrayOps(self.prelude, self.dtype, shape, self.batch_dim)
        other.define_tensor_adt()
        return other

    def _rows(self) -> StaticTensorArrayOps:
        return self._of([_relay.Any(), *self.shape[1:]])

    def _define(self, canonical: str, text: str, replace: bool = False) -> None:
        name = self.get_name(canonical)
        if name in self.prelude.mod:
            if not replace:
                return
            for old in (name, name + "_from"):
                if old in self.prelude.mod:
                    del self.prelude.mod[old]
        self.prelude.mod.update(_relay.parse(text, f"<static arrays>/{name}.rly", self.prelude.mod))

    @property
    def _t(self) -> str:
        return self.get_name("tensor_t")

    @property
    def _make(self) -> str:
        return self.get_name("tensor_constructor")

    def _wanted_rank(self, least: int) -> bool:
        return len(self.shape) >= least

    # Definitions.

    def define_tensor_adt(self) -> None:
        """The data type: an empty place, or a tensor."""
        if self.get_name("tensor_t") in [header.name_hint for header in self.prelude.mod.type_definitions]:
            return
        text = f"type {self._t} {{ {self.get_name('tensor_nil')}, {self._make}({self._tensor()}) }}"
        self.prelude.mod.update(_relay.parse(text, f"<static arrays>/{self._t}.rly", self.prelude.mod))

    def define_tensor_array(self) -> None:
        """A list of empty places: int32 -> List[T]."""
        me = self.get_name("tensor_array")
        self._define("tensor_array", f"""def @{me}(%n: int32) -> List[{self._t}] {{
  if (%n == 0) {{ Nil }} else {{ Cons({self.get_name("tensor_nil")}, @{me}(%n - 1)) }}
}}""")

    def define_tensor_take(self) -> None:
        """Rows from one to before another: (T, int32, int32) -> T with any number of rows."""
        if not self._wanted_rank(1):
            return
        rows = self._rows()
        self._define("tensor_take", f"""def @{self.get_name("tensor_take")}(%t: {self._t}, %lower: int32, %upper: int32) -> {rows._t} {{
  match? (%t) {{ {self._make}(%x) => {rows._make}(take(%x, arange(%lower, %upper, 1, dtype="int32"), axis=0)) }}
}}""")

    def define_tensor_concatenate(self) -> None:
        """One tensor's rows after another's: (T, T) -> T with any number of rows."""
        if not self._wanted_rank(1):
            return
        rows = self._rows()
        self._define("tensor_concatenate", f"""def @{self.get_name("tensor_concatenate")}(%a: {self._t}, %b: {self._t}) -> {rows._t} {{
  match? ((%a, %b)) {{ ({self._make}(%x), {self._make}(%y)) => {rows._make}(concatenate((%x, %y), axis=0)) }}
}}""")

    def define_tensor_expand_dims(self) -> None:
        """A tensor as the only row of one: T -> T of a rank more."""
        one = self._of([1, *self.shape])
        self._define("tensor_expand_dims", f"""def @{self.get_name("tensor_expand_dims")}(%t: {self._t}) -> {one._t} {{
  match? (%t) {{ {self._make}(%x) => {one._make}(expand_dims(%x, axis=0)) }}
}}""")

    def define_tensor_array_read(self) -> None:
        """(List[T], int32) -> T."""
        self._define("tensor_array_read", f"""def @{self.get_name("tensor_array_read")}(%array: List[{self._t}], %n: int32) -> {self._t} {{
  @nth(%array, %n)
}}""")

    def define_tensor_array_write(self) -> None:
        """(List[T], int32, T) -> List[T]."""
        name = self.get_name("tensor_array_write")
        self._define("tensor_array_write", f"""def @{name}(%array: List[{self._t}], %n: int32, %v: {self._t}) -> List[{self._t}] {{
  @update(%array, %n, %v)
}}""")

    def define_tensor_array_unstack(self) -> None:
        """The rows of a tensor of this shape: Tensor -> List[T of a rank less]."""
        if not self._wanted_rank(1):
            return
        row = self._of(self.shape[1:])
        me, tensor = self.get_name("tensor_array_unstack"), self._tensor()
        self._define("tensor_array_unstack", f"""def @{me}_from(%i: int32, %n: int32, %x: {tensor}) -> List[{row._t}] {{
  if (%i == %n) {{ Nil }} else {{ Cons({row._make}(take(%x, %i, axis=0)), @{me}_from(%i + 1, %n, %x)) }}
}}
def @{me}(%x: {tensor}) -> List[{row._t}] {{ @{me}_from(0, take(shape_of(%x, dtype="int32"), 0), %x) }}""")

    def define_tensor_array_scatter(self, indices_shape: Sequence[Any] | None = None, force_update: bool = False) -> None:
        """Values written to places: (List[T], indices, List[T]) -> List[T]. `force_update`: in place of what is defined."""
        self.define_tensor_array_read()
        self.define_tensor_array_write()
        me, indices, arrays = self.get_name("tensor_array_scatter"), _tensor_type(indices_shape or [None], "int32"), f"List[{self._t}]"
        read, write = self.get_name("tensor_array_read"), self.get_name("tensor_array_write")
        self._define("tensor_array_scatter", f"""
def @{me}_from(%array: {arrays}, %i: int32, %n: int32, %indices: {indices}, %values: {arrays}) -> {arrays} {{
  if (%i == %n) {{ %array }} else {{
    @{me}_from(@{write}(%array, take(%indices, %i), @{read}(%values, %i)), %i + 1, %n, %indices, %values)
  }}
}}
def @{me}(%array: {arrays}, %indices: {indices}, %values: {arrays}) -> {arrays} {{
  @{me}_from(%array, 0, take(shape_of(%indices, dtype="int32"), 0), %indices, %values)
}}""", force_update)

    def define_tensor_array_split(
        self, value_shape: Sequence[Any] | None = None, lengths_shape: Sequence[Any] | None = None, force_update: bool = False
    ) -> None:
        """The first rows of a value to the first place, and so on: (List[T], T, lengths) -> List[T], T having any number of rows."""
        if not self._wanted_rank(1):
            return
        rows = self._rows()
        value = self._of(value_shape) if value_shape is not None else rows
        value.define_tensor_take()
        rows.define_tensor_array_write()
        me, lengths, arrays = self.get_name("tensor_array_split"), _tensor_type(lengths_shape or [None], "int32"), f"List[{rows._t}]"
        self._define("tensor_array_split", f"""
def @{me}_from(%array: {arrays}, %v: {value._t}, %row: int32, %i: int32, %n: int32, %lengths: {lengths}) -> {arrays} {{
  if (%i == %n) {{ %array }} else {{
    let %next = %row + take(%lengths, %i);
    let %part = @{value.get_name("tensor_take")}(%v, %row, %next);
    @{me}_from(@{rows.get_name("tensor_array_write")}(%array, %i, %part), %v, %next, %i + 1, %n, %lengths)
  }}
}}
def @{me}(%array: {arrays}, %v: {value._t}, %lengths: {lengths}) -> {arrays} {{
  @{me}_from(%array, %v, 0, 0, take(shape_of(%lengths, dtype="int32"), 0), %lengths)
}}""", force_update)

    def define_tensor_array_concat(self) -> None:
        """All rows of all places: List[T] -> T with any number of rows."""
        if not self._wanted_rank(1):
            return
        rows = self._rows()
        rows.define_tensor_concatenate()
        me, join = self.get_name("tensor_array_concat"), rows.get_name("tensor_concatenate")
        self._define("tensor_array_concat", f"""
def @{me}_from(%t: {self._t}) -> {rows._t} {{ match? (%t) {{ {self._make}(%x) => {rows._make}(%x) }} }}
def @{me}(%array: List[{self._t}]) -> {rows._t} {{
  match? (@map(@{me}_from, %array)) {{ Cons(%first, %rest) => @foldl(@{join}, %first, %rest) }}
}}""")

    def define_tensor_array_stack(self) -> None:
        """All places as the rows of one tensor: List[T] -> T of a rank more."""
        self.define_tensor_expand_dims()
        one, stacked = self._of([1, *self.shape]), self._of([_relay.Any(), *self.shape])
        one.define_tensor_array_concat()
        name = self.get_name("tensor_array_stack")
        self._define("tensor_array_stack", f"""def @{name}(%array: List[{self._t}]) -> {stacked._t} {{
  @{one.get_name("tensor_array_concat")}(@map(@{self.get_name("tensor_expand_dims")}, %array))
}}""")

    def define_tensor_array_gather(self) -> None:
        """The places of some indices as the rows of one tensor: (List[T], indices) -> T of a rank more."""
        self.define_tensor_array_read()
        self.define_tensor_array_stack()
        stacked = self._of([_relay.Any(), *self.shape])
        me, read, stack = (self.get_name(name) for name in ("tensor_array_gather", "tensor_array_read", "tensor_array_stack"))
        self._define("tensor_array_gather", f"""
def @{me}_from(%array: List[{self._t}], %i: int32, %n: int32, %indices: Tensor[(?), int32]) -> List[{self._t}] {{
  if (%i == %n) {{ Nil }} else {{ Cons(@{read}(%array, take(%indices, %i)), @{me}_from(%array, %i + 1, %n, %indices)) }}
}}
def @{me}(%array: List[{self._t}], %indices: Tensor[(?), int32]) -> {stacked._t} {{
  @{stack}(@{me}_from(%array, 0, take(shape_of(%indices, dtype="int32"), 0), %indices))
}}""")

    def define_tensor_get_data(self) -> None:
        """The tensor itself: T -> Tensor."""
        self._define("tensor_get_data", f"""def @{self.get_name("tensor_get_data")}(%t: {self._t}) -> {self._tensor()} {{
  match? (%t) {{ {self._make}(%x) => %x }}
}}""")

    def register(self) -> None:
        """Defines everything."""
        self.define_tensor_adt()
        self.define_tensor_array()
        self.define_tensor_take()
        self.define_tensor_concatenate()
        self.define_tensor_expand_dims()
        self.define_tensor_array_read()
        self.define_tensor_array_write()
        self.define_tensor_array_unstack()
        self.define_tensor_array_scatter()
        self.define_tensor_array_split()
        self.define_tensor_array_concat()
        self.define_tensor_array_stack()
        self.define_tensor_array_gather()
        self.define_tensor_get_data()


def _tensor_type(shape: Sequence[Any], dtype: str) -> str:
    dims = ", ".join("?" if _known(extent) is None else str(_known(extent)) for extent in shape)
    return f"Tensor[({dims}), {dtype}]"


def get_tensor_array_shape(expr: Any, dtype: str, prelude: Prelude) -> tuple[Any, ...] | None:
    """The shape of the tensors of a static tensor array; None for an array of tensors of any rank. Raises RelayError where the
    expression is no tensor array."""
    found = _relay._core.infer_expr_type(_relay.expr.as_expr(expr), prelude.mod)
    element: Any = found.args[0] if isinstance(found, _relay.TypeCall) and found.args else found
    name = "" if not isinstance(element, _relay.TypeCall) else getattr(element.func, "name_hint", "")
    if name == f"tensor_{dtype}_t":
        return None
    if not name.startswith(f"static_tensor_{dtype}_"):
        raise _relay.RelayError(f"the expression is no tensor array of {dtype} but {found}")
    data = prelude.mod.type_data(name)
    constructor = next(c for c in data.constructors if c.inputs)
    tensor: Any = constructor.inputs[0]
    return tuple(tensor.shape)
