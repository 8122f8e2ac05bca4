"""Recurrent cells over lists of inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import relay as _relay
from relay import Expr

from .. import op as _op

__all__ = ["gru_cell", "lstm_cell", "rnn_cell"]


def _order(input_seqs: Sequence[Expr], backwards: bool) -> list[Expr]:
    return list(reversed(input_seqs)) if backwards else list(input_seqs)


def _with(data: Expr, bias: Any) -> Expr:
    return data if bias is None else data + bias


def rnn_cell(
    input_seqs: Sequence[Expr], hidden_state: Expr, w_inp: Expr, w_hid: Expr, b_inp: Any = None, b_hid: Any = None, backwards: bool = False,
    act: Callable[[Expr], Expr] = _op.tanh,
) -> tuple[list[Expr], Expr]:  # fmt: skip
    """The states after each input, and the last one: act(w_inp x + b_inp + w_hid h + b_hid)."""
    outputs = []
    for x in _order(input_seqs, backwards):
        hidden_state = act(_with(_op.nn.dense(x, w_inp), b_inp) + _with(_op.nn.dense(hidden_state, w_hid), b_hid))
        outputs.append(hidden_state)
    return outputs, hidden_state


def gru_cell(
    input_seqs: Sequence[Expr], hidden_state: Expr, w_inp: Expr, w_hid: Expr, b_inp: Any = None, b_hid: Any = None,
    rz_act: Callable[[Expr], Expr] = _op.sigmoid, n_act: Callable[[Expr], Expr] = _op.tanh, backwards: bool = False, linear_before_reset: bool = True,
    sequence_lens: Any = None,
) -> tuple[list[Expr], Expr]:  # fmt: skip
    """The states after each input, and the last one. Weights of the gates reset, update and new stand one after another.

    With `sequence_lens` the states of sequences that ended stay as they were, and the outputs behind their ends are 0.
    """
    outputs = []
    steps = len(input_seqs)
    for number, x in enumerate(_order(input_seqs, backwards)):
        xs = _op.split(_with(_op.nn.dense(x, w_inp), b_inp), 3, axis=-1)
        if linear_before_reset:
            hs = _op.split(_with(_op.nn.dense(hidden_state, w_hid), b_hid), 3, axis=-1)
            reset, update = rz_act(xs[0] + hs[0]), rz_act(xs[1] + hs[1])
            new = n_act(xs[2] + reset * hs[2])
        else:
            ws = _op.split(w_hid, 3)
            bs = [None] * 3 if b_hid is None else list(_op.split(b_hid, 3))
            reset = rz_act(xs[0] + _with(_op.nn.dense(hidden_state, ws[0]), bs[0]))
            update = rz_act(xs[1] + _with(_op.nn.dense(hidden_state, ws[1]), bs[1]))
            new = n_act(xs[2] + _with(_op.nn.dense(reset * hidden_state, ws[2]), bs[2]))
        after = (hidden_state - new) * update + new
        if sequence_lens is None:
            hidden_state, output = after, after
        else:
            at = steps - 1 - number if backwards else number
            running = _op.expand_dims(_op.greater(_op.cast(sequence_lens, "int32"), _relay.const(at, "int32")), axis=1)
            hidden_state, output = _op.where(running, after, hidden_state), _op.where(running, after, _op.zeros_like(after))
        outputs.append(output)
    return outputs, hidden_state


def lstm_cell(
    input_seqs: Sequence[Expr], hidden_state: Expr, cell_state: Expr, w_inp: Expr, w_hid: Expr, b_inp: Any = None, b_hid: Any = None, proj: Any = None,
    p_i: Any = None, p_f: Any = None, p_o: Any = None, f_act: Callable[[Expr], Expr] = _op.sigmoid, g_act: Callable[[Expr], Expr] = _op.tanh,
    h_act: Callable[[Expr], Expr] = _op.tanh, backwards: bool = False,
) -> tuple[list[Expr], Expr, Expr]:  # fmt: skip
    """The states after each input, the last state and the last cell. Weights of the gates in, forget, cell and out stand one after another."""
    outputs = []
    for x in _order(input_seqs, backwards):
        gates = _with(_op.nn.dense(x, w_inp), b_inp) + _with(_op.nn.dense(hidden_state, w_hid), b_hid)
        parts: list[Any] = list(_op.split(gates, 4, axis=-1))
        i, f, g, o = parts
        i = f_act(i if p_i is None else i + p_i * cell_state)
        f = f_act(f if p_f is None else f + p_f * cell_state)
        cell_state = f * cell_state + i * g_act(g)
        o = f_act(o if p_o is None else o + p_o * cell_state)
        hidden_state = o * h_act(cell_state)
        if proj is not None:
            hidden_state = _op.nn.dense(hidden_state, proj)
        outputs.append(hidden_state)
    return outputs, hidden_state, cell_state
