"""Reads the array API standard as the package `array-api` of PyPI ships it: signatures, and the special cases of the functions of numbers.

The package's file has the standard's own texts, one class for each function. It is read as text, because it needs a newer Python than the tests do.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib.metadata
import math
import re
from collections.abc import Callable

VERSION = "_2024_12.py"
GROUPS = {"LinalgNamespace": "linalg", "FftNamespace": "fft", "ArrayNamespace": ""}


@dataclasses.dataclass(frozen=True)
class Signature:
    """One function or method: its name with that of its extension (`linalg.det`, `Array.__add__`), and its parameters without the object itself."""

    name: str
    arguments: ast.arguments
    documentation: str


@dataclasses.dataclass(frozen=True)
class Case:
    """One sentence of a list of special cases, such as "If `x_i` is `NaN`, the result is `NaN`"."""

    name: str
    text: str


def _tree() -> ast.Module | None:
    """The package's file, without the parameters of its generic classes; None where the package is not installed."""
    try:
        files = importlib.metadata.files("array-api") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    for file in files:
        if file.name == VERSION:
            text = file.locate().read_text(encoding="utf-8")
            return ast.parse(re.sub(r"(?m)^class (\w+)\[[^\n]*?\]\(", r"class \1(", text))
    return None


def _call(node: ast.ClassDef) -> ast.FunctionDef | None:
    return next((part for part in node.body if isinstance(part, ast.FunctionDef) and part.name == "__call__"), None)


def _without_self(arguments: ast.arguments) -> ast.arguments:
    """The parameters of a method behind `self`, which stands alone before `/` or first of all."""
    copy = ast.parse(f"def f({ast.unparse(arguments)}): ...").body[0].args
    (copy.posonlyargs or copy.args).pop(0)
    return copy


def signatures() -> list[Signature]:
    """All functions of the standard and the methods of its arrays, in the order of the file; none where the package is not installed."""
    tree = _tree()
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)} if tree is not None else {}
    found = []
    for group, prefix in GROUPS.items():
        for part in classes[group].body if classes else []:
            name = part.target.id if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name) else ""
            call = _call(classes[name]) if name in classes else None
            if call is not None:
                arguments = _without_self(call.args)
                found.append(Signature(f"{prefix}.{name}".lstrip("."), arguments, ast.get_docstring(classes[name]) or ""))
    for part in classes["Array"].body if classes else []:
        if isinstance(part, ast.FunctionDef) and part.name != "__init__" and "property" not in ast.unparse(part.decorator_list):
            found.append(Signature(f"Array.{part.name}", _without_self(part.args), ast.get_docstring(part) or ""))
    return found


def special_cases() -> list[Case]:
    """The special cases of real numbers, a sentence each."""
    found = []
    for signature in signatures():
        notes = re.split(r"(?i)\*\*Special cases\*\*", signature.documentation, maxsplit=1)[1:]
        real = re.split(r"(?m)^\s*For complex floating-point operands?", "".join(notes))[0]
        for item in re.findall(r"(?ms)^\s*-\s+(.*?)(?=^\s*-\s|\n\s*\n|\Z)", real):
            found.append(Case(signature.name, re.sub(r" \(i\.e\., (greater|less) than ``0``\)", "", " ".join(item.split()))))
    return found


# Sentences as functions of numbers.

Numbers = dict[str, float]
CONSTANTS = {"infinity": math.inf, "π": math.pi, "π/2": math.pi / 2, "π/4": math.pi / 4, "3π/4": 3 * math.pi / 4}


def number(text: str) -> float | None:
    """The number that a word of the standard names, with its sign; None for another word."""
    text = text.replace(" ", "")
    sign = -1.0 if text.startswith("-") else 1.0
    bare = text.lstrip("+-")
    if bare == "NaN":
        return math.nan
    if bare in CONSTANTS:
        return sign * CONSTANTS[bare]
    if bare in ("True", "False"):
        return float(bare == "True")
    return sign * float(bare) if re.fullmatch(r"\d+(\.\d+)?", bare) else None


def same(found: float, wanted: float, signed: bool = True) -> bool:
    """True for equal numbers; the sign of zero counts if it is named, and any NaN is like another."""
    if math.isnan(wanted):
        return math.isnan(found)
    return found == wanted and (not signed or wanted != 0 or math.copysign(1, found) == math.copysign(1, wanted))


def _value(words: str, numbers: Numbers) -> float | None:
    """A number, a parameter, its absolute value, or the opposite of one."""
    known = number(words)
    if known is not None:
        return known
    sign, bare = (-1.0, words[1:]) if words.startswith("-") else (1.0, words)
    absolute = re.fullmatch(r"\|(\w+)\||abs\((\w+)\)", bare)
    name = (absolute[1] or absolute[2]) if absolute else bare
    if name not in numbers:
        return None
    return sign * (abs(numbers[name]) if absolute else numbers[name])


FINITE = {
    "a finite number": math.isfinite,
    "a nonzero finite number": lambda x: math.isfinite(x) and x != 0,
    "a positive finite number": lambda x: math.isfinite(x) and x > 0,
    "a negative finite number": lambda x: math.isfinite(x) and x < 0,
    "a finite number or ``NaN``": lambda x: not math.isinf(x),
    "any value": lambda x: True,
    "an odd integer value": lambda x: math.isfinite(x) and x % 2 == 1,
    "not an odd integer value": lambda x: not (math.isfinite(x) and x % 2 == 1),
    "not an integer value": lambda x: math.isfinite(x) and x != math.floor(x),
    "already integer-valued": lambda x: math.isfinite(x) and x == math.floor(x),
}
ORDER: dict[str, Callable[[float, float], bool]] = {
    "greater than": lambda x, y: x > y,
    "less than": lambda x, y: x < y,
    "not equal to": lambda x, y: not math.isnan(x) and x != y,
    "not": lambda x, y: not same(x, y),
    "": lambda x, y: same(x, y, signed=y == 0),
}
WORD = r"``([^`]+)``"


def _condition(text: str) -> Callable[[Numbers], bool] | None:
    """One condition between "If" and the result; None for a form that is not known."""
    text = text.strip().removeprefix("and ").strip()
    if found := re.fullmatch(rf"either {WORD} or {WORD} is {WORD}", text):
        wanted = number(found[3])
        return None if wanted is None else lambda numbers: any(same(numbers[name], wanted) for name in (found[1], found[2]))
    if found := re.fullmatch(rf"the sign bit of {WORD} is {WORD}", text):
        return lambda numbers: (math.copysign(1, numbers[found[1]]) < 0) == (found[2] == "1")
    if found := re.fullmatch(rf"{WORD} and {WORD} have (the same|different) mathematical signs?(?: and are both nonzero finite numbers)?", text):
        both, alike = "nonzero finite" in text, found[3] == "the same"
        signs = lambda numbers: math.copysign(1, numbers[found[1]]) == math.copysign(1, numbers[found[2]])  # noqa: E731
        usable = lambda x: not math.isnan(x) and (not both or (math.isfinite(x) and x != 0))  # noqa: E731
        return lambda numbers: all(usable(numbers[found[i]]) for i in (1, 2)) and signs(numbers) == alike
    if text == "two integers are equally close to ``x_i``":
        return lambda numbers: math.isfinite(numbers["x_i"]) and abs(numbers["x_i"]) % 1 == 0.5
    if found := re.fullmatch(rf"{WORD} is {WORD} or {WORD} is {WORD}", text):
        return lambda numbers: same(numbers[found[1]], number(found[2])) or same(numbers[found[3]], number(found[4]))
    if found := re.fullmatch(rf"{WORD} is (?:either )?{WORD} or {WORD}", text):
        choices = [number(found[2]), number(found[3])]
        return None if None in choices else lambda numbers: any(same(_value(found[1], numbers), choice) for choice in choices)
    if (found := re.fullmatch(rf"{WORD} is (.+)", text)) and found[2] in FINITE:
        return lambda numbers: FINITE[found[2]](_value(found[1], numbers))
    if found := re.fullmatch(rf"{WORD} (equals|does not equal) {WORD}", text):
        return lambda numbers: (numbers[found[1]] == numbers[found[3]]) == (found[2] == "equals")
    if found := re.fullmatch(rf"{WORD} is ?(greater than|less than|not equal to|not|) {WORD}", text):
        return lambda numbers: ORDER[found[2]](_value(found[1], numbers), _value(found[3], numbers))
    return None


def conditions(text: str) -> Callable[[Numbers], bool] | None:
    """True for the numbers that a sentence is about; None if the sentence is not one with conditions."""
    found = re.match(r"If (.+?), (?:the result (?:is|has)|raise)", text.replace(", including ``NaN``", ""))
    if not found:
        return None
    whole = _condition(found[1])
    if whole is not None:
        return whole
    parts = [_condition(part) for part in re.split(r", and |, | and (?=``|the sign)", found[1])]
    return None if None in parts else lambda numbers: all(part(numbers) for part in parts)


def result(text: str) -> Callable[[Numbers, float], bool] | None:
    """True for numbers and the result that a sentence allows; None for a form that is not known."""
    _, split, tail = text.partition("the result ")
    if not split:
        return None
    tail = split + tail
    other = re.search(rf"libraries may return {WORD}", tail)
    extra = number(other[1]) if other else None
    if re.match("the result (is a signed infinity|has a (positive|negative) mathematical sign)", tail):
        infinite = "infinity with" in tail
        wants = re.match("the result has a (positive|negative)", tail)

        def signed(numbers: Numbers, found: float) -> bool:
            product = math.prod(math.copysign(1, value) for value in numbers.values())
            sign = (1.0 if wants[1] == "positive" else -1.0) if wants else product
            return math.isnan(found) and not infinite or ((not infinite or math.isinf(found)) and math.copysign(1, found) == sign)

        return signed
    if "the even integer closest" in tail:
        return lambda numbers, found: found == round(numbers["x_i"])
    if words := re.match(rf"the result is {WORD} with a sign bit of {WORD}", tail):
        return lambda numbers, found: math.isnan(found) and (math.copysign(1, found) < 0) == (words[2] == "1")
    words = re.match(rf"the result is (?:equivalent to )?(an implementation-dependent approximation to )?{WORD}", tail)
    if not words:
        return None

    def told(numbers: Numbers, found: float) -> bool:
        wanted = _value(words[2], numbers)
        if wanted is None:
            return False
        if words[1]:
            return math.isclose(found, wanted, rel_tol=1e-5)
        return same(found, wanted, signed=words[2] != "0") or (extra is not None and same(found, extra, signed=False))

    return told
