"""Where things live: virtual devices, and the targets that a build is for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from relay import equality as _equality

from ..runtime.ndarray import Device, device as _device
from . import Target, _by_device

__all__ = ["CompilationConfig", "VirtualDevice", "make_compilation_config"]


class VirtualDevice:
    """Where something lives: a device, a target and a scope of memory."""

    def __init__(self, device: Device | None = None, target: Any = None, memory_scope: str = "") -> None:
        self.device = device
        self.target = Target.canon_target(target)
        self.memory_scope = memory_scope
        self.device_type_int = device.device_type if device is not None else -1
        self.virtual_device_id = device.device_id if device is not None else -1

    @property
    def device_type(self) -> int:
        """The number of the device's type; -1 if there is none."""
        return self.device_type_int

    def _parts(self) -> tuple[Any, ...]:
        return self.device_type_int, self.virtual_device_id, self.memory_scope, str(self.target)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VirtualDevice) and self._parts() == other._parts()

    def __hash__(self) -> int:
        # That of the text which programs have for it, since both are equal.
        return hash(str(self.device))

    @property
    def unconstrained(self) -> bool:
        """True if it says nothing about where something lives."""
        return self._parts() == (-1, -1, "", str(None))

    def __repr__(self) -> str:
        named = {"device_type": self.device_type_int, "virtual_device_id": self.virtual_device_id, "target": self.target, "memory_scope": self.memory_scope}
        return f"VirtualDevice({', '.join(f'{name}={value}' for name, value in named.items() if value not in (-1, None, ''))})"


_equality.plain_classes.update({Device: str, Target: Target._described, VirtualDevice: lambda device: str(device._parts())})


def _device_of(text: str) -> Device:
    """The device of a text `cuda(0)`. Raises ValueError."""
    found = re.fullmatch(r"(\w+)(?:\((\d*)\))?", text)
    if found is None:
        raise ValueError(f"{text!r} is no device")
    return _device(found[1], int(found[2] or 0))


class NamedDevice(str, VirtualDevice):
    """A device as programs write it, `cuda(0)`, with the members of a virtual device. Of several names of a kind, `gpu(0)`, it has the one that
    the device prints, since what is equal has one hash."""

    def __new__(cls, text: str) -> NamedDevice:
        return super().__new__(cls, str(_device_of(text)))

    def __init__(self, text: str) -> None:
        VirtualDevice.__init__(self, _device_of(text))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, VirtualDevice):
            return VirtualDevice.__eq__(self, other)
        return str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__, __repr__ = VirtualDevice.__hash__, str.__repr__


def named_device(text: str) -> str:
    """The device that a program names; the text itself where it is no device, which inference tells of a program."""
    try:
        return NamedDevice(text)
    except ValueError:
        return text


class CompilationConfig(dict[str, Any]):
    """The settings of a build: the targets, the host's, and where what is not told otherwise lives."""

    @property
    def primitive_targets(self) -> list[Target]:
        """The targets that kernels are made for."""
        made = self["target"]
        return list(made) if isinstance(made, list) else [made]

    @property
    def host_target(self) -> Target:
        """The target of what calls the kernels."""
        return Target(self["host"] or "llvm")

    @property
    def optional_homogeneous_target(self) -> Target | None:
        """The target, if there is one alone."""
        made = self.primitive_targets
        return made[0] if len(made) == 1 else None

    @property
    def default_primitive_virtual_device(self) -> VirtualDevice:
        """Where kernels run that no annotation concerns."""
        target = self.primitive_targets[0]
        return VirtualDevice(_device(target.kind.name, 0), target)

    @property
    def host_virtual_device(self) -> VirtualDevice:
        """Where what calls the kernels runs."""
        return VirtualDevice(_device("cpu", 0), self.host_target)


def make_compilation_config(ctxt: Any, target: Any, target_host: Any = None) -> CompilationConfig:
    """The settings that a build would be made for. Several targets, in a list or by device, are those of a program that is planned for
    several devices; a build takes CPUs alone."""
    if isinstance(target, (list, tuple)) or _by_device(target):
        given = [Target(entry) for entry in (target.values() if isinstance(target, Mapping) else target)]
        return CompilationConfig(machine="host", target=given, host=Target.canon_target(target_host), opt_level=ctxt.opt_level)
    made, host = Target.canon_target_and_host(target, target_host)
    return CompilationConfig(machine=Target.machine_of(made), target=made, host=host, opt_level=ctxt.opt_level)
