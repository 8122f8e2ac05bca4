"""Runtimes in processes of their own, timed in turns: what compare.py and scripts/wild.py share."""

import contextlib
import json
import math
import os
import pathlib
import platform
import resource
import select
import statistics
import subprocess
import sys
import tempfile
import time

WORKER = pathlib.Path(__file__).resolve().with_name("worker.py")


def cpu_times():
    """All jiffies of all processors, and those that the host took."""
    with open("/proc/stat") as stat:
        fields = [int(field) for field in stat.readline().split()[1:9]]
    return sum(fields), fields[7]


def processor():
    with open("/proc/cpuinfo") as info:
        for line in info:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor()


def geometric_mean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def limit_memory(limit):
    """A function for a child process to call first: `limit` bytes of addresses, or as many as it likes for None."""
    return (lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))) if limit else None


class Worker:
    """One runtime with one model, in a process of its own (worker.py); ends where a `with` block does."""

    def __init__(self, runtime, model, inputs, threads, library=None, python=sys.executable, memory=None):
        self.runtime = runtime
        self.reason = None
        command = [python, WORKER, runtime, model, inputs, threads, *([library] if runtime == "relay" else [])]
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True,
            env=dict(os.environ, OMP_NUM_THREADS=str(threads)), preexec_fn=limit_memory(memory),
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def ask(self, *command, limit=None):
        """The answer; None once the process has ended, which it is made to after `limit` seconds."""
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(" ".join(map(str, command)) + "\n")
            self.process.stdin.flush()
            if not select.select([self.process.stdout], [], [], limit)[0]:
                self.reason = f"no answer to {command[0]} in {limit:g} s"
                self.process.kill()
                return None
            line = self.process.stdout.readline()
            if line:
                return json.loads(line)
        return None

    def error(self):
        """Why the process ended: the limit that it met, else the last line that it wrote."""
        self.process.wait()
        self.errors.seek(0)
        lines = self.errors.read().strip().splitlines()
        return self.reason or (lines[-1] if lines else f"exit status {self.process.returncode}")

    def close(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        self.errors.close()


def rounds_in_turns(workers, rounds, milliseconds, limit=None):
    """Times of each round for each of `workers` (runtime: Worker, loaded), which take turns, every round in another order.

    All run equally often, so often that ONNX Runtime takes about `milliseconds` in a round. Raises RuntimeError where one ends.
    """

    def timed(runtime, runs):
        answer = workers[runtime].ask("time", runs, limit=limit)
        if answer is None:
            raise RuntimeError(f"{runtime}: {workers[runtime].error()}")
        return answer["ms"]

    estimate = statistics.median(timed("onnxruntime", 5))
    runs = max(3, min(300, round(milliseconds / max(estimate, 1e-3))))
    for runtime in workers:
        timed(runtime, max(2, runs // 4))
    times = {runtime: [] for runtime in workers}
    order = list(workers)
    for _ in range(rounds):
        for runtime in order:
            time.sleep(0.02)  # threads of the one before stop waiting for work
            times[runtime].append(timed(runtime, runs))
        order.append(order.pop(0))
    return times
