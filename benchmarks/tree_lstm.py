#!/usr/bin/env python3
"""The TreeLSTM of examples/tree_lstm against PyTorch's eager mode: benchmarks/tree_lstm.py [--relay BIN] [--python P] [--rounds N]

Both compute the network's probability for the seven formulas of the example, one thread. The two are timed in turns; the
ratio is the median of the rounds' ratios. --python is an interpreter with PyTorch, by default this one.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLE = HERE.parent / "examples" / "tree_lstm"


def torch_worker():
    import torch

    sys.path.insert(0, str(EXAMPLE))
    import numpy
    from reference import FORMULAS, results

    torch.set_num_threads(1)
    w = {name: torch.from_numpy(array) for name, array in numpy.load(EXAMPLE / "weights.npz").items()}
    linear = torch.nn.functional.linear

    def encode(tree):
        x = w["embedding"][tree[0]].unsqueeze(0)
        forget_x = linear(x, w["forget_weight"], w["forget_bias"])
        h_sum = c_sum = torch.zeros(1, 16)
        for operand in tree[1:]:
            h, c = encode(operand)
            forget = torch.sigmoid(forget_x + linear(h, w["forget_hidden"]))
            h_sum = h_sum + h
            c_sum = c_sum + forget * c
        gates = linear(x, w["gates_weight"], w["gates_bias"]) + linear(h_sum, w["gates_hidden"])
        taken, shown, new = gates.chunk(3, 1)
        memory = torch.sigmoid(taken) * torch.tanh(new) + c_sum
        return torch.sigmoid(shown) * torch.tanh(memory), memory

    def judge():
        return [torch.sigmoid(linear(encode(tree)[0], w["output_weight"], w["output_bias"])) for tree in FORMULAS]

    with torch.inference_mode():
        for ours, (_, expected) in zip(judge(), results()):
            assert abs(float(ours) - expected) < 1e-4
        print(torch.__version__, flush=True)
        for _ in sys.stdin:
            times = []
            for _ in range(60):
                begin = time.perf_counter()
                judge()
                times.append(time.perf_counter() - begin)
            print(statistics.median(times[10:]) * 1e3, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--relay", default=str(HERE.parent / "build/bin/relay"))
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        torch_worker()
        return
    peer = subprocess.Popen([options.python, __file__, "--worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    version = peer.stdout.readline().strip()
    ours, theirs = [], []
    for _ in range(options.rounds):
        peer.stdin.write("\n")
        peer.stdin.flush()
        theirs.append(float(peer.stdout.readline()))
        result = subprocess.run(
            [options.relay, "bench", str(EXAMPLE / "tree_lstm.rly"), "--params", str(EXAMPLE / "weights.npz"),
             "--threads", "1", "--runs", "500", "--format", "json"],
            capture_output=True, text=True, check=True)
        ours.append(json.loads(result.stdout)["median_ms"])
    peer.stdin.close()
    peer.wait()
    ratio = statistics.median(b / a for a, b in zip(ours, theirs))
    print(f"seven formulas: relay {statistics.median(ours):.4f} ms, PyTorch {version} {statistics.median(theirs):.4f} ms, "
          f"{ratio:.1f} times as fast")


if __name__ == "__main__":
    main()
