"""A model, what it is compiled to, what a run gives."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import relay as _relay

from ...runtime.module import BenchmarkResult, Module, load_module
from ...runtime.params import load_param_dict, save_param_dict

__all__ = ["TVMCException", "TVMCModel", "TVMCPackage", "TVMCResult"]


class TVMCException(ValueError):
    """Something is wrong with what was asked."""


class TVMCModel:
    """A module and its parameters: given, or of the files that `save` wrote."""

    def __init__(self, mod: Any = None, params: Mapping[str, Any] | None = None, model_path: str | None = None) -> None:
        if (mod is None) == (model_path is None):
            raise ValueError("give a TVMCModel either a module or the path of a saved model")
        if model_path is not None:
            self.load(model_path)
        else:
            self.mod, self.params = mod, dict(params or {})

    def save(self, model_path: str) -> None:
        """Writes the module and the parameters into a folder."""
        folder = Path(model_path)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "relay.rly").write_text(self.mod.astext(show_types=False), encoding="utf-8")
        (folder / "relay.params").write_bytes(save_param_dict(self.params))

    def load(self, model_path: str) -> None:
        """Reads what `save` wrote. Raises FileNotFoundError."""
        folder = Path(model_path)
        self.mod = _relay.parse((folder / "relay.rly").read_text(encoding="utf-8"), str(folder / "relay.rly"))
        self.params = load_param_dict((folder / "relay.params").read_bytes())

    def default_tuning_records_path(self) -> str:
        """A path for a log of tuning."""
        return str(Path(tempfile.mkdtemp(prefix="relay-")) / "tuning_records.json")

    def default_package_path(self) -> str:
        """A path for a compiled model."""
        return str(Path(tempfile.mkdtemp(prefix="relay-")) / "model_package.tar")

    def summary(self, file: Any = None) -> None:
        """Prints the module."""
        print(self.mod, file=file or sys.stdout)


class TVMCPackage:
    """A compiled model on disk."""

    def __init__(self, package_path: str, project_dir: Any = None) -> None:
        self.package_path = package_path
        self.project_dir = project_dir
        self.lib: Module = load_module(package_path)
        self.params: dict[str, Any] = {}
        self.executor_type = "graph"
        self.type = "classic"
        # The graph of what this process compiled, as JSON text: a file has its program alone.
        self.graph: str | None = None

    @property
    def lib_path(self) -> str:
        """The package itself, which is one file of code and constants."""
        return self.package_path

    @property
    def lib_name(self) -> str:
        """The name of the file."""
        return Path(self.package_path).name


class TVMCResult:
    """Outputs by name, and times."""

    def __init__(self, outputs: Mapping[str, Any], times: BenchmarkResult | None) -> None:
        self.outputs, self.times = dict(outputs), times

    def format_times(self) -> str:
        """The times as lines of text; an empty list if nothing was measured (`benchmark`)."""
        return "[]" if self.times is None else str(self.times)

    def get_output(self, name: str) -> Any:
        """An output: output_0, output_1, …"""
        return self.outputs[name]

    def save(self, output_path: str) -> None:
        """Writes the outputs as a file of NumPy."""
        np.savez(output_path, **self.outputs)

    def __str__(self) -> str:
        names = ", ".join(self.outputs)
        return f"Output Names:\n ['{names}']" + (f"\n{self.format_times()}" if self.times is not None else "")
