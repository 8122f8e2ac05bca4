"""The options of a build, by TVM's names. All kinds give the same compiled program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from relay import equality as _equality

from ..._errors import UnknownOptionError


class _Choice:
    _registered: dict[str, dict[str, str]] = {}
    _what = ""

    def __init__(self, name: str, options: Mapping[str, Any] | None = None) -> None:
        if name not in self._registered:
            raise UnknownOptionError(f"no {self._what} is called {name!r}; there are {', '.join(self._registered)}")
        unknown = [key for key in options or {} if key not in self._registered[name]]
        if unknown:
            raise UnknownOptionError(f"{self._what} {name} has no option {unknown[0]!r}")
        self.name = name
        self.options = dict(options or {})

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
        "graph": {"link-params": "Bool"},
        "aot": {"interface-api": "String", "link-params": "Bool", "unpacked-api": "Bool", "workspace-byte-alignment": "IntImm",
                "constant-byte-alignment": "IntImm"},
    }  # fmt: skip

    @staticmethod
    def list_registered() -> list[str]:
        """The names of all executors."""
        return list(Executor._registered)

    @staticmethod
    def list_registered_options(executor: Any) -> dict[str, str]:
        """The options of one, with their types."""
        return dict(Executor._registered[str(executor).split(" ")[0]])


class Runtime(_Choice):
    """The runtime that a program is linked with: "cpp". "crt", that of microcontrollers, can be named; `build` refuses it."""

    _what = "runtime"
    _registered = {"cpp": {"system-lib": "Bool"}, "crt": {"system-lib": "Bool"}}

    @staticmethod
    def list_registered() -> list[str]:
        """The names of all runtimes."""
        return list(Runtime._registered)

    @staticmethod
    def list_registered_options(runtime: Any) -> dict[str, str]:
        """The options of one, with their types."""
        return dict(Runtime._registered[str(runtime).split(" ")[0]])


_equality.plain_classes.update({Executor: str, Runtime: str})
