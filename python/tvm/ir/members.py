"""Members of nodes and arrays that scripts of TVM use beside those that `relay` gives."""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import relay as _relay
from relay import Attrs, Dim, Expr, Function, IRModule, NDArray, Type, Value, _core

from relay.expr import annotated_text

from .._absent import missing_property
from .._errors import UnknownAttributeError
from ..runtime.container import MapView
from ..runtime.object import make_objects
from .type_args import type_args, written_type_args


def _same_term(self: Dim, other: Any) -> bool:
    """True if both are the same term: extents have no objects of their own."""
    return isinstance(other, (Dim, int)) and bool(self == other)


def module_attrs(self: _relay.IRModule) -> dict[str, Any] | None:
    """The attributes of a module by name; None if it has none. Passes keep them, text does not show them."""
    return getattr(self, "_attributes", None)


def _module_attr(self: _relay.IRModule, attr_key: str) -> Any:
    """An attribute of a module; None if it has no such one."""
    return (module_attrs(self) or {}).get(attr_key)


def with_module_attrs(module: _relay.IRModule, attributes: dict[str, Any] | None) -> _relay.IRModule:
    """A copy of the module with these attributes alone."""
    made = copy.copy(module)
    setattr(made, "_attributes", attributes or None)
    return made


def _with_module_attr(self: _relay.IRModule, attr_key: str | Mapping[str, Any], attr_value: Any = None) -> _relay.IRModule:
    """A copy of the module with an attribute, or with those of a dictionary. Attributes are for scripts: the library asks none."""
    given = dict(attr_key) if isinstance(attr_key, Mapping) else {attr_key: attr_value}
    for key in given:
        if not isinstance(key, str):
            raise TypeError(f"the name of an attribute is a str, not {type(key).__name__}")
    return with_module_attrs(self, {**(module_attrs(self) or {}), **given})


def _without_module_attr(self: _relay.IRModule, attr_key: str) -> _relay.IRModule:
    """A copy of the module without an attribute."""
    return with_module_attrs(self, {key: value for key, value in (module_attrs(self) or {}).items() if key != attr_key})


def _asnumpy(self: NDArray) -> Any:
    """As an array of NumPy."""
    return self.numpy()


def _array_text(self: NDArray) -> str:
    """Shape, device and elements."""
    return f"<tvm.nd.NDArray shape={tuple(self.shape)}, {_device(self)}>\n{self.numpy()!r}"


def _getitem(self: NDArray, index: Any) -> Any:
    from ..runtime.ndarray import array

    return array(self.numpy()[index])


def _capsule(self: NDArray) -> Any:
    """A capsule of DLPack, of the version before 1, which every package takes. Memory of programs is copied: that version has no word for what is
    read-only."""
    return self.__dlpack__()


def _copyfrom(self: NDArray, source_array: Any) -> NDArray:
    """Replaces the content by that of an array of the same shape."""
    source = np.asarray(source_array)
    if tuple(source.shape) != tuple(self.shape):
        raise ValueError(f"an array of shape {tuple(source.shape)} does not fit into one of shape {tuple(self.shape)}")
    memory = _memory(self)
    np.copyto(memory, source.astype(memory.dtype, copy=False))
    return self


def _setitem(self: NDArray, index: Any, value: Any) -> None:
    _memory(self)[index] = value.numpy() if isinstance(value, NDArray) else value


def _memory(array: NDArray) -> Any:
    found = getattr(array, "_memory", None)
    if found is None:
        raise ValueError("the array cannot be written, since it is a program's or read-only for others: tvm.nd.array(a) is a copy that can")
    return found


def _copyto(self: NDArray, target: Any, mem_scope: Any = None) -> NDArray:
    """Copies into another array, or into a new one on a device."""
    from ..runtime.ndarray import array

    if isinstance(target, NDArray):
        _copyfrom(target, self)
        return target
    return array(self.numpy())


def _device(self: NDArray) -> Any:
    from ..runtime.ndarray import cpu

    return cpu(0)


def _value_iter(self: Value) -> Any:
    return iter(self.fields)


def _value_getitem(self: Value, index: int) -> Any:
    return self.fields[index]


def _value_len(self: Value) -> int:
    return len(self.fields)


def _viewed(plain: Any, self: _relay.IRModule) -> MapView:
    """What the module has by name, as TVM's map."""
    return MapView(plain.__get__(self))


def _get_constructor(self: _relay.IRModule, tag: Any) -> _relay.Constructor:
    """The constructor of a tag, or of a name. Raises KeyError."""
    if isinstance(tag, str):
        return self.constructor(tag)
    for data in self.type_definitions.values():
        for constructor in data.constructors:
            if constructor.tag == int(tag):
                made: _relay.Constructor = constructor
                return made
    raise KeyError(f"no constructor has tag {tag}")


# The answer of `relay` itself: the type that is written.
_result_of = _relay.Function.ret_type


def written_result(function: _relay.Function) -> Any:
    """The result type that is written at a function; None where none is."""
    return _result_of.__get__(function)


def _result_type(self: _relay.Function) -> Any:
    """The type of the result: the one that is written, else the one that inference found; None before."""
    written = written_result(self)
    if written is not None:
        return written
    try:
        found = self.checked_type
    except (ValueError, AttributeError, _relay.RelayError):
        return None
    return found.ret_type if isinstance(found, _relay.FuncType) else None


_annotation_of = _relay.Var.type_annotation


def written_annotation(var: _relay.Var) -> Any:
    """The type that is written at a variable; None where none is."""
    return _annotation_of.__get__(var)


def _annotation(self: _relay.Var) -> Any:
    """The type that is written at the variable, else the one that inference found, where all of it is known; None before."""
    written = written_annotation(self)
    if written is not None:
        return written
    try:
        found = self.checked_type
        return None if _relay.analysis.all_type_vars(found, None) else found
    except (ValueError, AttributeError, _relay.RelayError):
        return None


class _ResultTypes(_relay.ExprMutator):
    """Writes the inferred types of results."""

    def visit_function(self, fn: _relay.Function) -> Expr:
        made = super().visit_function(fn)
        found = _result_type(fn)
        if found is None or not isinstance(made, _relay.Function) or written_result(made) is not None:
            return made
        return _relay.Function(
            made.params, made.body, found, made.type_params, made.attrs or None, made.span, type_constraints=made.type_constraints
        )


def with_result_types(thing: Any) -> Any:
    """A module or expression in which functions have the types of their results written, as far as they are inferred."""
    if isinstance(thing, Expr):
        return _ResultTypes().visit(thing)
    return with_functions(thing, lambda function: _ResultTypes().visit(function))


def with_short_floats(thing: Any) -> Any:
    """A module or expression in which floats in attributes have the digits of float32: one that comes from a constant of the program is the
    one that a script writes."""
    if isinstance(thing, Expr):
        return _relay.rewrite(thing, _short_floats)
    return with_functions(thing, lambda function: _relay.rewrite(function, _short_floats))


def _short(value: Any) -> Any:
    """The float32 of a float. Whole numbers, which a limit of integers may be, and numbers beyond its range stay."""
    if isinstance(value, (list, tuple)):
        return type(value)(_short(part) for part in value)
    if not isinstance(value, float) or value.is_integer():
        return value
    with np.errstate(over="ignore"):
        short = float(np.float32(value))
    return short if math.isfinite(short) else value


def _short_floats(node: Expr) -> Expr | None:
    if not isinstance(node, _relay.Call) or node.attrs is None:
        return None
    given = dict(node.attrs.items())
    short = {key: _short(value) for key, value in given.items()}
    if all(short[key] is value or short[key] == value for key, value in given.items()):
        return None
    return _relay.Call(node.op, node.args, Attrs(short, node.attrs.type_key), written_type_args(node) or None, node.span)


def with_functions(mod: IRModule, change: Callable[[Any], Any]) -> IRModule:
    """The module with each function as `change` gives it; the same one if all stay."""
    changed = {name: change(mod[name]) for name in mod.function_names}
    if all(function is mod[name] for name, function in changed.items()):
        return mod
    made = mod.copy()
    for name, function in changed.items():
        made.add_function(name, function, replace=True)
    return made


def _versioned(text: str) -> str:
    return text if text.startswith("#[version") else '#[version = "0.0.5"]\n' + text


def _astext(self: Expr, show_meta_data: bool = True, annotate: Any = None, *, show_types: bool = True) -> str:
    """Program text behind the version of its format, with types as comments where they are known, as TVM writes them. `annotate`: a
    function of a node whose text stands behind the node in their place; a bool in its place is `show_types`, as relay's own method has it."""
    if annotate is None or isinstance(annotate, bool):
        return _versioned(_core.print_expr(self, show_meta_data, show_types if annotate is None else annotate))
    return _versioned(annotated_text(self, annotate, show_meta_data))


_raw_module_astext = IRModule.astext


def _module_astext(self: IRModule, show_meta_data: bool = True, annotate: Any = None, *, show_types: bool = True) -> str:
    """Program text, with types as comments where they are known, as TVM writes them. `annotate`: a function of a node of a function whose
    text stands behind the node in their place; a bool in its place is `show_types`, as relay's own method has it."""
    if annotate is None or isinstance(annotate, bool):
        return _raw_module_astext(self, show_meta_data, show_types if annotate is None else annotate)
    return annotated_text(self, annotate, show_meta_data)


def _plain_astext(self: Any, show_meta_data: bool = True, annotate: Any = None) -> str:
    """Text behind the version of its format: what this is has no constants and no nodes."""
    return _versioned(str(self))


def _no_attribute(self: Attrs, key: Any) -> str:
    return f"the attributes have no {key!r}: they have {', '.join(self.keys()) or 'none'}"


def _attr(self: Attrs, key: str) -> Any:
    if key not in self.keys():
        raise AttributeError(_no_attribute(self, key))
    return self[key]


def _get_int(self: Attrs, key: str) -> int | None:
    """An attribute as an integer; None for one that was not given. Raises AttributeError for a name that is none."""
    found = _attr(self, key)
    return None if found is None else int(found)


def _get_int_tuple(self: Attrs, key: str) -> tuple[int, ...]:
    """An attribute as integers. Raises AttributeError for a name that is none."""
    return tuple(int(value) for value in _attr(self, key))


def _get_str(self: Attrs, key: str) -> str:
    """An attribute as text. Raises AttributeError for a name that is none."""
    return str(_attr(self, key))


def _as_node(key: str, found: Any) -> Any:
    """The value of an attribute with the members that TVM's nodes have: integers a `value`, devices those of virtual devices."""
    from .. import tir

    if isinstance(found, str) and found and key.endswith("virtual_device"):
        from ..target.virtual_device import named_device

        return named_device(found)
    return tir.numbered(found)


def _with_nodes(find: Callable[..., Any]) -> Callable[..., Any]:
    """A method of attributes that gives the value of a key, as a node."""

    @functools.wraps(find)
    def found(self: Attrs, key: str, *args: Any, **kwargs: Any) -> Any:
        try:
            return _as_node(key, find(self, key, *args, **kwargs))
        except KeyError:
            raise UnknownAttributeError(_no_attribute(self, key)) from None

    return found


def _known_type(self: Expr) -> Type | None:
    """The type, if it is known."""
    try:
        return self.checked_type
    except ValueError:
        return None


_raw_items = Attrs.items


def _items(self: Attrs) -> list[tuple[str, Any]]:
    """The names and values, in order of declaration."""
    return [(key, _as_node(key, value)) for key, value in _raw_items(self)]


class AttrFieldInfo(NamedTuple):
    """A field of attributes."""

    name: str
    type_info: str
    description: str


def _field_infos(self: Attrs) -> list[AttrFieldInfo]:
    """The fields of an operator's attributes; none for those of functions."""
    for name in _core.op_names():
        facts = _core.op_info(name)
        if facts["attrs_type"] == self.type_key:
            return [AttrFieldInfo(field["name"], field["type"], field["doc"]) for field in facts["attrs"]]
    return []


def _show(self: Any, *args: Any, **kwargs: Any) -> None:
    """Prints program text. Styles of TVM's printer of scripts change nothing."""
    print(self.astext(show_meta_data=False))


def _pass_facts(self: _relay.transform.PassInfo) -> str:
    """The facts in TVM's words, which instruments print."""
    return f"The meta data of the pass - pass name: {self.name}, opt_level: {self.opt_level}, required passes: [{', '.join(self.required)}]"


def _by_name_of(find: Callable[[IRModule], Any], mod: IRModule) -> dict[str, Any]:
    """Variables of a module by their names."""
    return {variable.name_hint: variable for variable in find(mod)}


def _name_of_extent(self: Dim) -> str:
    """The name of an extent that is one. Raises AttributeError for `?` and terms."""
    if self.symbol is None:
        raise AttributeError(f"the extent {self} has no name")
    return str(self.symbol.name_hint)


def _keeps_type(change: Callable[..., Function]) -> Callable[..., Function]:
    """A method that gives a function with other attributes: it has a type where the function had one, as in TVM. Types that need a module,
    for global functions that are called, InferType finds again."""

    @functools.wraps(change)
    def changed(self: Function, *args: Any, **kwargs: Any) -> Function:
        made = change(self, *args, **kwargs)
        try:
            self.checked_type
            if made is not self:
                _relay.check(made)
        except (ValueError, AttributeError, _relay.RelayError):
            pass
        return made

    return changed


def _no_device(self: Expr) -> Any:
    """A device that says nothing: programs have devices in their calls of on_device, also after PlanDevices."""
    from ..target.virtual_device import VirtualDevice

    return VirtualDevice()


def install() -> None:
    """Puts the members onto the classes, once."""
    # TVM's words for dtypes without bits, and that for numbers of one bit.
    for word, dtype in (("float", "float32"), ("int", "int32"), ("uint", "uint32"), ("uint1", "bool")):
        _core.add_dtype_word(word, dtype)
    make_objects(Expr, Type, NDArray, IRModule, Attrs, Value, _relay.Constructor, _relay.Clause, _relay.Pattern, _relay.TypeData, _relay.transform.Pass)
    make_objects(_relay.Span, _core.DFPattern, _core.Diagnostic, _relay.transform.PassInfo, _relay.transform.PassContext, _relay.transform.LayoutConfig)
    make_objects(_relay.instrument.PassInstrument)
    setattr(Dim, "same_as", _same_term)
    setattr(Dim, "name", property(_name_of_extent))
    setattr(Dim, "dtype", property(lambda self: "int32"))
    for name, getter in {"get_int": _get_int, "get_int_tuple": _get_int_tuple, "get_str": _get_str}.items():
        setattr(Attrs, name, getter)
    for name in ("__getattr__", "__getitem__", "get"):
        setattr(Attrs, name, _with_nodes(getattr(Attrs, name)))
    setattr(Attrs, "items", _items)
    setattr(Attrs, "list_field_info", _field_infos)
    setattr(_relay.Function, "ret_type", property(_result_type))
    for name in ("with_attr", "with_attrs", "without_attr"):
        if hasattr(Function, name):
            setattr(Function, name, _keeps_type(getattr(Function, name)))
    setattr(_relay.Var, "type_annotation", property(_annotation))
    setattr(_relay.Call, "type_args", property(type_args))
    setattr(Expr, "astext", _astext)
    setattr(IRModule, "astext", _module_astext)
    setattr(IRModule, "__str__", _module_astext)
    for cls in (Type, _relay.TypeData, _relay.Pattern, _relay.Clause, Attrs):
        setattr(cls, "astext", _plain_astext)
    setattr(Expr, "show", _show)
    setattr(_relay.IRModule, "show", _show)
    devices = "devices of expressions: on_device says where something runs, and PlanDevices plans by it"
    setattr(Expr, "virtual_device", missing_property("virtual_device of an expression", devices))
    setattr(Expr, "virtual_device_", property(_no_device))
    setattr(Expr, "_checked_type_", property(_known_type))
    for name, find in {"global_var_map_": _relay.IRModule.get_global_vars, "global_type_var_map_": _relay.IRModule.get_global_type_vars}.items():
        setattr(_relay.IRModule, name, property(functools.partial(_by_name_of, find)))
    for name in ("functions", "type_definitions"):
        setattr(_relay.IRModule, name, property(functools.partial(_viewed, getattr(_relay.IRModule, name))))
    setattr(Type, "span", missing_property("span of a type", "places of types: expressions and diagnostics have them"))
    # A module without functions is no less a module: scripts ask `if mod`.
    setattr(_relay.IRModule, "__bool__", lambda self: True)
    setattr(_relay.IRModule, "get_attr", _module_attr)
    setattr(_relay.IRModule, "get_attrs", module_attrs)
    setattr(_relay.IRModule, "attrs", property(module_attrs))
    setattr(_relay.IRModule, "with_attr", _with_module_attr)
    setattr(_relay.IRModule, "with_attrs", _with_module_attr)
    setattr(_relay.IRModule, "without_attr", _without_module_attr)
    for name, member in {
        "__repr__": _array_text, "__str__": lambda self: str(self.numpy()), "asnumpy": _asnumpy, "__getitem__": _getitem, "__setitem__": _setitem, "copyfrom": _copyfrom, "copyto": _copyto,
        "device": property(_device), "ctx": property(_device),
    }.items():  # fmt: skip
        setattr(NDArray, name, member)
    for name, method in {"__iter__": _value_iter, "__getitem__": _value_getitem, "__len__": _value_len}.items():
        setattr(Value, name, method)
    setattr(NDArray, "to_dlpack", _capsule)
    setattr(_relay.Var, "vid", property(lambda self: self))
    setattr(_relay.transform.PassInfo, "__str__", _pass_facts)
    setattr(_relay.transform.PassInfo, "traceable", property(lambda self: False))
    setattr(_relay.IRModule, "get_constructor", _get_constructor)
