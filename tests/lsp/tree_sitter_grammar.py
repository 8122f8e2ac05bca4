"""Reads a tree-sitter grammar (src/grammar.json) as its generator does, and parses with it.

The generator is no package of Debian or PyPI, so this module does the part of its work that a test asks about: it makes the LR automaton,
settles what precedence settles, lists the conflicts that are left, and parses with all of them open (GLR), with tokens by context.
Lookaheads are those of LALR(1), which has all conflicts of the generator's LR(1)."""

from __future__ import annotations

import dataclasses
import itertools
import json
import pathlib
import re
from typing import Any

END = "end of file"


@dataclasses.dataclass(frozen=True)
class Step:
    symbol: str
    field: str = ""
    alias: str = ""
    named: bool = False


@dataclasses.dataclass(frozen=True)
class Production:
    name: str
    steps: tuple[Step, ...]
    precedence: int = 0
    associativity: str = ""
    dynamic: int = 0


@dataclasses.dataclass
class Terminal:
    name: str
    pattern: re.Pattern[str]
    precedence: int
    is_string: bool
    immediate: bool
    named: bool


@dataclasses.dataclass
class Node:
    kind: str  # a rule's name, or the text of a token without a name
    named: bool
    begin: int
    end: int
    children: list[tuple[str, Node]]  # with their fields

    def __str__(self) -> str:
        """As in the tests of a corpus: nodes without a name are left out."""
        parts = [self.kind]
        parts += [(f"{field}: " if field else "") + str(child) for field, child in self.children if child.named]
        return "(" + " ".join(parts) + ")"


class ParseError(Exception):
    def __init__(self, offset: int, expected: set[str]):
        super().__init__(f"at {offset}: expected {', '.join(sorted(expected))}")
        self.offset = offset


@dataclasses.dataclass
class Head:
    """A stack of the parser: its top, the rest, and the parts of the tree between."""

    state: int
    below: Head | None
    nodes: list[tuple[str, Node]]
    dynamic: int  # the precedence of what was ambiguous


class Grammar:
    def __init__(self, path: pathlib.Path):
        rest = json.loads(path.read_text())
        self.rules: dict[str, Any] = rest["rules"]
        self.word = rest["word"]
        self.terminals: dict[str, Terminal] = {}
        self.productions: list[Production] = []
        self.repeats: dict[str, str] = {}  # of a hidden rule for a repetition, the rule that has it
        self.lexical = {name for name, rule in self.rules.items() if self._is_lexical(rule)}
        for name in self.lexical:
            self._terminal(self.rules[name], name)
        self.start = next(iter(self.rules))
        for name, rule in self.rules.items():
            if name not in self.lexical:
                for steps, meta in self._expand(rule, name):
                    self.productions.append(Production(name, steps, *meta))
        self.extras = [self._terminal(self.rules[rule["name"]], rule["name"]) if rule["type"] == "SYMBOL" else self._terminal(rule) for rule in rest["extras"]]
        self.expected = {frozenset(conflict) for conflict in rest["conflicts"]}
        self.aliased = {step.symbol for production in self.productions for step in production.steps if step.alias}
        self._automaton()

    # ---- Rules ----

    def _is_lexical(self, rule: Any) -> bool:
        """Rules that are one token: without references to others."""
        kind = rule["type"]
        if kind in ("TOKEN", "IMMEDIATE_TOKEN", "STRING", "PATTERN"):
            return True
        return kind.startswith("PREC") and self._is_lexical(rule["content"])

    def _pattern(self, rule: Any) -> str:
        kind = rule["type"]
        if kind == "STRING":
            return re.escape(rule["value"])
        if kind == "PATTERN":
            return f"(?:{rule['value']})"
        if kind == "SEQ":
            return "".join(self._pattern(part) for part in rule["members"])
        if kind == "CHOICE":
            return "(?:" + "|".join(self._pattern(part) for part in rule["members"]) + ")"
        if kind == "BLANK":
            return ""
        if kind in ("REPEAT", "REPEAT1"):
            return f"(?:{self._pattern(rule['content'])})" + ("*" if kind == "REPEAT" else "+")
        return self._pattern(rule["content"])

    def _terminal(self, rule: Any, name: str = "") -> str:
        precedence, immediate, inner = 0, False, rule
        while inner["type"] in ("TOKEN", "IMMEDIATE_TOKEN") or inner["type"].startswith("PREC"):
            immediate |= inner["type"] == "IMMEDIATE_TOKEN"
            if inner["type"].startswith("PREC"):
                precedence = inner["value"]
            inner = inner["content"]
        is_string = inner["type"] == "STRING"
        shown = name or (inner["value"] if is_string else self._pattern(inner))
        key = name or ("immediate " if immediate else "") + f"'{shown}'"  # no rule has such a name
        self.terminals[key] = Terminal(shown, re.compile(self._pattern(rule)), precedence, is_string, immediate, name != "" and not name.startswith("_"))
        return key

    def _expand(self, rule: Any, owner: str) -> list[tuple[tuple[Step, ...], tuple[int, str, int]]]:
        """All sequences of symbols that a rule may be, with what is said of their precedence."""
        kind, none = rule["type"], (0, "", 0)
        if kind == "BLANK":
            return [((), none)]
        if kind == "SYMBOL":
            if rule["name"] not in self.rules:
                raise KeyError(f"the grammar has no rule {rule['name']}")
            return [((Step(rule["name"]),), none)]
        if kind in ("STRING", "PATTERN", "TOKEN", "IMMEDIATE_TOKEN"):
            return [((Step(self._terminal(rule)),), none)]
        if kind == "SEQ":
            result = []
            for parts in itertools.product(*(self._expand(part, owner) for part in rule["members"])):
                if len([meta for _, meta in parts if meta != none]) > 1:
                    raise NotImplementedError(f"{owner}: two precedences in one sequence")
                result.append((sum((steps for steps, _ in parts), ()), next((meta for _, meta in parts if meta != none), none)))
            return result
        if kind == "CHOICE":
            return [one for part in rule["members"] for one in self._expand(part, owner)]
        if kind in ("REPEAT", "REPEAT1"):
            name = f"_{owner}_repeat{len(self.repeats) + 1}"
            self.repeats[name] = owner
            for steps, meta in self._expand(rule["content"], owner):
                self.productions.append(Production(name, steps, *meta))
                self.productions.append(Production(name, (Step(name), *steps), *meta))
            again: list[tuple[tuple[Step, ...], tuple[int, str, int]]] = [((Step(name),), none)]
            return again if kind == "REPEAT1" else [*again, ((), none)]
        inside = self._expand(rule["content"], owner)
        if kind == "FIELD":
            return [(tuple(step if step.field else dataclasses.replace(step, field=rule["name"]) for step in steps), meta) for steps, meta in inside]
        if kind == "ALIAS":
            return [(tuple(dataclasses.replace(step, alias=rule["value"], named=rule["named"]) for step in steps), meta) for steps, meta in inside]
        if kind == "PREC_DYNAMIC":
            return [(steps, (meta[0], meta[1], rule["value"])) for steps, meta in inside]
        if kind.startswith("PREC"):
            side = {"PREC_LEFT": "left", "PREC_RIGHT": "right"}.get(kind, "")
            return [(steps, (rule["value"], side, meta[2])) for steps, meta in inside]
        raise NotImplementedError(kind)

    # ---- The automaton ----

    def _automaton(self) -> None:
        goal = Production("$", (Step(self.start),))
        all_productions = [goal, *dict.fromkeys(self.productions)]
        self.all = all_productions
        by_name: dict[str, list[int]] = {}
        for number, production in enumerate(all_productions):
            by_name.setdefault(production.name, []).append(number)
        # Symbols that a rule may begin with; no rule but the first is empty.
        first: dict[str, set[str]] = {name: set() for name in by_name} | {name: {name} for name in self.terminals}
        nullable = {production.name for production in all_productions if not production.steps}
        if nullable - {self.start}:
            raise ValueError(f"these rules match nothing: {', '.join(sorted(nullable - {self.start}))}")
        changed = True
        while changed:
            changed = False
            for production in all_productions:
                for step in production.steps[:1]:
                    before = len(first[production.name])
                    first[production.name] |= first[step.symbol]
                    changed |= len(first[production.name]) != before

        def closure(kernel: dict[tuple[int, int], set[str]]) -> dict[tuple[int, int], set[str]]:
            items = {item: set(ahead) for item, ahead in kernel.items()}
            waiting = list(items)
            while waiting:
                number, dot = item = waiting.pop()
                steps = all_productions[number].steps
                if dot >= len(steps) or steps[dot].symbol not in by_name:
                    continue
                ahead = first[steps[dot + 1].symbol] if dot + 1 < len(steps) else items[item]
                for other in by_name[steps[dot].symbol]:
                    if (other, 0) not in items or not ahead <= items[other, 0]:
                        items.setdefault((other, 0), set()).update(ahead)
                        waiting.append((other, 0))
            return items

        self.first = first
        kernels: list[dict[tuple[int, int], set[str]]] = [{(0, 0): {END}}]
        known = {frozenset(kernels[0]): 0}
        self.goto: list[dict[str, int]] = [{}]
        waiting, queued = [0], {0}
        while waiting:
            state = waiting.pop()
            queued.discard(state)
            moves: dict[str, dict[tuple[int, int], set[str]]] = {}
            for (number, dot), ahead in closure(kernels[state]).items():
                steps = all_productions[number].steps
                if dot < len(steps):
                    moves.setdefault(steps[dot].symbol, {})[number, dot + 1] = ahead
            for symbol, kernel in moves.items():
                key = frozenset(kernel)
                if key not in known:
                    known[key] = len(kernels)
                    kernels.append({item: set() for item in kernel})
                    self.goto.append({})
                target = self.goto[state][symbol] = known[key]
                grown = target != state and not self.goto[target]
                for item, ahead in kernel.items():
                    grown |= not ahead <= kernels[target][item]
                    kernels[target][item] |= ahead
                if grown and target not in queued:
                    waiting.append(target)
                    queued.add(target)
        self.reduce: list[dict[str, list[int]]] = []
        self.shift: list[set[str]] = []
        self.conflicts: dict[frozenset[str], tuple[str, ...]] = {}
        for state, kernel in enumerate(kernels):
            self._actions(state, closure(kernel))

    def _actions(self, state: int, items: dict[tuple[int, int], set[str]]) -> None:
        shift = {symbol for symbol in self.goto[state] if symbol in self.terminals}
        reduce: dict[str, list[int]] = {}
        for (number, dot), ahead in items.items():
            if dot == len(self.all[number].steps):
                for token in ahead:
                    reduce.setdefault(token, []).append(number)
        for token, numbers in reduce.items():
            best = max(self.all[number].precedence for number in numbers)
            numbers[:] = [number for number in numbers if self.all[number].precedence == best]
            # The rules that go on with the token; one that only begins with it says nothing.
            begun = [self.all[number] for number, dot in items if 0 < dot < len(self.all[number].steps) and token in self.first[self.all[number].steps[dot].symbol]]
            if token in shift:
                strengths = {production.precedence for production in begun}
                if min(strengths) >= best < max(strengths):
                    numbers.clear()
                elif max(strengths) <= best > min(strengths):
                    shift.discard(token)
                elif strengths == {best}:
                    sides = {self.all[number].associativity for number in numbers}
                    if sides == {"left"}:
                        shift.discard(token)
                    elif sides == {"right"}:
                        numbers.clear()
            if len(numbers) + (token in shift) > 1:
                rules = [self.all[number] for number in numbers] + (begun if token in shift else [])
                names = {self.repeats.get(production.name, production.name) for production in rules}
                self.conflicts.setdefault(frozenset(names), (token, *sorted(str(self.all[number].name) for number in numbers)))
        self.shift.append(shift)
        self.reduce.append({token: numbers for token, numbers in reduce.items() if numbers})

    # ---- Parsing ----

    def _lex(self, text: str, at: int, state: int) -> tuple[str, int, int]:
        """The token at a place, by what the state takes; blanks and comments before it are skipped. No name if none fits."""
        allowed = self.shift[state] | self.reduce[state].keys()
        extras, origin = set(self.extras), at
        while True:
            best, found = (0, -1, False), ""
            for name in itertools.chain(allowed, extras):
                if name == END:
                    continue
                terminal = self.terminals[name]
                if terminal.immediate and at != origin:
                    continue
                match = terminal.pattern.match(text, at)
                rank = (terminal.precedence, match.end() if match else -1, terminal.is_string)
                if match and match.end() > at and rank > best:
                    best, found = rank, name
            # A keyword is a word of the grammar, whole.
            if found and self.terminals[found].is_string:
                word = self.terminals[self.word].pattern.match(text, at)
                if word and word.end() > best[1]:
                    found, best = (self.word, (0, word.end(), False)) if self.word in allowed else ("", best)
            if found and found in extras and found not in allowed:
                at = best[1]
                continue
            if not found:
                return (END if at == len(text) and END in allowed else ""), at, at
            return found, at, best[1]

    def parse(self, text: str) -> Node:
        """The tree of a text. Raises ParseError at the first place that nothing fits."""
        heads = [Head(0, None, [], 0)]
        at = 0
        while True:
            waiting, shifted, ended = heads, [], []
            lexed: dict[int, tuple[str, int, int]] = {}
            seen: dict[tuple[int, int], Head] = {}
            while waiting:
                head = waiting.pop()
                if head.state not in lexed:
                    lexed[head.state] = self._lex(text, at, head.state)
                token, begin, end = lexed[head.state]
                for number in self.reduce[head.state].get(token, ()):
                    if number == 0:
                        ended.append(head)
                        continue
                    made = self._reduced(head, self.all[number], begin)
                    key = (made.state, id(made.below))
                    if key not in seen or seen[key].dynamic < made.dynamic:
                        seen[key] = made
                        waiting.append(made)
                if token in self.shift[head.state]:
                    terminal = self.terminals[token]
                    leaf = Node(terminal.name, terminal.named, begin, end, [])
                    shifted.append((end, Head(self.goto[head.state][token], head, [("", leaf)], head.dynamic)))
            if ended:
                return max(ended, key=lambda head: head.dynamic).nodes[0][1]
            if not shifted:
                expected = set()
                for state in lexed:
                    expected |= self.shift[state]
                raise ParseError(max(begin for _, begin, _ in lexed.values()), expected)
            # Heads that read different tokens at one place: the longer one is taken, as by one lexer.
            at = max(end for end, _ in shifted)
            merged: dict[tuple[int, int], Head] = {}
            for end, head in shifted:
                key = (head.state, id(head.below))
                if end == at and (key not in merged or merged[key].dynamic < head.dynamic):
                    merged[key] = head
            heads = list(merged.values())

    def _reduced(self, head: Head, production: Production, at: int) -> Head:
        parts: list[tuple[str, Node]] = []
        below: Head | None = head
        for step in reversed(production.steps):
            assert below is not None
            nodes = below.nodes
            if step.alias:
                nodes = [(field, dataclasses.replace(node, kind=step.alias, named=step.named)) for field, node in nodes]
            if step.field:
                nodes = [(field or step.field, node) for field, node in nodes]
            parts[:0] = nodes
            below = below.below
        assert below is not None
        hidden = production.name.startswith("_")
        if not hidden or production.name in self.aliased:
            begin = parts[0][1].begin if parts else at
            end = parts[-1][1].end if parts else at
            parts = [("", Node(production.name, not hidden, begin, end, parts))]
        return Head(self.goto[below.state][production.name], below, parts, head.dynamic + production.dynamic)
