"""Names of a program as names of C."""

from __future__ import annotations

from ...runtime.name_transforms import sanitize_name


def _checked(original_name: str) -> str:
    if not original_name:
        raise ValueError("the name is empty")
    return original_name


def to_c_function_style(original_name: str) -> str:
    """`tvmgen_default_run` becomes `TVMGenDefaultRun`. Raises ValueError for names without the prefix `tvmgen`."""
    if not _checked(original_name).startswith("tvmgen"):
        raise ValueError(f"the name {original_name!r} does not begin with tvmgen")
    return "TVMGen" + "".join(part.capitalize() for part in original_name[len("tvmgen") :].split("_"))


def to_c_variable_style(original_name: str) -> str:
    """`tvmgen_default_input` becomes `tvmgen_default_input`: lower case. Raises ValueError for names without the prefix `tvmgen`."""
    if not _checked(original_name).startswith("tvmgen"):
        raise ValueError(f"the name {original_name!r} does not begin with tvmgen")
    return original_name.lower()


def to_c_constant_style(original_name: str) -> str:
    """The variable's name in upper case."""
    return to_c_variable_style(original_name).upper()


def prefix_name(names: list[str] | str) -> str:
    """The parts joined by underscores, behind the prefix `TVM`."""
    return _join("TVM", names)


def prefix_generated_name(names: list[str] | str) -> str:
    """The parts joined by underscores, behind the prefix `TVMGen`."""
    return _join("TVMGen", names)


def _join(prefix: str, names: list[str] | str) -> str:
    parts = [names] if isinstance(names, str) else list(names)
    if not parts or not all(parts):
        raise ValueError("a part of the name is empty")
    return "_".join([prefix, *parts])


__all__ = ["prefix_generated_name", "prefix_name", "sanitize_name", "to_c_constant_style", "to_c_function_style", "to_c_variable_style"]
