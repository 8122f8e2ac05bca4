#!/usr/bin/env python3
"""Kernels and blocks of models against PyTorch, torchvision and SciPy: benchmarks/kernels/kernels.py [--relay BIN] [--threads N] [--rounds N] [--only TEXT]

Needs an interpreter with these three: --python, by default this one. Both sides get the same arrays, and their results
are compared first. Each round times both sides right after one another, first now one and now the other, and takes the
ratio of their medians; the table shows the median ratio of the rounds (below 1: Relay is faster), and the last line the
share of the time that the host took away meanwhile. A block of a model has a second line: the same program with oneDNN's
products and convolutions (--onednn) in the peer's place.
"""

import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy as np

from all_cases import cases

HERE = pathlib.Path(__file__).resolve().parent


def cpu_times():
    """All jiffies of all processors, and those that the host took."""
    with open("/proc/stat") as stat:
        fields = [int(field) for field in stat.readline().split()[1:9]]
    return sum(fields), fields[7]


class Relay:
    def __init__(self, options, case, folder, arrays, onednn=False):
        self.options, self.model = options, folder / ("onednn.rlx" if onednn else "case.rlx")
        source = folder / "case.rly"
        source.write_text(case.relay)
        command = [options.relay, "compile", str(source), "-o", str(self.model)] + ["--onednn"] * onednn
        given = len(arrays) - len(case.params)
        if case.params:
            np.savez(folder / "params.npz", **dict(zip(case.params, arrays[given:])))
            command += ["--params", str(folder / "params.npz")]
        subprocess.run(command, check=True)
        self.arguments = ["--threads", str(options.threads)]
        for i, array in enumerate(arrays[:given]):
            np.save(folder / f"{i}.npy", array)
            self.arguments += ["--arg", f"@{folder / f'{i}.npy'}"]

    def results(self, path):
        command = [self.options.relay, "run", str(self.model), "--output", str(path)] + self.arguments
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        with np.load(path) as stored:
            return [stored[name] for name in stored.files]

    def time(self, runs):
        command = [self.options.relay, "bench", str(self.model), "--runs", str(runs), "--format", "json"]
        result = subprocess.run(command + self.arguments, capture_output=True, text=True, check=True)
        return json.loads(result.stdout)["median_ms"]


class Peer:
    def __init__(self, options):
        command = [options.python, str(HERE / "torch_peer.py"), str(options.threads)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.version = self.process.stdout.readline().strip()

    def ask(self, **command):
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit(f"the peer ended at {command['case']}")
        return answer

    def results(self, case, folder, arrays):
        np.savez(folder / "inputs.npz", *arrays)
        self.ask(case=case.name, inputs=str(folder / "inputs.npz"))
        with np.load(folder / "theirs.npz") as stored:
            return [stored[f"arr_{i}"] for i in range(len(stored.files))]

    def time(self, case, runs):
        return float(self.ask(case=case.name, runs=runs))

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def compare(case, ours, theirs):
    """Ends the program where results differ."""
    if len(ours) != len(theirs):
        sys.exit(f"{case.name}: {len(ours)} results of Relay, {len(theirs)} of the peer")
    for mine, other in zip(ours, theirs):
        if mine.size != other.size:
            sys.exit(f"{case.name}: shapes {mine.shape} and {other.shape}")
        if mine.size == 0:
            continue
        mine, other = mine.reshape(-1).astype(np.float64), other.reshape(-1).astype(np.float64)
        error = np.max(np.abs(mine - other)) / max(1.0, np.max(np.abs(other)))
        if not error <= case.tolerance:
            sys.exit(f"{case.name}: results differ by {error:.2g}")


def streaming_bandwidth(options):
    program = pathlib.Path(options.relay).with_name("bench_streaming")
    if not program.exists():
        return None
    result = subprocess.run([program, str(options.threads)], capture_output=True, text=True, check=True)
    values = json.loads(result.stdout)
    return max(values["plain_gb_s"], values["streaming_gb_s"])


def measure(options, peer, case, folder):
    """The median ratio of times of a case; prints its row."""
    arrays = case.arrays(np.random.default_rng(0))
    relay = Relay(options, case, folder, arrays)
    compare(case, case.ours(relay.results(folder / "ours.npz")), peer.results(case, folder, arrays))
    library = Relay(options, case, folder, arrays, onednn=True) if case.params else None
    if library:
        compare(case, case.ours(library.results(folder / "library.npz")), peer.results(case, folder, arrays))
    ours, theirs, bandwidths, libraries = [], [], [], []
    runs = max(5, min(2000, int(100 / max(peer.time(case, 3), 1e-3))))
    for round_number in range(options.rounds):
        if round_number % 2 == 0:
            theirs.append(peer.time(case, runs))
        ours.append(relay.time(runs))
        if library:
            libraries.append(library.time(runs))
        if round_number % 2 == 1:
            theirs.append(peer.time(case, runs))
        if case.bytes:
            bandwidths.append(streaming_bandwidth(options))
    ratio = statistics.median(a / b for a, b in zip(ours, theirs))
    mine, other = statistics.median(ours), statistics.median(theirs)
    print(f"{case.name:52} {mine:9.3f} {other:9.3f} {ratio:6.2f}", flush=True)
    if library:
        share = statistics.median(a / b for a, b in zip(ours, libraries))
        print(f"{'    with oneDNN':52} {'':9} {statistics.median(libraries):9.3f} {share:6.2f}", flush=True)
    if case.bytes and None not in bandwidths:
        reached = [case.bytes / time * 1e-6 for time in ours]
        share = statistics.median(a / b for a, b in zip(reached, bandwidths))
        print(
            f"{'':8}{statistics.median(reached):.1f} GB/s of {statistics.median(bandwidths):.1f} streaming,"
            f" median of paired ratios {share:.2f}"
        )
    return ratio


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--relay", default=str(HERE.parents[1] / "build/bin/relay"))
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    options = parser.parse_args()
    peer = Peer(options)
    print(f"PyTorch {peer.version}, {options.threads} threads, median of {options.rounds} paired ratios\n")
    print(f"{'kernel':52} {'relay ms':>9} {'peer ms':>9} {'ratio':>6}")
    all_before, taken_before = cpu_times()
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        for case in cases():
            if options.only in case.name:
                ratios.append(measure(options, peer, case, pathlib.Path(folder)))
    peer.close()
    if not ratios:
        sys.exit(f"no case's name contains '{options.only}'")
    all_after, taken_after = cpu_times()
    print(
        f"\n{len(ratios)} kernels, geometric mean of ratios {math.exp(statistics.fmean(map(math.log, ratios))):.2f},"
        f" greatest {max(ratios):.2f}; the host took {100 * (taken_after - taken_before) / (all_after - all_before):.1f} %"
    )


if __name__ == "__main__":
    main()
