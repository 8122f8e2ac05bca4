"""The TreeLSTM of examples/train_tree_lstm: a step of training on formulas of differing shapes, in Relay and in PyTorch's eager mode."""

import pathlib
import sys

import numpy as np

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples/train_tree_lstm"
COUNT = 32
FALSE, TRUE, NOT, AND, OR, XOR = range(6)
SHAPES = [(6, 8), (48, 8), (48, 16), (48,), (16, 8), (16, 16), (16,), (1, 16), (1,)]


def formula(rng, depth):
    """A random formula: its token, its operands."""
    token = int(rng.integers(NOT, XOR + 1)) if depth else int(rng.integers(FALSE, TRUE + 1))
    count = {FALSE: 0, TRUE: 0, NOT: 1, XOR: 2}.get(token, int(rng.integers(2, 4)))
    return token, [formula(rng, max(0, depth - int(rng.integers(1, 3)))) for _ in range(count)]


def formulas():
    """Formulas with a number to learn for each."""
    rng = np.random.default_rng(5)
    return [(formula(rng, int(rng.integers(1, 5))), float(rng.integers(0, 2))) for _ in range(COUNT)]


def weights(shapes):
    rng = np.random.default_rng(3)
    return [(rng.normal(size=shape) * 0.3).astype("float32") for shape in shapes]


def relay_program():
    """The module of the example, and what its loss takes behind the parameters."""
    import relay

    sys.path.insert(0, str(EXAMPLE))
    import train

    mod = train.program(relay.optim.Adam(lr=1e-2))
    node, cons, nil = mod.constructor("Node"), mod.constructor("Cons"), relay.Value(mod.constructor("Nil"), [])

    def listed(values):
        made = nil
        for value in reversed(values):
            made = relay.Value(cons, [value, made])
        return made

    def value(tree):
        return relay.Value(node, [np.int32(tree[0]), listed([value(operand) for operand in tree[1]])])

    return mod, [listed([(value(tree), np.float32(truth)) for tree, truth in formulas()]), float(COUNT)]


def relay_step(threads):
    import relay

    mod, batch = relay_program()
    run = relay.compile(mod, entry="step", threads=threads)
    params = tuple(weights(SHAPES))
    kept = [params, relay.compile(mod, entry="initial_state")(params)]

    def step():
        kept[0], kept[1], loss = run(kept[0], kept[1], *batch)
        return float(loss)

    return step


def torch_step(threads):
    import torch

    if threads:
        torch.set_num_threads(threads)
    linear, F = torch.nn.functional.linear, torch.nn.functional
    p = [torch.tensor(value, requires_grad=True) for value in weights(SHAPES)]
    given = formulas()
    optimizer = torch.optim.Adam(p, lr=1e-2)

    def encode(tree):
        token, operands = tree
        x = p[0][token].unsqueeze(0)
        forget = linear(x, p[4]) + p[6]
        hidden = memories = torch.zeros(1, 16)
        for operand in operands:
            h, c = encode(operand)
            hidden = hidden + h
            memories = memories + torch.sigmoid(forget + linear(h, p[5])) * c
        taken, shown, new = (linear(x, p[1]) + linear(hidden, p[2]) + p[3]).chunk(3, 1)
        memory = torch.sigmoid(taken) * torch.tanh(new) + memories
        return torch.sigmoid(shown) * torch.tanh(memory), memory

    truths = torch.tensor([truth for _, truth in given])

    def step():
        optimizer.zero_grad()
        scores = torch.cat([linear(encode(tree)[0], p[7]) + p[8] for tree, _ in given]).squeeze(1)
        loss = F.binary_cross_entropy_with_logits(scores, truths)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step
