"""What `relay.build` gives, by the names of TVM's classes."""

from __future__ import annotations

from typing import Any

from ... import _absent
from ..build_module import FactoryModule

__all__ = ["AOTExecutorFactoryModule", "ExecutorFactoryModule", "GraphExecutorFactoryModule"]

ExecutorFactoryModule = FactoryModule


class _ByExecutor(type):
    """Classes of what was built for an executor: scripts ask isinstance, and `relay.build` alone makes objects."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, FactoryModule) and bool(instance.executor.name == vars(cls)["executor_name"])


class GraphExecutorFactoryModule(FactoryModule, metaclass=_ByExecutor):
    """The result of `relay.build` for the executor graph."""

    executor_name = "graph"


class AOTExecutorFactoryModule(FactoryModule, metaclass=_ByExecutor):
    """The result of `relay.build` for the executor aot."""

    executor_name = "aot"


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
