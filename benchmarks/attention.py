#!/usr/bin/env python3
"""Attention against PyTorch's scaled_dot_product_attention: benchmarks/attention.py [--tokens 512,2048,8192] [--threads 2]

Runs in a Python that has torch, with the package of this checkout on PYTHONPATH. Both get the same random queries, keys and values of 12 heads of
64 elements and take turns; each case is timed in `--rounds` turns. Prints medians and least times in ms, their ratios, the largest difference of
results, and the memory that each case adds to the process while Relay computes it (MiB, beyond its arguments and result).
"""

import argparse
import statistics
import time

import numpy as np
import torch

import relay

HEADS, SIZE = 12, 64


def timed(call, seconds):
    end = time.perf_counter() + seconds
    times = []
    while not times or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * 1e3)
    return times


def reset_peak():
    """Makes the most memory that the process has had what it has now."""
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def memory(field):
    for line in open("/proc/self/status"):
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    return float("nan")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tokens", default="512,2048,8192")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--slice", type=float, default=1.0, help="seconds that a side gets in a round")
    parser.add_argument("--open", action="store_true", help="the number of tokens is not known when Relay compiles")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    random = np.random.default_rng(0)
    print("tokens  causal  relay ms (least)  torch ms (least)  ratio (least)  difference  memory")
    for tokens in map(int, options.tokens.split(",")):
        arrays = [random.standard_normal((1, HEADS, tokens, SIZE), dtype=np.float32) for _ in range(3)]
        tensors = [torch.from_numpy(array) for array in arrays]
        tensor = f"Tensor[(1, {HEADS}, {'n' if options.open else tokens}, {SIZE}), float32]"
        for causal in (False, True):
            program = relay.parse(
                f"def @main(%q: {tensor}, %k: {tensor}, %v: {tensor}) {{\n"
                f"  nn.scaled_dot_product_attention(%q, %k, %v, True, causal={causal})\n}}\n"
            )
            compiled = relay.compile(program, threads=options.threads)
            reset_peak()
            before = memory("VmRSS")
            found = np.asarray(compiled(*arrays))
            added = max(0.0, memory("VmHWM") - before - found.nbytes / 2**20)
            with torch.no_grad():

                def peer():
                    return torch.nn.functional.scaled_dot_product_attention(*tensors, is_causal=causal)

                difference = float(np.abs(found - peer().numpy()).max())
                ours, theirs = [], []
                for _ in range(options.rounds):
                    ours += timed(lambda: compiled(*arrays), options.slice)
                    theirs += timed(peer, options.slice)
            a, b = statistics.median(ours), statistics.median(theirs)
            print(
                f"{tokens:6}  {causal!s:6}  {a:7.2f} ({min(ours):.2f})  {b:7.2f} ({min(theirs):.2f})  {a / b:.2f} ({min(ours) / min(theirs):.2f})"
                f"  {difference:.1e}  {added:.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
