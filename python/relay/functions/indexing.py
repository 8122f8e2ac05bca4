"""Reading and replacing parts: `x[1:3, None, ..., mask, [0, 2]]` and `x.at[…].set(…)`, with NumPy's meaning."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from ..expr import const
from ..numpy._common import cast, emit, is_array, lift, number, operation
from ..numpy.manipulation import broadcast_shape, broadcast_to, permute_dims, reshape
from .array import Array, Tracer
from .places import TraceError
from .trace import Size, retyped

__all__ = ["At", "from_front", "getitem"]

_END = 2**31 - 1


def from_front(places: Any, extent: Any) -> Any:
    """Positions counted from the front; Python's negative ones count from the end."""
    if places.dtype.kind == "uint":
        return places
    if places.dtype.kind != "int":
        raise IndexError(f"positions are integers, not {places.dtype}")
    size = number(extent, places.dtype) if isinstance(extent, int) else cast(extent.array(), places.dtype)
    return emit("where", emit("less", places, number(0, places.dtype)), emit("add", places, size), places)


class _Plan:
    """An index taken apart: what is done to each axis of the data, and the axes of the result."""

    def __init__(self, value: Any, key: Any) -> None:
        items = list(key) if isinstance(key, tuple) else [key]
        items = [_prepared(item) for item in items]
        used = builtins.sum(_axes_used(item) for item in items)
        dots = [i for i, item in enumerate(items) if item is Ellipsis]
        if len(dots) > 1:
            raise IndexError("an index has one ... at most")
        if used > value.ndim:
            raise IndexError(f"{used} indices are too many for an array of rank {value.ndim}")
        rest = [slice(None)] * (value.ndim - used)
        items = items[: dots[0]] + rest + items[dots[0] + 1 :] if dots else items + rest
        self.items, self.value = _with_axes_of_truths(items, value)
        self._walk()

    def _walk(self) -> None:
        """Slices, whole numbers and new axes first; arrays of positions are kept, with the axes they stand for."""
        # For each axis of the data: a slice.
        self.slices: list[Any] = []
        self.dropped: list[int] = []
        self.arrays: list[tuple[int, Any]] = []
        # The result's axes in order: ("axis", i), ("new",) or ("array", i).
        self.order: list[tuple[str, int]] = []
        axis = 0
        advanced = any(isinstance(item, Tracer) for item in self.items)
        for item in self.items:
            if item is None:
                self.order.append(("new", -1))
            elif isinstance(item, slice):
                self.slices.append(item)
                self.order.append(("axis", axis))
                axis += 1
            elif isinstance(item, int):
                self._whole(item, axis, advanced)
                axis += 1
            elif item.dtype == "bool":
                axis = self._mask(item, axis)
            else:
                self.slices.append(slice(None))
                self.arrays.append((axis, from_front(item, self.value.shape[axis])))
                self.order.append(("array", axis))
                axis += 1

    def _whole(self, item: int, axis: int, advanced: bool) -> None:
        extent = self.value.shape[axis]
        if isinstance(extent, int) and not -extent <= item < extent:
            raise IndexError(f"index {item} is outside of axis {axis} of extent {extent}")
        if advanced:  # beside arrays a number is one, too
            place = item if item >= 0 or not isinstance(extent, int) else item + extent
            self.slices.append(slice(None))
            found = number(place, "int32")
            self.arrays.append((axis, found if item >= 0 or isinstance(extent, int) else from_front(found, extent)))
            self.order.append(("array", axis))
            return
        self.slices.append(slice(item, item + 1 if item != -1 else None))
        self.dropped.append(axis)

    def _mask(self, item: Any, axis: int) -> int:
        for i, extent in enumerate(item.shape):
            have = self.value.shape[axis + i]
            if isinstance(extent, int) and isinstance(have, int) and extent != have:
                raise IndexError(f"a mask of extents {item.shape} does not fit to axes of {self.value.shape[axis : axis + item.ndim]}")
        places = emit("argwhere", item)
        for i in range(item.ndim):
            self.slices.append(slice(None))
            self.arrays.append((axis + i, emit("take", places, const(i, "int64"), axis=1)))
            self.order.append(("array", axis + i))
        return axis + int(item.ndim)

    def sliced(self) -> Any:
        """The data after slices of its axes; dropped axes have extent 1."""
        begin, end, step, axes = [], [], [], []
        for axis, item in enumerate(self.slices):
            bounds = _bounds(item, self.value.shape[axis])
            if bounds is not None:
                axes.append(axis)
                begin.append(bounds[0])
                end.append(bounds[1])
                step.append(bounds[2])
        return emit("strided_slice", self.value, begin=begin, end=end, strides=step, axes=axes) if axes else self.value

    def form(self, shape: Any, many: tuple[Any, ...]) -> list[Any]:
        """The extents of the result: of a sliced array's shape, and those that positions broadcast to."""
        first = self.front()
        found: list[Any] = []
        arrays_done = False
        if first and self.arrays:
            found += many
            arrays_done = True
        for kind, axis in self.order:
            if kind == "new":
                found.append(1)
            elif kind == "axis":
                found.append(shape[axis])
            elif not arrays_done:
                found += many
                arrays_done = True
        return found

    def front(self) -> bool:
        """True if the axes of positions come first in the result: something stands between them."""
        places = [i for i, (kind, _) in enumerate(self.order) if kind == "array"]
        return bool(places) and places != list(range(places[0], places[-1] + 1))


def _with_axes_of_truths(items: list[Any], value: Any) -> tuple[list[Any], Any]:
    """A mask of rank 0 is a mask of one element for a new axis: both get that axis."""
    found = list(items)
    shape = list(value.shape)
    axis = 0
    for i, item in enumerate(items):
        used = _axes_used(item)
        if used == 0 and isinstance(item, Tracer):
            shape.insert(axis, 1)
            found[i] = reshape(item, (1,))
            used = 1
        axis += used
    return found, value if len(shape) == value.ndim else reshape(value, tuple(shape))


def _prepared(item: Any) -> Any:
    if item is None or item is Ellipsis:
        return item
    if isinstance(item, slice):
        return slice(*[_bound(one) for one in (item.start, item.stop, item.step)])
    if isinstance(item, bool):
        raise IndexError("a truth value is no index: use relay.numpy.where, or None for a new axis")
    if isinstance(item, Size):
        return cast(item.array(), "int64")
    if isinstance(item, Tracer):
        return item
    if isinstance(item, Array) or is_array(item):
        return lift(item)
    if isinstance(item, (list,)):
        return lift(item, "int32" if not item else None)
    try:
        return int(item.__index__())
    except AttributeError:
        raise IndexError(f"an index is a number, a slice, None, ..., or an array of integers or bool, not {type(item).__name__}") from None


def _bound(item: Any) -> Any:
    if isinstance(item, Tracer):
        raise TraceError("a bound of a slice must be known while a function is traced, since it decides a shape: use relay.dynamic_slice, or .take")
    return item if item is None or isinstance(item, Size) else int(item.__index__())


def _axes_used(item: Any) -> int:
    if item is None or item is Ellipsis:
        return 0
    if isinstance(item, Tracer) and item.dtype == "bool":
        return item.ndim
    return 1


def _bounds(item: slice, extent: Any) -> tuple[int, int, int] | None:
    """Begin, end and step for `strided_slice`; None for the whole axis."""
    if item == slice(None):
        return None
    if any(isinstance(bound, Size) for bound in (item.start, item.stop, item.step)):
        if item.start in (None, 0) and item.step in (None, 1) and item.stop == extent:
            return None
        raise TraceError("a bound of a slice that is an extent must be the extent of that axis")
    step = 1 if item.step is None else item.step
    if step == 0:
        raise ValueError("the step of a slice is 0")
    if isinstance(extent, int):
        start, stop, step = item.indices(extent)
        count = len(range(start, stop, step))
        if count == extent and step == 1:
            return None
        if count == 0:
            return (0, 0, 1)
        return (start, stop if stop >= 0 else -extent - 1, step)
    start = item.start if item.start is not None else (0 if step > 0 else _END)
    return (start, item.stop if item.stop is not None else (_END if step > 0 else -_END), step)


def _read(plan: _Plan) -> Any:
    data = plan.sliced()
    if not plan.arrays:
        return _reshaped(data, plan.form(data.shape, ()), data)
    axes = [axis for axis, _ in plan.arrays]
    places = [place for _, place in plan.arrays]
    shape = data.shape
    order = axes + [axis for axis in range(data.ndim) if axis not in axes]
    fronted = data if order == list(range(data.ndim)) else permute_dims(data, tuple(order))
    many = tuple(broadcast_shape(*[place.shape for place in places]))
    if len(places) == 1:
        found = emit("take", fronted, places[0], axis=0, mode="clip")
    else:
        found = emit("adv_index", [fronted, *_one_dtype(places)])
    if not plan.front():
        lead = 0
        for kind, axis in plan.order:
            if kind == "array":
                break
            lead += kind == "axis"
        if lead:
            kept = [i for i in range(data.ndim) if i not in axes]
            # Dropped axes do not stand beside arrays, so all kept axes are of the result.
            front = [kept.index(axis) + len(many) for kind, axis in plan.order[: _first_array(plan)] if kind == "axis"]
            after = [i for i in range(len(many), found.ndim) if i not in front]
            found = permute_dims(found, (*front, *range(len(many)), *after))
    return _reshaped(found, plan.form(shape, many), found)


def _first_array(plan: _Plan) -> int:
    return next(i for i, (kind, _) in enumerate(plan.order) if kind == "array")


def _one_dtype(places: list[Any]) -> list[Any]:
    return [cast(place, "int64") for place in places] if len({place.dtype for place in places}) > 1 else places


def _reshaped(value: Any, form: list[Any], like: Any) -> Any:
    if len(form) == value.ndim and not any(kind is None for kind in form):
        same = all(a is b or (isinstance(a, int) and isinstance(b, int) and a == b) or a == b for a, b in zip(form, value.shape))
        if same or any(isinstance(extent, Size) and extent.dim.is_any for extent in form):
            return value if value is not like or same else value
    return reshape(value, tuple(form))


@operation
def getitem(x: Any, key: Any) -> Any:
    """`x[key]`. Positions outside are the nearest inside."""
    value = lift(x)
    made = _read(_Plan(value, key))
    return emit("copy", made) if made is value else made


class At:
    """`x.at`: an array, of which an index is to be chosen."""

    __slots__ = ("_array",)

    def __init__(self, array: Any) -> None:
        self._array = array

    def __getitem__(self, key: Any) -> Chosen:
        return Chosen(self._array, key)


class Chosen:
    """`x.at[key]`: its methods give a copy of the array with that part changed."""

    __slots__ = ("_array", "_key")

    def __init__(self, array: Any, key: Any) -> None:
        self._array = array
        self._key = key

    def get(self) -> Any:
        """The part."""
        return getitem(self._array, self._key)

    def set(self, values: Any) -> Any:
        """The array with the part replaced. Of positions that occur twice the last wins."""
        return _changed(self._array, self._key, values, "update")

    def add(self, values: Any) -> Any:
        """The array with values added to the part. Positions that occur twice add up."""
        return _changed(self._array, self._key, values, "add")

    def multiply(self, values: Any) -> Any:
        """The array with the part multiplied."""
        return _changed(self._array, self._key, values, "mul")

    mul = multiply

    def subtract(self, values: Any) -> Any:
        """The array with values taken from the part."""
        return self.add(-values)

    def divide(self, values: Any) -> Any:
        """The array with the part divided."""
        return self.set(self.get() / values)

    def min(self, values: Any) -> Any:
        """The array with the lesser of the part and values."""
        return _changed(self._array, self._key, values, "min")

    def max(self, values: Any) -> Any:
        """The array with the greater of the part and values."""
        return _changed(self._array, self._key, values, "max")

    def apply(self, function: Any) -> Any:
        """The array with a function of the part in its place."""
        return self.set(function(self.get()))


@operation
def _changed(x: Any, key: Any, values: Any, mode: str) -> Any:
    value = lift(x)
    plan = _Plan(value, key)
    given = lift(values)
    given = cast(given, value.dtype)
    if plan.arrays or any(isinstance(extent, Size) for extent in value.shape):
        changed = _scattered(plan, plan.value, given, mode)
    else:
        changed = _strided(plan, plan.value, given, mode)
    return changed if plan.value is value else reshape(changed, value.shape)


def _strided(plan: _Plan, value: Any, given: Any, mode: str) -> Any:
    """Slices: the positions of each axis are known, so that the change is a scatter at constants."""
    rows = []
    shape = value.shape
    for axis, item in enumerate(plan.slices):
        rows.append(np.arange(shape[axis])[item])
    counts = [len(row) for row in rows]
    target = plan.form(counts, ())
    spread = reshape(broadcast_to(given, tuple(target)), tuple(counts))
    if counts == list(shape) and all((row == np.arange(len(row))).all() for row in rows):
        return _combined(value, spread, mode)
    # Trailing axes that are whole move as rows.
    depth = len(rows)
    while depth and counts[depth - 1] == shape[depth - 1] and (rows[depth - 1] == np.arange(shape[depth - 1])).all():
        depth -= 1
    if not all(counts):
        return emit("copy", value)
    grid = np.stack(np.meshgrid(*rows[:depth], indexing="ij")).reshape(depth, -1).astype("int32")
    flat = reshape(spread, (grid.shape[1], *shape[depth:]))
    return emit("scatter_nd", value, lift(Array(np.ascontiguousarray(grid))), flat, mode=mode)


_COMBINE = {"add": "add", "mul": "multiply", "min": "minimum", "max": "maximum"}


def _combined(value: Any, given: Any, mode: str) -> Any:
    return emit("copy", given) if mode == "update" else emit(_COMBINE[mode], value, given)


def _scattered(plan: _Plan, value: Any, given: Any, mode: str) -> Any:
    """Positions that are data: the axes that they speak of come first, the others are rows."""
    axes = [axis for axis, _ in plan.arrays]
    places = [cast(place, "int32") for _, place in plan.arrays]
    masked = any(isinstance(extent, Size) and extent.dim.is_any for place in places for extent in place.shape)
    # Axes that are cut are positions, too.
    cut = [axis for axis in range(value.ndim) if axis not in axes and plan.slices[axis] != slice(None)]
    many = tuple(broadcast_shape(*[place.shape for place in places])) if places else ()
    whole = [axis for axis in range(value.ndim) if axis not in axes and axis not in cut]
    rows: list[Any] = []
    for axis in cut:
        bounds = plan.slices[axis]
        extent = value.shape[axis]
        if not isinstance(extent, int):
            if axis in plan.dropped:
                rows.append(from_front(lift([bounds.start], "int32"), extent))
                continue
            raise TraceError(f"a slice of an axis of {extent} elements cannot be replaced: its extent is not known")
        rows.append(lift(Array(np.arange(extent, dtype="int32")[bounds])))
    if masked and cut:
        raise TraceError("a mask beside slices cannot be replaced: use relay.numpy.where")
    grid = (*many, *[row.shape[0] for row in rows])
    spread = [broadcast_to(reshape(place, (*place.shape, *[1] * len(rows))), grid) for place in places]
    for i, row in enumerate(rows):
        spread.append(broadcast_to(reshape(row, (*[1] * (len(many) + i), row.shape[0], *[1] * (len(rows) - i - 1))), grid))
    index = emit("stack", spread, axis=0)
    order = axes + cut + whole
    fronted = value if order == list(range(value.ndim)) else permute_dims(value, tuple(order))
    updates = _updates(plan, value, given, many, cut, whole, [row.shape[0] for row in rows])
    found = emit("scatter_nd", fronted, index, updates, mode=mode)
    found = retyped(found, fronted.shape) if any(isinstance(extent, Size) for extent in fronted.shape) else found
    return found if fronted is value else permute_dims(found, tuple(order.index(i) for i in range(value.ndim)))


def _updates(plan: _Plan, value: Any, given: Any, many: tuple[Any, ...], cut: list[int], whole: list[int], counts: list[Any]) -> Any:
    """Values in the order of the scatter: axes of positions, cut axes, whole axes."""
    extents = {axis: count for axis, count in zip(cut, counts)} | {axis: value.shape[axis] for axis in whole}
    target = plan.form([extents.get(axis, 1) for axis in range(value.ndim)], many)
    full = broadcast_to(given, tuple(target))
    # Where each axis of the result comes from: new ones go, dropped ones come back.
    names: list[Any] = []
    placed = not plan.arrays
    if plan.front() and plan.arrays:
        names += [("many", i) for i in range(len(many))]
        placed = True
    for kind, axis in plan.order:
        if kind == "new":
            names.append(("new", axis))
        elif kind == "axis":
            names.append(("axis", axis))
        elif not placed:
            names += [("many", i) for i in range(len(many))]
            placed = True
    wanted = [("many", i) for i in range(len(many))] + [("axis", axis) for axis in cut + whole if axis not in plan.dropped]
    order = [names.index(one) for one in wanted] + [i for i, one in enumerate(names) if one[0] == "new"]
    if order != sorted(order):
        full = permute_dims(full, tuple(order))
    final = (*many, *[extents[axis] for axis in cut + whole])
    return reshape(full, final) if full.ndim != len(final) else full
