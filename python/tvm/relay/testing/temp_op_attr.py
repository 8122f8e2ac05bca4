"""An attribute of an operator for the time of a `with`."""

from __future__ import annotations

from typing import Any

from ...ir.op import Op, _attached


class TempOpAttr:
    """Replaces what is attached to an operator under a key, and puts it back."""

    def __init__(self, op_name: str, attr_key: str, attr_value: Any) -> None:
        self.op: Any = Op.get(op_name)  # type: ignore[attr-defined]
        self.attr_key, self.attr_value = attr_key, attr_value

    def __enter__(self) -> TempOpAttr:
        self.older = _attached.get((self.op.name, self.attr_key))
        self.op.reset_attr(self.attr_key)
        self.op.set_attr(self.attr_key, self.attr_value)
        return self

    def __exit__(self, *exc: Any) -> None:
        self.op.reset_attr(self.attr_key)
        if self.older is not None:
            level, value = self.older
            self.op.set_attr(self.attr_key, value, level)
