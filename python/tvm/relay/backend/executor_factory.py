"""What `relay.build` gives, by the names of TVM's classes."""

from __future__ import annotations

from typing import Any

from ... import _absent
from ..build_module import AOTExecutorFactoryModule, FactoryModule, GraphExecutorFactoryModule

__all__ = ["AOTExecutorFactoryModule", "ExecutorFactoryModule", "GraphExecutorFactoryModule"]

ExecutorFactoryModule = FactoryModule


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
