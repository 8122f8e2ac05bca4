"""The options of a build, by TVM's names. All kinds give the same compiled program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from relay import equality as _equality
from relay._checks import shown

from ..._errors import UnknownOptionError, WrongKindOfOptionError

# Kinds of options by TVM's names, and the Python types that fit.
_KINDS: dict[str, type | tuple[type, ...]] = {"runtime.String": str, "IntImm": (bool, int)}


class _Choice:
    _registered: dict[str, dict[str, str]] = {}
    _defaults: dict[str, dict[str, Any]] = {}
    _what = ""

    def __init__(self, name: str, options: Mapping[str, Any] | None = None) -> None:
        kinds = self._kinds(name)
        self.name = name
        self.options = dict(self._defaults.get(name, {}))
        for key, value in (options or {}).items():
            if key not in kinds:
                raise UnknownOptionError(f"{self._what} {name} has no option {key!r}")
            if not isinstance(value, _KINDS[kinds[key]]):
                raise WrongKindOfOptionError(f"the option {key!r} of the {self._what} {name} is of kind {kinds[key]}, not {shown(value)}")
            self.options[key] = value

    @classmethod
    def _kinds(cls, name: str) -> dict[str, str]:
        if name not in cls._registered:
            raise UnknownOptionError(f"no {cls._what} is called {name!r}; there are {', '.join(cls._registered)}")
        return cls._registered[name]

    @classmethod
    def _options_of(cls, choice: Any) -> dict[str, str]:
        return dict(cls._kinds(choice.name if isinstance(choice, cls) else str(choice)))

    @property
    def attrs(self) -> dict[str, Any]:
        """The options."""
        return dict(self.options)

    def __contains__(self, name: str) -> bool:
        return name in self.options

    def __getitem__(self, name: str) -> Any:
        return self.options[name]

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return " ".join([self.name, *(f"-{key}={value}" for key, value in self.options.items())])

    __repr__ = __str__


class Executor(_Choice):
    """How a program is driven: "graph" or "aot"."""

    _what = "executor"
    _registered = {
        "graph": {"link-params": "IntImm"},
        "aot": {"interface-api": "runtime.String", "link-params": "IntImm", "unpacked-api": "IntImm", "workspace-byte-alignment": "IntImm",
                "constant-byte-alignment": "IntImm"},
    }  # fmt: skip
    _defaults = {"graph": {"link-params": False}, "aot": {"link-params": True}}

    @staticmethod
    def list_registered() -> list[str]:
        """The names of all executors."""
        return list(Executor._registered)

    @staticmethod
    def list_registered_options(executor: Any) -> dict[str, str]:
        """The options of one, with their kinds. Raises TVMError for none."""
        return Executor._options_of(executor)


class Runtime(_Choice):
    """The runtime that a program is linked with: "cpp". "crt", that of microcontrollers, can be named; `build` refuses it."""

    _what = "runtime"
    _registered = {"cpp": {"system-lib": "IntImm"}, "crt": {"system-lib": "IntImm"}}

    @staticmethod
    def list_registered() -> list[str]:
        """The names of all runtimes."""
        return list(Runtime._registered)

    @staticmethod
    def list_registered_options(runtime: Any) -> dict[str, str]:
        """The options of one, with their kinds. Raises TVMError for none."""
        return Runtime._options_of(runtime)


_equality.plain_classes.update({Executor: str, Runtime: str})
