"""Convolutions with sparse weights."""

from relay.sparse import convert_conv2d as convert, convert_conv2d2 as convert2, process_conv2d_params as process_params

__all__ = ["convert", "convert2", "process_params"]
