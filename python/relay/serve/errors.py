"""Errors that clients see."""

from __future__ import annotations


class HttpError(Exception):
    """An answer that is an error: its status, and a sentence for people."""

    def __init__(self, status: int, message: str, headers: tuple[tuple[bytes, bytes], ...] = ()) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = headers


class ModelError(Exception):
    """A model that cannot be served, with the reason."""
