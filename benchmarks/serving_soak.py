#!/usr/bin/env python3
"""Keeps `relay serve` under load while its model is replaced again and again: no answer may be lost, and memory must stay flat.

    PYTHONPATH=build/python .venv/bin/python benchmarks/serving_soak.py examples/onnx/digits.onnx --minutes 60

Prints a line a tenth of the way, and exits with 1 if an answer is lost or if memory grows in the second half by more than 5 %.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import relay


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str, document: object) -> int:
    """The status of an answer."""
    body = json.dumps(document).encode()
    writer.write(f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body)
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: *(\d+)", head)
    assert length
    await reader.readexactly(int(length[1]))
    return int(head.split()[1])


async def client(port: int, query: object, until: float, counts: dict[int, int]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while time.monotonic() < until:
        try:
            status = await ask(reader, writer, "/v2/models/soak/infer", query)
        except (ConnectionError, asyncio.IncompleteReadError):
            status = 0
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        counts[status] = counts.get(status, 0) + 1
    writer.close()


async def replace(port: int, until: float, counts: dict[int, int]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while time.monotonic() < until:
        status = await ask(reader, writer, "/v2/repository/models/soak/load", {})
        counts[status] = counts.get(status, 0) + 1
        await asyncio.sleep(0.25)
    writer.close()


def resident(pid: int) -> float:
    """Megabytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096 / 1e6


async def soak(port: int, pid: int, query: object, seconds: float, clients: int) -> bool:
    until, answers, loads, memory = time.monotonic() + seconds, dict[int, int](), dict[int, int](), list[float]()

    async def watch() -> None:
        for tenth in range(1, 11):
            await asyncio.sleep(seconds / 10)
            memory.append(resident(pid))
            print(f"{tenth * 10} %: answers by status {answers}, replacements {loads}, resident {memory[-1]:.1f} MB", flush=True)

    await asyncio.gather(watch(), replace(port, until, loads), *(client(port, query, until, answers) for _ in range(clients)))
    grown = max(memory[5:]) / memory[4]
    print(f"lost: {sum(count for status, count in answers.items() if status != 200)}; memory of the second half: at most {grown:.3f} of that at its beginning")
    return set(answers) == set(loads) == {200} and grown <= 1.05


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("model", help="an ONNX model with tensors of floats as inputs")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--clients", type=int, default=8)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/soak.rlx"
        program = relay.compile(relay.frontend.from_onnx(options.model)[0])
        program.save(file)
        inputs = []
        for name, text in program.parameters:
            shape = [extent if isinstance(extent, int) else 1 for extent in relay.parse_type(text).shape]
            size = 1
            for extent in shape:
                size *= extent
            inputs.append({"name": name, "datatype": "FP32", "shape": shape, "data": [0.5] * size})
        server = subprocess.Popen([sys.executable, "-m", "relay", "serve", file, "--port", "0"], stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            port = int(server.stdout.readline().strip().rsplit(":", 1)[1])
            return 0 if asyncio.run(soak(port, server.pid, {"inputs": inputs}, options.minutes * 60, options.clients)) else 1
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    sys.exit(main())
