#!/usr/bin/env python3
"""How well the model of the machine predicts the time of kernels: benchmarks/predictions.py [MODEL …] [--threads 2] [--runs 20]

A model is a name of benchmarks/models/zoo.py or a file that `relay bench` takes. Each launch of a model's kernels gets the median of its
times over the runs, and the prediction that `relay bench --profile` made for it; its error is their difference relative to the
measured time. Prints for each model the number of launches, the median error, the one in which each launch weighs as much as the time it took,
and the time of all as predicted relative to the measured one; then the same for each template, and for all. The rates that predictions rest
on are measured before by `relay machine --measure`, unless --no-measure says that the known ones do.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
MODELS = ("mobilenet_v2", "resnet18", "squeezenet", "bert_base", "lstm", "shufflenet")


def file_of(model):
    if pathlib.Path(model).exists():
        return model
    sys.path.insert(0, str(HERE / "models"))
    import zoo

    return zoo.materialised(model, ROOT / "build/models")


def launches_of(trace, runs):
    """Template, name, measured and predicted microseconds of each launch of a run: medians over the runs."""
    events = trace["traceEvents"]
    count = len(events) // runs
    launches = []
    for first in range(count):
        same = events[first::count]
        predicted = [event["args"]["predicted_us"] for event in same if "predicted_us" in event["args"]]
        if len(predicted) == len(same):
            launches.append((same[0]["cat"], same[0]["name"], statistics.median(event["dur"] for event in same), statistics.median(predicted)))
    return launches


def measure(relay, model, threads, runs):
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "trace.json"
        command = [relay, "bench", file_of(model), "--threads", str(threads), "--runs", str(runs), f"--profile={trace}"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return launches_of(json.loads(trace.read_text()), runs)


def summary(launches):
    """The median error, the median of time, and all times predicted over measured."""
    errors = sorted((abs(predicted - measured) / measured, measured) for _, _, measured, predicted in launches if measured > 0)
    half, passed, weighed = sum(measured for _, measured in errors) / 2, 0, 0
    for error, measured in errors:
        passed += measured
        weighed = error
        if passed >= half:
            break
    whole = sum(launch[3] for launch in launches) / sum(launch[2] for launch in launches)
    return statistics.median(error for error, _ in errors), weighed, whole


def line(name, launches):
    median, weighed, whole = summary(launches)
    print(f"{name:24} {len(launches):>8} {median:>8.1%} {weighed:>12.1%} {whole:>9.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=MODELS)
    parser.add_argument("--relay", default=str(ROOT / "build/bin/relay"))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--no-measure", action="store_true")
    parser.add_argument("--list", action="store_true", help="also print every launch")
    options = parser.parse_args()
    if not options.no_measure:
        subprocess.run([options.relay, "machine", "--measure", "--threads", str(options.threads)], check=True, stdout=subprocess.DEVNULL)
    print(f"{'':24} {'launches':>8} {'median':>8} {'half of time':>12} {'all':>9}")
    everything = []
    for model in options.models:
        launches = measure(options.relay, model, options.threads, options.runs)
        line(pathlib.Path(model).stem, launches)
        everything += launches
        if options.list:
            for template, name, measured, predicted in launches:
                print(f"  {template:12} {measured:>10.1f} {predicted:>10.1f} {measured / predicted:>6.2f}  {name}")
    for template in sorted({launch[0] for launch in everything}):
        line(template, [launch for launch in everything if launch[0] == template])
    line("all", everything)


if __name__ == "__main__":
    main()
