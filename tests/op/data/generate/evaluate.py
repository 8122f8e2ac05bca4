"""Runs the small programs of the data files through the reference functions.

This checks two things: that the text which the generator writes means what the generator computed, and that the reference
functions agree with the oracle's cases (`--check`). Programs with metadata or infix operators are not understood.
"""

import re

import numpy as np

from .core import REFERENCE, SUFFIX

TOKEN = re.compile(
    r'\s*(%[A-Za-z0-9_]+(?:\.\d+)*|"[^"]*"|-?(?:inf|\d[\d.]*(?:e[-+]?\d+)?)(?:[iuf]\d*)?|[A-Za-z_][\w.]*|[()\[\],=])'
)
DTYPE = {suffix: dtype for dtype, suffix in SUFFIX.items() if suffix} | {
    "f32": "float32",
    "i32": "int32",
}


class NotUnderstood(Exception):
    pass


class Parser:
    def __init__(self, text, scope):
        self.tokens, position, text = [], 0, text.strip()
        while position < len(text):
            match = TOKEN.match(text, position)
            if not match:
                raise NotUnderstood(text[position : position + 20])
            self.tokens.append(match.group(1))
            position = match.end()
        self.position, self.scope = 0, scope

    def peek(self):
        return self.tokens[self.position] if self.position < len(self.tokens) else ""

    def take(self, expected=None):
        token = self.peek()
        if expected is not None and token != expected:
            raise NotUnderstood(f"{token} instead of {expected}")
        self.position += 1
        return token

    def items(self, end, item):
        result = []
        while self.peek() != end:
            result.append(item())
            if self.peek() != end:
                self.take(",")
        self.take(end)
        return result

    def attribute(self):
        if self.peek() == "[":
            self.take()
            return self.items("]", self.attribute)
        token = self.take()
        if token.startswith('"'):
            return token[1:-1]
        if token in ("True", "False", "None"):
            return {"True": True, "False": False, "None": None}[token]
        value, dtype = self.literal(token)
        return float(value) if dtype.startswith("float") else int(value)

    def literal(self, token):
        match = re.fullmatch(r"(-?(?:inf|[\d.]+(?:e[-+]?\d+)?))([iuf]\d*)?", token)
        if not match:
            raise NotUnderstood(token)
        number, suffix = match.groups()
        dtype = DTYPE[suffix] if suffix else "float32" if re.search(r"[.e]", number) else "int32"
        return (float(number) if dtype.startswith("float") else int(number)), dtype

    def expression(self):
        token = self.take()
        if token.startswith("%"):
            name, *path = token[1:].split(".")
            value = self.scope[name]
            for index in path:
                value = value[int(index)]
            return value
        if token == "(":
            return tuple(self.items(")", self.expression))
        if token in ("True", "False"):
            return np.asarray(token == "True")
        if self.peek() == "(":
            return self.call(token)
        return np.asarray(*self.literal(token))

    def call(self, op):
        if op not in REFERENCE:
            raise NotUnderstood(op)
        arguments, attributes = [], {}

        def item():
            if self.position + 1 < len(self.tokens) and self.tokens[self.position + 1] == "=":
                name = self.take()
                self.take("=")
                attributes[name] = self.attribute()
            else:
                arguments.append(self.expression())

        self.take("(")
        self.items(")", item)
        attributes.pop("attrs_type_key", None)
        with np.errstate(all="ignore"):
            return REFERENCE[op](*arguments, **attributes)


def run(program, inputs):
    """The value of @main; tensors are arrays, tuples are tuples."""
    match = re.search(r"def @main\((.*?)\)(?: -> .*?)? \{\n(.*?)\n\}", program, re.S)
    if not match or "meta[" in program:
        raise NotUnderstood("the program's form")
    names = re.findall(r"%(\w+):", match.group(1))
    scope = dict(zip(names, inputs))
    lines = match.group(2).split("\n")
    for line in lines[:-1]:
        name, text = re.fullmatch(r"\s*%(\w+) = (.*);", line).groups()
        scope[name] = Parser(text, scope).expression()
    parser = Parser(lines[-1], scope)
    value = parser.expression()
    if parser.peek():
        raise NotUnderstood(parser.peek())
    return value


def flatten(value):
    if isinstance(value, tuple):
        return [leaf for item in value for leaf in flatten(item)]
    return [value]


def close(expected, actual, tolerance):
    """True if arrays agree as the data's rule says; not-a-number equals itself."""
    if expected.shape != actual.shape or expected.dtype != actual.dtype:
        return False
    if expected.dtype.kind != "f":
        return np.array_equal(expected, actual)
    expected, actual = expected.astype(np.float64), actual.astype(np.float64)
    same = (expected == actual) | (np.isnan(expected) & np.isnan(actual))
    with np.errstate(all="ignore"):
        near = np.abs(expected - actual) <= tolerance * np.maximum(1, np.abs(expected))
    return bool(np.all(same | (near & np.isfinite(expected) & np.isfinite(actual))))
