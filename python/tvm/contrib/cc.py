"""The C and C++ compiler of the machine: shared libraries, archives and commands of source and object files."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from typing import Any

from .. import _absent

__all__ = ["create_executable", "create_shared", "create_staticlib", "cross_compiler", "get_cc", "get_target_by_dump_machine"]

_COMMANDS = ("g++", "gcc", "clang++", "clang", "c++", "cc")


def get_cc() -> str | None:
    """The compiler: what `CXX` or `CC` of the environment says, else the first known one on the path; None if there is none."""
    for name in ("CXX", "CC"):
        if os.environ.get(name):
            return os.environ[name]
    return next((command for command in _COMMANDS if shutil.which(command)), None)


def _listed(files: Any) -> list[str]:
    return [os.fspath(files)] if isinstance(files, (str, os.PathLike)) else [os.fspath(file) for file in files]


def _run(command: Sequence[str], what: str, cwd: Any = None, env: Any = None) -> str:
    """What a command prints. Raises RuntimeError with its text where it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", cwd=cwd, env={**os.environ, **env} if env else None, check=False)
    except OSError as error:
        raise RuntimeError(f"{what} failed: {command[0]} does not run: {error}") from None
    if done.returncode != 0:
        raise RuntimeError(f"{what} failed: {' '.join(command)} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def _compile(kind: list[str], output: Any, objects: Any, options: Any, cc: Any, cwd: Any, ccache_env: Any) -> None:
    compiler = cc or get_cc()
    if compiler is None:
        raise RuntimeError(f"there is no compiler to make {os.fspath(output)}: none of {', '.join(_COMMANDS)} is on the path")
    # The wrapper is only asked where the caller sets it up.
    wrapper = ["ccache"] if ccache_env is not None and shutil.which("ccache") else []
    command = [*wrapper, str(compiler), *kind, "-o", os.fspath(output), *_listed(objects), *(str(option) for option in options or [])]
    _run(command, f"making {os.fspath(output)}", cwd, ccache_env)


def create_shared(output: Any, objects: Any, options: Any = None, cc: Any = None, cwd: Any = None, ccache_env: Any = None) -> None:
    """Makes a shared library of source and object files. Raises RuntimeError with what the compiler says."""
    _compile(["-shared", "-fPIC"], output, objects, options, cc, cwd, ccache_env)


def create_executable(output: Any, objects: Any, options: Any = None, cc: Any = None, cwd: Any = None, ccache_env: Any = None) -> None:
    """Makes a command of source and object files. Raises RuntimeError with what the compiler says."""
    _compile([], output, objects, options, cc, cwd, ccache_env)


def create_staticlib(output: Any, inputs: Any, ar: str | None = None) -> None:
    """Makes an archive of object files; those of archives by tar (`tvm.contrib.tar`) are taken out of them."""
    from .tar import normalize_file_list_by_unpacking_tars
    from .utils import tempdir

    with tempdir() as folder:
        _run([ar or "ar", "rcs", os.fspath(output), *normalize_file_list_by_unpacking_tars(folder, _listed(inputs))], f"making {os.fspath(output)}")


def get_target_by_dump_machine(compiler: Any) -> Callable[[], str | None]:
    """A function that asks a compiler for the machine that it makes code for; None where it does not say."""

    def ask() -> str | None:
        try:
            return _run([str(compiler), "-dumpmachine"], "asking for the machine").strip() or None
        except RuntimeError:
            return None

    return ask


def cross_compiler(
    compile_func: Any, options: Any = None, output_format: str | None = None, get_target_triple: Any = None, add_files: Any = None
) -> Callable[..., None]:
    """A function like `create_shared`, which adds options and files: of the command of a compiler, or of such a function."""
    fixed, files = list(options or []), _listed(add_files or [])
    command = compile_func if isinstance(compile_func, str) else None
    make = create_shared if command is not None else compile_func

    def compile_with(outputs: Any, objects: Any, options: Any = None, **kwargs: Any) -> None:
        if command is not None:
            kwargs.setdefault("cc", command)
        make(outputs, [*_listed(objects), *files], options=[*fixed, *(options or [])], **kwargs)

    setattr(compile_with, "output_format", output_format or getattr(make, "output_format", "so"))
    triple = get_target_triple or (get_target_by_dump_machine(command) if command is not None else getattr(make, "get_target_triple", None))
    setattr(compile_with, "get_target_triple", triple)
    return compile_with


setattr(create_shared, "output_format", "so")
setattr(create_shared, "get_target_triple", lambda: get_target_by_dump_machine(os.environ.get("CXX", get_cc()))())


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
