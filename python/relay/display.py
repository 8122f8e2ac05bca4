"""How programs show in notebooks: their text, and the graph of a function as SVG. Nothing beyond the standard library."""

from __future__ import annotations

from html import escape
from typing import Any, Iterable, Sequence

from . import _core
from ._core import Call, Constant, Executable, Expr, Function, GlobalVar, IRModule, Literal, Op, Tuple, TupleGetItem, Type, Var

__all__ = ["Profile", "executable_html", "html", "svg", "type_html"]

# Larger ones are shown as text.
MAX_NODES = 400
MAX_TEXT = 20_000
_CHAR, _HEIGHT, _GAP_X, _GAP_Y, _MARGIN = 7.0, 26, 18, 34, 12
_LEAVES = (Op, GlobalVar, Literal)


def _label(node: Expr) -> str:
    if isinstance(node, Call):
        op = node.op
        text = op.name if isinstance(op, Op) else "@" + op.name_hint if isinstance(op, GlobalVar) else "call"
        if isinstance(op, Op) and node.attrs is not None:
            attrs = ", ".join(f"{name}={value}" for name, value in _set_attrs(node))
            text += f"({attrs})" if attrs else ""
        literals = [str(arg) for arg in node.args if isinstance(arg, Literal)]
        text += " " + ", ".join(literals) if literals else ""
    elif isinstance(node, Var):
        text = f"%{node.name_hint}"
    elif isinstance(node, Constant):
        text = str(node.data.item()) if node.data.size == 1 else "constant"
    elif isinstance(node, TupleGetItem):
        text = f".{node.index}"
    elif isinstance(node, Tuple):
        text = "tuple"
    elif isinstance(node, Function):
        text = "fn"
    else:
        text = type(node).__name__.lower()
    return text if len(text) <= 60 else text[:59] + "…"


def _set_attrs(call: Call) -> list[tuple[str, object]]:
    plain = dict(_core.op_attrs(call.op, **{}).items()) if _has_defaults(call) else {}
    return [(name, value) for name, value in call.attrs.items() if name not in plain or plain[name] != value]


def _has_defaults(call: Call) -> bool:
    return not any(attr["required"] for attr in _core.op_info(call.op)["attrs"])


def _type_of(node: Expr) -> str:
    found = node.type_annotation if isinstance(node, Var) and node.type is None else node.type
    text = "" if found is None else str(found)
    return text if len(text) <= 60 else text[:59] + "…"


def _layers(nodes: list[Expr], inputs: dict[Expr, list[Expr]]) -> list[list[Expr]]:
    """Nodes by their distance from the inputs, each layer in an order that keeps edges short."""
    level: dict[Expr, int] = {}
    for node in nodes:
        level[node] = max((level[operand] + 1 for operand in inputs[node]), default=0)
    uses: dict[Expr, list[int]] = {}
    for node in nodes:
        for operand in inputs[node]:
            uses.setdefault(operand, []).append(level[node])
    for node in nodes:  # what waits for nothing stands above its first use
        if not inputs[node] and node in uses:
            level[node] = min(uses[node]) - 1
    layers: list[list[Expr]] = [[] for _ in range(max(level.values(), default=-1) + 1)]
    for node in nodes:
        layers[level[node]].append(node)
    users: dict[Expr, list[Expr]] = {}
    for node in nodes:
        for operand in inputs[node]:
            users.setdefault(operand, []).append(node)
    place: dict[Expr, float] = {}

    def order(indices: Iterable[int], neighbours: dict[Expr, list[Expr]]) -> None:
        for index in indices:
            layer = layers[index]
            rank = {node: i / max(len(layer), 1) for i, node in enumerate(layer)}

            def middle(node: Expr) -> float:
                known = [place[other] for other in neighbours.get(node, []) if other in place]
                return sum(known) / len(known) if known else rank[node]

            layer.sort(key=middle)
            for i, node in enumerate(layer):
                place[node] = (i + 0.5) / len(layer)

    for _ in range(4):
        order(range(len(layers)), inputs)
        order(reversed(range(len(layers))), users)
    return layers


def svg(expr: Expr) -> str | None:
    """The dataflow of an expression, or of a function's body, as an SVG drawing; None if it has more than 400 nodes.

    Boxes are calls and other nodes that compute, ellipses variables and constants; arrows go from operands to users, and the type
    of a node is shown where it is known, and as a tooltip.
    """
    root = expr.body if isinstance(expr, Function) else expr
    nodes = [node for node in _core.post_order(root) if not isinstance(node, _LEAVES)] if _core.count_nodes(root) <= 4 * MAX_NODES else []
    if not nodes or len(nodes) > MAX_NODES:
        return None
    known = set(nodes)
    inputs = {node: list(dict.fromkeys(operand for operand in node.operands if operand in known)) for node in nodes}
    layers = _layers(nodes, inputs)
    texts = {node: (_label(node), _type_of(node)) for node in nodes}
    widths = {node: max(len(text) for text in texts[node]) * _CHAR + 18 for node in nodes}
    heights = {node: _HEIGHT + (14 if texts[node][1] else 0) for node in nodes}
    total = max(sum(widths[node] + _GAP_X for node in layer) for layer in layers) - _GAP_X
    box: dict[Expr, tuple[float, float]] = {}
    y = float(_MARGIN)
    for layer in layers:
        x = _MARGIN + (total - sum(widths[node] + _GAP_X for node in layer) + _GAP_X) / 2
        for node in layer:
            box[node] = (x, y)
            x += widths[node] + _GAP_X
        y += max(heights[node] for node in layer) + _GAP_Y
    width, height = total + 2 * _MARGIN, y - _GAP_Y + _MARGIN
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" '
        'font-family="monospace" font-size="12">',
        '<defs><marker id="relay-arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#667"/></marker></defs>',
    ]
    for node in nodes:
        x, y = box[node]
        for operand in inputs[node]:
            x0, y0 = box[operand]
            start = (x0 + widths[operand] / 2, y0 + heights[operand])
            end = (x + widths[node] / 2, y)
            bend = (end[1] - start[1]) / 2
            out.append(
                f'<path d="M{start[0]:.1f} {start[1]:.1f}C{start[0]:.1f} {start[1] + bend:.1f} {end[0]:.1f} {end[1] - bend:.1f} '
                f'{end[0]:.1f} {end[1]:.1f}" fill="none" stroke="#667" marker-end="url(#relay-arrow)"/>'
            )
    for node in nodes:
        x, y = box[node]
        label, type_text = texts[node]
        leaf = not inputs[node] and isinstance(node, (Var, Constant))
        fill, round_corners = ("#eef6ee", heights[node] / 2) if leaf else ("#eef2fb", 4)
        out.append(f"<g><title>{escape(label)} {escape(type_text)}</title>")
        out.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{widths[node]:.1f}" height="{heights[node]}" rx="{round_corners}" fill="{fill}" '
            'stroke="#667"/>'
        )
        middle = x + widths[node] / 2
        out.append(f'<text x="{middle:.1f}" y="{y + 17:.1f}" text-anchor="middle" fill="#112">{escape(label)}</text>')
        if type_text:
            out.append(
                f'<text x="{middle:.1f}" y="{y + 32:.1f}" text-anchor="middle" fill="#667" font-size="10">{escape(type_text)}</text>'
            )
        out.append("</g>")
    out.append("</svg>")
    return "".join(out)


def _text_html(text: str) -> str:
    cut = "" if len(text) <= MAX_TEXT else f"\n… {len(text) - MAX_TEXT} more characters: print it to see all"
    return f'<pre style="line-height:1.25">{escape(text[:MAX_TEXT])}{escape(cut)}</pre>'


def html(program: Expr | IRModule) -> str:
    """Program text, and the drawing below it where there is one function."""
    if isinstance(program, IRModule):
        names = program.function_names
        return _text_html(str(program)) + ((svg(program[names[0]]) or "") if len(names) == 1 else "")
    return _text_html(repr(program)) + (svg(program) or "")


def type_html(of: Type) -> str:
    """A type as it is written in programs."""
    return f"<code>{escape(str(of)[:MAX_TEXT])}</code>"


def table_html(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table, with numbers at the right."""
    top = "".join(f"<th>{escape(head)}</th>" for head in heads)
    cells = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><tr>{top}</tr>{cells}</table>"


def executable_html(program: Executable) -> str:
    """What a compiled program takes, its machine and its kernels."""
    params = table_html(["parameter", "type"], program.parameters)
    kernels = program.kernels
    count = f"{len(kernels)} kernel{'s' if len(kernels) != 1 else ''}"
    shown = "".join(f"<li>{escape(name)}</li>" for name in kernels[:MAX_NODES])
    return f"<p>compiled for <code>{escape(program.target)}</code></p>{params}<details><summary>{count}</summary><ul>{shown}</ul></details>"


def size_text(count: float) -> str:
    """A number of bytes, for people."""
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


class Profile(list[Any]):
    """What `Executable.profile` gives: a dictionary for each kernel. Printed, and in a notebook, it is a table, the slowest kernels first."""

    heads = ("kernel", "calls", "time", "share", "operations", "moved")

    def rows(self) -> list[list[str]]:
        """The cells of the table."""
        total = sum(kernel["seconds"] for kernel in self) or 1.0
        return [
            [kernel["name"], str(kernel["calls"]), f"{kernel['seconds'] * 1e6:.1f} µs", f"{kernel['seconds'] / total:.0%}", f"{kernel['flops']:,}",
             size_text(kernel["bytes"])]
            for kernel in sorted(self, key=lambda kernel: -float(kernel["seconds"]))
        ]  # fmt: skip

    def __str__(self) -> str:
        rows = [list(self.heads), *self.rows()]
        widths = [max(len(row[i]) for row in rows) for i in range(len(self.heads))]
        return "\n".join("  ".join(cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths))).rstrip() for row in rows)

    def _repr_html_(self) -> str:
        return table_html(self.heads, self.rows())
