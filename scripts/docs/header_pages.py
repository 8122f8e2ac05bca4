"""The reference of the C and C++ interfaces: the public headers, a page for each layer."""

from __future__ import annotations

import re
from pathlib import Path

import headers

C_HEADER = "relay/vm/machine/relay_runtime.h"
# Page, title, what it is about, headers. Others are for the library itself.
LAYERS = [
    ("support", "Diagnostics, names, counted objects", "What everything stands on: places in source text, errors as data, interned names, intrusive reference counts.",
     ["support/diagnostic.h", "support/error.h", "support/span.h", "support/name.h", "support/ref.h"]),
    ("runtime", "Arrays and values", "Data without a compiler: dtypes, dense arrays, values of the language, devices, files of parameters.",
     ["runtime/dtype.h", "runtime/ndarray.h", "runtime/value.h", "runtime/device.h", "runtime/dlpack.h", "runtime/npy.h", "runtime/npz.h",
      "runtime/safetensors.h", "runtime/params.h", "runtime/memory.h", "runtime/library_kernel.h"]),
    ("ir", "Programs", "Expressions, types, dimensions, attributes, modules; walks, rewriting, comparison.",
     ["ir/expr.h", "ir/type.h", "ir/dim.h", "ir/attrs.h", "ir/module.h", "ir/visit.h", "ir/rewrite.h", "ir/equal.h", "ir/effects.h", "ir/regions.h"]),
    ("text", "Text and types", "From program text to typed programs and back.",
     ["parse/parse.h", "print/print.h", "print/dot.h", "print/json.h", "infer/infer.h", "import/onnx/import.h"]),
    ("op", "Operators", "Declarations of operators, what they compute, facts about them, plug-ins.",
     ["op/op.h", "op/registry/signature.h", "op/registry/relation.h", "op/registry/columns.h", "op/registry/facts.h", "op/registry/gradient.h", "op/registry/plugin.h"]),
    ("tensor-expressions", "Tensor expressions", "What an operator computes, element by element ([the representation](../tensor-expressions.md)).",
     ["tensor_expr/builder.h", "tensor_expr/scalar.h", "tensor_expr/computation.h", "tensor_expr/evaluate.h", "tensor_expr/analysis.h", "tensor_expr/adjoint.h"]),
    ("passes", "Passes and analyses", "Passes, contexts, instruments, questions about programs ([the passes](../passes.md)).",
     ["transform/pass.h", "transform/pass_context.h", "transform/instruments.h", "transform/bind_params.h", "analysis/call_graph.h", "analysis/counts.h", "analysis/features.h",
      "analysis/forms.h", "analysis/variables.h", "reduce/reduce.h", "reduce/predicates.h"]),
    ("running", "Compiling and running", "The reference evaluator, lowering, code generation, executables and the machine.",
     ["eval/eval.h", "lower/lower.h", "lower/loops.h", "codegen/codegen.h", "codegen/cache.h", "vm/compiler/compile.h", "vm/machine/executable.h",
      "vm/machine/executable_file.h", "vm/machine/machine.h"]),
]  # fmt: skip


def nodes(root: Path, file: str, macro: str) -> str:
    """The table of a `.def` file: a line for each kind."""
    text = re.sub(r"(?m)//.*$", "", (root / file).read_text(encoding="utf-8"))
    out = ["| kind | what it is | members |", "|---|---|---|"]
    for match in re.finditer(rf"^{macro}\((\w+),(.*?)\)\n(?=\n|{macro}|//|#|$)", text, re.DOTALL | re.MULTILINE):
        name, rest = match.group(1), match.group(2)
        doc = re.search(r'"((?:\\.|[^"\\])*)"', rest)
        members = re.findall(r"RELAY_\w+\(([^()]*)\)", rest)
        shown = []
        for member in members:
            parts = [part.strip() for part in re.split(r",(?![^<]*>)", member)]
            named = [part for part in parts if re.fullmatch(r"[a-z]\w*", part) and part not in ("bool",)]
            shown.append(f"`{named[-1] if named else parts[0]}`")
        out.append(f"| `{name}` | {doc.group(1) if doc else ''} | {', '.join(shown)} |")
    return "\n".join(out) + "\n"


def pages(root: Path) -> dict[str, str]:
    made: dict[str, str] = {}
    c = headers.read(root, C_HEADER)
    made["c/reference.md"] = (
        "# C reference\n\n`#include <relay_runtime.h>`, library `relay_runtime`. [The C interface](../c.md) shows how it is used.\n\n"
        + headers.markdown(c.intro) + "\n\n## Types\n\n" + headers.render(c, "c", 3)
    )  # fmt: skip
    for page, title, about, files in LAYERS:
        out = [f"# {title}", "", about, ""]
        for file in files:
            header = headers.read(root, "relay/" + file)
            out += [f"## {file}", "", f"`#include <relay/{file}>`", ""]
            if header.intro:
                out += [headers.markdown(header.intro), ""]
            if file == "ir/expr.h":
                out += ["Every kind of node is a class of its own with a member for each field, from one line of `relay/ir/nodes.def`:", "",
                        nodes(root, "relay/ir/nodes.def", "RELAY_NODE")]
            if file == "ir/type.h":
                out += ["Every kind of type is a class of its own, from one line of `relay/ir/types.def`:", "", nodes(root, "relay/ir/types.def", "RELAY_TYPE_KIND")]
            out.append(headers.render(header))
        made[f"cpp/{page}.md"] = "\n".join(out)
    return made
