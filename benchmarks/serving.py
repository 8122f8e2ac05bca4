#!/usr/bin/env python3
"""`relay serve` against ONNX Runtime behind the simplest FastAPI application: the same models, requests and clients, over loopback.

    PYTHONPATH=build/python .venv-peers/bin/python benchmarks/serving.py build/models/resnet18.onnx build/models/bert_base.onnx

needs fastapi, uvicorn, httptools, uvloop, orjson, onnx and onnxruntime. A small perceptron comes first. Each line is one model with a number of
clients, each of which sends its next request when it has the answer; requests and answers are JSON on both sides.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

PLAIN = """
import os, sys
import numpy as np, onnxruntime, uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

session = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
dtypes = {"tensor(float)": "float32", "tensor(int64)": "int64"}
inputs = {i.name: dtypes[i.type] for i in session.get_inputs()}
app = FastAPI()

class Query(BaseModel):
    inputs: dict[str, list]

@app.post("/infer")
def infer(query: Query):
    results = session.run(None, {name: np.array(query.inputs[name], dtype) for name, dtype in inputs.items()})
    return {"outputs": [result.tolist() for result in results]}

uvicorn.run(app, port=int(sys.argv[2]), log_level="warning", access_log=False)
"""


def perceptron(path: Path) -> None:
    """128 inputs, two hidden layers of 256, 10 outputs; the batch is open."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    random = np.random.default_rng(0)
    sizes, nodes, weights, last = [128, 256, 256, 10], [], [], "x"
    for i, (a, b) in enumerate(zip(sizes, sizes[1:])):
        weights.append(numpy_helper.from_array((random.standard_normal((a, b)) / math.sqrt(a)).astype("float32"), f"w{i}"))
        nodes.append(helper.make_node("MatMul", [last, f"w{i}"], [f"m{i}"]))
        last = f"m{i}"
        if i < 2:
            nodes.append(helper.make_node("Relu", [last], [f"r{i}"]))
            last = f"r{i}"
    tensors = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", size]) for name, size in (("x", 128), (last, 10))]
    graph = helper.make_graph(nodes, "perceptron", tensors[:1], tensors[1:], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


def arrays_of(path: str) -> dict[str, Any]:
    """Made-up inputs of a model; open extents are 1, of a second dimension 64."""
    import onnxruntime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    random, arrays = np.random.default_rng(0), {}
    for given in session.get_inputs():
        shape = [extent if isinstance(extent, int) else (1 if axis == 0 else 64) for axis, extent in enumerate(given.shape)]
        arrays[given.name] = random.integers(0, 2, shape) if "int" in given.type else random.standard_normal(shape).astype("float32").round(4)
    return arrays


def post(path: str, document: Any) -> bytes:
    body = json.dumps(document).encode()
    return f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body


async def client(port: int, request: bytes, until: float, seconds: list[float]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 26)
    while time.perf_counter() < until:
        begin = time.perf_counter()
        writer.write(request)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        at = head.index(b"content-length:") + 15
        await reader.readexactly(int(head[at : head.index(b"\r\n", at)]))
        assert head.startswith(b"http/1.1 200"), head
        seconds.append(time.perf_counter() - begin)
    writer.close()


async def load(port: int, request: bytes, clients: int, length: float) -> list[float]:
    """Requests a second, median and 99th part in a hundred in milliseconds."""
    seconds: list[float] = []
    begin = time.perf_counter()
    await asyncio.gather(*(client(port, request, begin + length, seconds) for _ in range(clients)))
    took = time.perf_counter() - begin
    seconds.sort()
    return [len(seconds) / took, seconds[len(seconds) // 2] * 1e3, seconds[min(len(seconds) - 1, int(len(seconds) * 0.99))] * 1e3]


async def wait_for(port: int) -> None:
    for _ in range(600):
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
            return
        except OSError:
            await asyncio.sleep(0.1)
    raise SystemExit(f"no server at {port}")


def measure(path: str, options: argparse.Namespace, port: int) -> None:
    import uvloop

    arrays = arrays_of(path)
    datatypes = {"float32": "FP32", "int64": "INT64"}
    requests = {
        "plain": post("/infer", {"inputs": {name: array.tolist() for name, array in arrays.items()}}),
        "relay": post(
            f"/v2/models/{Path(path).stem}/infer",
            {"inputs": [{"name": n, "datatype": datatypes[str(a.dtype)], "shape": a.shape, "data": a.ravel().tolist()} for n, a in arrays.items()]},
        ),
    }
    servers = {
        "plain": [sys.executable, "-c", PLAIN, path, str(port)],
        "relay": [sys.executable, "-m", "relay", "serve", path, "--port", str(port + 1), *options.serve.split()],
    }
    running = {name: subprocess.Popen(words, stdout=subprocess.DEVNULL) for name, words in servers.items()}
    try:
        for i, name in enumerate(servers):
            uvloop.run(wait_for(port + i))
            uvloop.run(load(port + i, requests[name], 2, 0.5))
        for clients in options.clients:
            found = {name: uvloop.run(load(port + i, requests[name], clients, options.seconds)) for i, name in enumerate(servers)}
            a, b = found["plain"], found["relay"]
            print(
                f"| {Path(path).stem} | {clients} | {a[0]:.0f} | {b[0]:.0f} | {b[0] / a[0]:.2f} | {a[1]:.2f}, {a[2]:.2f} | {b[1]:.2f}, {b[2]:.2f} |", flush=True
            )
    finally:
        for process in running.values():
            process.terminate()
        for process in running.values():
            process.wait(20)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("models", nargs="*", help="ONNX models")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measurement (default: %(default)s)")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 64])
    parser.add_argument("--serve", default="", help="options for relay serve, in one word")
    parser.add_argument("--port", type=int, default=9300)
    options = parser.parse_args()
    print("| model | clients | ONNX Runtime: requests/s | Relay: requests/s | ratio | ONNX Runtime: median, p99, ms | Relay: median, p99, ms |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "perceptron.onnx"
        perceptron(made)
        for i, path in enumerate([str(made), *options.models]):
            measure(os.path.abspath(path), options, options.port + 2 * i)


if __name__ == "__main__":
    main()
