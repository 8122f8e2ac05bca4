"""The name that TVM 0.8 had for `executor_factory`."""

from .executor_factory import ExecutorFactoryModule as ExecutorFactoryModule, GraphExecutorFactoryModule as GraphExecutorFactoryModule, __getattr__ as __getattr__
