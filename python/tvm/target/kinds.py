"""Targets of kinds by functions. Programs are compiled for CPUs of x86-64 and AArch64: other targets can be named, printed and asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import Target

__all__ = ["adreno", "arm_cpu", "bifrost", "cuda", "hexagon", "intel_graphics", "mali", "micro", "rasp", "riscv_cpu", "rocm", "stm32", "vta"]


def _made(*words: Any, options: Any = None) -> Target:
    from . import Target

    more = options.split() if isinstance(options, str) else list(options or [])
    return Target(" ".join([*(str(word) for word in words if word), *more]))


def cuda(model: str = "unknown", arch: str | None = None, options: str | Sequence[str] | None = None) -> Target:
    """A GPU of NVIDIA."""
    return _made("cuda", f"-model={model}", f"-arch={arch}" if arch else "", options=options)


def rocm(model: str = "unknown", options: Any = None) -> Target:
    """A GPU of AMD."""
    return _made("rocm", f"-model={model}", options=options)


def mali(model: str = "unknown", options: Any = None) -> Target:
    """A GPU of ARM."""
    return _made("opencl", "-device=mali", f"-model={model}", options=options)


def bifrost(model: str = "unknown", options: Any = None) -> Target:
    """A GPU of ARM of another generation."""
    return _made("opencl", "-device=bifrost", f"-model={model}", options=options)


def adreno(model: str = "unknown", options: Any = None) -> Target:
    """A GPU of Qualcomm."""
    return _made("opencl", "-device=adreno", f"-model={model}", options=options)


def intel_graphics(model: str = "unknown", options: Any = None) -> Target:
    """A GPU of Intel."""
    return _made("opencl", "-device=intel_graphics", f"-model={model}", "-thread_warp_size=16", options=options)


def arm_cpu(model: str = "unknown", options: Any = None) -> Target:
    """A CPU of ARM."""
    return _made("llvm", "-device=arm_cpu", "-keys=arm_cpu,cpu", f"-model={model}", "-mtriple=aarch64-linux-gnu", options=options)


def rasp(options: Any = None) -> Target:
    """The CPU of a Raspberry Pi 3."""
    return arm_cpu("rasp3b", options)


def riscv_cpu(model: str = "sifive-u54", options: Any = None) -> Target:
    """A CPU of RISC-V."""
    return _made("llvm", "-keys=arm_cpu,cpu", "-device=arm_cpu", f"-model={model}", "-mtriple=riscv64-unknown-linux-gnu", options=options)


def hexagon(cpu_ver: str = "v68", **kwargs: Any) -> Target:
    """A processor for signals of Qualcomm."""
    return _made("hexagon", f"-mcpu=hexagon{cpu_ver}", *(f"-{key}={value}" for key, value in kwargs.items()))


def micro(model: str = "unknown", options: Any = None) -> Target:
    """A microcontroller."""
    return _made("c", "-keys=cpu", f"-model={model}", options=options)


def stm32(series: str = "unknown", options: Any = None) -> Target:
    """A microcontroller of ST."""
    return _made("c", "-keys=arm_cpu,cpu", "-device=arm_cpu", f"-model=stm32{series}", options=options)


def vta(model: str = "unknown", options: Any = None) -> Target:
    """TVM's accelerator."""
    return _made("ext_dev", "-keys=vta,cpu", "-device=vta", f"-model={model}", options=options)
