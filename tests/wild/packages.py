"""packages.toml, read and checked: which models of which wheels there are, and how each is fed."""

import pathlib
import re
import tomllib
from dataclasses import dataclass

import feeds

PACKAGES = pathlib.Path(__file__).resolve().with_name("packages.toml")
RELATIVE = 1e-3  # unless a model says otherwise
SHA256 = re.compile(r"[0-9a-f]{64}")
VERSION = re.compile(r"[0-9][0-9A-Za-z.]*")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class Mistake(Exception):
    """Something in packages.toml or in a wheel is not as it has to be."""


@dataclass(frozen=True, eq=False)
class Model:
    path: str  # in the wheel
    sha256: str
    name: str  # PACKAGE/PATH, by which tables and the list of failures call it
    sizes: tuple[dict, ...]
    inputs: dict
    relative: float  # how far outputs of floats may be off, relative to their range


@dataclass(frozen=True, eq=False)
class Package:
    name: str
    version: str
    wheel: str
    sha256: str
    small: bool
    models: tuple[Model, ...]


def checked_path(path):
    """A path inside of a wheel or of a folder of ours, which cannot lead out of it."""
    parts = pathlib.PurePosixPath(path).parts
    if not parts or path.startswith("/") or "\\" in path or "\0" in path or ".." in parts or "/".join(parts) != path:
        raise Mistake(f"{path!r} is no plain path inside of a wheel")
    return path


def fields(table, what, **kinds):
    """The values of a table, each of its type; a name that ends with _ is optional."""
    if not isinstance(table, dict):
        raise Mistake(f"{what} has to be a table")
    wanted = {name.rstrip("_"): kind for name, kind in kinds.items()}
    for name in table:
        if name not in wanted:
            raise Mistake(f"{what}: {name!r} is not known here")
    values = []
    for name, kind in kinds.items():
        value = table.get(name.rstrip("_"), kind() if name.endswith("_") else None)
        if type(value) is not kind:
            raise Mistake(f"{what}: {name.rstrip('_')!r} has to be a {kind.__name__}")
        values.append(value)
    return values


def checked(pattern, value, what):
    if not pattern.fullmatch(value):
        raise Mistake(f"{what}: {value!r} cannot be right")
    return value


def read_feeds(tables):
    recipes = {}
    for name, table in tables.items():
        sizes, inputs = fields(table, f"feeds {name}", sizes=list, inputs=dict)
        for size in sizes:
            if not isinstance(size, dict) or not all(type(extent) is int and extent > 0 for extent in size.values()):
                raise Mistake(f"feeds {name}: the extents of a size are positive numbers, not {size}")
        for each, recipe in inputs.items():
            if not isinstance(recipe, dict) or not isinstance(recipe.get("shape"), list):
                raise Mistake(f"feeds {name}: {each!r} has no list for its shape")
            if recipe.get("make") not in feeds.MAKERS:
                raise Mistake(f"feeds {name}: {each!r} is made by {recipe.get('make')!r}, which is none of {', '.join(feeds.MAKERS)}")
            for extent in recipe["shape"]:
                if isinstance(extent, str) and not all(extent in size for size in sizes):
                    raise Mistake(f"feeds {name}: {each!r} has the extent {extent!r}, for which not every size has a number")
        if not sizes or not inputs:
            raise Mistake(f"feeds {name}: at least one size and one input")
        recipes[name] = tuple(sizes), inputs
    return recipes


def read(path=PACKAGES):
    """The packages, and the reasons of expected failures by the names of models."""
    try:
        document = tomllib.loads(pathlib.Path(path).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise Mistake(f"{path}: {error}") from None
    recipes, listed, failures = fields(document, path, feeds=dict, package=list, expected_failure_=list)
    recipes = read_feeds(recipes)
    packages = []
    for table in listed:
        what = f"package {table.get('name')}" if isinstance(table, dict) else "a package"
        name, version, wheel, sha256, models, small = fields(
            table, what, name=str, version=str, wheel=str, sha256=str, models=list, small_=bool)
        made = []
        for model in models:
            inside, chosen, digest, relative = fields(model, f"{what}: a model", path=str, feeds=str, sha256=str, relative_=float)
            if chosen not in recipes:
                raise Mistake(f"{what}: there are no feeds {chosen!r}")
            made.append(Model(checked_path(inside), checked(SHA256, digest, what), f"{name}/{inside}", *recipes[chosen],
                              relative or RELATIVE))
        if "/" in checked_path(wheel):
            raise Mistake(f"{what}: {wheel!r} is no name of a file")
        packages.append(Package(checked(NAME, name, what), checked(VERSION, version, what), wheel,
                                checked(SHA256, sha256, what), small, tuple(made)))
    known = {model.name for package in packages for model in package.models}
    reasons = {}
    for failure in failures:
        model, reason = fields(failure, "expected_failure", file=str, reason=str)
        if model not in known or not reason.strip():
            raise Mistake(f"expected_failure: {model!r} " + ("has no reason" if model in known else "is in no package"))
        reasons[model] = reason
    return tuple(packages), reasons
