"""Functions."""

from __future__ import annotations

from typing import Any

from relay import Function

__all__ = ["Function", "FunctionWithFields"]


def FunctionWithFields(function: Function, params: Any = None, body: Any = None, ret_type: Any = None, ty_params: Any = None,  # noqa: N802
                       attrs: Any = None, virtual_device: Any = None, span: Any = None) -> Function:  # fmt: skip
    """The function with what is given replaced."""
    if virtual_device is not None:
        raise NotImplementedError("virtual_device of a function: devices are told by on_device and PlanDevices")
    given = [(params, function.params), (body, function.body), (ret_type, function.ret_type), (ty_params, function.type_params),
             (attrs, function.attrs), (span, function.span)]  # fmt: skip
    parts: list[Any] = [old if new is None else new for new, old in given]
    make: Any = Function
    made: Function = make(*parts, type_constraints=function.type_constraints)
    return made
