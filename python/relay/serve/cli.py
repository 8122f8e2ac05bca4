"""The command `relay serve`."""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}


def _size(text: str) -> int:
    match = re.fullmatch(r"(\d{1,15}(?:\.\d{1,6})?)([kmg]i?)?b?", text.lower())
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no size: 500M, 2G, 64Mi are")
    return int(float(match[1]) * _UNITS[match[2] or ""])


def _seconds(text: str) -> float:
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)(ms|s|)", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no time: 5ms, 30s, 0.5 are")
    return float(match[1]) * (1e-3 if match[2] == "ms" else 1)


def _count(least: int, most: int) -> type:
    def count(text: str) -> int:
        if not re.fullmatch(r"\d{1,9}", text) or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is not between {least} and {most}")
        return int(text)

    return count  # type: ignore[return-value]


def _batch(text: str) -> tuple[str, int]:
    name, _, rows = text.partition(":")
    if not name.isidentifier() or (rows and (not rows.isdigit() or not 1 <= int(rows[:9]) <= 65536)):
        raise argparse.ArgumentTypeError(f"{text!r} is no dimension with a number of rows: n, n:32 are")
    return name, int(rows) if rows else 32


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="relay serve", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Answer requests for models over HTTP, by the Open Inference Protocol, version 2.",
        epilog="Exit codes: 0 after SIGTERM or Ctrl-C, 1 for a model that cannot be served, 2 for wrong usage.",
    )  # fmt: skip
    add = parser.add_argument
    add("models", nargs="*", metavar="MODEL", help="a compiled program (.rlx), an ONNX model (.onnx) or Relay text (.rly), as FILE or NAME=FILE")
    add("--repository", metavar="DIR", help="a folder of models that clients may load and unload by name; all are loaded if no MODEL is given")
    add("--host", default="127.0.0.1", help="the address to listen at (default: %(default)s)")
    add("--port", type=_count(0, 65535), default=8000, help="0 takes a free one (default: %(default)s)")
    add("--memory", type=_size, metavar="SIZE", help="limit for the executables of all models; one that does not fit is refused")
    add("--batch", type=_batch, metavar="DIM[:ROWS]", help="run requests that are there together as one, along an open dimension of the models")
    add("--batch-wait", type=_seconds, default=0.0, metavar="TIME", help="how long a request may wait for others (default: not at all)")
    add("--threads", type=_count(0, 1024), default=0, help="threads of one run (default: all processors)")
    add("--workers", type=_count(1, 1024), help="runs at a time (default: as many as processors)")
    add("--max-body", type=_size, default=64 << 20, metavar="SIZE", help="of a request (default: 64Mi)")
    add("--max-queue", type=_count(1, 10**6), default=1024, metavar="N", help="requests that may wait (default: %(default)s)")
    add("--max-connections", type=_count(1, 10**6), default=4096, metavar="N", help="(default: %(default)s)")
    add("--timeout", type=_seconds, default=30.0, metavar="TIME", help="for the answer to a request (default: 30s)")
    add("--read-timeout", type=_seconds, default=30.0, metavar="TIME", help="for a request to come in (default: 30s)")
    add("--keep-alive", type=_seconds, default=75.0, metavar="TIME", help="of a connection without requests (default: 75s)")
    add("--stop-timeout", type=_seconds, default=30.0, metavar="TIME", help="for requests in flight, after SIGTERM (default: 30s)")
    add("--tls-cert", metavar="FILE", help="a certificate (PEM): serve by https")
    add("--tls-key", metavar="FILE", help="its private key (PEM)")
    add("--token-file", metavar="FILE", help="want the token in this file with each request (or: RELAY_SERVE_TOKEN in the environment)")
    add("--log", action="store_true", help="write a line for each request")
    return parser


def _token(file: str | None) -> str | None:
    token = os.environ.get("RELAY_SERVE_TOKEN") if file is None else Path(file).read_text(encoding="utf-8").strip()
    if token is not None and not re.fullmatch(r"[!-~]+", token):
        raise ValueError("the token is empty or holds spaces or letters beyond ASCII")
    return token


def main(arguments: list[str]) -> int:
    """Runs the command with the words after `relay serve`; gives its exit code."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if not given.models and given.repository is None:
        parser.error("a MODEL or --repository is needed")
    if (given.tls_cert is None) != (given.tls_key is None):
        parser.error("--tls-cert and --tls-key go together")
    try:
        from . import Batching, Options, run
        from .errors import ModelError
    except ModuleNotFoundError as error:
        print(f"error: relay serve needs the package {error.name}\nhelp: pip install 'relay-lang[serve]', or: pip install numpy uvicorn httptools uvloop orjson", file=sys.stderr)
        return 1
    batching = Batching()
    if given.batch is not None:
        batching = Batching(given.batch[0], given.batch[1], given.batch_wait)
    try:
        if given.repository is not None and not os.path.isdir(given.repository):
            raise ModelError(f"{given.repository} is no folder")
        options = Options(
            host=given.host, port=given.port, repository=given.repository, memory=given.memory,
            batching=batching, threads=given.threads,
            max_body=given.max_body, max_queue=given.max_queue, max_connections=given.max_connections, timeout=given.timeout,
            read_timeout=given.read_timeout, keep_alive=given.keep_alive, stop_timeout=given.stop_timeout, certificate=given.tls_cert,
            key=given.tls_key, token=_token(given.token_file), log=given.log,
        )  # fmt: skip
        if given.workers is not None:
            options.workers = given.workers
        run(given.models, options)
    except (ModelError, OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0
