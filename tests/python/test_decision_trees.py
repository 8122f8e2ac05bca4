"""Decision trees: the ways that the kernel of `tree_leaves` takes, by the numbers of rows, trees, nodes and features, agree with a walk of each row."""

import numpy as np
import pytest

import relay

MISSING = 1 << 30
PROGRAM = "def @main(%x: Tensor[(m, f), {t}], %n: Tensor[(n, {w}), int32], %r: Tensor[(k), int32]) {{ tree_leaves(%x, %n, %r) }}"


def compiled(dtype, threads=2):
    mod = relay.parse(PROGRAM.format(t=np.dtype(dtype).name, w=3 + np.dtype(dtype).itemsize // 4))
    return relay.compile(mod, threads=threads)


def forest(random, trees, inner, features, dtype):
    """`trees` trees of `inner` nodes each, of any form: features, children, thresholds, and the roots."""
    feature = random.integers(0, features, trees * inner)
    missing = random.integers(0, 2, trees * inner) * MISSING
    children, roots, leaves = np.zeros((trees * inner, 2), np.int32), [], 0
    for tree in range(trees):
        free, begin = [], tree * inner
        roots.append(begin if inner else -1 - tree)
        for node in range(begin, begin + inner):
            if free:
                parent, side = free.pop(random.integers(0, len(free)))
                children[parent, side] = node
            free += [(node, 0), (node, 1)]
        for parent, side in free:
            children[parent, side] = -1 - leaves
            leaves += 1
    # Features have these values too, so that some are equal to their threshold. Nothing is at most not-a-number.
    thresholds = random.integers(-4, 5, trees * inner).astype(dtype)
    thresholds[random.random(len(thresholds)) < 0.05] = np.nan
    return feature + missing, children, thresholds, np.array(roots, np.int32)


def table(words, children, thresholds):
    bits = thresholds.view(np.int32).reshape(len(thresholds), thresholds.itemsize // 4)
    return np.concatenate([words[:, None].astype(np.int32), children, bits], axis=1)


def walked(x, words, children, thresholds, roots):
    at = np.repeat(roots[None], len(x), axis=0)
    while (at >= 0).any():
        row, tree = np.nonzero(at >= 0)
        node = at[row, tree]
        value = x[row, words[node] & (MISSING - 1)]
        first = (value <= thresholds[node]) | (np.isnan(value) & (words[node] >= MISSING))
        at[row, tree] = np.where(first, children[node, 0], children[node, 1])
    return -1 - at


def examples(random, rows, features, dtype, missing):
    x = random.integers(-5, 6, (rows, features)).astype(dtype)
    x[random.random(x.shape) < 0.1] = np.inf
    if missing:
        x[random.random(x.shape) < 0.3] = np.nan
    return x


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("dtype, threads", [("float32", 1), ("float32", 2), ("float64", 2)])
def test_all_ways_agree_with_a_walk_of_each_row(dtype, threads, missing):
    run, random = compiled(dtype, threads), np.random.default_rng(3)
    for trees, inner, features in [(1, 1, 1), (3, 0, 2), (8, 7, 5), (17, 31, 64), (17, 31, 65), (40, 3, 12), (9, 200, 6)]:
        parts = forest(random, trees, inner, features, dtype)
        for rows in (0, 1, 2, 15, 16, 17, 63, 64, 65, 130, 200):
            x = examples(random, rows, features, dtype, missing)
            np.testing.assert_array_equal(run(x, table(*parts[:3]), parts[3]), walked(x, *parts), err_msg=f"{trees} {inner} {features} {rows}")


def test_deep_trees_of_few_rows_each_node():
    # A chain: every node sends one value away.
    depth, dtype = 60, "float32"
    words, thresholds = np.zeros(depth, np.int32), np.arange(depth, dtype=dtype)
    children = np.stack([-1 - np.arange(depth), np.append(np.arange(1, depth), -1 - depth)], axis=1).astype(np.int32)
    x = np.arange(130, dtype=dtype).reshape(-1, 1) % 70
    roots = np.zeros(3, np.int32)
    leaves = compiled(dtype)(x, table(words, children, thresholds), roots)
    np.testing.assert_array_equal(leaves, np.repeat(np.minimum(x, depth), 3, axis=1))


@pytest.mark.parametrize(
    "nodes, root, message",
    [
        ([[0, 1, 1, 0], [0, 0, 0, 0]], 0, "a node comes after itself"),
        ([[0, 1, -2, 0]], 0, "node 1 is asked for, and there are 1"),
        ([[0, -1, 2, 0x7FC00000]], 0, "node 2 is asked for, and there are 1"),
        ([[0, -1, -2, 0]], 1, "node 1 is asked for, and there are 1"),
        ([[3, -1, -2, 0]], 0, "node 0 looks at feature 3, and there are 3"),
        ([[-1, -1, -2, 0]], 0, "node 0 looks at feature -1, and there are 3"),
    ],
)
@pytest.mark.parametrize("rows", [1, 70])
def test_tables_with_mistakes_are_refused(nodes, root, message, rows):
    x = np.arange(rows * 3, dtype="float32").reshape(rows, 3) - 3
    with pytest.raises(relay.RelayError, match=message):
        compiled("float32")(x, np.array(nodes, np.int32), np.array([root], np.int32))


def test_mistakes_that_no_walk_meets_do_not_matter():
    x, nodes = np.zeros((70, 1), "float32"), np.array([[0, -4, 1, 0], [9, 7, 7, 0]], np.int32)
    assert (compiled("float32")(x, nodes, np.array([0], np.int32)) == 3).all()


def test_features_that_are_not_there():
    x, none = np.zeros((70, 0), "float32"), np.zeros((0, 4), np.int32)
    run = compiled("float32")
    assert (run(x, none, np.array([-3], np.int32)) == 2).all()
    with pytest.raises(relay.RelayError, match="node 0 is asked for, and there are 0"):
        run(x, none, np.array([0], np.int32))
    with pytest.raises(relay.RelayError, match="node 0 looks at feature 0, and there are 0"):
        run(x, np.array([[0, -1, -2, 0]], np.int32), np.array([0], np.int32))
