"""Functions as modules of PyTorch, which `torch.export` takes, and their results as lists."""

import torch


class Module(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def results(value):
    """The tensors of a result, one or several."""
    return list(value) if isinstance(value, (tuple, list)) else [value]
