"""Lists of passes as words of a command line."""

from __future__ import annotations

import argparse

from ... import _surface

__all__ = ["parse_pass_list_str"]


def parse_pass_list_str(input_string: str) -> list[str]:
    """The names of a list with commas; those of TVM that are not here count. Raises ArgumentTypeError for names that no pass has."""
    from relay.transform import names

    known = {*names(), *_surface.names("tvm.relay.transform"), *_surface.names("tvm.tir.transform")}
    given = [name for name in input_string.split(",") if name]
    unknown = [name for name in given if name.removeprefix("relay.").removeprefix("tir.") not in known]
    if unknown:
        raise argparse.ArgumentTypeError(f"no pass is called {', '.join(unknown)}")
    return given
