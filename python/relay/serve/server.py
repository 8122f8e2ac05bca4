"""The HTTP server: uvicorn, with limits of its own for what comes before the application."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import select
import signal
import socket
import ssl
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from .app import Application
from .errors import HttpError, ModelError
from .options import Options
from .repository import Repository


class _HeadTooLarge(Exception):
    pass


# A timer that is later than this says that the process stood still, not that its clients were slow.
_LATE = 1.0


def _unread(transport: asyncio.Transport) -> bool:
    """True if something of the client is in the socket that the event loop has not read yet."""
    waiting = select.poll()
    waiting.register(transport.get_extra_info("socket").fileno(), select.POLLIN)
    return bool(waiting.poll(0))


def _protocol(options: Options) -> type[HttpToolsProtocol]:
    """A protocol that refuses large heads and slow requests, which the parser itself would take without end.

    An event loop runs its timers before it reads. After the process stood still (a frozen group of processes, a virtual machine that moves),
    a timer may end a connection whose request has come meanwhile; to close a socket with bytes in it resets the connection. So timers look first.
    """

    class Limited(HttpToolsProtocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self.head = 0  # bytes
            self.in_head = True
            self.refused = False
            self.last = False
            self.until_here = self.loop.call_later(options.read_timeout, self.too_slow)

        def connection_lost(self, exc: Exception | None) -> None:
            self.until_here.cancel()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            if self.refused:
                return
            super().data_received(data)
            if self.in_head and not self.refused:
                self.head += len(data)
                if self.head > options.max_head:
                    self.refuse(431, "the head of the request is too large")

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self.head, self.in_head = 0, True
            self.until_here.cancel()
            self.until_here = self.loop.call_later(options.read_timeout, self.too_slow)

        def on_header(self, name: bytes, value: bytes) -> None:
            # Trailers come here, too, after the head.
            self.head += len(name) + len(value)
            if self.head > options.max_head:
                raise _HeadTooLarge
            super().on_header(name, value)

        def on_headers_complete(self) -> None:
            self.in_head = False
            super().on_headers_complete()
            if self.last:
                self.cycle.keep_alive = False

        def on_message_complete(self) -> None:
            self.until_here.cancel()
            super().on_message_complete()

        def eof_received(self) -> bool | None:  # type: ignore[override]
            # A client that says that it sends no more still gets the answer to a whole request.
            waits = self.cycle is not None and not self.cycle.response_complete and not self.cycle.more_body
            if waits and self.scheme == "http":
                self.cycle.keep_alive = False
                return True
            return None

        def shutdown(self) -> None:
            if (self.cycle is None or self.cycle.response_complete) and not self.transport.is_closing() and _unread(self.transport):
                self.last = True  # a request that came before the end gets its answer
            else:
                super().shutdown()

        def timeout_keep_alive_handler(self) -> None:
            if not self.transport.is_closing() and _unread(self.transport):
                self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)
            else:
                super().timeout_keep_alive_handler()

        def too_slow(self) -> None:
            if self.loop.time() - self.until_here.when() > _LATE:
                self.until_here = self.loop.call_later(options.read_timeout, self.too_slow)
                return
            self.refuse(408, "the request did not come in time")

        def send_400_response(self, msg: str) -> None:
            large = self.head > options.max_head
            self.refuse(431 if large else 400, "the head of the request is too large" if large else "the request is no HTTP")

        def refuse(self, status: int, message: str) -> None:
            self.refused = True
            if self.transport.is_closing():
                return
            if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
                body = b'{"error":"%s"}' % message.encode()
                head = f"HTTP/1.1 {status} \r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
                self.transport.write(head.encode() + body)
            self.transport.close()

    return Limited


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield  # `_serve` has handlers of its own, after which the process ends as usual


def _socket(options: Options) -> socket.socket:
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((options.host, options.port))
        made.listen(2048)
    except OSError as error:
        made.close()
        raise ModelError(f"cannot listen at {options.host}:{options.port}: {error.strerror}") from None
    return made


def _config(application: Application, options: Options) -> uvicorn.Config:
    config = uvicorn.Config(
        application, loop="uvloop", http=_protocol(options), ws="none", lifespan="off", log_config=None, access_log=False,
        server_header=False, date_header=False, limit_concurrency=options.max_connections, backlog=2048,
        timeout_keep_alive=int(options.keep_alive), timeout_graceful_shutdown=int(options.stop_timeout),
        ssl_certfile=options.certificate, ssl_keyfile=options.key,
    )  # fmt: skip
    try:
        config.load()
    except (OSError, ssl.SSLError) as error:
        raise ModelError(f"the certificate or its key cannot be used: {error}") from None
    return config


async def _serve(models: Sequence[str], options: Options, ready: Callable[[str], None] | None) -> None:
    repository = Repository(options)
    application = Application(repository)
    names = []
    for model in models:
        name, separator, path = model.partition("=")
        names.append(repository.add(path, name) if separator else repository.add(model))
    repository.scan()
    for name in names or list(repository.paths):
        try:
            await repository.load(name)
        except HttpError as error:
            raise ModelError(error.message) from None
    for note in repository.notes:
        print(f"note: {note}", file=sys.stderr)
    # What is there now stays: it is not looked at again and again for garbage, and does not put off the collection of requests.
    gc.collect()
    gc.freeze()
    listener = _socket(options)
    server = _Server(_config(application, options))

    def stop() -> None:
        application.stopping = True
        server.should_exit = True

    for number in (signal.SIGTERM, signal.SIGINT):
        with contextlib.suppress(ValueError, RuntimeError):  # on another thread than the main one
            asyncio.get_running_loop().add_signal_handler(number, stop)
    host, port = listener.getsockname()[:2]
    address = f"{'https' if options.certificate else 'http'}://{f'[{host}]' if ':' in host else host}:{port}"
    line = f"relay serve: {', '.join(sorted(repository.models)) or 'no model yet'} at {address}"
    (ready or (lambda text: print(text, flush=True)))(line)
    try:
        await server.serve(sockets=[listener])
    finally:
        repository.scheduler.close()


def run(models: Sequence[str], options: Options | None = None, ready: Callable[[str], None] | None = None, **settings: Any) -> None:
    """Serves models until SIGTERM or Ctrl-C; requests in flight are answered then.

    Args:
        models: Files, each as PATH or NAME=PATH: `.rlx`, `.onnx` or Relay text.
        options: All settings; or give them by name, as `port=8000`.
        ready: Called with the address once the server listens; by default that is printed.

    Raises ModelError for a model that cannot be served, with the reason.
    """
    import uvloop

    logging.basicConfig(format="%(levelname)s: %(message)s", level=logging.INFO if (options and options.log) else logging.WARNING)
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # it would write a line for each malformed request
    uvloop.run(_serve(models, options if options is not None else Options(**settings), ready))
