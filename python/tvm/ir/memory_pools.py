"""Descriptions of memory pools. Programs plan their own memory: `relay.build` refuses pools."""

from __future__ import annotations

from typing import Any

__all__ = ["ConstantMemoryPools", "ConstantPoolInfo", "PoolInfo", "PoolInfoProperties", "WorkspaceMemoryPools", "WorkspacePoolInfo"]


class PoolInfoProperties:
    """Sizes and speeds of a pool."""

    def __init__(self, size_hint_bytes: int = -1, clock_frequency_hz: int = -1, read_bandwidth_bytes_per_cycle: int = -1,
                 write_bandwidth_bytes_per_cycle: int = -1, read_latency_cycles: int = 0, write_latency_cycles: int = 0,
                 target_burst_bytes: Any = None) -> None:  # fmt: skip
        self.size_hint_bytes, self.clock_frequency_hz = size_hint_bytes, clock_frequency_hz
        self.read_bandwidth_bytes_per_cycle, self.write_bandwidth_bytes_per_cycle = read_bandwidth_bytes_per_cycle, write_bandwidth_bytes_per_cycle
        self.read_latency_cycles, self.write_latency_cycles = read_latency_cycles, write_latency_cycles
        self.target_burst_bytes = dict(target_burst_bytes or {})


class PoolInfo:
    """A pool: its name, its targets, its properties."""

    def __init__(self, pool_name: str, targets: Any, pool_info_properties: PoolInfoProperties | None = None) -> None:
        self.pool_name, self.targets = pool_name, list(targets)
        self.pool_info_properties = pool_info_properties or PoolInfoProperties()
        vars(self).update({key: value for key, value in vars(self.pool_info_properties).items() if key != "target_burst_bytes"})


class WorkspacePoolInfo(PoolInfo):
    """A pool for intermediate results."""


class ConstantPoolInfo(PoolInfo):
    """A pool for constants."""

    def __init__(self, pool_name: str, targets: Any, constant_info_arr: Any = None, pool_info_properties: PoolInfoProperties | None = None) -> None:
        super().__init__(pool_name, targets, pool_info_properties)
        self.constant_info_arr = list(constant_info_arr or [])


class WorkspaceMemoryPools:
    """Several pools for intermediate results."""

    def __init__(self, pools: Any) -> None:
        self.pools = list(pools)


class ConstantMemoryPools:
    """Several pools for constants."""

    def __init__(self, pools: Any) -> None:
        self.pools = list(pools)
