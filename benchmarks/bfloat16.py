#!/usr/bin/env python3
"""Products and models of bfloat16 against PyTorch (oneDNN): benchmarks/bfloat16.py [--threads 1] [--models FILE.onnx...]

Runs in a Python that has torch, with the package of this checkout on PYTHONPATH. Products have constant weights and the sizes of bert_base and
of resnet50's convolutions of 1×1 and 3×3; Relay in float32, Relay in bfloat16 and PyTorch in bfloat16 take turns. Prints least times in ms, the
multiply-adds that Relay does in bfloat16 each second (GFLOP/s), Relay's time in bfloat16 relative to PyTorch's and to its own in float32, and the
largest difference from PyTorch's result relative to the largest number. With --models ONNX models are timed as they are and with
precision="bf16"; the difference is relative to the largest number of the result in float32.
"""

import argparse
import time

import numpy as np
import torch

import relay

PRODUCTS = [(128, 768, 768), (128, 3072, 768), (128, 768, 3072), (512, 768, 768), (512, 3072, 768), (512, 768, 3072), (8, 768, 768), (1, 768, 768)]
CONVOLUTIONS = [(64, 256, 56, 1), (512, 128, 28, 1), (1024, 256, 14, 1), (2048, 512, 7, 1), (64, 64, 56, 3), (128, 128, 28, 3), (256, 256, 14, 3), (512, 512, 7, 3)]


def least(call, seconds):
    call()
    end = time.perf_counter() + seconds
    best = float("inf")
    while time.perf_counter() < end:
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best * 1e3


def in_turns(calls, rounds, seconds):
    best = [float("inf")] * len(calls)
    for _ in range(rounds):
        for i, call in enumerate(calls):
            best[i] = min(best[i], least(call, seconds))
    return best


def compiled(shape, weight, body, dtype, threads):
    dims = ", ".join(map(str, shape))
    weights = ", ".join(map(str, weight.shape))
    program = relay.parse(f"def @main(%x: Tensor[({dims}), {dtype}], %w: Tensor[({weights}), {dtype}]) {{ {body} }}\n")
    return relay.compile(program, params={"w": weight}, threads=threads)


def compare(name, flops, x, w, body, torch_call, options):
    narrow_x, narrow_w = x.to(torch.bfloat16), w.to(torch.bfloat16)
    programs = [compiled(x.shape, weight, body, dtype, options.threads) for dtype, weight in (("float32", w), ("bfloat16", narrow_w))]
    with torch.no_grad():
        calls = [lambda: programs[0](x), lambda: programs[1](narrow_x), lambda: torch_call(narrow_x, narrow_w)]
        found = torch.from_dlpack(programs[1](narrow_x)).float()
        wanted = calls[2]().float()
        difference = float((found - wanted).abs().max() / wanted.abs().max())
        wide, narrow, peer = in_turns(calls, options.rounds, options.slice)
    print(f"{name:<28} {wide:8.3f} {narrow:8.3f} {peer:8.3f} {flops / narrow / 1e6:10.0f} {narrow / peer:8.2f} {narrow / wide:8.2f} {difference:10.1e}")


def compare_model(path, options):
    module, params = relay.frontend.from_onnx(path)
    wide, narrow = (relay.compile(module, params=params, threads=options.threads, precision=precision) for precision in (None, "bf16"))
    rng = np.random.default_rng(0)
    inputs = [
        rng.integers(0, 1000, size).astype(dtype) if np.issubdtype(np.dtype(dtype), np.integer) else rng.normal(size=size).astype(dtype)
        for size, dtype in ((tuple(int(d) for d in p.checked_type.shape), p.checked_type.dtype) for p in module["main"].params if p.name_hint not in params)
    ]
    results = [np.asarray(first(program(*inputs))).astype(np.float64) for program in (wide, narrow)]
    difference = np.abs(results[0] - results[1]).max() / np.abs(results[0]).max()
    times = in_turns([lambda: wide(*inputs), lambda: narrow(*inputs)], options.rounds, options.slice)
    print(f"{path}: float32 {times[0]:.2f} ms, bf16 {times[1]:.2f} ms, {times[0] / times[1]:.2f} times as fast, difference {difference:.1e}")


def first(result):
    return first(result[0]) if isinstance(result, (tuple, list)) else result


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--slice", type=float, default=0.15, help="seconds that a side gets in a round")
    parser.add_argument("--models", nargs="*", default=[])
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    if not options.models:
        print(f"{'problem':<28} {'float32':>8} {'bfloat16':>8} {'torch':>8} {'GFLOP/s':>10} {'÷ torch':>8} {'÷ float32':>8} {'difference':>10}")
        for m, n, k in PRODUCTS:
            x, w = torch.randn(m, k), torch.randn(n, k)
            compare(f"{m} x {k} by {n}", 2 * m * n * k, x, w, "nn.dense(%x, %w)", torch.nn.functional.linear, options)
        for c, o, size, kernel in CONVOLUTIONS:
            x, w = torch.randn(1, c, size, size), torch.randn(o, c, kernel, kernel) / c**0.5
            pad = kernel // 2
            body = f"nn.conv2d(%x, %w, padding=[{pad}, {pad}])"
            call = lambda a, b, pad=pad: torch.nn.functional.conv2d(a, b, padding=pad)  # noqa: E731
            compare(f"{c} to {o} at {size}, {kernel}x{kernel}", 2 * o * c * size * size * kernel * kernel, x, w, body, call, options)
    for path in options.models:
        compare_model(path, options)


if __name__ == "__main__":
    main()
