"""Files that scripts download: those that are on this machine are taken, others are refused with what to do."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

__all__ = ["download", "download_testdata"]


def _folder() -> Path:
    return Path(os.environ.get("TEST_DATA_ROOT_PATH") or Path.home() / ".tvm_test_data")


def _local(url: str) -> Path | None:
    parsed = urlparse(str(url))
    if parsed.scheme == "file":
        return Path(unquote(parsed.path))
    return Path(url) if parsed.scheme == "" else None


def download(url: str, path: str, overwrite: bool = False, size_compare: bool = False, retries: int = 3) -> None:
    """Copies a file of this machine (a path, or a ``file:`` address) to a path, unless that is there already.

    Raises FileNotFoundError for a file that is not there, and for addresses of other machines: nothing is fetched from a network.
    """
    target = Path(path)
    if target.is_file() and not overwrite:
        return
    source = _local(url)
    if source is None:
        raise FileNotFoundError(f"{url} is not fetched: Relay reads no network. Put the file to {target} by hand, and run the script again")
    if not source.is_file():
        raise FileNotFoundError(f"there is no file {source}")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def download_testdata(url: str, relpath: str, module: Any = None, overwrite: bool = False) -> str:
    """The path of a file below ``~/.tvm_test_data`` (or the folder TEST_DATA_ROOT_PATH), copied there if it is on this machine.

    Raises FileNotFoundError as `download` does; the text has the path to which to put the file.
    """
    parts = [module] if isinstance(module, str) else list(module or [])
    path = _folder().joinpath(*parts, relpath)
    download(url, str(path), overwrite)
    return str(path)
