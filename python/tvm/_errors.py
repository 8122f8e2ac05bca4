"""Exceptions that are of two classes: the one that says best what is wrong, and the one that TVM raises there."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable, Iterator
from typing import Any

from relay import RelayError

from .error import OpNotImplemented, TVMError


class UnknownNameError(KeyError, ValueError):
    """A container has nothing of a name."""

    __str__ = ValueError.__str__


class UnknownAttributeError(KeyError, AttributeError):
    """Attributes have none of a name."""

    __str__ = AttributeError.__str__


class UnknownFunctionError(RelayError, KeyError):
    """A compiled program has no function of a name."""

    __str__ = RelayError.__str__


class DuplicateNameError(RelayError, ValueError):
    """Two parameters have the name that a value is given for."""

    __str__ = RelayError.__str__


class UnknownInputError(ValueError, RuntimeError):
    """A program has no input, or the package no executor, of a name."""


class UnknownOptionError(RelayError, ValueError):
    """An executor or runtime has no option, or there is none of its name."""

    __str__ = RelayError.__str__


class WrongKindOfOptionError(RelayError, TypeError):
    """The value of an option is of another kind than the option."""

    __str__ = RelayError.__str__


class WrongKindError(TypeError, ValueError):
    """A value of another kind than is needed."""


class MissingArgumentError(TypeError, KeyError):
    """A parameter has no value."""

    __str__ = TypeError.__str__


class UnknownNodeError(AttributeError, ValueError):
    """A graph has no node of a name or number."""


class FailureOfScript(TVMError, RuntimeError):
    """A function of a script that the library called raised RuntimeError: up to version 0.13 TVM raised TVMError instead."""


def with_failures_of_here(run: Callable[..., Any]) -> Callable[..., Any]:
    """A function of a script that the library calls: a RuntimeError that it raises is also a TVMError. Other exceptions come out as they are."""

    @functools.wraps(run, updated=())
    def call(*args: Any) -> Any:
        try:
            return run(*args)
        except RuntimeError as error:
            if type(error) is not RuntimeError:
                raise
            made = FailureOfScript(*error.args).with_traceback(error.__traceback__)
            made.__cause__, made.__suppress_context__ = error.__cause__, True
        raise made

    return call


@contextlib.contextmanager
def operators_not_implemented(message: re.Pattern[str]) -> Iterator[None]:
    """Within it a RelayError whose first message is one about operators that a front end does not have is an OpNotImplemented.

    Where the pattern has a group for the name of an operator, a first line lists the operators of all messages, as TVM words it.
    """
    try:
        yield
    except RelayError as error:
        if error.diagnostics and message.search(error.diagnostics[0].message):
            text = str(error)
            if message.groups:
                names = {found[1]: None for found in (message.search(one.message) for one in error.diagnostics) if found}
                text = f"The following operators are not implemented: {list(names)}\n{text}"
            refused = OpNotImplemented(text)
            refused.diagnostics = error.diagnostics
            raise refused from None
        raise


@contextlib.contextmanager
def raised_by_scripts() -> Iterator[None]:
    """Within it an exception that a script's function raised is that itself, not the RelayError that says where it was called."""
    try:
        yield
    except RelayError as error:
        if isinstance(error.__cause__, Exception) and type(error.__cause__) is not RelayError:
            raise error.__cause__ from None
        raise
