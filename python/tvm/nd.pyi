from .runtime.ndarray import *
