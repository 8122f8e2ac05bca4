"""Random numbers from keys: Threefry-4x64 of 20 rounds with Python's integers, held to the known answers that its authors
publish (Random123, examples/kat_vectors)."""

import math

import numpy as np

from .core import Literal, Type, reference

WORD = 2**64 - 1
ROTATIONS = [(14, 16), (52, 57), (23, 40), (5, 37), (25, 33), (46, 12), (58, 22), (32, 32)]


def threefry(key, counter):
    """Threefish's words for one block; pairs of words are mixed, then their places change."""
    schedule = [*key, 0x1BD11BDAA9FC1A22 ^ key[0] ^ key[1] ^ key[2] ^ key[3]]
    words = list(counter)
    for turn in range(6):
        words = [(w + schedule[(turn + i) % 5]) & WORD for i, w in enumerate(words)]
        words[3] = (words[3] + turn) & WORD
        for step in range(4 if turn < 5 else 0):
            for pair, rotation in enumerate(ROTATIONS[(4 * turn + step) % 8]):
                a, b = words[2 * pair : 2 * pair + 2]
                a = (a + b) & WORD
                words[2 * pair : 2 * pair + 2] = a, a ^ (((b << rotation) | (b >> (64 - rotation))) & WORD)
            words = [words[0], words[3], words[2], words[1]]
    return words


PI = [int(w, 16) for w in "243f6a8885a308d3 13198a2e03707344 a4093822299f31d0 082efa98ec4e6c89".split()]
MORE_PI = [int(w, 16) for w in "452821e638d01377 be5466cf34e90c6c be5466cf34e90c6c c0ac29b7c97c50dd".split()]
KNOWN = [  # key, counter, answer
    ([0] * 4, [0] * 4, "09218ebde6c85537 55941f5266d86105 4bd25e16282434dc ee29ec846bd2e40b"),
    ([WORD] * 4, [WORD] * 4, "29c24097942bba1b 0371bbfb0f6f4e11 3c231ffa33f83a1c cd29113fde32d168"),
    (MORE_PI, PI, "a7e8fde591651bd9 baafd0c30138319b 84a5c1a729e685b9 901d406ccebc1ba4"),
]
for known_key, known_counter, answer in KNOWN:
    assert threefry(known_key, known_counter) == [int(w, 16) for w in answer.split()]


def shifted(state):
    """The bit of the path after the present one, in two words."""
    bit = ((state[8] << 64) | state[9]) >> 1
    return [bit >> 64, bit & WORD]


def rekeyed(state, counter):
    return [*threefry(state[:4], counter), 0, 0, 0, 0, 2**63, 0]


def generated(key, count):
    state = [int(w) for w in key]
    blocks = -(-count // 4)
    if state[7] >= WORD - 4 * blocks:
        if state[8] == 0 and state[9] == 0:
            state = rekeyed(state, [state[4], state[5], WORD, WORD])
        else:
            state = [*state[:4], state[4] | state[8], state[5] | state[9], 0, 0, *shifted(state)]
    numbers = []
    for block in range(blocks):
        numbers += threefry(state[:4], [*state[4:7], (state[7] + 4 * block) & WORD])
    after = [*state[:7], state[7] + 4 * blocks, *state[8:]]
    return np.array(after, np.uint64), numbers[:count]


def size(shape):
    return int(np.prod(shape, dtype=int))


@reference("random.threefry_generate")
def threefry_generate(key, *, out_shape):
    after, numbers = generated(key, size(out_shape))
    return after, np.array(numbers, np.uint64).reshape(out_shape)


@reference("random.threefry_split")
def threefry_split(key):
    state = [int(w) for w in key]
    if state[8] == 0 and state[9] == 0:
        state = rekeyed(state, state[4:8])
    left = [*state[:8], *shifted(state)]
    right = [*state[:4], state[4] | state[8], state[5] | state[9], *left[6:]]
    return np.array(left, np.uint64), np.array(right, np.uint64)


def standard_uniform(key, count, dtype):
    after, numbers = generated(key, count)
    if dtype == np.float64:
        return after, np.array([(n >> 12) * 2.0**-52 for n in numbers])
    return after, np.array([((n & 0xFFFFFFFF) >> 9) * 2.0**-23 for n in numbers])


@reference("random.uniform")
def uniform(key, low, high, *, out_shape, out_dtype=None):
    after, numbers = standard_uniform(key, size(out_shape), low.dtype)
    low, high = np.float64(low), np.float64(high)
    return after, (numbers * (high - low) + low).astype(out_dtype or "float32").reshape(out_shape)


@reference("random.normal")
def normal(key, mean, scale, *, out_shape, out_dtype=None):
    count = size(out_shape)
    after, numbers = standard_uniform(key, 2 * count, mean.dtype)
    u, v = numbers[:count], numbers[count:]
    values = np.sqrt(-2 * np.log(1 - u)) * np.sin(2 * math.pi * v)
    return after, (values * np.float64(scale) + np.float64(mean)).astype(mean.dtype).reshape(out_shape)


@reference("random.multinomial")
def multinomial(key, probs, *, num_samples=1):
    shape = (*probs.shape[:-1], num_samples)
    after, numbers = standard_uniform(key, size(shape), probs.dtype)
    sums = np.cumsum(probs, -1)
    sums = sums / sums[..., -1:]
    rows = sums.reshape(-1, probs.shape[-1])
    drawn = [int((row <= u).sum()) for row, us in zip(rows, numbers.reshape(len(rows), num_samples)) for u in us]
    return after, np.array(drawn, np.int32).reshape(shape)


# Cases -----------------------------------------------------------------------------------------------------------


def key(*words):
    return np.array(words, np.uint64)


def seed(number):
    return key(number, 0, 0, 0, 0, 0, 0, 0, 2**63, 0)


def build(book):
    full = [0, 0]
    for index, (words, counter, _) in enumerate(KNOWN):
        label = f"known answer {index + 1}"
        book.add("random.threefry_split", f"{label} as a new key", [key(*words, *counter, *full)], exact=True, source="random123")
        if counter[3] != WORD:
            state = [key(*words, *counter, 2**63, 0)]
            book.add("random.threefry_generate", label, state, exact=True, source="random123", out_shape=[4])
    state = [key(*[WORD] * 8, *full)]
    book.add("random.threefry_generate", "known answer 2 as a new key", state, exact=True, source="random123", out_shape=[4])
    for shape in ([], [1], [3], [4], [5], [2, 3], [3, 1, 7], [0], [2, 0], [129]):
        book.add("random.threefry_generate", f"shape {shape}", [seed(7)], exact=True, out_shape=shape)
    for words, label in (
        ([5, 6, 7, 8, 9, 10, 0, WORD - 8, 2**62, 0], "the counter has room for eight, four drawn"),
        ([5, 6, 7, 8, 2**63, 0, 0, WORD - 4, 2**62, 0], "the counter has no room: a longer path"),
        ([5, 6, 7, 8, 2**63, 0, 0, WORD, 1, 0], "the path goes on in its second word"),
        ([5, 6, 7, 8, 2**63, 3, 0, WORD, 0, 1], "the last bit of the path"),
        ([5, 6, 7, 8, 2**63, 3, 0, WORD, 0, 0], "the path is full: a new key"),
    ):
        book.add("random.threefry_generate", label, [key(*words)], exact=True, out_shape=[4])
        book.add("random.threefry_split", label, [key(*words)], exact=True)
    book.add("random.threefry_split", "a seed", [seed(2**64 - 1)], exact=True)
    for dtype in ("float32", "float64"):
        for shape in ([], [7], [2, 3], [0], [1, 1]):
            for low, high in ((0, 1), (-2.5, 40)):
                arguments = [seed(11), Literal(low, dtype), Literal(high, dtype)]
                book.add("random.uniform", f"{dtype} {low} to {high}, shape {shape}", arguments, out_shape=shape, out_dtype=dtype)
            arguments = [seed(13), Literal(1.5, dtype), Literal(0.25, dtype)]
            book.add("random.normal", f"{dtype}, shape {shape}", arguments, out_shape=shape, out_dtype=dtype)
        book.add("random.normal", f"{dtype}, odd count over the end of a block", [seed(5), Literal(0, dtype), Literal(1, dtype)], out_shape=[9], out_dtype=dtype)
        for probs in ([0.2, 0.5, 0.3], [[1, 2, 3, 4], [5, 0, 0, 5]], [1], [[0, 0, 1]], [[3], [4]]):
            weights = np.array(probs, dtype)
            book.add("random.multinomial", f"{dtype}, {probs}", [seed(3), weights], exact=True, num_samples=9)
        book.add("random.multinomial", f"{dtype}, no rows", [seed(3), np.zeros((0, 2), dtype)], exact=True, num_samples=2)
        book.add("random.multinomial", f"{dtype}, no samples", [seed(3), np.ones((2, 2), dtype)], exact=True, num_samples=0)
    k, x = Type("uint64", 10), Type("float32")
    for op, arguments, attributes in (
        ("random.threefry_generate", [], {"out_shape": [4]}),
        ("random.threefry_split", [], {}),
        ("random.uniform", [x, x], {"out_shape": [4]}),
        ("random.normal", [x, x], {"out_shape": [4]}),
        ("random.multinomial", [Type("float32", 3)], {}),
    ):
        book.fail(op, "key of nine words", "a key has ten words", [Type("uint64", 9), *arguments], **attributes)
        book.fail(op, "key of int64", "a key is uint64", [Type("int64", 10), *arguments], **attributes)
        book.fail(op, "key is a matrix", "a key is a vector", [Type("uint64", 1, 10), *arguments], **attributes)
    for op in ("random.uniform", "random.normal"):
        book.fail(op, "vector of parameters", "scalars", [k, Type("float32", 4), x], out_shape=[4])
        book.fail(op, "parameters of two dtypes", "one dtype", [k, x, Type("float64")], out_shape=[4])
        book.fail(op, "another out_dtype", "that of the parameters", [k, x, x], out_shape=[4], out_dtype="float64")
        book.fail(op, "float16", "float32 or float64", [k, Type("float16"), Type("float16")], out_shape=[4])
        book.fail(op, "negative extent", "not negative", [k, x, x], out_shape=[-1])
    book.fail("random.threefry_generate", "negative extent", "not negative", [k], out_shape=[4, -1])
    book.fail("random.threefry_generate", "more than a tensor has", "too many", [k], out_shape=[2**40, 2**40])
    book.fail("random.multinomial", "integers", "floats", [k, Type("int32", 3)])
    book.fail("random.multinomial", "no categories", "nothing to draw", [k, Type("float32", 2, 0)])
    book.fail("random.multinomial", "negative number", "at least 0", [k, Type("float32", 2)], num_samples=-1)
