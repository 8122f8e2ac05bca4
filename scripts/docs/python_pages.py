"""The reference of the Python package: which names stand on which page. Their text comes from docstrings and stubs (mkdocstrings).

Every name that the package exports has to be on a page; what is not is an error.
"""

from __future__ import annotations

import ast
from pathlib import Path

# Page: title, what it is about, names of `relay` in their order.
PAGES: dict[str, tuple[str, str, list[str]]] = {
    "expressions": (
        "Expressions", "Nodes of programs and what makes them. Nodes are immutable and shared; operators are functions ([operators](../operators.md)).",
        ["var", "const", "Expr", "Var", "Constant", "GlobalVar", "Call", "Function", "Let", "If", "Tuple", "TupleGetItem", "TupleWrapper", "Match", "Clause",
         "Pattern", "PatternVar", "PatternConstructor", "PatternTuple", "PatternWildcard", "RefCreate", "RefRead", "RefWrite", "Op", "Constructor", "Literal",
         "TempExpr", "ScopeBuilder", "bind", "Attrs", "Span"],
    ),
    "types": (
        "Types", "Types, kinds and dimensions ([the rules](../language.md#4-typing)).",
        ["scalar_type", "Any", "ShapeVar", "Type", "TensorType", "TupleType", "FuncType", "RefType", "TypeVar", "GlobalTypeVar", "TypeCall", "TypeData",
         "TypeRelation", "ShapeType", "BaseType", "DimType", "Dim", "IncompleteType", "TypeKind", "Kind"],
    ),
    "modules": (
        "Modules, text, errors", "Whole programs, program text, and what is said when something is wrong.",
        ["IRModule", "parse", "fromtext", "parse_expr", "parse_type", "check", "astext", "RelayError", "ExecutionError", "InternalError", "Diagnostic", "Note"],
    ),
    "visitors": (
        "Visitors, rewriting, comparison", "Walks over programs that may be a million nodes deep, and questions whether two programs are the same.",
        ["ExprVisitor", "ExprMutator", "ExprFunctor", "MixedModeVisitor", "MixedModeMutator", "post_order_visit", "rewrite", "TypeVisitor", "TypeMutator",
         "TypeFunctor", "structural_equal", "assert_structural_equal", "structural_difference", "structural_hash"],
    ),
    "running": (
        "Compiling and running", "From a module to results: machine code, files of it, the reference evaluator ([a model in production](../guides/production.md)).",
        ["compile", "load", "Executable", "Cancel", "RunTimeout", "RunCancelled", "release_memory", "evaluate", "NDArray", "Value", "reduce", "progress"],
    ),
    "gradients": (
        "Gradients", "Functions of functions: gradients and other derivatives ([training](../guides/training.md), [what has a gradient](../gradients.md)).",
        ["grad", "value_and_grad", "vjp", "jvp", "custom_gradient", "checkpoint", "jacobian", "jacrev", "jacfwd", "hessian", "vmap"],
    ),
}  # fmt: skip
MODULES = {
    "transform": ("relay.transform", "Passes, contexts and sequences. Each [registered pass](../passes.md) is a function of this module, too."),
    "instrument": ("relay.instrument", "What watches passes: time, memory, printing, counting."),
    "codegen": ("relay.codegen", "Code generators of others ([the guide](../../external-code.md))."),
    "optim": ("relay.optim", "Training: optimisers, schedules, losses, first values, checkpoints ([the guide](../guides/training.md))."),
    "functions": ("relay.functions", "Functions of Python that are traced and compiled ([the guide](../guides/functions.md)); most names are in `relay`, too."),
    "numpy/creation": ("relay.numpy.creation", "Arrays from nothing, numbers and others; the names are in `relay.numpy`."),
    "numpy/elementwise": ("relay.numpy.elementwise", "Functions of each element; the names are in `relay.numpy`."),
    "numpy/manipulation": ("relay.numpy.manipulation", "Other shapes of the same elements; the names are in `relay.numpy`."),
    "numpy/reductions": ("relay.numpy.reductions", "Sums, extrema, sorting, sets; the names are in `relay.numpy`."),
    "numpy/linear": ("relay.numpy.linear", "Products of matrices and vectors; the names are in `relay.numpy`."),
    "numpy/linalg": ("relay.numpy.linalg", "The array API standard's extension, but for eigenvalues and singular values."),
    "numpy/fft": ("relay.numpy.fft", "Fourier transforms on pairs of real and imaginary parts."),
    "functions/keys": ("relay.functions.keys", "Random numbers by keys; the names are in `relay.random`."),
    "analysis": ("relay.analysis", "Questions about programs that change nothing."),
    "frontend": ("relay.frontend", "Programs from other systems' files."),
    "op/registration": ("relay.op.registration", "Operators of your own ([an operator from Python](../../operators-from-python.md)); the names are in `relay.op`, too."),
    "op/description": ("relay.op.description", "What is known of an operator, as text; the names are in `relay.op`, too."),
    "op/facts": ("relay.op.facts", "What passes ask about operators, by columns; the names are in `relay.op`, too."),
    "op/contrib/register": ("relay.op.contrib.register", "Tables of patterns by the name of a code generator; the names are in `relay.op.contrib`, too."),
    "op/contrib/dnnl": ("relay.op.contrib.dnnl", "What oneDNN takes of a program, and the pass that partitions it for oneDNN."),
    "te": ("relay.te", "Tensor expressions: what an operator computes, element by element ([what they are](../tensor-expressions.md))."),
}
SUBMODULES = {"annotation", "image", "nn", "op", "random", "vision", "expr", "module"}  # of __all__: on the pages of operators and above


def exported(file: Path) -> list[str]:
    """`__all__` of a module, without what it adds to that."""
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return list(ast.literal_eval(node.value))
    raise ValueError(f"{file} has no __all__")


def pages(root: Path, functions: list[str]) -> dict[str, str]:
    package = root / "python/relay"
    made: dict[str, str] = {}
    shown = {name for _, _, names in PAGES.values() for name in names}
    names = set(exported(package / "__init__.py")) - SUBMODULES
    if shown != names:
        raise ValueError(f"scripts/docs/python_pages.py: on no page: {sorted(names - shown)}; not in the package: {sorted(shown - names)}")
    for page, (title, about, members) in PAGES.items():
        out = [f"# {title}", "", about, ""]
        for name in members:
            out += [f"::: relay.{name}", "    options: {heading_level: 2}", ""]
        made[f"python/{page}.md"] = "\n".join(out)
    for page, (module, about) in MODULES.items():
        file = package / f"{page}.py"
        members = exported(file if file.exists() else package / page / "__init__.py")
        out = [f"# {module}", "", about, ""]
        for name in members:
            out += [f"::: {module}.{name}", "    options: {heading_level: 2}", ""]
        made[f"python/{page}.md"] = "\n".join(out)
    out = ["# More functions of operators", "", "Functions that stand for several operators, or for one in a common use; every operator's own function is on [its page](../operators.md).", ""]
    for name in functions:
        module, _, function = name.rpartition(".")
        place = {"relay": "relay.op.tensor"}.get(module, module.replace("relay.", "relay.op.") if not module.startswith(("relay.op", "relay.qnn")) else module)
        out += [f"::: {place}.{function}", "    options: {heading_level: 2}", ""]
    made["python/more-operators.md"] = "\n".join(out)
    return made
