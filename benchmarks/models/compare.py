#!/usr/bin/env python3
"""Whole models against ONNX Runtime, OpenVINO and PyTorch: benchmarks/models/compare.py [--threads N] [--busy] [--only NAME]...

Every runtime gets the same model file, the same inputs and the same number of threads, each in a process of its own;
models compute in float32, those of quantise.py in int8; what it computes is compared with ONNX Runtime first (which
also shows whether a peer took to bfloat16 on its own). Each round times all of them right after one another, every
round in another order; the ratio of a round is Relay's median over the smaller of ONNX Runtime's and OpenVINO's. The
table has the median over the rounds (below 1: Relay is faster) and the ratio of the least times; the last line says
what share of the time the host took.
--busy lets one more process, bound to no core, work 50 ms and rest 50 ms all the while. Needs an environment with
requirements.txt; `make bench-models` makes one.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import zoo
from measuring import Worker, cpu_times, geometric_mean, processor, rounds_in_turns

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PEERS = ("onnxruntime", "openvino", "torch")
JUDGED = ("onnxruntime", "openvino")
BURN = """
import time
while True:
    end = time.perf_counter() + 0.05
    while time.perf_counter() < end: pass
    time.sleep(0.05)
"""


def run_relay(arguments, cache):
    """Seconds and peak memory (bytes) of one command; ends the program where it fails."""
    begin = time.perf_counter()
    process = subprocess.Popen(arguments, env=dict(os.environ, RELAY_CACHE_DIR=str(cache)))
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        sys.exit(f"{' '.join(map(str, arguments))}: exit status {os.waitstatus_to_exitcode(status)}")
    return time.perf_counter() - begin, usage.ru_maxrss * 1024


def compile_model(path, folder, options):
    """The .rlx; seconds without and with what is in the cache, and the compiler's peak of memory."""
    target, cache = folder / "model.rlx", folder / "cache"
    command = [options.relay, "compile", path, "-o", target]
    cold, peak = run_relay(command, cache)
    target.unlink()
    cached, _ = run_relay(command, cache)
    shutil.rmtree(cache, ignore_errors=True)
    return target, {"compile_cold_s": cold, "compile_cached_s": cached, "compile_peak_bytes": peak}


def results_of(worker, path):
    worker.ask("run", path)
    with np.load(path) as stored:
        return [stored[name] for name in stored.files]


def measure(name, options, folder):
    """Everything about one model, as a dictionary."""
    path = zoo.materialised(name, options.models)
    inputs = folder / "inputs.npz"
    np.savez(inputs, **zoo.inputs(name, path))
    executable, record = compile_model(path, folder, options)
    record["model"] = name
    workers = {}
    library = pathlib.Path(options.relay).resolve().parents[1] / "lib/librelay_runtime.so"
    for runtime in ("relay", *options.peers):
        worker = Worker(runtime, executable if runtime == "relay" else path, inputs, options.threads, library)
        loaded = worker.ask("load")
        if loaded is None:
            record[runtime] = {"error": worker.error()}
            if runtime == "relay":
                sys.exit(f"{name}: {record[runtime]['error']}")
            continue
        record[runtime] = {"load_ms": loaded["ms"]}
        workers[runtime] = worker
    expected = results_of(workers["onnxruntime"], folder / "onnxruntime.npz")
    for runtime, worker in workers.items():
        found = results_of(worker, folder / f"{runtime}.npz")
        error = max((zoo.relative_error(a, b) for a, b in zip(found, expected, strict=True)), default=0.0)
        record[runtime]["error_to_onnxruntime"] = error
    times = rounds_in_turns(workers, options.rounds, options.slice)
    for runtime, worker in workers.items():
        record[runtime]["peak_bytes"] = worker.ask("memory")["bytes"]
        record[runtime]["rounds_ms"] = [statistics.median(each) for each in times[runtime]]
        record[runtime]["median_ms"] = statistics.median(record[runtime]["rounds_ms"])
        record[runtime]["min_ms"] = min(map(min, times[runtime]))
        worker.close()
    judged = [peer for peer in JUDGED if peer in workers]
    ours = record["relay"]
    record["ratio"] = statistics.median(
        mine / min(record[peer]["rounds_ms"][k] for peer in judged) for k, mine in enumerate(ours["rounds_ms"])
    )
    record["ratio_of_minima"] = ours["min_ms"] / min(record[peer]["min_ms"] for peer in judged)
    return record


def table(records, options):
    def cell(record, runtime, key):
        value = record.get(runtime, {}).get(key)
        return "–" if value is None else f"{value:.3g}" if value < 100 else f"{value:.0f}"

    head = ["model", "Relay ms", *(f"{peer} ms" for peer in options.peers), "ratio", "of minima", "error",
            "cold s", "cached s", "load ms", "onnxruntime load ms", "peak MB", "onnxruntime peak MB"]
    rows = [head, ["---"] * len(head)]
    for record in records:
        rows.append([
            record["model"], cell(record, "relay", "median_ms"),
            *(cell(record, peer, "median_ms") for peer in options.peers),
            f"{record['ratio']:.2f}", f"{record['ratio_of_minima']:.2f}",
            f"{record['relay']['error_to_onnxruntime']:.0e}",
            f"{record['compile_cold_s']:.2f}", f"{record['compile_cached_s']:.2f}",
            cell(record, "relay", "load_ms"), cell(record, "onnxruntime", "load_ms"),
            f"{record['relay']['peak_bytes'] / 1e6:.0f}", f"{record['onnxruntime']['peak_bytes'] / 1e6:.0f}",
        ])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def plot(records, path, title):
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(9, 4))
    places = np.arange(len(records))
    colours = {"onnxruntime": "tab:blue", "openvino": "tab:purple", "torch": "tab:orange"}
    for peer, colour in colours.items():
        known = [(x, r) for x, r in zip(places, records) if "median_ms" in r.get(peer, {})]
        if known:
            ratios = [record["relay"]["median_ms"] / record[peer]["median_ms"] for _, record in known]
            axes.scatter([x for x, _ in known], ratios, label=peer, color=colour, zorder=3)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_yscale("log", base=2)
    axes.set_ylabel("Relay's time / peer's time")
    axes.set_xticks(places, [record["model"] for record in records], rotation=45, ha="right")
    axes.grid(axis="y", alpha=0.3)
    axes.set_title(title, fontsize=9)
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path)


def profile(options, folder, records):
    """The time that each model's kernels took, from `relay bench --profile`."""
    for name in options.only:
        path = zoo.materialised(name, options.models)
        inputs = folder / "inputs.npz"
        np.savez(inputs, **zoo.inputs(name, path))
        executable, _ = compile_model(path, folder, options)
        print(f"\n== {name}", flush=True)
        subprocess.run(
            [options.relay, "bench", executable, "--params", inputs, "--threads", str(options.threads), "--profile"],
            stderr=subprocess.STDOUT, check=True,
        )


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--relay", default=str(ROOT / "build/bin/relay"))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--slice", type=float, default=400, help="milliseconds that a runtime gets in a round")
    parser.add_argument("--only", action="append", choices=zoo.NAMES + zoo.MORE,
                        help="this model, perhaps none of the fifteen; may be repeated")
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--busy", action="store_true", help="beside a process that works half of the time")
    parser.add_argument("--profile", action="store_true", help="print what Relay's kernels took instead")
    parser.add_argument("--models", default=str(ROOT / "build/models"), help="folder of the full models")
    parser.add_argument("--json", help="write all figures to this file")
    parser.add_argument("--svg", help="draw the ratios into this file")
    options = parser.parse_args()
    options.only = options.only or list(zoo.NAMES)
    options.peers = [peer for peer in options.peers.split(",") if peer]
    unknown = [peer for peer in options.peers if peer not in PEERS]
    if unknown or "onnxruntime" not in options.peers:
        parser.error(f"--peers: onnxruntime and any of {', '.join(PEERS[1:])}")
    return options


def numbers_of(names):
    """The numbers that models compute with: those that were quantised with bytes."""
    quantised = [name in zoo.QUANTISED for name in names]
    if not any(quantised):
        return "float32"
    return "int8" if all(quantised) else "float32 and int8"


def main():
    options = parse_options()
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        if options.profile:
            profile(options, folder, [])
            return
        title = (f"{processor()}, {options.threads} threads, {numbers_of(options.only)}, batch 1"
                 f"{', busy' if options.busy else ''}")
        print(title, flush=True)
        burner = subprocess.Popen([sys.executable, "-c", BURN]) if options.busy else None
        all_before, taken_before = cpu_times()
        records = []
        try:
            for name in options.only:
                record = measure(name, options, folder)
                records.append(record)
                print(f"{name}: {record['relay']['median_ms']:.3f} ms, ratio {record['ratio']:.2f}", flush=True)
        finally:
            if burner:
                burner.kill()
        all_after, taken_after = cpu_times()
    taken = 100 * (taken_after - taken_before) / (all_after - all_before)
    ratios = [record["ratio"] for record in records]
    print("\n" + table(records, options))
    print(
        f"\n{len(records)} models, geometric mean of ratios {geometric_mean(ratios):.3f}, greatest {max(ratios):.2f};"
        f" of minima {geometric_mean([record['ratio_of_minima'] for record in records]):.3f}; the host took {taken:.1f} %"
    )
    if options.json:
        record = {"title": title, "threads": options.threads, "busy": options.busy, "host_took_percent": taken}
        pathlib.Path(options.json).write_text(json.dumps({**record, "models": records}, indent=1) + "\n")
    if options.svg:
        plot(records, options.svg, title)


if __name__ == "__main__":
    main()
