"""Values as bytes for another process: the package cloudpickle sends functions and classes of the script, which no module defines.

A class of this process that comes back stays as it is: cloudpickle by itself sets its members again, to copies whose functions read other globals.
"""

from __future__ import annotations

import importlib
import io
import pickle
import sys
import types
import weakref
from typing import Any

import cloudpickle

__all__ = ["dumps", "loads"]

# Classes that were defined here and went to another process, and those that came from another one.
_own: weakref.WeakSet[type] = weakref.WeakSet()
_received: weakref.WeakSet[type] = weakref.WeakSet()


def dumps(value: Any) -> bytes:
    """The bytes of a value. Raises what pickle raises for one that cannot be pickled."""
    out = io.BytesIO()
    _Pickler(out, pickle.HIGHEST_PROTOCOL).dump(value)
    return out.getvalue()


def loads(data: bytes) -> Any:
    """The value of bytes that `dumps` gave. They run code: read only what this program wrote."""
    return pickle.loads(data)


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc,unused-ignore]
    def reducer_override(self, value: Any) -> Any:
        """How cloudpickle sends a value; where it sends the members of a class, `_fill` sets them. Modules of a class of their own, which cloudpickle
        does not know for modules, go by their name."""
        if isinstance(value, types.ModuleType) and type(value) is not types.ModuleType and sys.modules.get(value.__name__) is value:
            return importlib.import_module, (value.__name__,)
        made = super().reducer_override(value)
        if not isinstance(value, type) or not isinstance(made, tuple) or len(made) < 6:
            return made
        if value not in _received:
            _own.add(value)
        function, arguments, members, _, _, setter = made
        return function, arguments, (setter, members), None, None, _fill


def _fill(made: type, state: tuple[Any, Any]) -> None:
    """Sets the members of a class that was made from bytes."""
    if made not in _own:
        _received.add(made)
        setter, members = state
        setter(made, members)
