"""A language model as a Relay program, written for its extents.

`@read` takes t tokens and gives the scores of the next one. `@write` makes tokens one after the other, each drawn from the scores that the
one before left, without leaving the program. Both take the caches and give them back with the keys and values of the new tokens.

A cache holds keys (or values) of c positions, an open extent. A new row is written where the cache lies (`donate=`), so that a step copies
nothing. Rows beyond the length hold finite numbers that nothing sees.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .config import ACTIVATIONS, Config, UnsupportedModel
from .formats import PANEL, Matrix

CHOICES = 128  # one of so many tokens, those of the highest scores, is drawn


def type_of(weight: Any) -> str:
    """The type of a weight, or of a tuple of them."""
    if isinstance(weight, Matrix):
        return weight.type
    if isinstance(weight, np.ndarray):
        return f"Tensor[({', '.join(map(str, weight.shape))}), {weight.dtype.name}]"
    fields = [type_of(field) for field in weight]
    return f"({', '.join(fields)},)" if len(fields) == 1 else f"({', '.join(fields)})"


def arrays_of(weight: Any, threads: int = 0, after: Callable[[], None] = lambda: None) -> Any:
    """The arrays of weights, as the tuples of `type_of`, made by so many threads. `after` is called when the arrays of a matrix are there."""
    if isinstance(weight, Matrix):
        arrays = weight.unpacked(threads)
        after()
        return arrays
    return weight if isinstance(weight, np.ndarray) else tuple(arrays_of(field, threads, after) for field in weight)


def _joined(layer: Mapping[str, Any]) -> dict[str, Any]:
    """A layer in which matrices that meet the same row are one, where they are stored alike."""
    result = dict(layer)
    for name, parts in (("qkv", ("q", "k", "v")), ("gate_up", ("gate", "up"))):
        if all(isinstance(layer.get(part), Matrix) for part in parts) and not (name == "gate_up" and any(f"{p}_bias" in layer for p in parts)):
            whole = layer[parts[0]].joined(*(layer[part] for part in parts[1:]))
            if whole is not None:
                result[name] = whole
                for part in parts:
                    del result[part]
    return {name: weight.in_panels() if isinstance(weight, Matrix) else weight for name, weight in result.items()}


def check_weights(config: Config, whole: Mapping[str, Any], layers: Sequence[Mapping[str, Any]]) -> None:
    """Raises ValueError for a weight that is missing or has other extents than the numbers of the model say, UnsupportedModel for one too many."""
    c = config
    queries, keys, _ = c.qkv
    of_layer: dict[str, tuple[int, ...]] = {
        "attention_norm": (c.width,), "q": (queries, c.width), "k": (keys, c.width), "v": (keys, c.width), "o": (c.width, queries),
        "network_norm": (c.width,), "up": (c.hidden, c.width), "down": (c.width, c.hidden),
    }  # fmt: skip
    if c.gated:
        of_layer["gate"] = (c.hidden, c.width)
    if c.norm_heads:
        of_layer.update(q_norm=(c.head_size,), k_norm=(c.head_size,))
    if c.norm_results:
        of_layer.update(attention_result_norm=(c.width,), network_result_norm=(c.width,))
    of_whole: dict[str, tuple[int, ...]] = {"embedding": (c.vocabulary, c.width), "norm": (c.width,)}
    if c.positions == "table":
        of_whole["positions"] = (c.context, c.width)
    optional: dict[str, tuple[int, ...]] = {"output": (c.vocabulary, c.width), "rotation_factors": (c.rotated // 2,)}
    if c.norm == "layer":
        of_whole["norm_bias"] = (c.width,)
        of_layer.update(attention_norm_bias=(c.width,), network_norm_bias=(c.width,))
    for what, found, wanted in [("the model", whole, of_whole), *((f"layer {i}", layer, of_layer) for i, layer in enumerate(layers))]:
        for name, extents in wanted.items():
            if name not in found:
                raise ValueError(f"{what} has no weight {name}")
        for name, weight in found.items():
            expected = wanted.get(name, optional.get(name))
            if expected is None and name.endswith("_bias") and not name.endswith("norm_bias"):
                expected = wanted.get(name.removesuffix("_bias"), ())[:1] or None
            if expected is None:
                raise UnsupportedModel(f"{what} has a weight {name}, for which models of its kind have no place")
            extents = (weight.n, weight.k) if isinstance(weight, Matrix) else weight.shape
            if extents != expected:
                raise ValueError(f"the weight {name} of {what} has the extents {extents}, not {expected}")


class Program:
    """Writes the functions of a model. `whole`: weights outside of the layers by name; `layers`: those of each layer."""

    def __init__(self, config: Config, whole: Mapping[str, Any], layers: Sequence[Mapping[str, Any]]):
        check_weights(config, whole, layers)
        self.config = config
        self.whole = {name: weight.in_panels() if name in ("embedding", "output") else weight for name, weight in whole.items()}
        self.layers = [_joined(layer) for layer in layers]
        self.functions: dict[str, str] = {}
        self._known: dict[Any, str] = {}  # the functions of layers by what they depend on
        self.weights = (tuple(self.whole.values()), tuple(tuple(layer.values()) for layer in self.layers))
        c = config
        cache = f"Tensor[(c, {c.kv_heads * c.head_size}), float32]"
        self.caches = f"({', '.join([f'({cache}, {cache})'] * c.layers)},)"
        self.cache = cache

    def text(self) -> str:
        """The module."""
        entries = [self._forward("t"), self._forward("1"), self._choose(), self._read(), self._write()]
        return "\n".join([*self.functions.values(), *entries])

    # ---- Small functions, each written once ---------------------------------------------------------

    def _define(self, name: str, text: str) -> str:
        self.functions.setdefault(name, text)
        return name

    def _product(self, x: str, matrix: Matrix, weight: str, rows: str) -> str:
        """`x`, rows of k numbers, times the transposed matrix."""
        form, n, k = matrix.form, matrix.n, matrix.k
        one = rows == "1"
        name = f"{'row' if one else 'rows'}_{form.name.lower()}_{n}_{k}"
        text = form.product(n, k, one)
        self._define(
            name,
            f"def @{name}(%x: Tensor[({rows}, {k}), float32], %w: {matrix.type}) -> Tensor[({rows}, {n}), float32] {{\n{text}\n}}\n",
        )
        return f"@{name}({x}, {weight})"

    def _norm(self, x: str, width: int, gain: str, bias: str | None = None, leading: str = "t") -> str:
        """Normalised along the last axis. `leading`: the extents before it."""
        kind = self.config.norm
        axes = leading.count(",") + 1
        name = f"{kind}_norm_{leading.replace(', ', '_')}_{width}"
        tensor = f"Tensor[({leading}, {width}), float32]"
        params = f"%x: {tensor}, %gain: Tensor[({width}), float32]" + (f", %bias: Tensor[({width}), float32]" if bias else "")
        if kind == "rms":
            body = f"  %x * rsqrt(mean(%x * %x, axis=[{axes}], keepdims=True) + {self.config.epsilon!r}f) * %gain"
        else:
            body = f"  nn.layer_norm(%x, %gain, %bias, axis={axes}, epsilon={self.config.epsilon!r})"
        self._define(name, f"def @{name}({params}) -> {tensor} {{\n{body}\n}}\n")
        return f"@{name}({', '.join([x, gain] + ([bias] if bias else []))})"

    def _rotate(self, x: str, heads: int, rows: str) -> str:
        """The first numbers of each head turned by the angles of its position."""
        c = self.config
        name = f"rotate_{rows}_{heads}"
        size, half = c.head_size, c.rotated // 2
        pairs = c.positions == "pairs"
        shape, axis = (f"{heads}, {half}, 2", 3) if pairs else (f"{heads}, 2, {half}", 2)
        kept = size - c.rotated
        tensor = f"Tensor[({rows}, {heads}, {size}), float32]"
        lines = ["  let %turned = %x;" if not kept else f"  let %turned = strided_slice(%x, begin=[0], end=[{c.rotated}], axes=[2]);"]
        # The extent before heads is open: 0 keeps it.
        lines += [
            f"  let %parts = reshape(%turned, newshape=[0, {shape}]);",
            f"  let %a = take(%parts, 0i64, axis={axis});",
            f"  let %b = take(%parts, 1i64, axis={axis});",
            "  let %cos = expand_dims(%angles.0, axis=1);",
            "  let %sin = expand_dims(%angles.1, axis=1);",
            f"  let %both = stack((%a * %cos - %b * %sin, %a * %sin + %b * %cos), axis={axis});",
            f"  let %done = reshape(%both, newshape=[0, {heads}, {c.rotated}]);",
            f"  concatenate((%done, strided_slice(%x, begin=[{c.rotated}], end=[{size}], axes=[2])), axis=2)" if kept else "  %done",
        ]
        angles = f"Tensor[({rows}, {half}), float32]"
        self._define(name, f"def @{name}(%x: {tensor}, %angles: ({angles}, {angles})) -> {tensor} {{\n" + "\n".join(lines) + "\n}\n")
        return f"@{name}({x}, %angles)"

    def _attention(self, rows: str) -> str:
        """Queries of `rows` positions against all of the cache."""
        c = self.config
        name = "attend_" + rows
        group, size, kv = c.heads // c.kv_heads, c.head_size, c.kv_heads
        cap = f"\n  let %scores = {c.attention_cap!r}f * tanh(%scores * {1 / c.attention_cap!r}f);" if c.attention_cap else ""
        self._define(
            name,
            f"""def @{name}(%q: Tensor[({rows}, {c.heads}, {size}), float32], %k: {self.cache}, %v: {self.cache}, %seen: Tensor[({rows}, c), bool])
    -> Tensor[({rows}, {c.heads * size}), float32] {{
  let %queries = reshape(%q, newshape=[0, {kv}, {group}, {size}]);
  let %keys = reshape(%k, newshape=[0, {kv}, {size}]);
  let %values = reshape(%v, newshape=[0, {kv}, {size}]);
  let %scores = einsum((%queries, %keys), equation="tkgd,ckd->ktgc") * {c.scale!r}f;{cap}
  let %masked = where(expand_dims(expand_dims(%seen, axis=1), axis=0), %scores, -1e30f);
  let %sums = einsum((nn.softmax(%masked, axis=3), %values), equation="ktgc,ckd->tkgd");
  reshape(%sums, newshape=[0, {c.heads * size}])
}}
""",
        )
        return name

    # ---- A layer ------------------------------------------------------------------------------------

    def _layer(self, index: int, rows: str) -> str:
        """The name of the function of a layer; layers of one form share it."""
        c, layer = self.config, self.layers[index]
        place = {name: f"%w.{i}" for i, name in enumerate(layer)}
        signature = (rows, tuple(type_of(weight) for weight in layer.values()), tuple(layer))
        if signature in self._known:
            return self._known[signature]
        name = self._known[signature] = f"layer{len(self._known)}_{rows}"

        def times(x: str, weight: str) -> str:
            product = self._product(x, layer[weight], place[weight], rows)
            return f"{product} + {place[weight + '_bias']}" if weight + "_bias" in layer else product

        def norm(x: str, weight: str) -> str:
            return self._norm(x, c.width, place[weight], place.get(weight + "_bias"), rows)

        lines = [f"  let %h = {norm('%x', 'attention_norm')};"]
        if "qkv" in layer:
            lines.append(f"  let %qkv = {times('%h', 'qkv')};")
        begin = 0
        for part, heads in (("q", c.heads), ("k", c.kv_heads), ("v", c.kv_heads)):
            end = begin + heads * c.head_size
            product = times("%h", part) if part in layer else f"strided_slice(%qkv, begin=[{begin}], end=[{end}], axes=[1])"
            if "qkv" in layer and part + "_bias" in layer:
                product += f" + {place[part + '_bias']}"
            begin = end
            lines.append(f"  let %{part} = reshape({product}, newshape=[0, {heads}, {c.head_size}]);")
            if part != "v" and c.norm_heads:
                norm_of_heads = self._norm(f"%{part}", c.head_size, place[part + "_norm"], None, f"{rows}, {heads}")
                lines.append(f"  let %{part} = {norm_of_heads};")
            if part != "v" and c.rotated:
                lines.append(f"  let %{part} = {self._rotate('%' + part, heads, rows)};")
        held = c.kv_heads * c.head_size
        for part in "kv":
            rows_of = f"reshape(%{part}, newshape=[0, {held}])"
            lines.append(f'  let %{part}s = scatter_nd(%cache.{"kv".index(part)}, expand_dims(%at, axis=0), {rows_of}, mode="update");')
        lines.append(f"  let %attended = @{self._attention(rows)}(%q, %ks, %vs, %seen);")
        added = times("%attended", "o")
        lines.append(f"  let %added = {norm(added, 'attention_result_norm') if c.norm_results else added};")
        lines.append("  let %y = %x + %added;")
        lines.append(f"  let %n = {norm('%y', 'network_norm')};")
        if "gate_up" in layer:
            lines.append(f"  let %both = {times('%n', 'gate_up')};")
        halves = {"gate": f"begin=[0], end=[{c.hidden}]", "up": f"begin=[{c.hidden}], end=[{2 * c.hidden}]"}

        def wide(part: str) -> str:
            return times("%n", part) if part in layer else f"strided_slice(%both, {halves[part]}, axes=[1])"

        lines.append(f"  let %wide = {wide('gate' if c.gated else 'up')};")
        lines.append(f"  let %active = {ACTIVATIONS[c.activation]};")
        if c.gated:
            lines.append(f"  let %active = %active * ({wide('up')});")
        network = times("%active", "down")
        lines.append(f"  let %more = {norm(network, 'network_result_norm') if c.norm_results else network};")
        lines.append("  (%y + %more, (%ks, %vs))")
        tensor = f"Tensor[({rows}, {c.width}), float32]"
        angles = f"Tensor[({rows}, {max(c.rotated // 2, 1)}), float32]"
        self._define(
            name,
            f"def @{name}(%x: {tensor}, %at: Tensor[({rows}), int32], %angles: ({angles}, {angles}), %seen: Tensor[({rows}, c), bool],\n"
            f"    %cache: ({self.cache}, {self.cache}), %w: {type_of(tuple(layer.values()))}) -> ({tensor}, ({self.cache}, {self.cache})) {{\n"
            + "\n".join(lines)
            + "\n}\n",
        )
        return name

    # ---- The whole ----------------------------------------------------------------------------------

    def _at(self, name: str) -> str:
        return f"%w.0.{list(self.whole).index(name)}"

    def _looked_up(self, weight: str, numbers: str, rows: str) -> str:
        """The rows of a matrix of the whole that have these numbers, as float32."""
        matrix: Matrix = self.whole[weight]
        form = matrix.form.rows or matrix.form
        found = self._parts_of_rows(weight, numbers, form.parts(0, matrix.k))
        name = f"unpack_{form.name.lower()}_{matrix.k}_{rows}"
        body = form.matrix.replace("$N", "-1").replace("$K", str(matrix.k)).replace("$B", str(matrix.k // form.block))
        row_type = Matrix(form, 0, matrix.k).type.replace("Tensor[(0,", f"Tensor[({rows},")
        self._define(name, f"def @{name}(%w: {row_type}) -> Tensor[({rows}, {matrix.k}), float32] {{\n{body}\n}}\n")
        return f"@{name}(({', '.join(found)}{',' if len(found) == 1 else ''}))"

    def _parts_of_rows(self, weight: str, numbers: str, parts: list[tuple[tuple[int, ...], str]]) -> list[str]:
        """Expressions for the parts of rows."""
        place = self._at(weight)
        if self.whole[weight].form.rows is None:
            return [f'take({place}.{i}, {numbers}, axis=0, mode="fast")' for i in range(len(parts))]
        found = []
        for i, ((_, *extents), _) in enumerate(parts):
            number = math.prod(extents)
            # A row is one lane of a panel.
            row = f'expand_dims(cast({numbers}, dtype="int64"), axis=1)'
            begin = f"floor_divide({row}, {PANEL}i64) * {number * PANEL}i64 + floor_mod({row}, {PANEL}i64)"
            index = f'{begin} + expand_dims(arange(0i64, {number}i64, 1i64, dtype="int64") * {PANEL}i64, axis=0)'
            rows = f'take(reshape({place}.{i}, newshape=[-1]), {index}, axis=0, mode="fast")'
            found.append(f"reshape({rows}, newshape=[-1, {', '.join(map(str, extents))}])")
        return found

    def _forward(self, rows: str) -> str:
        """From tokens to the rows that scores are made of."""
        c = self.config
        embedded = self._looked_up("embedding", "%tokens", rows)
        lines = [f"  let %x0 = {embedded}" + (f" * {c.embedding_scale!r}f" if c.embedding_scale != 1 else "") + ";"]
        if c.positions == "table":
            lines.append(f"  let %x0 = %x0 + {self._looked_up('positions', '%at', rows)};")
        lines.append('  let %reach = expand_dims(cast(%at, dtype="float32"), axis=1);')
        half = max(c.rotated // 2, 1)
        for kind, base in (("angles", c.base), ("near_angles", c.window_base)):
            if kind == "near_angles" and not (c.has_windows and c.window_base):
                continue
            if c.rotated:
                frequencies = f"power({base!r}f, {-2.0 / c.rotated!r}f * arange(0f, {half}f, 1f, dtype=\"float32\"))"
                if "rotation_factors" in self.whole:
                    frequencies += f" / {self._at('rotation_factors')}"
                if c.stretch != 1 and kind == "angles":
                    frequencies += f" * {1 / c.stretch!r}f"
                lines.append(f"  let %turns = %reach * expand_dims({frequencies}, axis=0);")
            else:
                lines.append("  let %turns = %reach;")
            scale = f" * {c.turn_scale!r}f" if c.turn_scale != 1 else ""
            lines.append(f"  let %{kind} = (cos(%turns){scale}, sin(%turns){scale});")
        lines.append("  let %behind = expand_dims(%at, axis=1) - expand_dims(%slots, axis=0);")
        lines.append("  let %seen = greater_equal(%behind, 0);")
        if c.has_windows:
            lines.append(f"  let %near = logical_and(%seen, less(%behind, {c.window}));")
        for i in range(c.layers):
            near = c.has_window(i)
            angles = "%near_angles" if near and c.window_base else "%angles"
            call = f"@{self._layer(i, rows)}(%x{i}, %at, {angles}, {'%near' if near else '%seen'}, %caches.{i}, %w.1.{i})"
            lines += [f"  let %r{i} = {call};", f"  let %x{i + 1} = %r{i}.0;"]
        caches = ", ".join(f"%r{i}.1" for i in range(c.layers))
        lines.append(f"  (%x{c.layers}, ({caches},))")
        tensor = f"Tensor[({rows}, {c.width}), float32]"
        return (
            f"def @forward_{rows}(%tokens: Tensor[({rows}), int32], %at: Tensor[({rows}), int32], %slots: Tensor[(c), int32],\n"
            f"    %caches: {self.caches}, %w: {type_of(self.weights)}) -> ({tensor}, {self.caches}) {{\n" + "\n".join(lines) + "\n}\n"
        )

    def _scores(self, x: str) -> str:
        """The scores of all tokens from one row."""
        c = self.config
        bias = self._at("norm_bias") if "norm_bias" in self.whole else None
        normed = self._norm(x, c.width, self._at("norm"), bias, "1")
        name = "output" if "output" in self.whole else "embedding"
        scores = f"reshape({self._product(normed, self.whole[name], self._at(name), '1')}, newshape=[{c.vocabulary}])"
        return f"{c.score_cap!r}f * tanh({scores} * {1 / c.score_cap!r}f)" if c.score_cap else scores

    def _choose(self) -> str:
        v = self.config.vocabulary
        k = min(CHOICES, v)
        return f"""// The next token by its score: the best where the temperature is 0; else one of the best `most` that together have a share of
// `nucleus`, by a number that the key gives.
def @choose(%scores: Tensor[({v}), float32], %key: Tensor[(10), uint64], %temperature: float32, %most: int32, %nucleus: float32)
    -> (int32, Tensor[(10), uint64]) {{
  if (%temperature == 0f) {{
    (cast(argmax(%scores, axis=[0]), dtype="int32"), %key)
  }} else {{
    let %best = topk(%scores, k={k});
    let %place = arange(0, {k}, 1, dtype="int32");
    let %shares = nn.softmax(where(less(%place, %most), %best.0 / %temperature, -1e30f), axis=0);
    let %before = cumsum(%shares, axis=0, exclusive=True);
    let %kept = where(less(%before, %nucleus), %shares, 0f);
    let %drawn = random.uniform(%key, 0f, 1f, out_shape=[1]);
    let %mark = %drawn.1 * sum(%kept, axis=[0], keepdims=True);
    let %which = sum(cast(less_equal(cumsum(%kept, axis=0), %mark), dtype="int32"), axis=[0]);
    (take(%best.1, minimum(%which, {k - 1}), axis=0), %drawn.0)
  }}
}}
"""

    def _read(self) -> str:
        v, w = self.config.vocabulary, type_of(self.weights)
        return f"""// The scores after token number `last` of those read.
def @read(%tokens: Tensor[(t), int32], %at: Tensor[(t), int32], %last: int32, %slots: Tensor[(c), int32], %caches: {self.caches}, %w: {w})
    -> (Tensor[({v}), float32], {self.caches}) {{
  let %r = @forward_t(%tokens, %at, %slots, %caches, %w);
  let %row = take(%r.0, reshape(%last, newshape=[1]), axis=0, mode="clip");
  ({self._scores('%row')}, %r.1)
}}
"""

    def _write(self) -> str:
        v, w = self.config.vocabulary, type_of(self.weights)
        return f"""// Up to m tokens, drawn one after the other from %scores on, the first at position `place`: they, their number, what is needed to go on.
// The first `known` ones are given, not drawn. A token of `stops` that is drawn is the last one.
def @write(%scores: Tensor[({v}), float32], %place: int32, %made: Tensor[(m), int32], %i: int32, %count: int32,
    %given: Tensor[(g), int32], %known: int32, %stops: Tensor[(s), int32],
    %key: Tensor[(10), uint64], %temperature: float32, %most: int32, %nucleus: float32, %slots: Tensor[(c), int32], %caches: {self.caches},
    %w: {w}) -> (Tensor[(m), int32], int32, Tensor[({v}), float32], Tensor[(10), uint64], {self.caches}) {{
  if (%i < %count) {{
    let %drawn = greater_equal(%i, %known);
    let %chosen = if (%drawn) {{ @choose(%scores, %key, %temperature, %most, %nucleus) }} else {{ (take(%given, %i, axis=0), %key) }};
    let %token = reshape(%chosen.0, newshape=[1]);
    let %more = scatter_nd(%made, reshape(%i, newshape=[1, 1]), %token, mode="update");
    if (logical_and(%drawn, any(equal(%stops, %chosen.0)))) {{
      (%more, %i + 1, %scores, %chosen.1, %caches)
    }} else {{
      let %r = @forward_1(%token, reshape(%place, newshape=[1]), %slots, %caches, %w);
      let %next = {self._scores('%r.0')};
      @write(%next, %place + 1, %more, %i + 1, %count, %given, %known, %stops, %chosen.1, %temperature, %most, %nucleus, %slots, %r.1, %w)
    }}
  }} else {{
    (%made, %i, %scores, %key, %caches)
  }}
}}
"""
