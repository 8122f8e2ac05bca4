#!/usr/bin/env python3
"""Language models against llama.cpp, from the same file: benchmarks/language_models.py MODEL.gguf [--peers PYTHON]

Each tool is a process of its own and takes its turn `--rounds` times; --peers is a Python that has the package llama-cpp-python (built
on this machine). A turn loads the model, reads 512 tokens and one token, and writes 128 tokens after the 512 and after the one, taking the
best token each time; it reports medians, the most memory, and the perplexity of a text. The bandwidth is what all threads together read of
a large array; the share of it is that of the bytes of the weights times tokens a second.
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
LONG, WRITTEN, TEXT = 512, 128, 400


def memory():
    """The most memory that the process has had, in MiB."""
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return float("nan")


def text_to_judge():
    return (ROOT / "LICENSE").read_text()[:8000]


class Relay:
    def __init__(self, path, threads):
        import relay.llm

        self.model = relay.llm.load(path, threads)
        self.model.compile()

    def encode(self, text):
        return self.model.encode(text)

    def read(self, tokens):
        self.text = self.model.start()
        self.text.read(tokens)

    def write(self, count):
        self.model.vocabulary.stops.clear()  # so that all tokens are written
        return len(self.text.write(count))

    def scores(self, tokens):
        """The scores after each of the tokens."""
        text, rows = self.model.start(), []
        for token in tokens:
            text.read([token])
            rows.append(text.scores)
        return np.stack(rows)


class LlamaCpp:
    def __init__(self, path, threads):
        from llama_cpp import Llama

        self.model = Llama(path, n_ctx=1024, n_threads=threads, n_threads_batch=threads, n_batch=LONG, verbose=False, logits_all=False)
        self.path, self.threads = path, threads

    def encode(self, text):
        return self.model.tokenize(text.encode(), add_bos=False)

    def read(self, tokens):
        self.model.reset()
        self.model.eval(tokens)

    def write(self, count):
        for _ in range(count):
            self.model.eval([self.model.sample(temp=0.0)])
        return count

    def scores(self, tokens):
        from llama_cpp import Llama

        judge = Llama(self.path, n_ctx=1024, n_threads=self.threads, n_batch=LONG, verbose=False, logits_all=True)
        judge.eval(tokens)
        return np.array(judge.scores[: len(tokens)])


def measure(tool, path, threads, judge):
    begin = time.perf_counter()
    engine = {"relay": Relay, "llama.cpp": LlamaCpp}[tool](path, threads)
    found = {"load": time.perf_counter() - begin}
    tokens = (engine.encode(text_to_judge()) * 4)[:LONG]
    for name, prompt in (("512", tokens), ("1", tokens[:1])):
        reads, writes = [], []
        for turn in range(4):
            begin = time.perf_counter()
            engine.read(prompt)
            read = time.perf_counter()
            number = engine.write(WRITTEN)
            if turn > 0:  # the first warms caches
                reads.append(read - begin)
                writes.append(number / (time.perf_counter() - read))
        found[f"read {name}"], found[f"write {name}"] = statistics.median(reads), statistics.median(writes)
    found["memory"] = memory()
    if judge:
        some = tokens[:TEXT]
        scores = engine.scores(some)[:-1].astype("float64")
        scores -= scores.max(axis=1, keepdims=True)
        chances = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
        found["perplexity"] = math.exp(-chances[np.arange(len(some) - 1), some[1:]].mean())
    return found


def bandwidth(threads):
    """Bytes a second that a kernel of Relay reads of 512 MiB, the best of some runs."""
    import relay

    n = 1 << 27
    run = relay.compile(relay.parse(f"def @main(%x: Tensor[(1024, {n // 1024}), float32]) {{ max(%x, axis=[1]) }}"), threads=threads)
    data, best = np.zeros((1024, n // 1024), "float32"), 0.0
    data += 1
    for _ in range(8):
        begin = time.perf_counter()
        run(data)
        best = max(best, data.nbytes / (time.perf_counter() - begin))
    return best


def turn(python, tool, options, judge):
    command = [python, "-B", __file__, options.model, "--turn", tool, "--threads", str(options.threads)] + (["--judge"] if judge else [])
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONWARNINGS": "ignore"})
    if done.returncode != 0:
        sys.exit(f"{tool} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", help="a GGUF file")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers", default=str(ROOT / ".venv-peers" / "bin" / "python"), help="a Python with llama-cpp-python")
    parser.add_argument("--turn", choices=["relay", "llama.cpp"], help=argparse.SUPPRESS)
    parser.add_argument("--judge", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.turn:
        print(json.dumps(measure(options.turn, options.model, options.threads, options.judge)))
        return
    results = {"relay": [], "llama.cpp": []}
    for k in range(options.rounds):
        results["relay"].append(turn(sys.executable, "relay", options, k == 0))
        results["llama.cpp"].append(turn(options.peers, "llama.cpp", options, k == 0))
    print(f"{pathlib.Path(options.model).name}, {options.threads} threads, medians of {options.rounds} turns\n")
    print(f"{'':24}{'Relay':>10}{'llama.cpp':>12}{'ratio':>8}")
    units = {"load": ("s", 1), "read 512": ("ms", 1e3), "read 1": ("ms", 1e3), "memory": ("MiB", 1)}
    for name in results["relay"][0]:
        ours, theirs = (statistics.median([r[name] for r in results[t] if name in r]) for t in ("relay", "llama.cpp"))
        unit, factor = units.get(name, ("tokens/s" if name.startswith("write") else "", 1))
        print(f"{f'{name} {unit}':24}{ours * factor:10.2f}{theirs * factor:12.2f}{ours / theirs:8.2f}")
    total, weights = bandwidth(options.threads), os.path.getsize(options.model)
    for tool, found in results.items():
        rate = statistics.median([r["write 1"] for r in found])
        print(f"{tool}: weights of {weights / 1e6:.0f} MB at {weights * rate / 1e9:.1f} GB/s, {weights * rate / total:.2f} of the {total / 1e9:.1f} GB/s probed")


if __name__ == "__main__":
    main()
