"""A page for each operator, from docs/operators.md (the declarations), `relay ops` (what the examples give) and python/relay (the functions)."""

from __future__ import annotations

import ast
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

# Families in the order of the navigation. Operators without a prefix are of the folder of relay/op that declares them.
FAMILIES = {
    "math": "Arithmetic and mathematics",
    "reduce": "Reductions and scans",
    "shape": "Shape, indexing, making tensors",
    "sort": "Sorting and searching",
    "nn": "Neural networks (nn)",
    "image": "Images (image)",
    "vision": "Detection (vision)",
    "qnn": "Quantised (qnn)",
    "dyn": "Attributes as inputs (dyn)",
    "random": "Random numbers (random)",
    "annotation": "Annotations, debugging (annotation)",
    "device": "Devices",
}
UNPREFIXED = ("math", "reduce", "shape", "sort", "device")
# Where the functions of a file of python/relay/op (or op/generated) are found.
PYTHON = {
    "tensor": ("relay", ""),
    "nn": ("relay.nn", "nn."),
    "image": ("relay.image", "image."),
    "vision": ("relay.vision", "vision."),
    "random": ("relay.random", "random."),
    "annotation": ("relay.annotation", "annotation."),
    "qnn": ("relay.qnn.op", "qnn."),
    "dyn": ("relay.op.dyn", "dyn."),
    "dyn_nn": ("relay.op.dyn.nn", "dyn.nn."),
    "dyn_image": ("relay.op.dyn.image", "dyn.image."),
}
WRITTEN = {"qnn": "qnn/op.py", "dyn": "op/dyn/__init__.py", "dyn_nn": "op/dyn/nn.py", "dyn_image": "op/dyn/image.py"}
ELSEWHERE = {"on_device": "annotation.on_device", "contrib_reverse_reshape": "reverse_reshape"}


@dataclass
class Operator:
    name: str
    signature: str
    doc: str
    inputs: list[str]
    attributes: list[str]
    results: list[str]
    examples: list[str]
    facts: str
    family: str = ""

    @property
    def path(self) -> str:
        return f"operators/{self.name}.md"

    @property
    def summary(self) -> str:
        return re.split(r"(?<=[.;:])\s", self.doc, maxsplit=1)[0].rstrip(";:.") + "."


def read(page: Path) -> list[Operator]:
    operators = []
    for section in page.read_text(encoding="utf-8").split("\n## ")[1:]:
        name, _, text = section.partition("\n")
        signature = text.strip().split("\n", 1)[0].strip("`")
        examples = re.findall(r"^```\n(.*?)\n```$", text, re.DOTALL | re.MULTILINE)
        facts = (re.findall(r"^Layout: .*$", text, re.MULTILINE) or [""])[0]
        body = re.sub(r"^```\n.*?\n```\n?", "", text, flags=re.DOTALL | re.MULTILINE).replace(facts, "")
        lines = body.strip().split("\n")[1:]
        first = next((i for i, line in enumerate(lines) if line.startswith("- ")), len(lines))
        items: list[str] = []
        for line in lines[first:]:
            if line.startswith("- "):
                items.append(line)
            elif line.strip():
                items[-1] += "\n" + line.replace("  - ", "    - ", 1)
        operators.append(Operator(
            name, signature, "\n".join(lines[:first]).strip(),
            [i for i in items if not i.startswith("- →") and not is_attribute(i)],
            [i for i in items if is_attribute(i)],
            ["- " + i.removeprefix("- → ") for i in items if i.startswith("- →")],
            examples, facts,
        ))  # fmt: skip
    return operators


def is_attribute(item: str) -> bool:
    return re.match(r"- `\w+: ", item) is not None


def find_families(operators: list[Operator], root: Path) -> None:
    sources = {path.parent.name: "" for path in sorted((root / "relay/op").glob("*/*.cpp"))}
    for path in sorted((root / "relay/op").glob("*/*.cpp")):
        sources[path.parent.name] += path.read_text(encoding="utf-8")
    for operator in operators:
        operator.family = operator.name.partition(".")[0] if "." in operator.name else ""
        if operator.family:
            continue
        declared = re.compile(rf'(RELAY_\w+\(|\bdeclare\w*\(|\{{)\s*"{re.escape(operator.name)}"')
        found = [family for family in FAMILIES if declared.search(sources.get(family, ""))]
        found = [family for family in found if family in UNPREFIXED] or found
        if len(found) != 1:
            raise ValueError(f"operator {operator.name} is declared in {found or 'no known folder'}: say in scripts/docs/operator_pages.py")
        operator.family = found[0]
    for operator in operators:
        if operator.family not in FAMILIES:
            raise ValueError(f"operator {operator.name} is of no family: say one in scripts/docs/operator_pages.py")


def python_functions(root: Path) -> dict[str, str]:
    """Operator to the call of its function in Python, defaults included."""
    calls: dict[str, str] = {}
    for module, (place, prefix) in PYTHON.items():
        package = root / "python/relay"
        files = [package / "op/generated" / f"{module}.py", package / WRITTEN.get(module, f"op/{module}.py")]
        for path in files:  # the hand-written one replaces what is generated
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                    calls[prefix + node.name] = f"{place}.{node.name}({arguments(node.args)})"
    for operator, function in ELSEWHERE.items():
        calls[operator] = calls[function]
    return calls


def arguments(args: ast.arguments) -> str:
    for arg in [*args.posonlyargs, *args.args, *args.kwonlyargs]:
        arg.annotation = None
    return ast.unparse(args)


def results_of_examples(relay: Path, names: list[str]) -> dict[str, list[str]]:
    """The results that the command `relay ops NAME` states for each example of an operator."""

    def ask(name: str) -> list[str]:
        text = subprocess.run([relay, "ops", name], capture_output=True, text=True, check=True).stdout
        examples = re.search(r"^examples\n((?:  .*\n)+)", text, re.MULTILINE)
        results: list[str] = []
        for line in examples.group(1).splitlines() if examples else ():
            if line.startswith("      "):
                results[-1] += line[6:] + "\n"
            else:
                results.append("")
        return results

    with ThreadPoolExecutor(4) as pool:
        return dict(zip(names, pool.map(ask, names)))


def call_lines(call: str, width: int = 92) -> str:
    """A call of a function on one line, or an argument on each."""
    if len(call) <= width:
        return call
    head, _, rest = call.partition("(")
    node = ast.parse(f"def f({rest}: pass").body[0]
    assert isinstance(node, ast.FunctionDef)
    parts = [ast.unparse(ast.arguments([], [arg], None, [], [], None, [])) for arg in node.args.args]
    defaults = [None] * (len(parts) - len(node.args.defaults)) + [ast.unparse(value) for value in node.args.defaults]
    lines = [f"    {part}={default}," if default is not None else f"    {part}," for part, default in zip(parts, defaults)]
    if node.args.vararg:
        lines.append(f"    *{node.args.vararg.arg},")
    keyword = [ast.unparse(ast.arguments([], [arg], None, [], [], None, [])) for arg in node.args.kwonlyargs]
    lines += [f"    {part}={ast.unparse(value)}," if value else f"    {part}," for part, value in zip(keyword, node.args.kw_defaults)]
    if node.args.kwarg:
        lines.append(f"    **{node.args.kwarg.arg},")
    return head + "(\n" + "\n".join(lines) + "\n)"


def page(operator: Operator, python: str | None, results: list[str]) -> str:
    out = ["---", "search: {boost: 2}", "hide: [toc]", "---", f"# {operator.name}", "", operator.doc, ""]
    if python:
        out += ["```python", call_lines(python), "```", ""]
    for title, items in (("Inputs", operator.inputs), ("Attributes", operator.attributes), ("Result" if len(operator.results) < 2 else "Results", operator.results)):
        if items:
            out += [f"**{title}**", "", *items, ""]
    for example, result in zip(operator.examples, results + [""] * len(operator.examples)):
        program, *given = example.split("  --arg ")
        out += ["**Example**" if len(operator.examples) == 1 or example == operator.examples[0] else "", "", "```relay", program, "```", ""]
        if given:
            out += ["of " + ", ".join(f"`{value.strip()[1:-1]}`" for value in given) + (" gives" if result else ""), ""]
        elif result:
            out += ["gives", ""]
        if result:
            out += ["```text", result.rstrip("\n"), "```", ""]
    if operator.facts:
        facts = re.sub(r"(\w+): ", r"\1: ", operator.facts).replace("Cost of the first example", "Cost of the example" if len(operator.examples) == 1 else "Cost of the first example")
        out += [facts, ""]
    out += [f"In text: `{operator.signature}`. [What the words on this page mean](../operators.md#words-on-the-pages)."]
    return "\n".join(out) + "\n"


def words(root: Path) -> list[str]:
    """The meanings of the words on the pages of operators."""
    header = (root / "relay/op/registry/facts.h").read_text(encoding="utf-8")

    def meanings(rule: str) -> str:
        listed = re.search(rf"RELAY_WORDS\({rule},(.*?)\)\)", header, re.DOTALL)
        assert listed, f"relay/op/registry/facts.h has no {rule}"
        return ", ".join(f"**{word}** ({meaning})" for word, meaning in re.findall(r'\(k\w+,\s*"([^"]*)",\s*"([^"]*)"', listed.group(1) + ")"))

    return [
        "## Words on the pages", "",
        "Inputs and results say what they may be: a tensor, a tuple of tensors, any value; `T` is a dtype, the same wherever it stands, and what follows the colon a "
        "class of dtypes (`T: float`). An attribute is written `name: type = default`.", "",
        f"- *Layout*, what becomes of a call when its inputs change layout: {meanings('LayoutRule')}.",
        f"- *Quantised*, what becomes of it on quantised numbers: {meanings('QuantisedRule')}.",
        "- *Gradient* ([gradients](gradients.md)): **derived** from what the operator computes; by a **rule**; by its **definition**, that of the operators it is "
        "written with; **none**.",
        "- *Cost*: arithmetic operations on values (two for each multiply-add), and bytes read and written once.", "",
    ]


def index(operators: list[Operator], root: Path) -> str:
    """The page of all operators, a table for each family."""
    out = ["# Operators", "",
           f"All {len(operators)} operators, each with its inputs, attributes, example and Python function. In program text an operator is called by its name, "
           "`nn.relu(%x)`, with attributes as words, `nn.softmax(%x, axis=1)`; in Python it is the function of its name in `relay`, `relay.nn.relu(x)`. "
           "`relay ops NAME` prints what is said here. The gradient of an operator is an operator, too: `grad.NAME` ([gradients](gradients.md)).", ""]
    for family, title in FAMILIES.items():
        members = [operator for operator in operators if operator.family == family]
        out += [f"## {title}", "", "| operator | |", "|---|---|"]
        out += [f"| [`{operator.name}`]({operator.path}) | {cell(operator.summary)} |" for operator in members]
        out.append("")
    out += words(root)
    return "\n".join(out)


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
