#!/usr/bin/env python3
"""Runs the fuzzers that `make fuzz` builds, one after the other on one core: scripts/python scripts/fuzz.py [--seconds N] [TARGET...]

A fuzzer begins with inputs taken from the tests and with what it has found before, which it keeps in
build-fuzz/corpus/TARGET. It stops at its first failure, whose input is in build-fuzz/failed/TARGET; run the fuzzer on
that file alone to see the failure again. The exit code is 1 if anything failed.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build-fuzz"
MESSAGES = "\n".join(
    [
        '{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"a","text":"def @f(%x: int32) { %x }","version":1}}}',
        '{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"textDocument":{"uri":"a"},"contentChanges":[{"text":"%y",'
        '"range":{"start":{"line":0,"character":20},"end":{"line":0,"character":22}}}]}}',
    ]
    + [
        '{"jsonrpc":"2.0","id":%d,"method":"textDocument/%s","params":{"textDocument":{"uri":"a"},"position":{"line":0,"character":7}%s}}'
        % (number, method, ',"newName":"z"' if method == "rename" else "")
        for number, method in enumerate(["hover", "completion", "definition", "references", "rename"])
    ]
    + ['{"jsonrpc":"2.0","id":9,"method":"shutdown"}', '{"jsonrpc":"2.0","method":"exit"}']
)
# A byte that chooses the command, then the other words.
COMMANDS = [
    "\0p.rly", "\1p.rly\n--drop-comments", "\2--check\np.rly", "\3p.rly\n--passes\nFoldConstant,SimplifyExpr", "\3--emit=graph\np.rly", "\3p.rly\n--rewrite=r.rules\n--trace-rules",
    "\4p.rly\n--arg\nx=[[1,2,3]]\n--arg\nc=true", "\4p.rly\n--params=a.params\n--arg=c=false\n--executor=eval", "\5p.rly\n-o\np.rlx", "\6a.params",
    "\7T13", "\10add(%x, 1f)\np.rly", "\11users\np.rly", "\12nn.relu", "\13run", "\14bash",
]  # fmt: skip
VALUES = ["3", "[[1, 2], [3, 4]]", "(1, Nil)", "Node(Leaf([]), (Cons(1, Nil), Leaf([[1, 2]])))", "random(2, 3, seed=1)", "zeros(2)", '{"Cons": [1, "Nil"]}']


def programs():
    for folder in ("tests/parse", "tests/print", "tests/infer", "tests/errors", "examples/seed"):
        for path in sorted((ROOT / folder).rglob("*.rly")):
            # What the test expects is a comment at the end.
            yield path.read_bytes().split(b"/* EXPECT")[0]


def metadata():
    for path in sorted((ROOT / "tests/parse").glob("*.rly")):
        _, found, section = path.read_bytes().split(b"/* EXPECT")[0].partition(b"#[metadata]\n")
        if found:
            yield section


def parameters():
    import io

    import numpy as np

    arrays = {"x": np.arange(6, dtype=np.float32).reshape(2, 3), "y": np.array([True, False])}
    for save in (np.savez, np.savez_compressed):
        out = io.BytesIO()
        save(out, **arrays)
        yield out.getvalue()
    out = io.BytesIO()
    np.save(out, arrays["x"])
    yield out.getvalue()
    header = b'{"x":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"__metadata__":{"a":"b"}}'
    yield len(header).to_bytes(8, "little") + header + arrays["x"].tobytes()


def rules():
    for path in sorted((ROOT / "tests/transform/rules").glob("*.rules")):
        yield path.read_bytes()


def editor():
    yield MESSAGES.encode()
    body = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}'
    yield b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    for program in programs():
        if not program.startswith((b"C", b"{")):
            yield program + b"\0\2\0\10\3let %z = 1;\0\1\0\20\4\3\0\40\7\0\0\1\0\60\4"


SEEDS = {
    "parse_fuzz": programs,
    "format_fuzz": programs,
    "check_fuzz": programs,
    "metadata_fuzz": metadata,
    "params_fuzz": parameters,
    "rules_fuzz": rules,
    "lsp_fuzz": editor,
    "command_fuzz": lambda: (line.encode() for line in COMMANDS),
    "values_fuzz": lambda: (line.encode() for line in VALUES),
}
LENGTHS = {"executable_run_fuzz": 64, "values_fuzz": 512, "rules_fuzz": 2048, "command_fuzz": 256}


def prepare(target):
    corpus = BUILD / "corpus" / target
    corpus.mkdir(parents=True, exist_ok=True)
    (BUILD / "failed" / target).mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(SEEDS.get(target, tuple)()):
        (corpus / f"seed-{number:03}").write_bytes(seed)
    if target == "onnx_fuzz" and not (BUILD / "onnx/models").exists():
        subprocess.run([sys.executable, ROOT / "tests/fuzz/onnx_corpus.py", BUILD / "onnx"], check=True)
    return corpus


def options(target):
    chosen = ["-rss_limit_mb=1024", "-timeout=10", f"-max_len={LENGTHS.get(target, 4096)}", "-close_fd_mask=3", "-print_final_stats=1"]
    if target == "onnx_fuzz":
        # Without the search for leaks after each input and libFuzzer's weights of inputs, which take most of the time.
        chosen += ["-entropic=0", "-detect_leaks=0", "-malloc_limit_mb=512", f"-dict={BUILD}/onnx/onnx.dict"]
    return chosen


def run(target, seconds):
    """True if nothing failed. What the fuzzer says goes to build-fuzz/failed/TARGET.log."""
    corpus = prepare(target)
    log = BUILD / "failed" / f"{target}.log"
    command = [BUILD / "bin" / target, *options(target), f"-max_total_time={seconds}", f"-artifact_prefix={BUILD}/failed/{target}/", corpus]
    if target == "onnx_fuzz":
        command.append(BUILD / "onnx/models")
    began = time.time()
    environment = {**os.environ, "ASAN_OPTIONS": "quarantine_size_mb=32:allocator_may_return_null=1"}
    with log.open("wb") as out:
        code = subprocess.run(command, stdout=out, stderr=out, env=environment, cwd=BUILD).returncode
    said = log.read_text(errors="replace")
    inputs = re.findall(r"stat::number_of_executed_units: (\d+)", said)
    coverage = re.findall(r"\bcov: (\d+)", said)
    print(
        f"{target:20} {'ok' if code == 0 else 'FAILED'}  {inputs[-1] if inputs else '?':>9} inputs in {time.time() - began:.0f} s, "
        f"{coverage[-1] if coverage else '?'} edges, {sum(1 for _ in corpus.iterdir())} inputs kept",
        flush=True,
    )
    if code != 0:
        print(f"  {log}: " + next((line for line in said.splitlines() if "ERROR" in line or "does not hold" in line), f"exit code {code}"), flush=True)
    return code == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=600, help="for each fuzzer (default 600)")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="such as rules_fuzz; all by default")
    arguments = parser.parse_args()
    there = sorted(path.stem for path in (ROOT / "tests/fuzz").glob("*_fuzz.cpp"))
    unknown = sorted(set(arguments.targets) - set(there))
    if unknown:
        parser.error(f"there is no fuzzer {unknown[0]}; there are {' '.join(there)}")
    results = [run(target, arguments.seconds) for target in arguments.targets or there]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
