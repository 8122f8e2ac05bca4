"""Dense layers with sparse weights."""

from relay.sparse import convert_dense as convert, process_dense_params as process_params

__all__ = ["convert", "process_params"]
