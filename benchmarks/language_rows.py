#!/usr/bin/env python3
"""Products of one row with weights of language models: benchmarks/language_rows.py [FORMAT...] [--rows N] [--columns K] [--threads T] [--matrices M]

For each format, in rows and in panels: the least time of a product with each of M matrices in turn (1: the weights stay in the cache), and the
bytes of weights a second.
"""

import argparse
import time

import numpy as np
import relay
from relay.llm.formats import FORMATS


def measure(form, options):
    n, k = options.rows, options.columns
    text = f"def @main(%x: Tensor[(1, {k}), float32], %w: {form.type_of(n, k)}) -> Tensor[(1, {n}), float32] {{\n{form.product(n, k, True)}\n}}"
    run = relay.compile(relay.parse(text), threads=options.threads)
    rng = np.random.default_rng(0)

    def part(extents, dtype):
        return rng.integers(0, 100, extents).astype(dtype) if "int" in dtype else rng.random(extents).astype(dtype)

    matrices = [tuple(part(*of) for of in form.parts(n, k)) for _ in range(options.matrices)]
    x, times = rng.random((1, k)).astype("float32"), []
    for _ in range(20):
        begin = time.perf_counter()
        for matrix in matrices:
            run(x, matrix)
        times.append((time.perf_counter() - begin) / len(matrices))
    return min(times), sum(part.nbytes for part in matrices[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("formats", nargs="*", default=["Q4_0", "Q4_1", "Q4_K", "Q8_0", "Q6_K"])
    parser.add_argument("--rows", type=int, default=3072)
    parser.add_argument("--columns", type=int, default=576)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--matrices", type=int, default=1)
    options = parser.parse_args()
    for name in options.formats:
        for form in filter(None, (FORMATS[name], FORMATS[name].panels)):
            took, size = measure(form, options)
            print(f"{form.name:14}{took * 1e6:9.1f} µs {size / took / 1e9:7.1f} GB/s", flush=True)


if __name__ == "__main__":
    main()
