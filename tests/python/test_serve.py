"""`relay serve`: each test talks to a server in a process of its own.

RELAY_FUZZ_REQUESTS is how many malformed requests one is sent (10,000 takes a minute).
"""

import contextlib
import importlib.util
import json
import os
import random
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relay

MISSING = [name for name in ("uvicorn", "httptools", "uvloop", "orjson") if importlib.util.find_spec(name) is None]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")

ROWS = "def @main(%x: Tensor[(n, 4), float32], %k: Tensor[(n), int64]) { (nn.relu(%x), cast(%k, dtype=\"float32\") + sum(%x, axis=[1])) }"
MIXED = "def @main(%x: Tensor[(n, 4), float32]) { %x - mean(%x, axis=[0]) }"
SLOW = """
def @loop(%i: int64, %x: Tensor[(64, 64), float32]) -> Tensor[(64, 64), float32] {
  if (less(%i, 1000000000000i64)) { @loop(add(%i, 1i64), nn.dense(%x, %x)) } else { %x }
}
def @main(%n: Tensor[(1), int64], %x: Tensor[(64, 64), float32]) { @loop(take(%n, 0), %x) }
"""
FLAGS = "def @main(%p: Tensor[(n), bool], %h: Tensor[(n), float16], %u: Tensor[(n), uint8]) { (logical_not(%p), %h + %h, %u) }"


# Servers run in other folders.
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(os.path.abspath(path) for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path)}


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "relay", "serve", *words]


class Server:
    """A server with some models, by names, and options of the command."""

    def __init__(self, folder: Path, models: dict[str, Any], *options: str) -> None:
        for name, text in models.items():
            if isinstance(text, str):
                (folder / f"{name}.rly").write_text(text, encoding="utf-8")
        files = [str(folder / f"{name}.rly") if isinstance(text, str) else str(text) for name, text in models.items()]
        self.process = subprocess.Popen(
            command(*files, "--port", "0", *options), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder, env=ENVIRONMENT,
        )  # fmt: skip
        assert self.process.stdout is not None and self.process.stderr is not None
        self.line = self.process.stdout.readline()
        match = re.search(r":(\d+)$", self.line.strip())
        assert match, self.process.stderr.read()
        self.port = int(match[1])

    def raw(self, data: bytes, timeout: float = 20.0, tls: ssl.SSLContext | None = None) -> tuple[int, dict[str, str], bytes]:
        """The answer to bytes on a connection of its own: status, headers, body. Status 0 if there is none."""
        with socket.create_connection(("127.0.0.1", self.port), timeout) as plain:
            connection = plain if tls is None else tls.wrap_socket(plain, server_hostname="localhost")
            try:
                connection.sendall(data)
                if tls is None:
                    with contextlib.suppress(OSError):  # a server that refuses a request may have closed it already
                        connection.shutdown(socket.SHUT_WR)
                got = b""
                while True:
                    head, end, body = got.partition(b"\r\n\r\n")
                    length = re.search(rb"(?i)content-length: *(\d+)", head)
                    if end and length and len(body) >= int(length[1]):
                        break
                    part = connection.recv(1 << 16)
                    if not part:
                        break
                    got += part
            except (ConnectionError, BrokenPipeError):
                return 0, {}, b""
        head, _, body = got.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        return int(lines[0].split()[1]) if lines[0] else 0, headers, body

    def ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None, tls: ssl.SSLContext | None = None) -> tuple[int, Any]:
        """The answer to a request: status, and its JSON or text."""
        content = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        lines = [f"{method} {path} HTTP/1.1", "host: localhost", f"content-length: {len(content)}"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        status, got, answer = self.raw("\r\n".join(lines).encode() + b"\r\n\r\n" + content, tls=tls)
        return status, json.loads(answer) if got.get("content-type") == "application/json" else answer.decode("latin-1")

    def infer(self, model: str, *inputs: Any, **more: Any) -> tuple[int, Any]:
        return self.ask("POST", f"/v2/models/{model}/infer", {"inputs": list(inputs), **more})

    def stop(self) -> tuple[int, str]:
        """Its exit code and what it wrote of errors."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        _, errors = self.process.communicate(timeout=60)
        return self.process.returncode, errors


def tensor(name: str, datatype: str, array: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "datatype": datatype, "shape": list(array.shape), "data": array.ravel().tolist(), **more}


X = np.arange(8, dtype="float32").reshape(2, 4) - 4
K = np.array([10, 20], "int64")
GOOD = [tensor("x", "FP32", X), tensor("k", "INT64", K)]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    made = Server(tmp_path_factory.mktemp("models"), {"rows": ROWS, "flags": FLAGS}, "--max-body", "1M")
    yield made
    code, errors = made.stop()
    assert (code, errors) == (0, "")


def test_metadata(server: Server) -> None:
    assert server.ask("GET", "/v2/health/live") == (200, {"live": True})
    assert server.ask("GET", "/v2/health/ready") == (200, {"ready": True})
    assert server.ask("GET", "/v2") == (200, {"name": "relay", "version": relay.__version__, "extensions": ["binary_tensor_data", "model_repository"]})
    status, model = server.ask("GET", "/v2/models/rows")
    assert status == 200 and server.ask("GET", "/v2/models/rows/versions/1") == (200, model)
    assert model == {
        "name": "rows", "versions": ["1"], "platform": "relay",
        "inputs": [
            {"name": "x", "datatype": "FP32", "shape": [-1, 4], "dims": ["n", 4]}, {"name": "k", "datatype": "INT64", "shape": [-1], "dims": ["n"]},
        ],
        "outputs": [
            {"name": "output_0", "datatype": "FP32", "shape": [-1, 4], "dims": ["n", 4]},
            {"name": "output_1", "datatype": "FP32", "shape": [-1], "dims": ["n"]},
        ],
    }  # fmt: skip
    assert server.ask("GET", "/v2/models/rows/ready") == (200, {"name": "rows", "ready": True})
    status, page = server.ask("GET", "/")
    assert status == 200 and "<title>relay serve</title>" in page and "http:" not in page and "https:" not in page


def test_outputs_have_the_names_of_the_model(tmp_path: Path) -> None:
    served = Server(tmp_path, {"named": 'def @main(%x: Tensor[(n, 4), float32], output_tensor_names=["rows", "a/b:0"]) { (nn.relu(%x), sum(%x, axis=[1])) }'})
    try:
        _, model = served.ask("GET", "/v2/models/named")
        assert [output["name"] for output in model["outputs"]] == ["rows", "a/b:0"]
        status, answer = served.infer("named", GOOD[0], outputs=[{"name": "a/b:0"}])
        assert status == 200 and [(output["name"], output["data"]) for output in answer["outputs"]] == [("a/b:0", X.sum(1).tolist())]
        status, answer = served.infer("named", GOOD[0], outputs=[{"name": "output_0"}])
        assert (status, answer["error"]) == (400, "model named has no output 'output_0'; it has rows, a/b:0")
    finally:
        served.stop()


def test_infer_json(server: Server) -> None:
    status, answer = server.infer("rows", *GOOD, id="7")
    assert status == 200 and answer["id"] == "7" and answer["model_name"] == "rows"
    assert answer["outputs"] == [
        {"name": "output_0", "datatype": "FP32", "shape": [2, 4], "data": np.maximum(X, 0).ravel().tolist()},
        {"name": "output_1", "datatype": "FP32", "shape": [2], "data": (K + X.sum(1)).tolist()},
    ]
    nested = {"name": "x", "datatype": "FP32", "shape": [2, 4], "data": X.tolist()}
    status, answer = server.infer("rows", nested, GOOD[1], outputs=[{"name": "output_1"}])
    assert status == 200 and [output["name"] for output in answer["outputs"]] == ["output_1"]
    empty = [tensor("x", "FP32", X[:0]), tensor("k", "INT64", K[:0])]
    assert server.infer("rows", *empty)[1]["outputs"][1] == {"name": "output_1", "datatype": "FP32", "shape": [0], "data": []}


def test_infer_binary(server: Server) -> None:
    arrays = {"p": np.array([2, 0, 1], "uint8"), "h": np.array([1, 2, 3], "float16"), "u": np.array([7, 8, 9], "uint8")}
    types = {"p": "BOOL", "h": "FP16", "u": "UINT8"}
    inputs = [{"name": n, "datatype": types[n], "shape": [3], "parameters": {"binary_data_size": a.nbytes}} for n, a in arrays.items()]
    head = json.dumps({"inputs": inputs, "parameters": {"binary_data_output": True}}).encode()
    body = head + b"".join(array.tobytes() for array in arrays.values())
    request = f"POST /v2/models/flags/infer HTTP/1.1\r\nhost: a\r\ninference-header-content-length: {len(head)}\r\ncontent-length: {len(body)}\r\n\r\n"
    status, headers, answer = server.raw(request.encode() + body)
    assert status == 200
    cut = int(headers["inference-header-content-length"])
    assert [output["parameters"] for output in json.loads(answer[:cut])["outputs"]] == [{"binary_data_size": n} for n in (3, 6, 3)]
    # Any byte but 0 is true.
    assert answer[cut:] == bytes([0, 1, 0]) + (arrays["h"] * 2).tobytes() + arrays["u"].tobytes()


BAD = [
    ("POST", "/v2/models/none/infer", {}, 404, "there is no model none"),
    ("POST", "/v2/models/rows/versions/2/infer", {}, 404, "model rows has no version 2; it has 1"),
    ("GET", "/v2/models/rows/infer", None, 405, "GET is not for this path; POST is"),
    ("GET", "/nothing", None, 404, "there is nothing at /nothing"),
    ("POST", "/v2/models/rows/infer", b"", 400, "the body is no JSON: "),
    ("POST", "/v2/models/rows/infer", b"[" * 100000, 400, "the body is no JSON: "),
    ("POST", "/v2/models/rows/infer", [], 400, "the body is no JSON object"),
    ("POST", "/v2/models/rows/infer", {}, 400, "the request: inputs is missing"),
    ("POST", "/v2/models/rows/infer", {"inputs": [3]}, 400, "inputs holds something that is no object"),
    ("POST", "/v2/models/rows/infer", {"inputs": [{"name": "y"}]}, 400, "model rows has no input 'y'; it has x, k"),
    ("POST", "/v2/models/rows/infer", {"inputs": GOOD[:1]}, 400, "the request lacks input k"),
    ("POST", "/v2/models/rows/infer", {"inputs": [GOOD[0], GOOD[0]]}, 400, "input x is there twice"),
    ("POST", "/v2/models/rows/infer", {"inputs": [GOOD[0] | {"datatype": "FP64"}]}, 400, "input x: expected FP32, found FP64"),
    ("POST", "/v2/models/rows/infer", {"inputs": [GOOD[0] | {"datatype": "BYTES"}]}, 400, "input x: 'BYTES' is no datatype that is served"),
    ("POST", "/v2/models/rows/infer", {"inputs": [GOOD[0] | {"shape": [2, 5]}]}, 400, "input x: 8 elements do not make a tensor of [2, 5]"),
    ("POST", "/v2/models/rows/infer", {"inputs": [GOOD[0] | {"shape": [2**61, 2**61]}]}, 400, "input x: 8 elements do not make a tensor of"),
    ("POST", "/v2/models/rows/infer", {"inputs": [GOOD[0] | {"shape": [-2, -4]}]}, 400, "input x: shape holds -2, which is no extent"),
    ("POST", "/v2/models/rows/infer", {"inputs": [GOOD[0] | {"shape": [4, 2]}, GOOD[1]]}, 400, "input x: expected extent 4 of dimension 1, found 2"),
    ("POST", "/v2/models/rows/infer", {"inputs": [GOOD[0], tensor("k", "INT64", np.zeros(3, "int64"))]}, 400, "input k: expected extent 2 of dimension 0, found 3"),
    ("POST", "/v2/models/rows/infer", {"inputs": [GOOD[0] | {"shape": [8]}, GOOD[1]]}, 400, "input x: expected 2 dimensions, found 1"),
    ("POST", "/v2/models/rows/infer", {"inputs": [GOOD[0] | {"data": ["a"] * 8}]}, 400, "input x: 'a' is no element of dtype float32"),
    ("POST", "/v2/models/rows/infer", {"inputs": [GOOD[0] | {"data": [None] * 8}]}, 400, "input x: None is no element of dtype float32"),
    ("POST", "/v2/models/rows/infer", {"inputs": [GOOD[0] | {"data": [1e300] * 8}]}, 400, "input x: an element does not fit dtype float32"),
    ("POST", "/v2/models/rows/infer", {"inputs": [GOOD[1] | {"data": [2**63, 1]}]}, 400, "input k: an element does not fit dtype int64"),
    ("POST", "/v2/models/rows/infer", {"inputs": [GOOD[1] | {"data": [1.5, 1]}]}, 400, "input k: 1.5 is no element of dtype int64"),
    ("POST", "/v2/models/rows/infer", {"inputs": [GOOD[0] | {"data": [[1], 2]}]}, 400, "input x: data mixes lists and numbers"),
    ("POST", "/v2/models/rows/infer", {"inputs": [GOOD[0] | {"parameters": {"binary_data_size": 8}}]}, 400, "input x has both data and binary_data_size"),
    ("POST", "/v2/models/rows/infer", {"inputs": GOOD, "outputs": [{"name": "y"}]}, 400, "model rows has no output 'y'; it has output_0, output_1"),
    ("POST", "/v2/models/rows/infer", {"inputs": GOOD, "id": 7}, 400, "id is no text"),
    ("POST", "/v2/models/rows/infer", b" " * 1_000_001, 413, "the body has more than 1000000 bytes, which is the limit"),
    ("POST", "/v2/repository/models/none/load", {}, 404, "there is no model none to load"),
    ("POST", "/v2/repository/models/none/unload", {}, 404, "there is no model none"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path", "body", "status", "message"), BAD, ids=[case[4] for case in BAD])
def test_refusals(server: Server, method: str, path: str, body: Any, status: int, message: str) -> None:
    got, answer = server.ask(method, path, body)
    assert got == status and answer["error"].startswith(message), answer


def test_refusals_of_heads(server: Server) -> None:
    infer = b"POST /v2/models/rows/infer HTTP/1.1\r\nhost: a\r\n"
    assert server.raw(b"nonsense\r\n\r\n")[0] == 400
    assert server.raw(infer + b"content-length: -1\r\n\r\n")[0] == 400
    assert server.raw(infer + b"x: " + b"y" * 40_000 + b"\r\n\r\n")[0] == 431
    assert server.raw(infer + b"".join(b"x%d: y\r\n" % i for i in range(10_000)) + b"\r\n")[0] == 431
    assert server.raw(infer + b"content-encoding: gzip\r\ncontent-length: 1\r\n\r\nx")[0] == 415
    assert server.raw(infer + b"inference-header-content-length: 9\r\ncontent-length: 1\r\n\r\n1")[0] == 400
    assert server.raw(infer + b"transfer-encoding: chunked\r\n\r\n" + (b"10000\r\n" + b" " * 65536 + b"\r\n") * 20 + b"0\r\n\r\n")[0] == 413
    assert server.infer("rows", *GOOD)[0] == 200


def mutated(number: int) -> bytes:
    """A request that is broken at a place, or several, that its number decides."""
    dice = random.Random(number)
    inputs = json.loads(json.dumps(GOOD))
    document: Any = {"inputs": inputs}
    odd = [None, -1, 2**64, 1.5, "", "x" * 300, [], [[]], {}, True, [1, 2], {"name": "x"}, 1e308, [None], "FP32", "BYTES", [2**62, 2**62], [-1]]
    for _ in range(dice.randint(1, 3)):
        target = dice.choice([document, *inputs])
        key = dice.choice([*target, "parameters", "outputs", "id"])
        if dice.random() < 0.3:
            target.pop(key, None)
        else:
            target[key] = dice.choice(odd)
    body = json.dumps(document).encode()
    if dice.random() < 0.5:
        at = dice.randrange(len(body))
        body = body[:at] + bytes(dice.randrange(256) for _ in range(dice.randint(0, 4))) + body[at + dice.randint(0, 3) :]
    path = dice.choice(["/v2/models/rows/infer"] * 8 + ["/v2/models/%00/infer", "/v2//models", "/../etc", "/v2/models/rows/versions//infer"])
    head = [f"POST {path} HTTP/1.1", "host: a", f"content-length: {len(body)}"]
    if dice.random() < 0.2:
        head.append(f"inference-header-content-length: {dice.choice([0, 1, len(body), len(body) + 1, -1, 'x', 10**30])}")
    request = "\r\n".join(head).encode() + b"\r\n\r\n" + body
    if dice.random() < 0.2:
        at = dice.randrange(60)
        request = request[:at] + bytes(dice.randrange(256) for _ in range(dice.randint(1, 4))) + request[at + dice.randint(0, 4) :]
    return request if dice.random() < 0.95 else request[: dice.randrange(1, len(request))]


def test_malformed_requests(server: Server) -> None:
    count, answers = int(os.environ.get("RELAY_FUZZ_REQUESTS", "400")), {}
    for number in range(count):
        data = mutated(number)
        status, _, body = server.raw(data)
        answers[status] = answers.get(status, 0) + 1
        # Some changes keep a request right, and one that is cut short gets no answer.
        assert status in (0, 200) or 400 <= status < 500, (number, status, body, data)
        if status >= 400:
            assert json.loads(body)["error"], number
        assert server.process.poll() is None, number
    assert sum(count for status, count in answers.items() if status >= 400) > 0.7 * count, answers
    assert server.infer("rows", *GOOD)[0] == 200


def test_metrics(server: Server) -> None:
    for _ in range(3):
        assert server.infer("rows", *GOOD)[0] == 200
    status, text = server.ask("GET", "/metrics")
    assert status == 200
    for line in text.splitlines():
        assert re.fullmatch(r"# (HELP|TYPE) \w+ .+|\w+(\{\w+=\"[^\"]*\"(,\w+=\"[^\"]*\")*\})? [0-9.e+-]+", line), line
    found = re.search(r'relay_requests_total\{model="rows",code="200"\} (\d+)', text)
    assert found and int(found[1]) >= 3
    assert 'model="none"' not in text


def test_memory_limit(tmp_path: Path) -> None:
    def weights(name: str) -> Path:
        x = relay.var("x", shape=(1, 256))
        program = relay.compile(relay.Function([x], relay.nn.dense(x, relay.const(np.random.rand(1024, 256).astype("float32")))))
        program.save(tmp_path / f"{name}.rlx")
        return tmp_path / f"{name}.rlx"

    for name in ("a", "b", "c"):
        weights(name)
    server = Server(tmp_path, {"a": tmp_path / "a.rlx", "b": tmp_path / "b.rlx"}, "--repository", str(tmp_path), "--memory", "2.5M")
    status, answer = server.ask("POST", "/v2/repository/models/c/load", {})
    assert status == 400
    assert re.fullmatch(r"c needs 1\.[01] MB, but 2\.1 MB of the limit of 2\.5 MB are taken by a, b", answer["error"]), answer
    index = server.ask("POST", "/v2/repository/index", {})[1]
    assert [(model["name"], model["state"]) for model in index] == [("a", "READY"), ("b", "READY"), ("c", "UNAVAILABLE")]
    assert server.ask("POST", "/v2/repository/models/a/load", {}) == (200, {})  # in place of itself
    assert server.ask("POST", "/v2/repository/models/a/unload", {}) == (200, {})
    assert server.ask("POST", "/v2/repository/models/c/load", {}) == (200, {})
    assert server.ask("GET", "/v2/models/a")[0] == 404
    assert server.stop()[0] == 0
    done = subprocess.run(command("a.rlx", "b.rlx", "c.rlx", "--memory", "2.5M", "--port", "0"), cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 1
    assert re.match(r"error: c needs 1\.[01] MB, but 2\.1 MB of the limit of 2\.5 MB are taken by a, b\n", done.stderr), done.stderr


def test_batches(tmp_path: Path) -> None:
    server = Server(tmp_path, {"rows": ROWS}, "--batch", "n:16", "--batch-wait", "20ms", "--workers", "2")
    wrong: list[Any] = []

    def client(seed: int) -> None:
        dice = np.random.default_rng(seed)
        for i in range(40):
            n = int(dice.integers(0, 6))
            x, k = dice.standard_normal((n, 4)).astype("float32"), dice.integers(-9, 9, n)
            status, answer = server.infer("rows", tensor("x", "FP32", x), tensor("k", "INT64", k))
            expected = [np.maximum(x, 0).ravel(), k.astype("float32") + x.sum(1)]
            if status != 200 or not all(np.allclose(o["data"], e, atol=1e-5) for o, e in zip(answer["outputs"], expected)):
                wrong.append((seed, i, status, answer))

    threads = [threading.Thread(target=client, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong[0]
    text = server.ask("GET", "/metrics")[1]
    assert int(re.search(r'relay_request_seconds_count\{model="rows"\} (\d+)', text)[1]) == 320  # type: ignore[index]
    assert server.stop() == (0, "")


def test_batches_where_the_type_does_not_say_the_rows(tmp_path: Path) -> None:
    text = "def @main(%x: Tensor[(n, 4), float32]) -> Tensor[(?, 4), float32] { nn.relu(%x) }"
    server = Server(tmp_path, {"open": text}, "--batch", "n:4", "--batch-wait", "60s")
    answers: list[Any] = []
    rows = [np.full((1, 4), i, "float32") for i in range(4)]
    threads = [threading.Thread(target=lambda x=x: answers.append(server.infer("open", tensor("x", "FP32", x)))) for x in rows]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answer["outputs"][0]["data"][0] for _, answer in answers) == [0, 1, 2, 3]
    assert 'relay_batch_rows_sum{model="open"} 4\nrelay_batch_rows_count{model="open"} 1\n' in server.ask("GET", "/metrics")[1]
    assert server.stop() == (0, "")


def test_a_dimension_that_a_model_does_not_have(tmp_path: Path) -> None:
    server = Server(tmp_path, {"rows": ROWS}, "--batch", "batch")
    code, errors = server.stop()
    assert code == 0 and errors == (
        "note: rows: its requests run one by one: x is (n, 4) and does not have the dimension batch once: requests cannot be batched along it\n"
    )


def test_rows_that_depend_on_others_are_not_batched(tmp_path: Path) -> None:
    server = Server(tmp_path, {"mixed": MIXED}, "--batch", "n")
    assert server.infer("mixed", tensor("x", "FP32", X))[0] == 200
    code, errors = server.stop()
    assert code == 0 and errors == (
        "note: mixed: its requests run one by one: output_0 of mixed: the result of a row depends on others along n, so requests cannot be batched\n"
    )


def test_reloads_lose_no_request(tmp_path: Path) -> None:
    server = Server(tmp_path, {"rows": ROWS})
    statuses: list[int] = []
    stop = threading.Event()

    def client() -> None:
        while not stop.is_set():
            statuses.append(server.infer("rows", *GOOD)[0])

    threads = [threading.Thread(target=client) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(5):
        assert server.ask("POST", "/v2/repository/models/rows/load", {}) == (200, {})
    (tmp_path / "rows.rly").write_text("def @main(", encoding="utf-8")
    status, answer = server.ask("POST", "/v2/repository/models/rows/load", {})
    assert status == 400 and "rows.rly cannot be served" in answer["error"]
    stop.set()
    for thread in threads:
        thread.join()
    assert len(statuses) > 5 and set(statuses) == {200}
    assert server.stop()[0] == 0


def test_times(tmp_path: Path) -> None:
    server = Server(tmp_path, {"slow": SLOW}, "--timeout", "1s", "--read-timeout", "2s", "--workers", "1", "--max-queue", "1")
    x = np.zeros((64, 64), "float32")
    endless = [tensor("n", "INT64", np.zeros(1, "int64")), tensor("x", "FP32", x)]
    status, answer = server.infer("slow", *endless)
    assert status == 504 and re.fullmatch(r"the run did not end within 0\.\d+ s", answer["error"]), answer
    got: list[tuple[int, Any]] = []
    for _ in range(20):  # on a busy machine four threads may come one after the other
        threads = [threading.Thread(target=lambda: got.append(server.infer("slow", *endless))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if any(status == 503 for status, _ in got):
            break
    assert {status for status, _ in got} == {503, 504}, got
    assert any("requests wait already, which is the limit" in answer["error"] for _, answer in got)
    with socket.create_connection(("127.0.0.1", server.port), 20) as connection:
        connection.sendall(b"POST /v2/models/slow/infer HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\n{")
        assert connection.recv(1000).startswith(b"HTTP/1.1 408 ")
    # Short runs are done at once; one of the same shapes that takes long must not hold up others.
    for _ in range(20):
        assert server.infer("slow", tensor("n", "INT64", np.array([10**12])), endless[1])[0] == 200
    meanwhile = False
    for _ in range(20):
        thread = threading.Thread(target=lambda: got.append(server.infer("slow", *endless)))
        thread.start()
        time.sleep(0.1)
        assert server.ask("GET", "/v2/health/ready") == (200, {"ready": True})
        meanwhile = thread.is_alive()
        thread.join()
        assert got[-1][0] == 504
        if meanwhile:
            break
    assert meanwhile
    assert server.stop()[0] == 0


def test_stop_answers_what_came(tmp_path: Path) -> None:
    server = Server(tmp_path, {"slow": SLOW}, "--timeout", "3s")
    got: list[Any] = []
    endless = [tensor("n", "INT64", np.zeros(1, "int64")), tensor("x", "FP32", np.zeros((64, 64), "float32"))]
    thread = threading.Thread(target=lambda: got.append(server.infer("slow", *endless)))
    thread.start()
    while thread.is_alive() and "\nrelay_busy_workers 1" not in server.ask("GET", "/metrics")[1]:
        time.sleep(0.01)
    code, _ = server.stop()
    thread.join()
    assert code == 0 and got[0][0] == 504


def answer_to(connection: socket.socket) -> bytes:
    """The head of the next answer; empty if the connection ended."""
    got = b""
    while not got.endswith(b'{"live":true}'):
        part = connection.recv(1 << 12)
        if not part:
            return b""
        got += part
    return got


def test_a_server_that_stood_still_loses_no_request(tmp_path: Path) -> None:
    server = Server(tmp_path, {"rows": ROWS}, "--keep-alive", "1s", "--read-timeout", "1s")
    live = b"GET /v2/health/live HTTP/1.1\r\nhost: a\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port), 20) as idle, socket.create_connection(("127.0.0.1", server.port), 20) as begun:
        for connection in (idle, begun):
            connection.sendall(live)
            assert answer_to(connection)
        begun.sendall(live[:10])
        time.sleep(0.1)
        os.kill(server.process.pid, signal.SIGSTOP)
        time.sleep(3)
        idle.sendall(live)
        os.kill(server.process.pid, signal.SIGCONT)
        assert answer_to(idle).startswith(b"HTTP/1.1 200 ")
        begun.sendall(live[10:])
        assert answer_to(begun).startswith(b"HTTP/1.1 200 ")
        assert not answer_to(idle)  # the limits still hold
    # The same for requests that come before the end.
    with socket.create_connection(("127.0.0.1", server.port), 20) as connection:
        connection.sendall(live)
        assert answer_to(connection)
        os.kill(server.process.pid, signal.SIGSTOP)
        connection.sendall(live)
        server.process.send_signal(signal.SIGTERM)
        os.kill(server.process.pid, signal.SIGCONT)
        assert answer_to(connection).startswith(b"HTTP/1.1 200 ")
        assert not answer_to(connection)
    assert server.stop() == (0, "")


def test_token_and_tls(tmp_path: Path) -> None:
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "cert.pem", "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    try:
        subprocess.run(made, cwd=tmp_path, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    (tmp_path / "token").write_text("secret\n", encoding="ascii")
    server = Server(tmp_path, {"rows": ROWS}, "--tls-cert", "cert.pem", "--tls-key", "key.pem", "--token-file", "token")
    assert "https://" in server.line
    tls = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
    body = {"inputs": GOOD}
    infer = "/v2/models/rows/infer"
    assert server.ask("GET", "/v2/health/ready", tls=tls)[0] == 200
    assert server.ask("POST", infer, body, tls=tls)[0] == 401
    assert server.ask("POST", infer, body, {"authorization": "Bearer secre"}, tls=tls)[0] == 401
    assert server.ask("POST", infer, body, {"authorization": "Bearer secret"}, tls=tls)[0] == 200
    assert server.ask("GET", "/metrics", tls=tls)[0] == 401
    assert server.stop()[0] == 0


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        ([], 2, "a MODEL or --repository is needed"),
        (["absent.rlx"], 1, "absent.rlx cannot be read"),
        (["model.txt"], 1, "model.txt is no model: files that end in .rlx, .onnx, .rly are"),
        (["wrong.rly"], 1, "wrong.rly cannot be served"),
        (["wrong.rly", "wrong.rly"], 1, "two models have the name wrong: give one another by NAME=FILE"),
        (["a/b=wrong.rly"], 1, "'a/b' is no name for a model"),
        (["pair.rly"], 1, "x is (int32, int32): only tensors and numbers go over the wire"),
        (["wrong.rly", "--memory", "much"], 2, "'much' is no size: 500M, 2G, 64Mi are"),
        (["wrong.rly", "--timeout", "soon"], 2, "'soon' is no time: 5ms, 30s, 0.5 are"),
        (["wrong.rly", "--batch", "3"], 2, "'3' is no dimension with a number of rows: n, n:32 are"),
        (["wrong.rly", "--tls-cert", "a"], 2, "--tls-cert and --tls-key go together"),
        (["--repository", "absent"], 1, "absent is no folder"),
    ],
    ids=lambda value: "",
)  # fmt: skip
def test_usage(tmp_path: Path, options: list[str], code: int, message: str) -> None:
    (tmp_path / "wrong.rly").write_text("def @main(", encoding="utf-8")
    (tmp_path / "pair.rly").write_text("def @main(%x: (int32, int32)) { %x.0 }", encoding="utf-8")
    done = subprocess.run(command(*options), cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == code and message in done.stderr, done.stderr


@pytest.mark.skipif(importlib.util.find_spec("tritonclient") is None, reason="tritonclient[http] is not installed")
def test_tritonclient(server: Server) -> None:
    import tritonclient.http as http

    client = http.InferenceServerClient(f"localhost:{server.port}")
    assert client.is_server_live() and client.is_server_ready() and client.is_model_ready("rows") and not client.is_model_ready("none")
    assert client.get_model_metadata("rows")["inputs"][0]["name"] == "x"
    for binary in (True, False):
        inputs = [http.InferInput("x", X.shape, "FP32"), http.InferInput("k", K.shape, "INT64")]
        inputs[0].set_data_from_numpy(X, binary_data=binary)
        inputs[1].set_data_from_numpy(K, binary_data=not binary)
        result = client.infer("rows", inputs, outputs=[http.InferRequestedOutput(f"output_{i}", binary_data=binary == (i == 0)) for i in (0, 1)])
        assert np.array_equal(result.as_numpy("output_0"), np.maximum(X, 0)) and np.array_equal(result.as_numpy("output_1"), K + X.sum(1))
    with pytest.raises(http.InferenceServerException, match="there is no model none"):
        client.infer("none", inputs)
    client.close()
