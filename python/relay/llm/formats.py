"""Weights in blocks of few bits: how the formats of GGUF lie in memory, and products with them as Relay.

A matrix of n rows and k columns keeps one number a weight, of 4 bits or of 8 (for those of 5, 6 and 8), and a scale (and an offset) a block
of 16 or 32; the product with one row unpacks it in registers, that with many rows writes one matrix at a time as float32. The numbers, and
the scales, of 32 rows lie side by side in panels where the number of rows is a multiple of 32. Formats with blocks of blocks (Q4_K, Q5_K,
Q6_K) come in with the products of their two scales as float32.

Source: the layouts of ggml (`block_q4_0` and others in ggml-common.h), read by the `gguf` package.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
from dataclasses import dataclass
from typing import Any, Callable

import numpy as np

from .. import Executable, execution
from ..module import parse

Arrays = tuple[np.ndarray[Any, Any], ...]


@dataclass(frozen=True)
class Format:
    """A way to store a matrix. `arrays` are the names, in `text`, of the parts that a weight is a tuple of."""

    name: str
    block: int  # weights that share a scale; 1 for plain numbers
    # Parts of a matrix of n rows and k columns: (extents, dtype) of each.
    parts: Callable[[int, int], list[tuple[tuple[int, ...], str]]]
    # The sum of products of a row with each row of the matrix, and the matrix in float32: bodies of functions of %x, and of %w.
    row: str
    matrix: str
    # The same format with rows side by side in panels, if it has one; of that, the format whose rows it holds.
    panels: Format | None = None
    rows: Format | None = None

    def product(self, n: int, k: int, one: bool) -> str:
        """The product of %x, one row or several, with the transposed matrix %w: the body of a function."""
        body = self.row if one else self.matrix
        for sign, number in (("$N", n), ("$K", k), ("$B", k // self.block), ("$W", PANEL)):
            body = body.replace(sign, str(number))
        *lets, value = body.rstrip().rsplit("\n", 1)
        value = value.strip()
        if one:
            value = f"reshape({value}, newshape=[1, {n}])"
        elif self.rows is None:
            value = f"nn.dense(%x, {value}, units=None)"
        else:
            value = f'reshape(einsum((%x, {value}), equation="tk,pkw->tpw"), newshape=[0, {n}])'
        return "\n".join([*lets, f"  {value}"])

    def type_of(self, n: int, k: int) -> str:
        parts = [f"Tensor[({', '.join(map(str, extents))}), {dtype}]" for extents, dtype in self.parts(n, k)]
        return f"({', '.join(parts)},)" if len(parts) == 1 else f"({', '.join(parts)})"


def _wide(part: str) -> str:
    return f'expand_dims(cast({part}, dtype="float32"), axis=2)'


_NIBBLES = """  let %low = cast(bitwise_and(%w.0, 15u8), dtype="float32");
  let %high = cast(right_shift(%w.0, 4u8), dtype="float32");
"""
_HALVES = """  let %b = reshape(%x, newshape=[$B, 32]);
  let %first = strided_slice(%b, begin=[0], end=[16], axes=[1]);
  let %second = strided_slice(%b, begin=[16], end=[32], axes=[1]);
"""


# What is added to all weights of a block meets the sum of the row's numbers there.
_OFFSET_ROW = """  let %sums = sum(%b, axis=[1]);
  sum((%low * %first + %high * %second) * %scale, axis=[1, 2]) + sum(cast(%w.2, dtype="float32") * %sums, axis=[1])"""
_OFFSET_MATRIX = "  reshape(concatenate((%low * %scale + %offset, %high * %scale + %offset), axis=2), newshape=[$N, $K])"
_CENTRED_ROW = """  let %sums = sum(%b, axis=[1]) * -8f;
  sum((%low * %first + %high * %second) * %scale, axis=[1, 2]) + sum(cast(%w.1, dtype="float32") * %sums, axis=[1])"""
_CENTRED_MATRIX = "  reshape(concatenate(((%low - 8f) * %scale, (%high - 8f) * %scale), axis=2), newshape=[$N, $K])"

# In panels, numbers of the same column of 32 rows lie side by side: a vector has one number of each row, so that neither its sums nor the
# scales of its blocks need another vector. Numbers are wide before their halves are taken, which is one instruction less for each.
PANEL = 32
_NIBBLES_OF_PANELS = """  let %pairs = cast(%w.0, dtype="int32");
  let %low = cast(bitwise_and(%pairs, 15), dtype="float32");
  let %high = cast(right_shift(%pairs, 4), dtype="float32");
"""


def _row_of_panels(offset: bool) -> str:
    """One row: the products of four columns and their neighbours in the other half of the block meet the scale together."""
    lines, terms = ["  let %b = reshape(%x, newshape=[$B, 32]);"], []
    # What is added to all weights of a block meets the sum of the row's numbers that are multiplied together.
    lines.append("  let %sums = expand_dims(sum(reshape(%b, newshape=[$B, 8, 4]), axis=[1])" + (", axis=2);" if offset else " * -8f, axis=2);"))
    for i in range(0, 16, 4):
        lines += [
            f'  let %q{i} = cast(strided_slice(%w.0, begin=[{i}], end=[{i + 4}], axes=[2]), dtype="int32");',
            f"  let %x{i} = expand_dims(strided_slice(%b, begin=[{i}], end=[{i + 4}], axes=[1]), axis=2);",
            f"  let %y{i} = expand_dims(strided_slice(%b, begin=[{i + 16}], end=[{i + 20}], axes=[1]), axis=2);",
        ]
        terms.append(f'cast(bitwise_and(%q{i}, 15), dtype="float32") * %x{i} + cast(right_shift(%q{i}, 4), dtype="float32") * %y{i}')
    scale = _wide("%w.1")
    value = f"({' + '.join(terms)}) * {scale} + {_wide('%w.2')} * %sums" if offset else f"({' + '.join([*terms, '%sums'])}) * {scale}"
    return "\n".join([*lines, f"  sum({value}, axis=[1, 2])"])


# Panels of a matrix: the extents are panels, columns, rows of a panel.
_OFFSET_MATRICES = "  reshape(concatenate((%low * %scale + %offset, %high * %scale + %offset), axis=2), newshape=[-1, $K, $W])"
_CENTRED_MATRICES = "  reshape(concatenate(((%low - 8f) * %scale, (%high - 8f) * %scale), axis=2), newshape=[-1, $K, $W])"


def _plain(dtype: str) -> Format:
    # NumPy has no bfloat16: its numbers come as their bits.
    stored, value = ("uint16", 'reinterpret(%w.0, dtype="bfloat16")') if dtype == "bfloat16" else (dtype, "%w.0")
    value = value if dtype == "float32" else f'cast({value}, dtype="float32")'
    return Format(dtype, 1, lambda n, k: [((n, k), stored)], f"  sum({value} * %x, axis=[1])", f"  {value}")


def _nibbles(name: str, offset: bool, scales: str = "float16") -> Format:
    more = 2 if offset else 1
    plain = _HALVES + _NIBBLES + f"  let %scale = {_wide('%w.1')};\n"
    shifted = f"  let %offset = {_wide('%w.2')};\n" if offset else ""
    rows = Format(
        name,
        32,
        lambda n, k: [((n, k // 32, 16), "uint8")] + [((n, k // 32), scales)] * more,
        plain + (_OFFSET_ROW if offset else _CENTRED_ROW),
        plain[len(_HALVES) :] + shifted + (_OFFSET_MATRIX if offset else _CENTRED_MATRIX),
    )
    panels = Format(
        name + "_panels",
        32,
        lambda n, k: [((n // PANEL, k // 32, 16, PANEL), "uint8")] + [((n // PANEL, k // 32, PANEL), scales)] * more,
        _row_of_panels(offset),
        _NIBBLES_OF_PANELS + plain[len(_HALVES + _NIBBLES) :] + shifted + (_OFFSET_MATRICES if offset else _CENTRED_MATRICES),
        rows=rows,
    )
    return dataclasses.replace(rows, panels=panels)


def _bytes(name: str, block: int, scales: str, offset: bool = False) -> Format:
    more = 2 if offset else 1
    scaled = f'cast(%w.0, dtype="float32") * {_wide("%w.1")}'
    value = scaled + (f" + {_wide('%w.2')}" if offset else "")
    row = f"  let %b = reshape(%x, newshape=[$B, {block}]);\n  sum({scaled} * %b, axis=[1, 2])"
    row += ' + sum(cast(%w.2, dtype="float32") * sum(%b, axis=[1]), axis=[1])' if offset else ""
    rows = Format(
        name,
        block,
        lambda n, k: [((n, k // block, block), "int8")] + [((n, k // block), scales)] * more,
        row,
        f"  reshape({value}, newshape=[$N, $K])",
    )
    panels = Format(
        name + "_panels",
        block,
        lambda n, k: [((n // PANEL, k // block, block, PANEL), "int8")] + [((n // PANEL, k // block, PANEL), scales)] * more,
        _bytes_row_of_panels(block, offset),
        f"  reshape({value}, newshape=[-1, $K, $W])",
        rows=rows,
    )
    return dataclasses.replace(rows, panels=panels)


def _bytes_row_of_panels(block: int, offset: bool) -> str:
    """One row: the products of four columns meet the scale together."""
    lines, terms, quarter = [f"  let %b = reshape(%x, newshape=[$B, {block}]);"], [], block // 4
    for i in range(0, block, quarter):
        lines.append(f"  let %x{i} = expand_dims(strided_slice(%b, begin=[{i}], end=[{i + quarter}], axes=[1]), axis=2);")
        terms.append(f'cast(strided_slice(%w.0, begin=[{i}], end=[{i + quarter}], axes=[2]), dtype="float32") * %x{i}')
    value = f"({' + '.join(terms)}) * {_wide('%w.1')}"
    if offset:
        lines.append(f"  let %sums = expand_dims(sum(reshape(%b, newshape=[$B, 4, {quarter}]), axis=[1]), axis=2);")
        value += f" + {_wide('%w.2')} * %sums"
    return "\n".join([*lines, f"  sum({value}, axis=[1, 2])"])


FORMATS = {
    form.name: form
    for form in (
        _plain("float32"),
        _plain("float16"),
        _plain("bfloat16"),
        _nibbles("Q4_0", offset=False),
        _nibbles("Q4_1", offset=True),
        _nibbles("Q4_K", offset=True, scales="float32"),
        _bytes("Q8_0", 32, "float16"),
        _bytes("Q5_1", 32, "float16", offset=True),
        _bytes("Q5_K", 32, "float32", offset=True),
        _bytes("Q6_K", 16, "float32"),
    )
}


# ---- From the bytes of GGUF ---------------------------------------------------------------------


_CHUNK = 1 << 18  # bytes that are taken apart at a time: they stay in the second cache, and so does what is made of them


def _float16(raw: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The numbers in two bytes each of the last axis."""
    numbers: np.ndarray[Any, Any] = np.ascontiguousarray(raw).view(np.float16)
    return numbers


def _fields(raw: np.ndarray[Any, Any], *fields: str) -> Arrays:
    """Blocks cut into parts of these dtypes, not copied; "V16" are 16 bytes, which are moved as one."""
    blocks = raw.view(np.dtype([(f"f{i}", field) for i, field in enumerate(fields)]))[..., 0]
    return tuple(blocks[f"f{i}"] for i in range(len(fields)))


def _halves(nibbles: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Numbers of 4 bits, 32 to a block, packed: the first 16 in the low halves of bytes, the others in the high ones."""
    packed: np.ndarray[Any, Any] = nibbles[..., :16] | (nibbles[..., 16:] << 4)
    return packed


def _q4_0(raw: np.ndarray[Any, Any]) -> Arrays:
    scale, numbers = _fields(raw, "<f2", "V16")
    return numbers, scale


def _q4_1(raw: np.ndarray[Any, Any]) -> Arrays:
    scale, offset, numbers = _fields(raw, "<f2", "<f2", "V16")
    return numbers, scale, offset


def _fifth_bits(raw: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Numbers of 5 bits: 4 bytes of their highest bits, 16 bytes of the others."""
    high = np.unpackbits(np.ascontiguousarray(raw[..., :4]), axis=-1, bitorder="little")
    low = np.concatenate((raw[..., 4:] & 15, raw[..., 4:] >> 4), axis=-1)
    numbers: np.ndarray[Any, Any] = (low | (high << 4)).astype(np.int8)
    return numbers


def _q5_0(raw: np.ndarray[Any, Any]) -> Arrays:
    return _fifth_bits(raw[..., 2:]) - np.int8(16), _float16(raw[..., :2])[..., 0]


def _q5_1(raw: np.ndarray[Any, Any]) -> Arrays:
    scale, offset, _ = _fields(raw, "<f2", "<f2", "V20")
    return _fifth_bits(raw[..., 4:]), scale, offset


def _q8_0(raw: np.ndarray[Any, Any]) -> Arrays:
    scale, numbers = _fields(raw, "<f2", "V32")
    return numbers, scale


def _six_bits(raw: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The scales and offsets, 6 bits each, of the eight blocks of 32 in a block of 256: 12 bytes."""
    low, middle, high = raw[..., 0:4], raw[..., 4:8], raw[..., 8:12]
    scales = np.concatenate((low & 63, (high & 15) | ((low >> 6) << 4)), axis=-1)
    offsets = np.concatenate((middle & 63, (high >> 4) | ((middle >> 6) << 4)), axis=-1)
    return scales, offsets


def _two_level(raw: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The scales and offsets of Q4_K and Q5_K as float32, one a block of 32: q times the first plus the second is the weight."""
    pair = _float16(raw[..., :4]).astype(np.float32)
    scales, offsets = _six_bits(raw[..., 4:16])
    return (pair[..., :1] * scales).astype(np.float32), (-pair[..., 1:] * offsets).astype(np.float32)


def _by_rows(array: np.ndarray[Any, Any], *last: int) -> np.ndarray[Any, Any]:
    return np.ascontiguousarray(array.reshape(array.shape[0], -1, *last))


def _q4_k(raw: np.ndarray[Any, Any]) -> Arrays:
    scale, offset = _two_level(raw)
    pairs = raw[..., 16:].reshape(*raw.shape[:-1], 4, 32)
    numbers = np.stack((pairs & 15, pairs >> 4), axis=-2)
    return _by_rows(_halves(numbers), 16), _by_rows(scale), _by_rows(offset)


def _q5_k(raw: np.ndarray[Any, Any]) -> Arrays:
    scale, offset = _two_level(raw)
    pairs = raw[..., 48:].reshape(*raw.shape[:-1], 4, 32)
    high = (raw[..., None, 16:48] >> np.arange(8, dtype=np.uint8)[:, None]) & 1
    numbers = np.stack((pairs & 15, pairs >> 4), axis=-2).reshape(*raw.shape[:-1], 8, 32) | (high << 4)
    return _by_rows(numbers.astype(np.int8), 32), _by_rows(scale), _by_rows(offset)


def _q6_k(raw: np.ndarray[Any, Any]) -> Arrays:
    low = raw[..., :128].reshape(*raw.shape[:-1], 2, 1, 64) >> np.array([0, 4], np.uint8)[:, None] & 15
    high = raw[..., 128:192].reshape(*raw.shape[:-1], 2, 1, 32) >> np.array([0, 2, 4, 6], np.uint8)[:, None] & 3
    numbers = low.reshape(*raw.shape[:-1], 256) | (high.reshape(*raw.shape[:-1], 256) << 4)
    scales = raw[..., 192:208].copy().view(np.int8) * _float16(raw[..., 208:210]).astype(np.float32)
    return _by_rows(numbers.astype(np.int8) - np.int8(32), 16), _by_rows(scales)


# Format of GGUF: bytes of a block, the format here, how it is taken apart.
_UNPACKED: dict[str, tuple[int, str, Callable[[np.ndarray[Any, Any]], Arrays]]] = {
    "Q4_0": (18, "Q4_0", _q4_0),
    "Q4_1": (20, "Q4_1", _q4_1),
    "Q5_0": (22, "Q8_0", _q5_0),
    "Q5_1": (24, "Q5_1", _q5_1),
    "Q8_0": (34, "Q8_0", _q8_0),
    "Q4_K": (144, "Q4_K", _q4_k),
    "Q5_K": (176, "Q5_K", _q5_k),
    "Q6_K": (210, "Q6_K", _q6_k),
}


@functools.lru_cache
def _in_panels(dtypes: tuple[str, ...], threads: int) -> Executable:
    """A program that makes panels, (panels, numbers, 32), of rows, (panels, 32, numbers), for parts of these dtypes."""
    parts = ", ".join(f"%p{i}: Tensor[(p, {PANEL}, n{i}), {dtype}]" for i, dtype in enumerate(dtypes))
    turned = ", ".join(f"transpose(%p{i}, axes=[0, 2, 1])" for i in range(len(dtypes)))
    return execution.compile(parse(f"def @main({parts}) {{ ({turned}) }}", "panels.rly"), threads=threads)


@dataclass(frozen=True)
class Matrix:
    """A weight: n rows of k columns in a format.

    `pieces` are its rows, one piece after the other: bytes of blocks, with the function that takes them apart, or numbers as they are, with
    None. They may lie in a mapped file, of which nothing is read before `unpacked`.
    """

    form: Format
    n: int
    k: int
    pieces: tuple[tuple[Callable[[np.ndarray[Any, Any]], Arrays] | None, np.ndarray[Any, Any]], ...] = ()

    def unpacked(self, threads: int = 0) -> Arrays:
        """The parts of the format: of numbers as they lie, of blocks a copy. `threads`: how many make panels; 0 stands for all cores."""
        if self.form.block == 1:
            return (self.pieces[0][1],)
        rows = self.form.rows or self.form
        found = tuple(np.empty(extents, dtype) for extents, dtype in rows.parts(self.n, self.k))
        at = 0
        for unpack, piece in self.pieces:
            assert unpack is not None
            step = max(1, _CHUNK // max(1, piece[:1].nbytes))
            for begin in range(0, len(piece), step):
                some = piece[begin : begin + step]
                for part, made in zip(found, unpack(some)):
                    into = part[at : at + len(some)]
                    if made.dtype.kind == "V":
                        into = into.view(made.dtype)[..., 0]
                    into[...] = made
                at += len(some)
        if self.form.rows is None:
            return found
        in_panels = _in_panels(tuple(part.dtype.name for part in found), threads)
        panels = in_panels(*(part.reshape(-1, PANEL, part[0].size) for part in found))
        return tuple(np.asarray(part).reshape(extents) for part, (extents, _) in zip(panels, self.form.parts(self.n, self.k)))

    def in_panels(self) -> Matrix:
        """The same with rows side by side in panels, if its format has them and there are whole ones."""
        return self if self.form.panels is None or self.n % PANEL != 0 else dataclasses.replace(self, form=self.form.panels)

    def joined(self, *others: Matrix) -> Matrix | None:
        """The rows of this one and then of others; None if they are stored in another way, or are plain numbers, which are not copied."""
        all_of = (self, *others)
        if any(other.form is not self.form or other.k != self.k for other in others) or self.form.block == 1:
            return None
        return Matrix(self.form, sum(matrix.n for matrix in all_of), self.k, tuple(piece for matrix in all_of for piece in matrix.pieces))

    def parted(self, *sizes: int) -> list[Matrix]:
        """So many of the rows, then so many, …, not copied. Raises ValueError if these are not all of them."""
        if sum(sizes) != self.n:
            raise ValueError(f"a matrix of {self.n} rows is not one of {' + '.join(map(str, sizes))}")
        ((unpack, rows),) = self.pieces
        ends = np.cumsum([0, *sizes]).tolist()
        return [Matrix(self.form, end - begin, self.k, ((unpack, rows[begin:end]),)) for begin, end in zip(ends, ends[1:])]

    @property
    def type(self) -> str:
        return self.form.type_of(self.n, self.k)


def plain(array: np.ndarray[Any, Any], name: str = "") -> Matrix:
    """A matrix of numbers as they are; `name` says which if they are bits."""
    return Matrix(FORMATS[name or array.dtype.name], array.shape[0], array.shape[1], ((None, array),))


def from_gguf(kind: str, data: np.ndarray[Any, Any]) -> Matrix:
    """A matrix from the rows of bytes (or of numbers) of a tensor of GGUF; `kind` is the name of its format there.

    Formats that have no product of their own become float16 (IQ formats, Q2_K, Q3_K), bfloat16 float32.
    """
    if kind in ("F32", "F16"):
        return plain(data)
    if kind not in _UNPACKED:
        try:
            gguf: Any = importlib.import_module("gguf")
        except ImportError:
            raise ImportError(f"weights in the format {kind} need the package gguf: pip install relay-lang[llm]") from None

        numbers = gguf.quants.dequantize(data, gguf.GGMLQuantizationType[kind])
        return plain(numbers if kind == "BF16" else numbers.astype(np.float16))
    size, name, unpack = _UNPACKED[kind]
    raw = data.reshape(data.shape[0], -1, size)
    columns = raw.shape[1] * (256 if kind.endswith("_K") else 32)
    return Matrix(FORMATS[name], data.shape[0], columns, ((unpack, raw),))
