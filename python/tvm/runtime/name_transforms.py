"""Names as identifiers of C."""

from __future__ import annotations

import re


def sanitize_name(original_name: str) -> str:
    """The name with an underscore for every character that C does not allow in identifiers. Raises ValueError for an empty one."""
    if not original_name:
        raise ValueError("the name is empty")
    return re.sub(r"[^0-9A-Za-z_]", "_", original_name)
