"""The examination of one model: it is compiled once with its extents open, run at each size, compared with ONNX Runtime, timed."""

import os
import pathlib
import statistics
import subprocess

import feeds
import numpy as np
from measuring import Worker, limit_memory, rounds_in_turns

ABSOLUTE = 1e-6  # how far an output may be off, besides a part of its range


class Failed(Exception):
    """The stage that went wrong, and how."""

    def __init__(self, stage, text):
        super().__init__(f"{stage}: {text}")


def range_of(numbers):
    """From the least to the greatest; of one number its magnitude."""
    numbers = numbers[np.isfinite(numbers)]
    if numbers.size == 0:
        return 0.0
    return float(np.ptp(numbers)) if numbers.size > 1 else float(abs(numbers[0]))


def difference(found, expected, relative):
    """How an output differs from the one expected, or None; and its greatest error, relative to the range of that."""
    if found.shape != expected.shape:
        return f"the shape is {found.shape} where ONNX Runtime has {expected.shape}", None
    if found.dtype != expected.dtype:
        return f"it is of {found.dtype} where ONNX Runtime has {expected.dtype}", None
    if expected.dtype.kind != "f":
        wrong = int(np.count_nonzero(found != expected))
        return (f"{wrong} of {expected.size} numbers differ" if wrong else None), 0.0
    ours, theirs = found.astype(np.float64).ravel(), expected.astype(np.float64).ravel()
    finite = np.isfinite(theirs)
    odd = ~finite | ~np.isfinite(ours)
    if not np.array_equal(ours[odd], theirs[odd], equal_nan=True):
        return "infinities or not-a-numbers are at other places", None
    errors = np.abs(ours[finite] - theirs[finite])
    if errors.size == 0:
        return None, 0.0
    span = range_of(theirs)
    worst = float(errors.max()) / max(span, 1e-30) if errors.max() else 0.0
    allowed = ABSOLUTE + relative * span
    if errors.max() > allowed:
        return f"{np.count_nonzero(errors > allowed)} of {expected.size} numbers are off, by {worst:.1e} of the range at most", worst
    return None, worst


def differences(found, expected, relative):
    """The first output that differs, by its number, or None; and the greatest relative error of all."""
    if len(found) != len(expected):
        return f"{len(found)} outputs where ONNX Runtime has {len(expected)}", None
    worst = 0.0
    for number, (ours, theirs) in enumerate(zip(found, expected)):
        text, error = difference(ours, theirs, relative)
        if text:
            return f"output {number}: {text}", error
        worst = max(worst, error)
    return None, worst


def says_nothing(outputs):
    """Would almost any program be right? So it is where all outputs of floats are constant, or none is finite."""
    floats = [output for output in outputs if output.dtype.kind == "f"]
    return bool(floats) and all(range_of(output) == 0 for output in floats)


def first_error(text, path):
    """The message of the command, in one line and without the folder of the model."""
    lines = [line for line in text.splitlines() if line.strip()]
    chosen = next((line for line in lines if line.startswith(("error:", "internal error"))), lines[-1] if lines else "nothing was said")
    return chosen.removeprefix("error: ").replace(f"{path}: ", "").replace(str(path), path.name).strip()


class Look:
    """One model under the options of scripts/wild.py; `folder` is for files that are of no use later."""

    def __init__(self, model, path, folder, options):
        self.model, self.path, self.folder, self.options = model, path, pathlib.Path(folder), options
        self.executable = self.folder / "model.rlx"
        self.feeds = []
        for number, size in enumerate(model.sizes):
            self.feeds.append(self.folder / f"feeds{number}.npz")
            np.savez(self.feeds[-1], **feeds.make(model.inputs, size, model.name))

    def relay(self, *command):
        return subprocess.run(
            [self.options.relay, *command], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
            timeout=self.options.time_limit, preexec_fn=limit_memory(self.options.memory),
            env=dict(os.environ, RELAY_CACHE_DIR=str(self.folder / "cache")))

    def compile(self):
        try:
            done = self.relay("compile", self.path, "-o", self.executable)
            if done.returncode != 0:
                stage = "compile" if self.relay("check", self.path).returncode == 0 else "load"
                raise Failed(stage, first_error(done.stderr, self.path))
        except subprocess.TimeoutExpired:
            raise Failed("compile", f"not done in {self.options.time_limit:g} s") from None

    def worker(self, runtime):
        library = pathlib.Path(self.options.relay).resolve().parents[1] / "lib/librelay_runtime.so"
        model = self.executable if runtime == "relay" else self.path
        return Worker(runtime, model, "-", self.options.threads, library, self.options.python, self.options.memory)

    def ask(self, worker, *command):
        answer = worker.ask(*command, limit=self.options.time_limit)
        if answer is None:
            raise Failed(worker.runtime, worker.error().replace(str(self.path), self.path.name))
        return answer

    def results(self, worker, number):
        """The outputs at a size."""
        self.ask(worker, "feeds", self.feeds[number])
        target = self.folder / "results.npz"
        self.ask(worker, "run", target)
        with np.load(target) as stored:
            return [stored[name] for name in stored.files]

    def all_results(self, runtime):
        """The outputs at each size, or why there are none: one process runs one size after the other, as long as it lives."""
        worker, made = None, []
        for number in range(len(self.feeds)):
            try:
                if worker is None:
                    worker = self.worker(runtime)
                    self.ask(worker, "load")
                made.append(self.results(worker, number))
            except Failed as failure:
                worker.close()
                worker = None
                made.append(failure)
        if worker is not None:
            try:
                if not isinstance(made[0], Failed) and runtime == "relay":
                    again = self.results(worker, 0)
                    if not all(map(np.array_equal, again, made[0], [True] * len(again))):
                        made[0] = Failed(runtime, "another run of the same feeds has other results")
            except Failed as failure:
                made[0] = failure
            worker.close()
        return made

    def record(self):
        """All that is found out, as a dictionary for JSON."""
        record = {"file": self.model.name, "loads": True, "sizes": []}
        try:
            self.compile()
        except Failed as failure:
            return {**record, "loads": str(failure)}
        found, expected = self.all_results("relay"), self.all_results("onnxruntime")
        for size, ours, theirs in zip(self.model.sizes, found, expected):
            each = {"size": " ".join(f"{name}={extent}" for name, extent in size.items()) or "as it is", "error": None}
            if isinstance(theirs, Failed):
                each["agrees"] = f"the feeds are wrong: {theirs}"
            elif says_nothing(theirs):
                each["agrees"] = "the feeds are wrong: all outputs are constant"
            elif isinstance(ours, Failed):
                each["agrees"] = str(ours)
            else:
                text, each["error"] = differences(ours, theirs, self.model.relative)
                each["agrees"] = text or True
            record["sizes"].append(each)
        if self.options.time and any(each["agrees"] is True for each in record["sizes"]):
            self.time(record, expected)
        return record

    def time(self, record, expected):
        """Adds the milliseconds of each runtime at the sizes that agree, and the ratio to the better peer."""
        workers = {}
        try:
            for runtime in ("relay", "onnxruntime", "openvino"):
                workers[runtime] = self.worker(runtime)
                try:
                    self.ask(workers[runtime], "load")
                except Failed as failure:
                    if runtime != "openvino":
                        raise
                    record["openvino"] = str(failure)
                    workers.pop(runtime).close()
            for number, each in enumerate(record["sizes"]):
                if each["agrees"] is not True:
                    continue
                if "openvino" in workers:
                    try:
                        text, _ = differences(self.results(workers["openvino"], number), expected[number], self.model.relative)
                        each["openvino"] = text and f"differs: {text}"
                    except Failed as failure:
                        each["openvino"] = str(failure)
                        workers.pop("openvino").close()
                for runtime in ("relay", "onnxruntime"):
                    self.ask(workers[runtime], "feeds", self.feeds[number])
                timed = {runtime: worker for runtime, worker in workers.items() if runtime != "openvino" or not each["openvino"]}
                rounds = rounds_in_turns(timed, self.options.rounds, self.options.slice, self.options.time_limit)
                self.add_times(each, rounds)
        except (Failed, RuntimeError) as failure:
            record["timing"] = str(failure)
        finally:
            for worker in workers.values():
                worker.close()

    @staticmethod
    def add_times(each, rounds):
        medians = {runtime: list(map(statistics.median, times)) for runtime, times in rounds.items()}
        least = {runtime: min(map(min, times)) for runtime, times in rounds.items()}
        peers = [runtime for runtime in rounds if runtime != "relay"]
        for runtime in rounds:
            each[f"{runtime}_ms"], each[f"{runtime}_least_ms"] = statistics.median(medians[runtime]), least[runtime]
        each["ratio"] = statistics.median(
            mine / min(medians[peer][number] for peer in peers) for number, mine in enumerate(medians["relay"]))
        each["ratio_of_minima"] = least["relay"] / min(least[peer] for peer in peers)


def works(record):
    """Does the model load, and agree at every size?"""
    return record["loads"] is True and all(each["agrees"] is True for each in record["sizes"])
