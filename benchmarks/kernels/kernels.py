#!/usr/bin/env python3
"""Kernels against PyTorch, paired in one run: benchmarks/kernels/kernels.py [--relay BIN] [--threads N] [--rounds N] [--only TEXT]

Needs an interpreter with PyTorch: --python, by default this one. Each round times both sides of a case right after one
another and takes the ratio of their medians; the table shows the median ratio of the rounds (below 1: Relay is faster).
"""

import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

from cases import cases

HERE = pathlib.Path(__file__).resolve().parent


def time_relay(options, model, case, runs):
    command = [options.relay, "bench", str(model), "--threads", str(options.threads), "--runs", str(runs), "--format", "json"]
    for shape in case.inputs:
        command += ["--arg", f"random({','.join(map(str, shape))})"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(result.stdout)["median_ms"]


def streaming_bandwidth(options):
    program = pathlib.Path(options.relay).with_name("bench_streaming")
    if not program.exists():
        return None
    result = subprocess.run([program, str(options.threads)], capture_output=True, text=True, check=True)
    values = json.loads(result.stdout)
    return max(values["plain_gb_s"], values["streaming_gb_s"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--relay", default=str(HERE.parents[1] / "build/bin/relay"))
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    options = parser.parse_args()
    peer = subprocess.Popen(
        [options.python, str(HERE / "torch_peer.py"), str(options.threads)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )
    version = peer.stdout.readline().strip()
    print(f"PyTorch {version}, {options.threads} threads, median of {options.rounds} paired ratios\n")
    print(f"{'kernel':44} {'relay ms':>9} {'torch ms':>9} {'ratio':>6}")
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        for case in cases():
            if options.only not in case.name:
                continue
            source, model = pathlib.Path(folder) / "case.rly", pathlib.Path(folder) / "case.rlx"
            source.write_text(case.relay)
            subprocess.run([options.relay, "compile", str(source), "-o", str(model)], check=True)
            ours, theirs, bandwidths = [], [], []
            runs = 10
            for round_number in range(options.rounds):
                peer.stdin.write(f"{case.name}\t{runs}\n")
                peer.stdin.flush()
                theirs.append(float(peer.stdout.readline()))
                ours.append(time_relay(options, model, case, runs))
                if case.bytes:
                    bandwidths.append(streaming_bandwidth(options))
                if round_number == 0:  # short kernels: more runs
                    runs = max(10, min(2000, int(100 / max(theirs[0], 1e-3))))
            ratio = statistics.median(a / b for a, b in zip(ours, theirs))
            ratios.append(ratio)
            mine, other = statistics.median(ours), statistics.median(theirs)
            print(f"{case.name:44} {mine:9.3f} {other:9.3f} {ratio:6.2f}", flush=True)
            if case.bytes and None not in bandwidths:
                reached = [case.bytes / time * 1e-6 for time in ours]
                share = statistics.median(a / b for a, b in zip(reached, bandwidths))
                print(
                    f"{'':8}{statistics.median(reached):.1f} GB/s of {statistics.median(bandwidths):.1f} streaming,"
                    f" median of paired ratios {share:.2f}"
                )
    print(f"\n{len(ratios)} kernels, geometric mean of ratios {math.exp(statistics.fmean(map(math.log, ratios))):.2f}")
    peer.stdin.close()
    peer.wait()


if __name__ == "__main__":
    main()
