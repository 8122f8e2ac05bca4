from .backend.vm import *
