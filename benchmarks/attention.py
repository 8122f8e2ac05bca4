#!/usr/bin/env python3
"""Attention against PyTorch's scaled_dot_product_attention: benchmarks/attention.py [--tokens 512,2048,8192] [--threads 2]

Runs in a Python that has torch, with the package of this checkout on PYTHONPATH. Both get the same random queries, keys and values of 12 heads of
64 elements and take turns; each case is timed in `--rounds` turns. Prints medians and least times in ms, their ratios, the largest difference of
results, and the memory that each case adds to the process while Relay computes it (MiB, beyond its arguments and result). With --decode one
query reads all keys and values, as when a text is written token by token: the last column is the share of the bandwidth with which the same
threads sum up an array of 256 MiB.
"""

import argparse
import statistics
import time

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


def bandwidth(threads):
    """What so many threads read of memory, in GiB a second: the best of several passes."""
    torch.set_num_threads(threads)
    array = torch.ones(1 << 26)
    return array.nbytes / 2**30 / min(timed(lambda: array.sum(), 1.0)) * 1e3


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
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--decode", action="store_true", help="one query, so many keys")
    parser.add_argument("--open", action="store_true", help="the number of tokens is not known when Relay compiles")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    last = "of bandwidth" if options.decode else "memory"
    print(f"tokens  causal  relay ms (least)  torch ms (least)  ratio (least)  difference  {last}")
    for tokens in map(int, options.tokens.split(",")):
        queries = 1 if options.decode else tokens
        tensors = [torch.randn(1, HEADS, rows, SIZE).to(getattr(torch, options.dtype)) for rows in (queries, tokens, tokens)]
        of_queries, of_keys = (
            f"Tensor[(1, {HEADS}, {name if options.open else rows}, {SIZE}), {options.dtype}]"
            for name, rows in (("n", queries), ("m" if options.decode else "n", tokens))
        )
        for causal in (False,) if options.decode else (False, True):
            program = relay.parse(
                f"def @main(%q: {of_queries}, %k: {of_keys}, %v: {of_keys}) {{\n"
                f"  nn.scaled_dot_product_attention(%q, %k, %v, True, causal={causal})\n}}\n"
            )
            compiled = relay.compile(program, threads=options.threads)
            reset_peak()
            before = memory("VmRSS")
            found = torch.from_dlpack(compiled(*tensors))
            added = f"{max(0.0, memory('VmHWM') - before - found.nbytes / 2**20):.0f}"
            with torch.no_grad():

                def peer():
                    return torch.nn.functional.scaled_dot_product_attention(*tensors, is_causal=causal)

                difference = float((found - peer()).abs().max())
                ours, theirs = [], []
                for _ in range(options.rounds):
                    ours += timed(lambda: compiled(*tensors), options.slice)
                    theirs += timed(peer, options.slice)
            if options.decode:
                read = 2 * tensors[1].nbytes / 2**30 / min(ours) * 1e3
                added = f"{read / bandwidth(options.threads):.2f}"
            a, b = statistics.median(ours), statistics.median(theirs)
            print(
                f"{tokens:6}  {causal!s:6}  {a:7.2f} ({min(ours):.2f})  {b:7.2f} ({min(theirs):.2f})  {a / b:.2f} ({min(ours) / min(theirs):.2f})"
                f"  {difference:.1e}  {added}",
                flush=True,
            )


if __name__ == "__main__":
    main()
