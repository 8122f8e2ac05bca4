from .runtime.container import *
