"""Archives of files by tar."""

from __future__ import annotations

import os
import shutil
import tarfile
from collections.abc import Iterable
from typing import Any

from .. import _absent
from .utils import tempdir

__all__ = ["normalize_file_list_by_unpacking_tars", "tar", "untar"]


def tar(output: Any, files: Iterable[Any]) -> None:
    """Writes an archive of files and folders, by their last names. Raises ValueError for two of one name."""
    given = [os.fspath(files)] if isinstance(files, (str, os.PathLike)) else [os.fspath(file) for file in files]
    names = [os.path.basename(file.rstrip(os.sep)) for file in given]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"two of the files are called {twice}: an archive has one of a name")
    with tarfile.open(output, "w") as archive:
        for name, file in zip(names, given):
            archive.add(file, name)


setattr(tar, "output_format", "tar")


def untar(tar_file: Any, directory: Any) -> None:
    """Unpacks an archive into a folder, which is made where it is not there. Raises tarfile.TarError for a file that would lie outside."""
    os.makedirs(directory, exist_ok=True)
    with tarfile.open(tar_file) as archive:
        if hasattr(tarfile, "data_filter"):
            archive.extractall(directory, filter="data")
            return
        root = os.path.realpath(directory)
        for member in archive.getmembers():
            where = os.path.realpath(os.path.join(root, member.name))
            if not (member.isfile() or member.isdir()) or os.path.commonpath([root, where]) != root:
                raise tarfile.TarError(f"{member.name} is no plain file inside of the folder")
        archive.extractall(directory)


def normalize_file_list_by_unpacking_tars(temp: Any, file_list: Iterable[Any]) -> list[str]:
    """The files, those of archives (`.tar`) instead of the archives: unpacked into a temporary folder, under names of their own."""
    made: list[str] = []
    for number, file in enumerate(os.fspath(each) for each in file_list):
        if not file.endswith(".tar"):
            made.append(file)
            continue
        with tempdir() as folder:
            untar(file, folder.temp_dir)
            for path, _, names in sorted(os.walk(folder.temp_dir)):
                for name in sorted(names):
                    stem, suffix = os.path.splitext(name)
                    made.append(temp.relpath(f"tar{number}_{len(made)}_{stem}{suffix}"))
                    shutil.move(os.path.join(path, name), made[-1])
    return made


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
