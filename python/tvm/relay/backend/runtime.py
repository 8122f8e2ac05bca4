"""`relay.backend.runtime`: where TVM defines its runtimes."""

from .options import Runtime as Runtime

__all__ = ["Runtime"]
