"""Attributes of other systems' nodes, and converters that are made of tables of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import relay as _relay

from ...error import OpAttributeInvalid, OpAttributeRequired, OpAttributeUnImplemented, OpNotImplemented
from .. import op as _op

__all__ = ["AttrCvt", "Renamer", "RequiredAttr", "StrAttrsDict", "get_relay_op"]


class RequiredAttr:
    """Stands for the default of an attribute that must be given."""


class StrAttrsDict:
    """Attributes as text, read by type. Raises AttributeError for one that is missing and has no default."""

    def __init__(self, attrs: Mapping[str, str]) -> None:
        self.attrs = attrs

    def has_attr(self, key: str) -> bool:
        """True if an attribute is given."""
        return key in self.attrs

    def _get(self, key: str, default: Any, convert: Callable[[str], Any]) -> Any:
        if key in self.attrs:
            return convert(self.attrs[key])
        if isinstance(default, RequiredAttr):
            raise AttributeError(f"Required attribute {key} not found.")
        return default

    def get_float(self, key: str, default: Any = RequiredAttr()) -> Any:
        """A float."""
        return self._get(key, default, float)

    def get_int(self, key: str, default: Any = RequiredAttr()) -> Any:
        """An integer."""
        return self._get(key, default, int)

    def get_str(self, key: str, default: Any = RequiredAttr()) -> Any:
        """The text itself."""
        return self._get(key, default, str)

    def get_int_tuple(self, key: str, default: Any = RequiredAttr()) -> Any:
        """Integers in parentheses or brackets."""
        return self._get(key, default, lambda text: tuple(int(float(part)) for part in _parts(text)))

    def get_float_tuple(self, key: str, default: Any = RequiredAttr()) -> Any:
        """Floats in parentheses or brackets."""
        return self._get(key, default, lambda text: tuple(float(part) for part in _parts(text)))

    def get_tuple_tuple_int(self, key: str, default: Any = RequiredAttr()) -> Any:
        """Lists of integers in a list."""
        return self._get(key, default, lambda text: tuple(tuple(int(part) for part in _parts(inner)) for inner in text.strip("()[] ").split("),")))

    def get_int_list(self, key: str, default: Any = RequiredAttr()) -> Any:
        """Integers as a list."""
        found = self.get_int_tuple(key, default)
        return list(found) if key in self.attrs else found

    def get_bool(self, key: str, default: Any = RequiredAttr()) -> Any:
        """A boolean: "True", "true" and "1" are true."""
        return self._get(key, default, lambda text: str(text).lower() in ("true", "1"))


def _parts(text: str) -> list[str]:
    return [part for part in text.strip("()[] ").replace("(", "").replace(")", "").split(",") if part.strip() not in ("", "None")]


def get_relay_op(op_name: str) -> Any:
    """The function of an operator, by a name with or without its family. Raises OpNotImplemented."""
    found: Any = _op
    for part in op_name.split("."):
        found = getattr(found, part, None)
        if found is None:
            break
    if found is None or not callable(found):
        places = [_op, _op.nn, _op.image, _op.vision]
        found = next((getattr(place, op_name) for place in places if callable(vars(place).get(op_name))), None)
    if found is None:
        raise OpNotImplemented(f"Unable to map op_name {op_name} to relay")
    return found


class AttrCvt:
    """Converts nodes to calls of one operator: attributes are renamed, left out, checked.

    Args:
        op_name: The operator, or a function of the attributes that gives its name.
        transforms: For an attribute: its new name; a pair of name and default; or those and a function of the value.
        excludes: Attributes that must not be given. Raises OpAttributeUnImplemented.
        disables: Attributes that are left out, with a word on the console.
        ignores: Attributes that are left out.
        extras: Further attributes.
        custom_check: A function of the attributes and what to say where it gives false.
    """

    def __init__(
        self, op_name: Any, transforms: Mapping[str, Any] | None = None, excludes: Any = None, disables: Any = None, ignores: Any = None,
        extras: Mapping[str, Any] | None = None, custom_check: Any = None,
    ) -> None:  # fmt: skip
        self._op_name, self._transforms = op_name, dict(transforms or {})
        self._excludes, self._disables = list(excludes or []), list(disables or [])
        self._ignores = [*(ignores or []), "_output_shapes", "_input_shapes", "T", "use_cudnn_on_gpu", "_node_name", "is_training", "_target_layout"]
        self._extras, self._custom_check = dict(extras or {}), custom_check

    def __call__(self, inputs: Any, attrs: Mapping[str, Any], *args: Any) -> Any:
        """The call. Raises OpAttributeUnImplemented, OpAttributeInvalid, OpAttributeRequired, OpNotImplemented."""
        if self._custom_check and not self._custom_check[0](attrs):
            raise RuntimeError(f"Check failed: {self._custom_check[1]}")
        name = self._op_name if isinstance(self._op_name, str) else self._op_name(attrs)
        new_attrs: dict[str, Any] = {}
        for key, value in attrs.items():
            if key in self._excludes:
                raise OpAttributeUnImplemented(f"Attribute {key} in operator {name} is not supported.")
            if key in self._transforms:
                new_name, default, change = self._parsed(self._transforms[key])
                if default is None:
                    new_attrs[new_name] = change(self._needed(attrs, key))
                else:
                    new_attrs[new_name] = change(attrs.get(key, default))
            elif key not in self._ignores and key not in self._disables:
                new_attrs[key] = value
        for key, target in self._transforms.items():
            if key not in attrs:
                new_name, default, change = self._parsed(target)
                new_attrs[new_name] = change(default) if default is not None else self._needed(attrs, key)
        new_attrs.update(self._extras)
        return get_relay_op(name)(*inputs, **new_attrs)

    @staticmethod
    def _parsed(target: Any) -> tuple[str, Any, Callable[[Any], Any]]:
        if not isinstance(target, (list, tuple)):
            return str(target), None, lambda x: x
        name, default, *rest = target
        change = rest[0] if rest else lambda x: x
        if not callable(change):
            raise OpAttributeInvalid(f"the conversion of attribute {name} is no function")
        return name, default, change

    @staticmethod
    def _needed(attrs: Mapping[str, Any], key: str) -> Any:
        if key not in attrs:
            raise OpAttributeRequired(f"Attribute {key} not found in operator")
        return attrs[key]


class Renamer:
    """Converts nodes to calls of an operator with the same attributes."""

    def __init__(self, new_name: str) -> None:
        self._new_name = new_name

    def __call__(self, inputs: Any, attrs: Mapping[str, Any], *args: Any) -> _relay.Expr:
        """The call, with the attributes as they are, but for the name of the node."""
        given = {key: value for key, value in dict(attrs).items() if key != "tvm_custom"}
        made: _relay.Expr = get_relay_op(self._new_name)(*inputs, **given)
        return made
