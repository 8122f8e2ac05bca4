"""`relay.backend.executor`: where TVM defines its executors."""

from .options import Executor as Executor

__all__ = ["Executor"]
