"""The ASGI application: paths, access, errors."""

from __future__ import annotations

import hmac
import logging
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import orjson

from .. import __version__
from . import protocol
from .errors import HttpError
from .options import Options
from .repository import Repository

_log = logging.getLogger("relay.serve")
_JSON = (b"content-type", b"application/json")
_PAGE = (Path(__file__).parent / "page.html").read_bytes()
# The page loads nothing from elsewhere, and is shown in no other one.
_PAGE_HEADERS = [
    (b"content-type", b"text/html; charset=utf-8"),
    (b"content-security-policy", b"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
]  # fmt: skip

Headers = list[tuple[bytes, bytes]]
Answer = tuple[int, bytes, Headers]
Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


def _json(value: Any, status: int = 200) -> Answer:
    return status, orjson.dumps(value), [_JSON]


class Disconnected(Exception):
    """The client went away before all of its request was there."""


class Application:
    """Answers requests for the models of a repository."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self.options: Options = repository.options
        self.token = None if self.options.token is None else b"Bearer " + self.options.token.encode()
        self.stopping = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await self._live(receive, send)
        if scope["type"] != "http":
            raise RuntimeError(f"no {scope['type']} here")
        begin = time.perf_counter()
        model = ""
        try:
            path = scope["path"].strip("/").split("/") if scope["path"] != "/" else []
            if path[:2] == ["v2", "models"] and len(path) > 2 and path[2] in self.repository.models:
                model = path[2]
            status, body, headers = await self._answer(path, scope, receive)
        except HttpError as error:
            status, body, headers = _json({"error": error.message}, error.status)
            headers.extend(error.headers)
        except Disconnected:
            return
        except Exception:
            _log.exception("a request failed")
            status, body, headers = _json({"error": "the server failed at this request"}, 500)
        seconds = time.perf_counter() - begin
        self.repository.metrics.answered(model, status, seconds)
        if self.options.log:
            _log.info("%s %s %d %.3f ms", scope["method"], scope["path"], status, seconds * 1e3)
        headers.append((b"content-length", b"%d" % len(body)))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})

    async def _live(self, receive: Receive, send: Send) -> None:
        """Says yes to servers that ask at their start and end."""
        while True:
            kind = (await receive())["type"]
            self.stopping = kind == "lifespan.shutdown"
            await send({"type": f"{kind}.complete"})
            if self.stopping:
                return

    async def _answer(self, path: list[str], scope: Scope, receive: Receive) -> Answer:
        method = scope["method"]
        if path[:2] == ["v2", "models"] and len(path) > 2:
            self._admit(scope)
            return await self._model(path[2:], method, scope, receive)
        if not path:
            self._method(method, "GET")
            return 200, _PAGE, list(_PAGE_HEADERS)
        if path[:2] == ["v2", "health"] and len(path) == 3 and path[2] in ("live", "ready"):
            self._method(method, "GET")
            return self._health(path[2])
        self._admit(scope)
        if path == ["v2"]:
            self._method(method, "GET")
            return _json({"name": "relay", "version": __version__, "extensions": ["binary_tensor_data", "model_repository"]})
        if path == ["metrics"]:
            self._method(method, "GET")
            return 200, self._metrics().encode(), [(b"content-type", b"text/plain; version=0.0.4; charset=utf-8")]
        if path == ["relay", "models"]:
            self._method(method, "GET")
            return _json(self._overview())
        if path[:2] == ["v2", "repository"]:
            return await self._repository(path[2:], method, scope, receive)
        raise HttpError(404, f"there is nothing at {scope['path']:.200}")

    def _method(self, method: str, *wanted: str) -> None:
        if method not in wanted and not (method == "HEAD" and "GET" in wanted):
            raise HttpError(405, f"{method} is not for this path; {' and '.join(wanted)} is", ((b"allow", ", ".join(wanted).encode()),))

    def _admit(self, scope: Scope) -> None:
        if self.token is None:
            return
        for name, value in scope["headers"]:
            if name == b"authorization" and hmac.compare_digest(value, self.token):
                return
        raise HttpError(401, "this server wants a token: Authorization: Bearer TOKEN", ((b"www-authenticate", b"Bearer"),))

    def _health(self, kind: str) -> Answer:
        if kind == "ready":
            missing = sorted(set(self.repository.paths) - set(self.repository.models) - {n for n, why in self.repository.reasons.items() if why == "unloaded"})
            if self.stopping or missing and not self.repository.models:
                return _json({"ready": False}, 503)
            return _json({"ready": True})
        return _json({"live": True})

    async def _model(self, rest: list[str], method: str, scope: Scope, receive: Receive) -> Answer:
        name, rest = rest[0], rest[1:]
        version = "1"
        if rest[:1] == ["versions"] and len(rest) > 1:
            version, rest = rest[1], rest[2:]
        if rest == ["infer"]:
            self._method(method, "POST")
            return await self._infer(name, version, scope, receive)
        if rest == ["ready"]:
            self._method(method, "GET")
            self.repository.get(name, version)
            return _json({"name": name, "ready": True})
        if rest == []:
            self._method(method, "GET")
            return _json(self.repository.get(name, version).model.metadata())
        if rest in (["stats"], ["config"]):
            raise HttpError(404, f"{rest[0]} is not served; /metrics has counts and times")
        raise HttpError(404, f"there is nothing at {scope['path']:.200}")

    async def _infer(self, name: str, version: str, scope: Scope, receive: Receive) -> Answer:
        self.repository.get(name, version)
        header_length = None
        for key, value in scope["headers"]:
            if key == b"inference-header-content-length":
                header_length = value
            elif key == b"content-encoding" and value != b"identity":
                raise HttpError(415, "compressed bodies are not taken: send the body as it is")
        body = await self._body(scope, receive)
        batcher = self.repository.get(name, version)  # it may have been replaced meanwhile
        query = protocol.read(batcher.model, body, header_length)
        results = await batcher.infer(query.arrays)
        answer, json_length = protocol.write(batcher.model, query, results)
        if json_length is None:
            return 200, answer, [_JSON]
        return 200, answer, [(b"content-type", b"application/octet-stream"), (b"inference-header-content-length", b"%d" % json_length)]

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        limit = self.options.max_body
        too_large = HttpError(413, f"the body has more than {limit} bytes, which is the limit", ((b"connection", b"close"),))
        for name, value in scope["headers"]:
            if name == b"content-length" and value.isdigit() and (len(value) > 18 or int(value) > limit):
                raise too_large
        parts: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Disconnected
            part = message.get("body", b"")
            size += len(part)
            if size > limit:
                raise too_large
            parts.append(part)
            if not message.get("more_body"):
                return parts[0] if len(parts) == 1 else b"".join(parts)

    async def _repository(self, rest: list[str], method: str, scope: Scope, receive: Receive) -> Answer:
        if rest == ["index"]:
            self._method(method, "POST", "GET")
            if method == "POST":
                body = await self._body(scope, receive)
                try:
                    only_ready = bool(body) and orjson.loads(body).get("ready") is True
                except (orjson.JSONDecodeError, AttributeError):
                    raise HttpError(400, "the body is no JSON object") from None
            else:
                only_ready = False
            return _json([model for model in self.repository.index() if model["state"] == "READY" or not only_ready])
        if len(rest) == 3 and rest[0] == "models" and rest[2] in ("load", "unload"):
            self._method(method, "POST")
            await self._body(scope, receive)
            await (self.repository.load if rest[2] == "load" else self.repository.unload)(rest[1])
            return _json({})
        raise HttpError(404, f"there is nothing at {scope['path']:.200}")

    def _overview(self) -> dict[str, Any]:
        repository = self.repository
        models = []
        for item in repository.index():
            batcher = repository.models.get(item["name"])
            if batcher is not None:
                item |= batcher.model.metadata() | {
                    "bytes": batcher.model.size, "latency": repository.metrics.latency(item["name"]),
                    "batch": batcher.batching.dimension, "source": batcher.model.source,
                }  # fmt: skip
            models.append(item)
        return {"version": __version__, "bytes": repository.size, "limit": self.options.memory, "models": models}

    def _metrics(self) -> str:
        repository = self.repository
        return repository.metrics.text(
            [
                ("relay_queue_requests", "Requests that wait for a worker.", [("", repository.scheduler.waiting)]),
                ("relay_busy_workers", "Runs that go on now.", [("", repository.scheduler.workers - repository.scheduler.free)]),
                ("relay_model_bytes", "Size of the executable of a model.", [(f'{{model="{name}"}}', b.model.size) for name, b in sorted(repository.models.items())]),
                ("relay_memory_limit_bytes", "The limit for all executables; 0 for none.", [("", repository.options.memory or 0)]),
            ]
        )  # fmt: skip


def application(repository: Repository) -> Application:
    """The ASGI application that serves a repository, for a server of your own. Load the models first: `await repository.load(name)`."""
    return Application(repository)
