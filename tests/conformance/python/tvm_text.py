"""The grammar of TVM 0.14's text format, as its parser reads it: `problem(text)` says where a text leaves it, or None.

It knows less than Relay's parser on purpose: no kinds, type arguments, relations, quoted names, names of extents, or unsigned suffixes."""

import json
import re

TOKEN = re.compile(
    r"""(?P<blank>\s+|//[^\n]*)
    |(?P<version>\#\[version\s*=\s*"0\.0\.5"\])
    |(?P<metadata>\#\[metadata\]\s*)
    |(?P<string>"(?:[^"\\\n]|\\.)*")
    |(?P<number>\d+(?:\.\d+)?(?:e[+-]?\d+)?(?:f\d*|i\d+)?(?![A-Za-z0-9_]))
    |(?P<graph>%\d+(?![A-Za-z_]))
    |(?P<local>%[A-Za-z_][A-Za-z0-9_]*)
    |(?P<global>@[A-Za-z_][A-Za-z0-9_]*)
    |(?P<partial>match\?)
    |(?P<word>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<sign>->|=>|==|!=|<=|>=|[-+*/<>=(){}\[\],;:.?])""",
    re.VERBOSE,
)
WORDS = {"let", "fn", "def", "if", "else", "type", "match", "extern", "import", "free_var", "ref", "ref_read", "ref_write", "True", "False"}
INFIX = {"*", "/", "+", "-", "<", ">", "<=", ">=", "==", "!="}


class Left(Exception):
    """The text leaves the grammar."""


def tokens(text):
    at = 0
    while at < len(text):
        if text.startswith("/*", at):
            depth, start = 0, at
            while True:
                end = re.compile(r"/\*|\*/").search(text, at)
                if end is None:
                    raise Left(f"an open comment at {start}")
                depth += 1 if end[0] == "/*" else -1
                at = end.end()
                if depth == 0:
                    break
            continue
        found = TOKEN.match(text, at)
        if found is None:
            raise Left(f"no token: {text[at : at + 30]!r}")
        at = found.end()
        if found.lastgroup == "metadata":
            yield "metadata", text[at:]
            return
        if found.lastgroup != "blank":
            yield found.lastgroup, found[0]


class Reader:
    def __init__(self, text):
        self.all = [*tokens(text), ("end", "")]
        self.at = 0

    def peek(self, ahead=0):
        return self.all[min(self.at + ahead, len(self.all) - 1)]

    def next(self):
        token = self.peek()
        self.at += 1
        return token

    def accept(self, *texts):
        if self.peek()[1] in texts and self.peek()[0] in ("sign", "word", "partial"):
            return self.next()[1]
        return None

    def expect(self, text):
        if not self.accept(text):
            around = " ".join(token[1] for token in self.all[max(self.at - 8, 0) : self.at + 4])
            raise Left(f"expected {text!r} before {self.peek()[1]!r}: … {around[:200]}")

    def expect_kind(self, *kinds):
        if self.peek()[0] not in kinds:
            raise Left(f"expected a {' or '.join(kinds)}, found {self.peek()[1]!r}")
        return self.next()[1]

    def some(self, item, close, separator=","):
        """Items up to a closing sign, with or without a last separator."""
        while not self.accept(close):
            item()
            if not self.accept(separator):
                self.expect(close)
                return

    # ---- Modules ----
    def module(self):
        if self.peek()[0] == "version":
            self.next()
        defined = False
        while True:
            if self.accept("def"):
                self.expect_kind("global")
                self.function()
            elif self.accept("type"):
                self.data()
            elif self.accept("extern"):
                self.expect("type")
                self.name()
                self.type_params()
                self.accept(";")
            else:
                break
            defined = True
        if not defined or self.peek()[0] not in ("end", "metadata"):
            self.body()
        if self.peek()[0] == "metadata":
            json.loads(self.next()[1])
        if self.peek()[0] != "end":
            raise Left(f"more text: {self.peek()[1]!r}")

    def name(self):
        if self.peek()[1] in WORDS:
            raise Left(f"the word {self.peek()[1]} is no name")
        return self.expect_kind("word")

    def type_params(self):
        if self.accept("["):
            self.some(self.name, "]")

    def data(self):
        self.name()
        self.type_params()
        self.expect("{")

        def constructor():
            self.name()
            if self.accept("("):
                self.some(self.type, ")")

        self.some(constructor, "}")

    def function(self):
        self.type_params()
        self.expect("(")
        self.some(self.parameter, ")")
        if self.accept("->"):
            self.type()
        self.block()

    def parameter(self):
        if self.peek()[0] in ("local", "graph"):
            self.next()
            if self.accept("{"):
                self.some(self.attribute, "}")
            if self.accept(":"):
                self.type()
        else:
            self.attribute()

    def block(self):
        self.expect("{")
        self.body()
        self.expect("}")

    # ---- Types ----
    def type(self):
        if self.accept("_"):
            return
        if self.accept("("):
            self.some(self.type, ")")
            return
        if self.accept("fn"):
            self.type_params()
            self.expect("(")
            self.some(self.type, ")")
            self.expect("->")
            self.type()
            return
        if self.accept("ref"):
            self.expect("(")
            self.type()
            self.expect(")")
            return
        if self.name() == "Tensor":
            self.expect("[")
            self.expect("(")
            self.some(lambda: self.accept("?") or self.expect_kind("number"), ")")
            self.expect(",")
            self.name()
            self.expect("]")
        elif self.accept("["):
            self.some(self.type, "]")

    # ---- Expressions ----
    def body(self):
        while True:
            if self.accept("let"):
                self.expect_kind("local", "graph", "word")
                if self.accept("{"):
                    self.some(self.attribute, "}")
                if self.accept(":"):
                    self.type()
                self.expect("=")
                self.expression()
                self.expect(";")
            elif self.peek()[0] in ("graph", "local") and self.peek(1) == ("sign", "="):
                self.next()
                self.next()
                self.expression()
                self.expect(";")
            elif self.accept("free_var"):
                self.expect_kind("local")
                if self.accept(":"):
                    self.type()
                self.expect(";")
            else:
                self.expression()
                if not self.accept(";"):
                    return

    def expression(self):
        if self.peek()[1] == "let":
            self.body()
            return
        self.call()
        while self.accept(*INFIX):
            self.call()

    def call(self):
        self.atom()
        while True:
            if self.accept("("):
                self.some(self.argument, ")")
            elif self.accept("."):
                self.expect_kind("number")
            else:
                return

    def argument(self):
        ahead = 1
        while self.peek(ahead) == ("sign", ".") and self.peek(ahead + 1)[0] == "word":
            ahead += 2
        if self.peek()[0] in ("word", "string") and self.peek(ahead) == ("sign", "="):
            self.attribute()
        else:
            self.expression()

    def attribute(self):
        self.expect_kind("word", "string")
        while self.accept("."):
            self.name()
        self.expect("=")
        self.value()

    def value(self):
        if self.accept("["):
            self.some(self.value, "]")
        elif self.accept("("):
            self.some(self.value, ")")
        elif self.accept("{"):
            self.some(self.attribute, "}")
        elif self.accept("meta"):
            self.meta()
        else:
            self.accept("-")
            self.expect_kind("number", "string", "word", "global")

    def meta(self):
        self.expect("[")
        self.name()
        while self.accept("."):
            self.name()
        self.expect("]")
        self.expect("[")
        self.expect_kind("number")
        self.expect("]")

    def atom(self):
        kind, text = self.peek()
        if kind in ("number", "graph", "local", "global"):
            self.next()
        elif self.accept("-"):
            self.expect_kind("number")
        elif self.accept("True", "False"):
            pass
        elif self.accept("("):
            self.some(self.expression, ")")
        elif self.peek()[1] == "{":
            self.block()
        elif self.accept("fn"):
            self.function()
        elif self.accept("if"):
            self.expect("(")
            self.body()
            self.expect(")")
            self.block()
            self.expect("else")
            if self.peek()[1] == "if":
                self.expression()
            else:
                self.block()
        elif self.accept("match", "match?"):
            self.expect("(")
            self.expression()
            self.expect(")")
            self.expect("{")
            self.some(self.clause, "}")
        elif self.accept("ref", "ref_read", "ref_write"):
            self.expect("(")
            self.some(self.expression, ")")
        elif text == "meta" and self.peek(1) == ("sign", "["):
            self.next()
            self.meta()
        elif kind == "word" and text not in WORDS:
            self.next()
            while self.peek() == ("sign", ".") and self.peek(1)[0] == "word":
                self.next()
                self.next()
        else:
            raise Left(f"expected an expression, found {text!r}")

    def clause(self):
        self.pattern()
        self.expect("=>")
        if self.peek()[1] == "{":
            self.block()
        else:
            self.expression()

    def pattern(self):
        if self.peek()[0] in ("local", "graph"):
            self.next()
            if self.accept(":"):
                self.type()
        elif self.accept("("):
            self.some(self.pattern, ")")
        elif not self.accept("_"):
            self.name()
            if self.accept("("):
                self.some(self.pattern, ")")


def problem(text):
    """Why TVM 0.14 does not read a text, or None."""
    try:
        Reader(text).module()
    except (Left, ValueError) as error:
        return str(error)
    return None
