"""Options of TVM's command line: those that change nothing here, and why others are not there."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, NoReturn

from relay._checks import did_you_mean

from ... import _absent
from .model import TVMCException

__all__ = ["refuse", "split_target_options"]

_TUNING = "kernels are generated without schedules, so nothing is tuned"
_REMOTE = "programs run in this process"

# Options, arguments of the functions in Python too, that have nothing behind them: why.
REFUSED = {
    "cross_compiler": "compiled files hold machine code, and no compiler of another machine is called: --target 'llvm -mcpu=…' chooses the processor",
    "cross_compiler_options": "no other compiler is called",
    "dump_code": "compiled programs keep no source: relay compile --help tells what the command relay shows of a compilation",
    "dump_offloads": "nothing is offloaded without relay.ext functions: partition the module, and print it",
    "print_ir_before": "give tvmc.compile instruments, such as tvm.ir.instrument.PrintBeforeAll()",
    "print_ir_after": "give tvmc.compile instruments, such as tvm.ir.instrument.PrintAfterAll()",
    "workspace_pools": "the program plans its own memory",
    "rpc_tracker": _REMOTE, "rpc_key": _REMOTE, "hostname": _REMOTE,
}  # fmt: skip
_ALIASES = {"cross": "cross_compiler", "cross_options": "cross_compiler_options"}

# Groups of options whose names go on: of executors, runtimes and targets.
_ACCEPTED = ("--executor-", "--runtime-", "--target-")


def refuse(option: str, shown: str) -> NoReturn:
    """Raises NotImplementedError with the reason why an option is not there; `shown` is how it was written."""
    raise NotImplementedError(f"{shown} is not there: {REFUSED[_ALIASES.get(option, option)]}")


def is_refused(option: str) -> bool:
    """True for an option that `refuse` knows."""
    return _ALIASES.get(option, option) in REFUSED


class Refused(argparse.Action):
    """An option that raises the reason why it is not there."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option_string: str | None = None) -> None:
        refuse(self.dest, str(option_string))


def add_refused(parser: argparse.ArgumentParser, *options: str) -> None:
    """Lets a parser know options, so that the error names them and not what follows."""
    for option in options:
        parser.add_argument(option, dest=option.lstrip("-").replace("-", "_"), nargs="?", action=Refused, help=argparse.SUPPRESS)


def split_target_options(argv: Sequence[str], known: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """The words without options of a target (``--target-llvm-mcpu=VALUE``), of executors and runtimes, and those of targets by name.

    Raises TVMCException for an option that is neither one of those nor in `known`.
    """
    kept: list[str] = []
    found: dict[str, str] = {}
    words = iter(argv)
    for word in words:
        name, given, value = word.partition("=")
        if name.startswith(_ACCEPTED) and name not in known:
            if not given:
                value = next(words, "")
                if not value or value.startswith("--"):
                    raise TVMCException(f"{name} wants a value")
            if name.startswith("--target-"):
                found[name[len("--target-") :]] = value
            continue
        if name.startswith("--") and name != "--" and not any(option.startswith(name) for option in known):
            advice = did_you_mean(name, known)
            raise TVMCException(f"there is no option {name}" + (f"; {advice}" if advice else ""))
        kept.append(word)
    return kept, found


def with_target_options(target: str, options: dict[str, str]) -> str:
    """A target as text with options ``KIND-NAME`` of its kind; those of other kinds say nothing about it."""
    kind = target.split(" ", 1)[0]
    own = {name[len(kind) + 1 :]: value for name, value in options.items() if name.startswith(kind + "-")}
    return target + "".join(f" -{name}={value}" for name, value in own.items())


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
