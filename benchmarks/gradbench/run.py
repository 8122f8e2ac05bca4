#!/usr/bin/env python3
"""Plays GradBench's evaluations against tools, checks each answer against reference.py, and prints what they took.

    benchmarks/gradbench/run.py                     Relay, PyTorch and JAX, at one thread and at two
    benchmarks/gradbench/run.py --check             small inputs, Relay alone; fails where an answer is wrong
    benchmarks/gradbench/run.py --evals gmm lstm --tools relay torch --threads 1

Each tool is a process that speaks GradBench's protocol. --peers is an interpreter with PyTorch and JAX (.venv-peers), or --jax another one
with JAX; --python is one for Relay, which must be importable. Times are the least of each tool's runs; the tools answer the same input one after the other.
"""

import argparse
import json
import math
import os
import pathlib
import subprocess
import sys

import numpy as np
import reference
from workloads import EVALUATIONS, workloads

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


class Tool:
    """A tool's process. Messages are answered in order."""

    def __init__(self, name, python, threads):
        self.name = name
        environment = dict(os.environ)
        if threads:
            environment |= {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
        command = [python, str(HERE / f"{name}_tool.py"), "--threads", str(threads)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        self._id = 0

    def ask(self, **message):
        message["id"] = self._id
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name} ended with status {self._process.wait()}")
        answer = json.loads(line)
        if answer.get("id") != self._id:
            raise RuntimeError(f"{self.name} answered message {answer.get('id')} instead of {self._id}")
        self._id += 1
        return answer

    def close(self):
        self._process.stdin.write(json.dumps({"id": self._id, "kind": "end"}) + "\n")
        self._process.stdin.close()
        self._process.wait()


def short(error):
    """The line of a traceback that says what is wrong."""
    lines = [line for line in (error or "no reason given").splitlines() if line.strip()]
    return next((line for line in lines if "Error: " in line), lines[-1])[:200]


def judge(name, function, given, answer):
    """None for a right answer, else what is wrong with it."""
    if not answer["success"]:
        return short(answer.get("error"))
    if name == "lstm" and function == "jacobian" and len(given["sequence"]) > 64:
        # Differences in all directions would take minutes.
        rng = np.random.default_rng(1)
        places = rng.choice(len(answer["output"]), 5, replace=False)
        wanted, got = reference.lstm_jacobian(given, places), np.array(answer["output"])[places]
    else:
        wanted, got = reference.expected(name, function, given), answer["output"]
    wrong = reference.mismatches(wanted, got, reference.tolerance.get(name, 1e-9))
    return f"{len(wrong)} mismatches, first {wrong[0]}" if wrong else None


def evaluate(tools, name, full, seconds):
    """(label, function, {tool: milliseconds, or what is wrong}) of each input."""
    for tool in tools:
        tool.ask(kind="start", eval=name)
    able = [tool for tool in tools if tool.ask(kind="define", module=name)["success"]]
    for label, function, given in workloads(name, full):
        found = {}
        runs = 3 if full and name not in ("particle", "saddle") else 1
        asked = given | {"min_runs": runs, "min_seconds": seconds} if isinstance(given, dict) else given
        for tool in able:
            answer = tool.ask(kind="evaluate", module=name, function=function, input=asked, description=label)
            if "has no function" in (answer.get("error") or ""):
                continue
            error = judge(name, function, given, answer)
            tool.ask(kind="analysis", of=tool._id - 1, valid=error is None, **({} if error is None else {"error": error}))
            found[tool.name] = min(t["nanoseconds"] for t in answer["timings"]) / 1e6 if error is None else error
        yield label, function, found


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def shown(value):
    return f"{value:12.4f}" if isinstance(value, float) else f"{'failed':>12}" if value is not None else f"{'-':>12}"


def play(options, threads):
    """Prints the table of a number of threads; gives the failures of Relay."""
    python = {"relay": options.python, "torch": options.peers, "jax": options.jax or options.peers}
    tools = [Tool(name, python[name], threads) for name in options.tools]
    print(f"{threads or 'all'} threads; milliseconds\n{'':48}" + "".join(f"{t.name:>12}" for t in tools) + f"{'ratio':>8}")
    failures, all_ratios = [], []
    for name in options.evals:
        ratios = []
        for label, function, found in evaluate(tools, name, not options.check, options.seconds):
            ours = found.get("relay")
            peers = [v for t, v in found.items() if t != "relay" and isinstance(v, float)]
            ratio = ours / min(peers) if isinstance(ours, float) and peers else None
            if ratio is not None:
                ratios.append(ratio)
            row = f"{name + ' ' + function + ', ' + label:48}" + "".join(shown(found.get(t.name)) for t in tools)
            print(row + (f"{ratio:8.3f}" if ratio is not None else ""), flush=True)
            for tool, value in found.items():
                if isinstance(value, str):
                    print(f"  {tool}: {value}", flush=True)
                    if tool == "relay":
                        failures.append((name, function, label, value))
        if ratios:
            all_ratios.append(geometric_mean(ratios))
            print(f"{name:48}geometric mean {all_ratios[-1]:.3f}", flush=True)
    if all_ratios:
        print(f"{len(all_ratios)} evaluations: geometric mean {geometric_mean(all_ratios):.3f} of the better peer's time")
    for tool in tools:
        tool.close()
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--evals", nargs="+", choices=list(EVALUATIONS), default=list(EVALUATIONS))
    parser.add_argument("--tools", nargs="+", choices=["relay", "torch", "jax"])
    parser.add_argument("--threads", nargs="+", type=int)
    parser.add_argument("--seconds", type=float, default=0.5, help="at least so long for each input")
    parser.add_argument("--check", action="store_true", help="small inputs")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--peers", default=str(ROOT / ".venv-peers/bin/python"))
    parser.add_argument("--jax", help="an interpreter with JAX, if --peers has none")
    options = parser.parse_args()
    options.tools = options.tools or (["relay"] if options.check else ["relay", "torch", "jax"])
    if options.check:
        options.seconds = 0
    failures = [f for threads in options.threads or ([1] if options.check else [1, 2]) for f in play(options, threads)]
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
