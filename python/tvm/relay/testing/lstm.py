"""A long short-term memory (Hochreiter and Schmidhuber, 1997), unrolled."""

from __future__ import annotations

from typing import Any

import relay

from .init import create_workload


def lstm_cell(num_hidden: int, batch_size: int = 1, dtype: str = "float32", name: str = "") -> Any:
    """A function of input, old output, old state, and the weights and biases of input and output; gives output and state."""
    state = relay.TensorType((batch_size, num_hidden), dtype)
    weight = relay.TensorType((4 * num_hidden, num_hidden), dtype)
    bias = relay.TensorType((4 * num_hidden,), dtype)
    inputs, hidden, cell = (relay.Var(n, state) for n in ("inputs", "hidden", "cell"))
    i2h_weight, h2h_weight = relay.Var("i2h_weight", weight), relay.Var("h2h_weight", weight)
    i2h_bias, h2h_bias = relay.Var("i2h_bias", bias), relay.Var("h2h_bias", bias)
    gates = relay.add(
        relay.nn.bias_add(relay.nn.dense(inputs, i2h_weight, units=4 * num_hidden), i2h_bias, axis=-1),
        relay.nn.bias_add(relay.nn.dense(hidden, h2h_weight, units=4 * num_hidden), h2h_bias, axis=-1),
    )
    enter, forget, new, leave = relay.split(gates, 4, axis=1)
    kept = relay.add(
        relay.multiply(relay.sigmoid(forget), cell), relay.multiply(relay.sigmoid(enter), relay.tanh(new))
    )
    out = relay.multiply(relay.sigmoid(leave), relay.tanh(kept))
    return relay.Function([inputs, hidden, cell, i2h_weight, i2h_bias, h2h_weight, h2h_bias], relay.Tuple([out, kept]))


def get_net(iterations: int, num_hidden: int, batch_size: int = 1, dtype: str = "float32") -> Any:
    """`iterations` cells with the same weights; the same data goes into each."""
    data = relay.var("data", shape=(batch_size, num_hidden), dtype=dtype)
    weights = [
        relay.var("i2h_weight", shape=(4 * num_hidden, num_hidden), dtype=dtype), relay.var("i2h_bias", shape=(4 * num_hidden,), dtype=dtype),
        relay.var("h2h_weight", shape=(4 * num_hidden, num_hidden), dtype=dtype), relay.var("h2h_bias", shape=(4 * num_hidden,), dtype=dtype),
    ]  # fmt: skip
    builder = relay.ScopeBuilder()
    kind = relay.TensorType((batch_size, num_hidden), dtype)
    out: Any = builder.let(("zeros", kind), relay.zeros((batch_size, num_hidden), dtype))
    state: Any = out
    for number in range(iterations):
        call = relay.Call(lstm_cell(num_hidden, batch_size, dtype, f"lstm_{number}"), [data, out, state, *weights])
        both = builder.let((f"both_{number}", relay.TupleType([kind, kind])), call)
        out = builder.let((f"out_{number}", kind), relay.TupleGetItem(both, 0))
        state = builder.let((f"state_{number}", kind), relay.TupleGetItem(both, 1))
    builder.ret(out)
    return relay.Function([data, *weights], builder.get())


def get_workload(iterations: int, num_hidden: int, batch_size: int = 1, dtype: str = "float32") -> Any:
    """The module and its parameters."""
    return create_workload(get_net(iterations, num_hidden, batch_size, dtype))
