"""Which members of TVM's classes work: each is read from an object, where `examples` has one, and else from the class."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import names

HERE = Path(__file__).parent


def rows() -> list[tuple[str, str, str]]:
    """Class, member and state of each line of the table."""
    lines = (HERE / "members.tsv").read_text(encoding="utf-8").splitlines()[1:]
    return [(cells[0], cells[1], cells[2]) for cells in (line.split("\t") for line in lines)]


def judge(cls: str, member: str) -> tuple[str, str]:
    """works, raises, out of scope (with the class) or missing; and why."""
    from tvm import _absent

    try:
        found = names.resolve(cls)
    except (AttributeError, ImportError) as error:
        return "missing", str(error)
    if _absent.is_absent(found):
        return "out of scope", _absent.reason(cls) or ""
    example = examples().get(cls)
    try:
        static = inspect.getattr_static(found if example is None else example, member)
    except AttributeError:
        # Members that an object, or a class of classes, makes as it is asked.
        thing = found if example is None else example
        if not hasattr(thing, member):
            return "missing", f"{cls} has no member {member}"
        why = getattr(getattr(thing, member), "__relay_missing__", None)
        return ("works", "") if why is None else ("raises", why)
    getter = static.fget if isinstance(static, property) else static
    missing = getattr(getter, "__relay_missing__", None)
    if missing is not None:
        return "raises", missing
    if example is not None:
        getattr(example, member)
    return "works", ""


_examples: dict[str, Any] = {}


def examples() -> dict[str, Any]:
    """An object of each class whose members are read."""
    if _examples:
        return _examples
    import numpy as np
    import tvm
    from tvm import relay
    from tvm.contrib import graph_executor

    mod = tvm.parser.fromtext('#[version = "0.0.5"]\ntype L[A] { Nil, Cons(A, L[A]) }\ndef @main(%x: Tensor[(2), float32]) { (add(%x, 1f), %x) }')
    mod = relay.transform.InferType()(mod)
    main = mod["main"]
    x = main.params[0]
    cons = mod.get_constructor("Cons")
    reference = relay.RefCreate(x)
    pattern = relay.PatternConstructor(cons, [relay.PatternVar(relay.Var("h")), relay.PatternWildcard()])
    clause = relay.Clause(pattern, x)
    let = relay.Let(relay.Var("y"), x, x)
    lib = relay.build(mod, "llvm")
    exe = relay.vm.compile(mod, "llvm")
    prelude = relay.Prelude()
    context = tvm.transform.PassContext()
    span = tvm.ir.Span(tvm.ir.SourceName("s"), 1, 1, 1, 2)
    try:
        relay.testing.run_infer_type(relay.add(x, relay.var("z", shape=(3,))))
    except tvm.TVMError as error:
        problem = error
    _examples.update({
        "tvm.TVMError": problem, "tvm.ir.diagnostics.Diagnostic": problem.diagnostics[0],
        "tvm.ir.IRModule": mod, "tvm.ir.BaseFunc": main, "tvm.relay.Function": main, "tvm.relay.function.Function": main,
        "tvm.ir.RelayExpr": main.body, "tvm.relay.Tuple": main.body, "tvm.relay.expr.Tuple": main.body,
        "tvm.relay.expr.ExprWithOp": main.body.fields[0], "tvm.relay.Call": main.body.fields[0], "tvm.relay.Constant": main.body.fields[0].args[1],
        "tvm.relay.Var": x, "tvm.relay.expr.Var": x, "tvm.ir.GlobalVar": mod.get_global_var("main"), "tvm.ir.Op": relay.op.get("add"),
        "tvm.ir.Type": x.checked_type, "tvm.ir.TensorType": x.checked_type, "tvm.ir.TupleType": main.body.checked_type,
        "tvm.ir.FuncType": main.checked_type, "tvm.ir.TypeCall": cons.inputs[1], "tvm.ir.TypeVar": mod.type_data("L").type_vars[0],
        "tvm.ir.GlobalTypeVar": mod.get_global_type_var("L"), "tvm.ir.TypeData": mod.type_data("L"), "tvm.ir.Constructor": cons,
        "tvm.relay.Let": let, "tvm.relay.If": relay.If(relay.const(True), x, x), "tvm.relay.TupleGetItem": relay.TupleGetItem(main.body, 0),
        "tvm.relay.RefCreate": reference, "tvm.relay.RefRead": relay.RefRead(reference), "tvm.relay.RefWrite": relay.RefWrite(reference, x),
        "tvm.relay.Match": relay.Match(x, [clause]), "tvm.relay.Clause": clause, "tvm.relay.PatternConstructor": pattern,
        "tvm.relay.PatternVar": pattern.patterns[0], "tvm.relay.PatternTuple": relay.PatternTuple([]),
        "tvm.relay.TupleWrapper": relay.split(x, 2), "tvm.relay.expr.TupleWrapper": relay.split(x, 2),
        "tvm.ir.Attrs": relay.nn.conv2d(x, x).attrs, "tvm.ir.Span": span, "tvm.ir.SourceName": tvm.ir.SourceName("s"),
        "tvm.ir.SequentialSpan": tvm.ir.SequentialSpan([span]), "tvm.transform.PassContext": context, "tvm.ir.transform.PassContext": context,
        "tvm.relay.transform.PassInfo": relay.transform.InferType().info, "tvm.ir.transform.Pass": relay.transform.InferType(),
        "tvm.runtime.ndarray.NDArray": tvm.nd.array(np.ones(2)), "tvm.runtime.NDArray": tvm.nd.array(np.ones(2)),
        "tvm.runtime.container.ADT": tvm.runtime.container.tuple_object([]), "tvm.runtime.vm.Executable": exe,
        "tvm.runtime.vm.VirtualMachine": tvm.runtime.vm.VirtualMachine(exe, tvm.cpu()), "tvm.runtime.module.Module": lib["default"](tvm.cpu()),
        "tvm.contrib.graph_executor.GraphModule": graph_executor.GraphModule(lib["default"](tvm.cpu())),
        "tvm.relay.prelude.Prelude": prelude, "tvm.relay.prelude.TensorArrayOps": relay.prelude.TensorArrayOps(prelude, "float32"),
        "tvm.relay.prelude.StaticTensorArrayOps": relay.prelude.StaticTensorArrayOps(prelude, "float32", (2,)),
        "tvm.relay.scope_builder.ScopeBuilder": relay.ScopeBuilder(), "tvm.target.Target": tvm.target.Target("llvm"),
        "tvm.target.target.Target": tvm.target.Target("llvm"), "tvm.target.VirtualDevice": tvm.target.VirtualDevice(tvm.cpu(), "llvm"),
        "tvm.tir.IntImm": tvm.tir.IntImm("int32", 3), "tvm.relay.analysis.CallGraph": relay.analysis.CallGraph(mod),
        "tvm.relay.backend.interpreter.RefValue": relay.backend.interpreter.RefValue(tvm.nd.array(np.ones(2))),
        "tvm.relay.backend.interpreter.ConstructorValue": relay.backend.interpreter.ConstructorValue(cons.tag, [], cons),
        "tvm.relay.dataflow_pattern.DFPattern": relay.dataflow_pattern.wildcard(),
        "tvm.relay.dataflow_pattern.WildcardPattern": relay.dataflow_pattern.wildcard(),
        "tvm.relay.dataflow_pattern.TuplePattern": relay.dataflow_pattern.is_tuple([]),
        "tvm.relay.dataflow_pattern.AttrPattern": relay.dataflow_pattern.has_attr({"axis": 1}),
        "tvm.relay.dataflow_pattern.DFPatternCallback": relay.dataflow_pattern.DFPatternCallback(),
        "tvm.ir.instrument.PassTimingInstrument": tvm.ir.instrument.PassTimingInstrument(),
    })  # fmt: skip
    return _examples
