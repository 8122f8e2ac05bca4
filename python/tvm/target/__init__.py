"""`tvm.target`: what programs are compiled for. Only CPUs of this architecture are there."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from relay._checks import did_you_mean

from .. import _absent
from ..runtime.ndarray import Device
from . import codegen, tag as _tags

__all__ = ["CompilationConfig", "Target", "TargetKind", "VirtualDevice", "codegen", "create", "make_compilation_config"]

_local = threading.local()


class Target:
    """A target by TVM's text, such as "llvm -mcpu=skylake-avx512", or a dictionary of it; a context manager."""

    _attrs: dict[str, Any]
    _kind: str
    host: Any

    def __init__(self, target: Any, host: Any = None) -> None:
        if isinstance(target, Target):
            self._attrs, self._kind, host = dict(target._attrs), target._kind, host or target.host
        elif isinstance(target, Mapping):
            if "tag" in target and "kind" not in target:
                target = {**_tags.options_of(str(target["tag"])), **target}
            if "kind" not in target:
                raise ValueError("the target has no kind")
            self._attrs = {key: value for key, value in target.items() if key not in ("kind", "host")}
            self._kind, host = str(target["kind"]), host or target.get("host")
        elif isinstance(target, str) and target.lstrip().startswith("{"):
            self.__init__(_of_json(target), host)  # type: ignore[misc]
            return
        elif isinstance(target, str) and _tags.is_tag(target.strip()):
            self.__init__({"tag": target.strip()}, host)  # type: ignore[misc]
            return
        elif isinstance(target, str) and target.strip():
            words = target.split()
            self._kind, self._attrs = words[0], {}
            waiting = None  # an option whose value may be the next word
            for word in words[1:]:
                if word.startswith("-"):
                    key, equals, value = word.lstrip("-").partition("=")
                    self._attrs[key] = value
                    waiting = None if equals else key
                elif waiting is not None:
                    self._attrs[waiting], waiting = word, None
                else:
                    raise ValueError(f"{word!r} in the target {target!r} is no option: options begin with -")
        else:
            raise ValueError(f"a target is text such as 'llvm', not {target!r}")
        if self._kind not in _KINDS:
            if isinstance(target, str) and "/" in self._kind:
                _tags.options_of(self._kind)
            raise ValueError(f"no target kind is called {self._kind!r}: programs are compiled for CPUs, target llvm")
        if self._kind == "llvm":
            _require_known(self._attrs)
        self._attrs = {key: _number(key, value) if _OPTIONS.get(key) == "IntImm" else value for key, value in self._attrs.items()}
        for name in ("keys", "mattr", "libs"):
            _words(name, self._attrs.get(name, ""))
        if "keys" in self._attrs:  # words that follow from the rest, as exported targets have them, say nothing
            given = self._attrs.pop("keys")
            if _words("keys", given) != self.keys:
                self._attrs["keys"] = given
        try:
            self.host = Target(host) if host is not None else None
        except RecursionError:
            raise ValueError("the target has hosts of hosts, too many to follow") from None

    def __reduce__(self) -> tuple[Any, ...]:
        return Target, ({"kind": self._kind, **self._attrs}, self.host)

    @property
    def kind(self) -> Any:
        """The kind, with its name."""
        return TargetKind(self._kind)

    @property
    def keys(self) -> list[str]:
        """General words for the target."""
        own = [*_words("keys", self._attrs.get("keys", "")), *([self.device_name] if self.device_name else [])]
        return list(dict.fromkeys([*own, *_WORDS_OF.get(self._kind, [])]))

    @property
    def attrs(self) -> dict[str, Any]:
        """The options, and those that the kind has by default, without general words and the name, which `keys` and `tag` give."""
        given = {key: value for key, value in self._attrs.items() if key not in ("keys", "tag")}
        lists = {key: _words(key, value) for key, value in given.items() if _OPTIONS.get(key) == "Array"}
        return {**_DEFAULTS.get(self._kind, {}), **given, **lists}

    @property
    def mcpu(self) -> str:
        """The processor; empty if it was not given."""
        return str(self._attrs.get("mcpu", ""))

    @property
    def mattr(self) -> list[str]:
        """Features of the processor that were given."""
        return _words("mattr", self._attrs.get("mattr", ""))

    @property
    def libs(self) -> list[str]:
        """Libraries that were given: none is used."""
        return _words("libs", self._attrs.get("libs", ""))

    @property
    def tag(self) -> str:
        """The name that the target was made by; empty if it was made by options."""
        return str(self._attrs.get("tag", ""))

    @property
    def model(self) -> str:
        """The model that was given."""
        return str(self._attrs.get("model", "unknown"))

    @property
    def device_name(self) -> str:
        """The device that was given."""
        return str(self._attrs.get("device", ""))

    @property
    def arch(self) -> str:
        """The architecture that was given."""
        return str(self._attrs.get("arch", ""))

    @property
    def max_num_threads(self) -> int:
        """The threads of a block that were given."""
        return int(self.attrs.get("max_num_threads", 1))

    @property
    def thread_warp_size(self) -> int:
        """The threads of a warp that were given."""
        return int(self.attrs.get("thread_warp_size", 1))

    @property
    def max_block_size_x(self) -> int:
        """The threads of a block along the first axis: those of a block."""
        return int(self.attrs.get("max_block_size_x", self.max_num_threads))

    @property
    def max_block_size_y(self) -> int:
        """The threads of a block along the second axis: those of a block."""
        return int(self.attrs.get("max_block_size_y", self.max_num_threads))

    @property
    def max_shared_memory_per_block(self) -> int:
        """The bytes that the threads of a block share; 0 where the target has no blocks."""
        return int(self.attrs.get("max_shared_memory_per_block", 0))

    @property
    def features(self) -> TargetFeatures:
        """What is known of the processor beside its options."""
        return TargetFeatures(self)

    def export(self) -> dict[str, Any]:
        """A dictionary that makes the target again."""
        made: dict[str, Any] = {"kind": self._kind, **self._attrs, "keys": self.keys}
        return made if self.host is None else {**made, "host": self.host.export()}

    @staticmethod
    def from_device(device: Any) -> Target:
        """The target of this machine's CPU. Raises NotImplementedError for other devices."""
        from ..runtime.ndarray import device as device_of, require_cpu

        require_cpu(device_of(device), "a target")
        return Target("llvm")

    @staticmethod
    def list_kinds() -> list[str]:
        """The names of kinds that can be named."""
        return sorted(_KINDS)

    def get_target_device_type(self) -> int:
        """The number of its type of device."""
        from ..runtime.ndarray import device as device_of

        return device_of(self._kind).device_type if self._kind not in ("composite", "hybrid", "test") else 1

    @staticmethod
    def target_or_current(target: Any) -> Target:
        """The target that is given, else the innermost one. Raises ValueError if there is neither."""
        found = Target.canon_target(target) if target is not None else Target.current(allow_none=False)
        assert found is not None
        return found

    @property
    def max_function_args(self) -> int:
        """The most arguments of a function: there is no limit."""
        return int(self._attrs.get("max_function_args", 2147483647))

    def with_host(self, host: Any) -> Target:
        """The same with another host."""
        return Target(self, host)

    @staticmethod
    def current(allow_none: bool = True) -> Target | None:
        """The target of the innermost ``with``; None, or ValueError, if there is none."""
        stack = getattr(_local, "stack", [])
        if not stack and not allow_none:
            raise ValueError("there is no target in force")
        return stack[-1] if stack else None

    @staticmethod
    def canon_target(target: Any) -> Target | None:
        """A target of text, or the one of a dictionary by device or of a list; None stays None."""
        if _by_device(target) and len(target) == 1:
            target = next(iter(target.values()))
        if isinstance(target, (list, tuple)) and len(target) == 1:
            target = target[0]
        return target if target is None or isinstance(target, Target) else Target(target)

    @staticmethod
    def canon_target_and_host(target: Any, target_host: Any = None) -> tuple[Target | None, Target | None]:
        """Both as targets."""
        made = Target.canon_target(target)
        host = Target.canon_target(target_host)
        if made is not None and host is not None:
            made = made.with_host(host)
        return made, made.host if made is not None else host

    @staticmethod
    def canon_multi_target(multi_targets: Any) -> list[Target] | None:
        """The targets of a text, a list or a dictionary by device, as a list; None stays None."""
        if multi_targets is None:
            return None
        given = multi_targets.values() if _by_device(multi_targets) else multi_targets
        made = [Target.canon_target(each) for each in (given if not isinstance(given, (str, Target, Mapping)) else [given])]
        return [each for each in made if each is not None]

    @staticmethod
    def canon_multi_target_and_host(target: Any, target_host: Any = None) -> list[Target]:
        """The same, each with its host: the one given, else its own."""
        host = Target.canon_target(target_host)
        return [each if host is None else each.with_host(host) for each in Target.canon_multi_target(target) or []]

    @staticmethod
    def canon_target_map_and_host(target_map: Any, target_host: Any = None) -> tuple[dict[Any, Any], Any]:
        """The targets of a dictionary by device, and the host of all of them."""
        host = Target.canon_target(target_host)
        made: dict[Any, Any] = {}
        for device, target in target_map.items():
            made[device], host = Target.canon_target_and_host(target, host)
        return made, host

    def get_kind_attr(self, attr_name: str) -> Any:
        """A fact that TVM registers of a kind of targets: None, since nothing here reads one."""

    @property
    def supports_integer_dot_product(self) -> bool:
        """True if the option was given."""
        return bool(self.attrs.get("supports_integer_dot_product", False))

    @staticmethod
    def machine_of(target: Any) -> str:
        """The target of `relay.compile` that fits. Raises NotImplementedError for what is no CPU that programs are compiled for."""
        # A target for each device, unlike one target as a dictionary.
        entries = list(target.values()) if _by_device(target) and target else target
        if isinstance(entries, (list, tuple)):
            machines = {Target.machine_of(entry) for entry in entries}
            if "aarch64" in machines and len(machines) > 1:
                raise NotImplementedError("targets of several architectures: a program is compiled for one")
            return "aarch64" if "aarch64" in machines else "host"
        made = Target.canon_target(target if target is not None else Target.current())
        if made is None:
            return "host"
        if made._kind not in ("llvm", "cpu"):
            raise NotImplementedError(f"the target {made._kind}: programs are compiled for CPUs, target llvm")
        triple = str(made._attrs.get("mtriple", ""))
        architecture = triple.split("-")[0]
        if architecture in ("aarch64", "arm64") and "linux" in triple:
            return "aarch64"
        if triple and architecture not in ("x86_64", "amd64"):
            raise NotImplementedError(f"the target {triple}: programs are compiled for Linux on x86-64 or AArch64")
        names = {"x86-64": "baseline", "x86-64-v2": "baseline", "x86-64-v3": "avx2", "haswell": "avx2", "broadwell": "avx2",
                 "core-avx2": "avx2", "x86-64-v4": "avx512", "skylake-avx512": "avx512", "cascadelake": "avx512",
                 "icelake-server": "avx512"}  # fmt: skip
        # What names the architecture is for it wherever it is compiled.
        return names.get(made.mcpu, "host" if not triple or os.uname().machine == "x86_64" else "baseline")

    def __enter__(self) -> Target:
        stack = getattr(_local, "stack", None)
        if stack is None:
            stack = _local.stack = []
        stack.append(self)
        return self

    def __exit__(self, *exc: Any) -> None:
        _local.stack.pop()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Target) and self._described() == other._described()

    def __hash__(self) -> int:
        return hash(self._described())

    def _described(self) -> str:
        """Kind, options, general words and hosts as one text: what the kind has by default need not be written, nor the name of a tag, whose
        options say as much. So the text of a target makes one that is equal."""
        parts: list[str] = []
        at: Target | None = self
        while at is not None:
            parts.append(f"{at._kind} {at.keys} {sorted((key, _as_text(value)) for key, value in at.attrs.items() if value != [])}")
            at = at.host
        return " on ".join(parts)

    def __str__(self) -> str:
        own = {key: value for key, value in self._attrs.items() if key not in ("keys", "tag")}
        options = [f"-{key}={_as_text(value)}" for key, value in {"keys": self.keys, **_DEFAULTS.get(self._kind, {}), **own}.items() if value != []]
        return " ".join([self._kind, *options])

    __repr__ = __str__


def _as_text(value: Any) -> str:
    return ",".join(str(part) for part in value) if isinstance(value, (list, tuple)) else str(value)


def _words(option: str, value: Any) -> list[str]:
    """The words of an option that has several, apart by commas or in a list. Raises ValueError for other values."""
    if isinstance(value, str):
        return [word for word in value.split(",") if word]
    if isinstance(value, Sequence) and all(isinstance(word, str) for word in value):
        return [str(word) for word in value]
    raise ValueError(f"{option} of a target is text or a list of texts, not {value!r}")


def _require_known(options: Mapping[str, Any]) -> None:
    """Raises ValueError for an option that no target of a CPU has had in any release."""
    for key in options:
        if key not in _OPTIONS and key not in _OLD_OPTIONS:
            advice = did_you_mean(key, [*_OPTIONS, *_OLD_OPTIONS])
            raise ValueError(f"targets llvm have no option {key!r}" + (f"; {advice}" if advice else ""))


def _by_device(target: Any) -> bool:
    """True for targets by device, unlike one target as a dictionary."""
    return isinstance(target, Mapping) and "kind" not in target and "tag" not in target


def _of_json(text: str) -> Mapping[str, Any]:
    try:
        made = json.loads(text)
    except RecursionError:
        raise ValueError("the target is no JSON that can be read: it is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"the target {text!r} is no JSON: {error}") from None
    assert isinstance(made, dict)
    return made


# General words of the kinds.
_WORDS_OF = {
    "llvm": ["cpu"], "cpu": ["cpu"], "c": ["cpu"], "stackvm": ["cpu"], "test": ["cpu"], "cuda": ["cuda", "gpu"], "nvptx": ["cuda", "gpu"], "gpu": ["cuda", "gpu"],
    "rocm": ["rocm", "gpu"], "opencl": ["opencl", "gpu"], "metal": ["metal", "gpu"], "vulkan": ["vulkan", "gpu"], "webgpu": ["webgpu", "gpu"],
    "sdaccel": ["sdaccel", "hls"], "aocl": ["aocl", "hls"], "aocl_sw_emu": ["aocl", "hls"], "hexagon": ["hexagon", "cpu"],
}  # fmt: skip
# Options that targets of a kind have where they are not given.
_DEFAULTS: dict[str, dict[str, Any]] = {
    "cuda": {"max_num_threads": 1024, "thread_warp_size": 32, "max_threads_per_block": 1024, "max_shared_memory_per_block": 49152},
    "nvptx": {"max_num_threads": 1024, "thread_warp_size": 32}, "rocm": {"max_num_threads": 256, "thread_warp_size": 64, "max_threads_per_block": 256},
    "opencl": {"max_num_threads": 256, "thread_warp_size": 1}, "metal": {"max_num_threads": 256, "thread_warp_size": 16},
    "vulkan": {"max_num_threads": 256, "thread_warp_size": 1}, "webgpu": {"max_num_threads": 256},
}  # fmt: skip
# Those that scripts name; programs are compiled for the first ones.
_KINDS = {
    "llvm", "cpu", "c", "aocl", "aocl_sw_emu", "composite", "cuda", "ext_dev", "gpu", "hexagon", "hybrid", "metal", "nvptx", "opencl",
    "rocm", "sdaccel", "stackvm", "test", "vulkan", "webgpu",
}  # fmt: skip


def _number(key: str, value: Any) -> Any:
    """The value of an option that is a number: text has digits, of base 16 after 0x, a word of truth, or nothing, which is 1. Raises ValueError."""
    if not isinstance(value, str):
        return value
    word = value.strip().lower()
    try:
        return {"": 1, "true": 1, "false": 0}[word] if word in ("", "true", "false") else int(word, 16 if "0x" in word else 10)
    except ValueError:
        raise ValueError(f"the option {key} of a target is a number, not {value!r}") from None


# Options that targets may have, with the types of their values.
_OPTIONS = {
    "keys": "Array", "device": "runtime.String", "model": "runtime.String", "libs": "Array", "tag": "runtime.String", "host": "Target", "from_device": "IntImm",
    "mattr": "Array", "mcpu": "runtime.String", "mtriple": "runtime.String", "mfloat-abi": "runtime.String", "mabi": "runtime.String", "num-cores": "IntImm",
    "fast-math": "IntImm", "opt-level": "IntImm", "vector-width": "IntImm", "fast-math-nnan": "IntImm", "fast-math-ninf": "IntImm", "fast-math-nsz": "IntImm",
    "fast-math-arcp": "IntImm", "fast-math-contract": "IntImm", "fast-math-reassoc": "IntImm", "cl-opt": "Array", "jit": "runtime.String",
    "max_num_threads": "IntImm", "thread_warp_size": "IntImm",
}  # fmt: skip
# Those of older releases, which builds take by other ways since.
_OLD_OPTIONS = {"system-lib", "runtime", "link-params", "interface-api", "unpacked-api", "executor", "workspace-byte-alignment", "constants-byte-alignment", "march", "target"}


class TargetKind:
    """A kind of targets, by its name."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def options(self) -> dict[str, str]:
        """The options that targets of the kind may have, with the types of their values."""
        return dict(_OPTIONS)

    @staticmethod
    def options_from_name(kind_name: str) -> dict[str, str]:
        """The options of a kind by its name. Raises ValueError for a name that is none."""
        return TargetKind(Target(kind_name).kind.name).options

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__


class TargetFeatures:
    """Features of a target by name. TVM tells them of Arm's processors alone, and gives None for all others."""

    def __init__(self, target: Target) -> None:
        self.target = target

    def __getattr__(self, name: str) -> None:
        if name.startswith("_"):
            raise AttributeError(f"a target has no feature {name!r}")


def create(target: Any) -> Target:
    """The same as Target(target)."""
    return Target(target)


from . import target as target  # noqa: E402
from . import compilation_config as compilation_config, virtual_device as virtual_device  # noqa: E402
from .virtual_device import CompilationConfig as CompilationConfig, VirtualDevice as VirtualDevice, make_compilation_config as make_compilation_config  # noqa: E402
from .generic_func import (  # noqa: E402
    GenericFunc as GenericFunc, generic_func as generic_func, get_native_generic_func as get_native_generic_func,
    override_native_generic_func as override_native_generic_func,
)  # fmt: skip
from .tag import list_tags as list_tags, register_tag as register_tag  # noqa: E402
from .kinds import (  # noqa: E402
    adreno as adreno, arm_cpu as arm_cpu, bifrost as bifrost, cuda as cuda, hexagon as hexagon, intel_graphics as intel_graphics, mali as mali,
    micro as micro, rasp as rasp, riscv_cpu as riscv_cpu, rocm as rocm, stm32 as stm32, vta as vta,
)  # fmt: skip


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
