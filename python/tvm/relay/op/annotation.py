"""Operators that annotate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import relay as _relay
from relay.op.annotation import *  # noqa: F403

from ... import _absent
from ...runtime.ndarray import Device, device as _device
from ...target.virtual_device import NamedDevice, VirtualDevice


def _known(device: Any) -> Any:
    """A device that there is. Raises ValueError for a name that is none."""
    if isinstance(device, VirtualDevice) and not isinstance(device, NamedDevice):
        return device.device
    if isinstance(device, str) and "(" not in device:
        return _device(device)
    return device


def on_device(body: Any, device: Device | VirtualDevice | str, constrain_result: bool = False, constrain_body: bool = True) -> _relay.Expr:  # type: ignore[no-redef]
    """Says on which device a value is computed (`constrain_body`), and its result is (`constrain_result`). A virtual device that says
    nothing gives the value itself."""
    if isinstance(device, VirtualDevice) and device.unconstrained:
        return body  # type: ignore[no-any-return]
    return _relay.annotation.on_device(body, _known(device), constrain_result, constrain_body)


def function_on_device(function: _relay.Function, param_devices: Sequence[Any], result_device: Device | VirtualDevice | str) -> _relay.Function:
    """The function whose parameters and result are on devices, which on_device says around the uses of the parameters and the body. A
    virtual device that says nothing leaves its part open. Raises ValueError for another number of devices than of parameters."""
    if len(param_devices) != len(function.params):
        raise ValueError(f"the function has {len(function.params)} parameters, and {len(param_devices)} devices were given")
    fresh = [_relay.Var(param.name_hint, param.type_annotation) for param in function.params]
    given = {param: on_device(var, device, constrain_result=True) for param, var, device in zip(function.params, fresh, param_devices)}
    return function.with_body(on_device(_relay.bind(function.body, given), result_device, constrain_result=True), fresh)


def device_copy(data: Any, src_device: Device | VirtualDevice | str, dst_device: Device | VirtualDevice | str) -> _relay.Expr:
    """The data copied from one device to another."""
    return _relay.device_copy(data, _known(src_device), _known(dst_device))


def __getattr__(name: str) -> object:
    return _absent.lookup(__name__, name)
