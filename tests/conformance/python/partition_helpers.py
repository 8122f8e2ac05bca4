"""Programs, targets and runs for the tests of partitioning."""

from contextlib import ExitStack

import numpy as np
from relay import codegen

import tvm
from tvm import relay
from tvm.relay import transform
from tvm.relay.dataflow_pattern import is_op, wildcard
from tvm.relay.testing.temp_op_attr import TempOpAttr

SHAPE = (2, 3)


def tensor(name, shape=SHAPE, dtype="float32"):
    return relay.var(name, shape=shape, dtype=dtype)


def module(body, params=None):
    return tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(body) if params is None else params, body))


def supports(target, *names):
    """The operators that a target takes, for the block of a `with` statement."""
    stack = ExitStack()
    for name in names:
        stack.enter_context(TempOpAttr(name, "target." + target, lambda expr: True))
    return stack


def partitioned(mod, targets, merge=True, **options):
    passes = [transform.InferType(), transform.AnnotateTarget(targets)]
    if merge:
        passes.append(transform.MergeCompilerRegions())
    return tvm.transform.Sequential([*passes, transform.PartitionGraph(**options), transform.InferType()])(mod)


def external(mod):
    """The functions of code generators, by name."""
    found = {}
    for var in mod.get_global_vars():
        attrs = mod[var].attrs
        if attrs is not None and "Compiler" in attrs.keys():
            found[var.name_hint] = mod[var]
    return found


def count(expr, name):
    return relay.testing.count_ops(expr).get(name, 0)


def plain(function):
    """What a code generator gives that leaves a function to the compiler: the function, which is nobody's."""
    return relay.Function(function.params, function.body, function.ret_type, function.type_params)


def run(mod, *args, kind="vm"):
    names = {str(function.attrs["Compiler"]) for function in external(mod).values()} - set(codegen.names())
    with ExitStack() as stack:
        for name in names:
            stack.enter_context(codegen.registered(name, plain))
        result = relay.create_executor(kind, mod=mod, device=tvm.cpu(), target="llvm").evaluate()(*args)
    return [leaf.numpy() for leaf in result] if isinstance(result, (tuple, list)) or hasattr(result, "__len__") and not hasattr(result, "numpy") else [result.numpy()]


def same_numbers(before, after, *shapes):
    rng = np.random.default_rng(7)
    args = [rng.standard_normal(shape).astype("float32") for shape in shapes or [SHAPE] * len(before["main"].params)]
    for kind in ("vm", "debug"):
        for wanted, found in zip(run(before, *args, kind=kind), run(after, *args, kind=kind), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-5)


def merged(mod, table):
    return tvm.transform.Sequential([transform.InferType(), transform.MergeComposite(table), transform.InferType()])(mod)


def relu_of(name):
    return is_op("nn.relu")(is_op(name)(wildcard(), wildcard()))
