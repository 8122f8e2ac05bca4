"""Describes an operator, as text."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._core import Op
from . import registration

__all__ = ["describe", "names"]


def names() -> list[str]:
    """The names of all operators."""
    return _core.op_names()


def describe(op: str | Op) -> str:
    """Signature, documentation, attributes, definition, gradient and examples of an operator. Raises KeyError for an unknown name."""
    node = op if isinstance(op, Op) else _core.op(getattr(op, "op_name", op))
    assert isinstance(node, Op)
    info = _core.op_info(node)
    given = [name for name, _ in info["inputs"]] + [f"{attr['name']}=…" for attr in info["attrs"]]
    lines = [f"{info['name']}({', '.join(given)})"]
    lines += ["  " + line for line in info["doc"].splitlines()]
    for title, rows, specs in (("inputs", info["inputs"], info["input_specs"]), ("results", info["outputs"], info["output_specs"])):
        if rows:
            lines.append(title)
            lines += [f"  {name}: {doc}{f' ({spec})' if spec else ''}".replace(":  (", ": (") for (name, doc), spec in zip(rows, specs)]
    if info["attrs"]:
        lines.append("attributes")
        for attr in info["attrs"]:
            value = "required" if attr["required"] else f"= {attr['default']!r}"
            lines.append(f"  {attr['name']}: {attr['type']} {value}")
            if attr["doc"]:
                lines.append("      " + attr["doc"])
    declared = registration._declared.get(info["name"])
    if declared is not None and declared.op is node and declared.kind == "kernel":
        info["definition"] = "a Python function on arrays"
    lines += ["definition", "  " + info["definition"], "relation", "  " + info["relation"], "gradient", "  " + info["gradient"]]
    if declared is not None and declared.op is node and declared.examples:
        lines.append("examples")
        for program, arguments in declared.examples:
            lines.append(f"  {program}  of {', '.join(map(repr, arguments))}")
            lines += ["      " + line for line in repr(_result(program, arguments)).splitlines()]
    return "\n".join(lines) + "\n"


def _result(program: str, arguments: Any) -> Any:
    from .._core import IRModule
    from ..execution import evaluate
    from ..module import parse_expr

    return evaluate(IRModule.from_expr(parse_expr(program)), *arguments)
