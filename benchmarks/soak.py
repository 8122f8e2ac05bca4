#!/usr/bin/env python3
"""A server under load for a long time: its memory, and the answers that are lost or wrong while models are replaced.

    PYTHONPATH=build/python .venv/bin/python benchmarks/soak.py --seconds 900

needs uvicorn, httptools, uvloop and orjson. Clients ask for the digits of `examples/onnx`, as JSON, in batches of several sizes. Meanwhile the file of the
model is replaced and loaded again, and malformed requests come in. Each line is the memory of the server at a time; the last ones compare its
second and last quarters.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent


@dataclass
class Counts:
    """What clients saw."""

    answers: int = 0
    wrong: int = 0
    refused: int = 0  # malformed requests that got their 4xx
    reloads: int = 0
    lost: list[str] = field(default_factory=list)


def http(path: str, body: bytes) -> bytes:
    return f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> tuple[int, bytes]:
    writer.write(request)
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    at = head.index(b"content-length:") + 15
    return int(head.split()[1]), await reader.readexactly(int(head[at : head.index(b"\r\n", at)]))


async def ask_once(port: int, request: bytes) -> tuple[int, bytes]:
    """On a connection of its own, which is closed: an open one would count as memory of the server."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 24)
    try:
        return await ask(reader, writer, request)
    finally:
        writer.close()


async def client(port: int, requests: list[tuple[bytes, list[int]]], first: int, pause: float, until: float, counts: Counts) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 24)
    turn = first
    while time.monotonic() < until:
        request, expected = requests[turn % len(requests)]
        turn += 1
        try:
            status, body = await ask(reader, writer, request)
        except (OSError, asyncio.IncompleteReadError) as error:
            counts.lost.append(repr(error))
            reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 24)
            continue
        if status != 200:
            counts.lost.append(f"{status} {body[:100]!r}")
        else:
            output = json.loads(body)["outputs"][0]
            counts.answers += 1
            counts.wrong += np.reshape(output["data"], output["shape"]).argmax(axis=1).tolist() != expected
        if turn % 50 == 0:
            status, _ = await ask_once(port, http("/v2/models/digits/infer", b'{"inputs": [}'))
            counts.refused += status == 400
        await asyncio.sleep(pause)
    writer.close()


async def reload(port: int, file: Path, every: float, until: float, counts: Counts) -> None:
    while time.monotonic() + every < until:
        await asyncio.sleep(every)
        copy = file.with_suffix(".new")
        shutil.copy(file, copy)
        copy.chmod(0o444)
        copy.replace(file)
        status, body = await ask_once(port, http("/v2/repository/models/digits/load", b""))
        if status == 200:
            counts.reloads += 1
        else:
            counts.lost.append(f"reload: {status} {body[:100]!r}")


def memory(pid: int) -> dict[str, int]:
    """KiB of a process: all that is resident, and what no file backs."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    found = {line.split(":")[0]: line.split()[1] for line in lines if ":" in line and len(line.split()) > 1}
    return {name: int(found[name]) for name in ("VmRSS", "RssAnon", "Threads")}


async def watch(pid: int, every: float, until: float, counts: Counts, seen: list[dict[str, int]]) -> None:
    begin = time.monotonic()
    while time.monotonic() < until:
        now = memory(pid)
        seen.append(now)
        words = [f"{now['VmRSS'] / 1024:.1f}", f"{now['RssAnon'] / 1024:.1f}", now["Threads"], counts.answers, counts.reloads, len(counts.lost)]
        print(f"| {time.monotonic() - begin:.0f} | {' | '.join(map(str, words))} |", flush=True)
        await asyncio.sleep(every)


async def soak(port: int, pid: int, file: Path, options: argparse.Namespace) -> bool:
    with np.load(ROOT / "examples/digits/test.npz") as held_back:
        images = held_back["images"]
    requests = []
    for i, rows in enumerate((1, 2, 3, 5, 8, 16, 1, 4)):
        part = images[20 * i : 20 * i + rows]
        query = {"inputs": [{"name": "images", "datatype": "FP32", "shape": part.shape, "data": part.ravel().tolist()}]}
        requests.append(http("/v2/models/digits/infer", json.dumps(query).encode()))
    expected = []
    for request in requests:  # what the model says before anything else happens
        status, body = await ask_once(port, request)
        assert status == 200, body
        output = json.loads(body)["outputs"][0]
        expected.append(np.reshape(output["data"], output["shape"]).argmax(axis=1).tolist())
    counts, seen = Counts(), []
    until = time.monotonic() + options.seconds
    print("| s | resident, MiB | of it no file's, MiB | threads | answers | reloads | lost |\n|---|---|---|---|---|---|---|")
    pairs = list(zip(requests, expected))
    await asyncio.gather(
        *(client(port, pairs, i, options.pause / 1e3, until, counts) for i in range(options.clients)),
        reload(port, file, options.reload, until, counts),
        watch(pid, options.every, until, counts, seen),
    )
    quarter = max(len(seen) // 4, 1)
    for name, what in (("VmRSS", "resident"), ("RssAnon", "no file's")):
        second, last = ([s[name] for s in part] for part in (seen[quarter : 2 * quarter], seen[-quarter:]))
        a, b = statistics.median(second or last), statistics.median(last)
        print(f"{what}: {a / 1024:.1f} MiB in the second quarter, {b / 1024:.1f} MiB in the last, {(b / a - 1) * 100:+.2f} %")
    print(f"{counts.answers} answers, {counts.refused} malformed requests refused, {counts.reloads} reloads, {len(counts.lost)} lost, {counts.wrong} wrong")
    for line in counts.lost[:10]:
        print(f"  {line}")
    return not counts.lost and not counts.wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seconds", type=float, default=900.0)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--pause", type=float, default=0.0, help="ms of each client between an answer and its next request")
    parser.add_argument("--reload", type=float, default=2.0, help="seconds between two reloads")
    parser.add_argument("--every", type=float, default=15.0, help="seconds between two looks at the memory")
    parser.add_argument("--serve", default="--batch n:32", help="options for relay serve, in one word")
    options = parser.parse_args()
    import relay

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "digits.rlx"
        module, _ = relay.frontend.from_onnx(str(ROOT / "examples/onnx/digits.onnx"))
        relay.compile(module).save(file)
        file.chmod(0o444)
        words = [sys.executable, "-m", "relay", "serve", str(file), "--port", "0", *options.serve.split()]
        server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=os.environ)
        try:
            assert server.stdout is not None
            line = server.stdout.readline()
            good = asyncio.run(soak(int(line.rsplit(":", 1)[1]), server.pid, file, options))
        finally:
            server.terminate()
            server.wait(30)
    return 0 if good and server.returncode == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
