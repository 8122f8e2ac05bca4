"""Passes of Relay with TVM's arguments."""

from __future__ import annotations

import functools
from contextlib import ExitStack
from typing import Any

import relay as _relay
from relay import transform as _passes
from relay.transform import FunctionPass as FunctionPass, LayoutConfig as LayoutConfig

from relay import sparse as _sparse

from ... import _absent
from ..._submodules import submodule
from ...ir.members import module_attrs, with_module_attrs
from ...ir.module import from_expr as module_of
from ...ir.op import _attached
from ...target import Target
from ...ir.transform import ModulePass, Pass, PassContext, PassInfo, PrintIR, Sequential, create, module_pass, typed, with_context_of_here
from .. import origins as _origins
from ..build_module import build_config as build_config
from ..recasting import recast as recast

__all__ = [
    "ChangeBatch", "SimplifyFCTranspose", "SplitArgs", "CombineParallelBatchMatmul", "CombineParallelConv2D", "CombineParallelDense", "DeadCodeElimination", "EliminateCommonSubexpr",
    "AnnotateTarget", "InlineCompilerFunctionsBoundTo", "MarkCompilerFunctionsAsExtern", "MergeCompilerRegions", "MergeComposite",
    "OutlineCompilerFunctionsWithExistingGlobalSymbols", "PartitionGraph",
    "Conv2dToSparse", "Conv2dToSparse2", "ConvertLayout", "Defunctionalization", "DenseToSparse", "FakeQuantizationToInteger", "LayoutConfig", "Legalize", "ToCPS", "gradient", "to_cps",
    "un_cps",
    "FoldConstant", "FoldConstantExpr", "FunctionPass", "ToMixedPrecision", "FuseOps", "InferTypeLocal", "ModulePass", "Pass", "PassContext", "PassInfo",
    "FlexibleShapeDispatch", "PartialEvaluate", "PlanDevices", "PrintIR", "RemoveUnusedFunctions", "Sequential", "ToANormalFormExpr", "build_config", "function_pass", "module_pass", "recast",
]  # fmt: skip


def _plain(name: str) -> Any:
    def make() -> Pass:
        return create(name)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = getattr(_passes, name).__doc__
    return make


for _name in ("AnnotateSpans", "BackwardFoldScaleAxis", "BatchingOps", "CanonicalizeOps", "DefuseOps", "FoldExplicitPadding", "FoldScaleAxis",
              "FirstOrderGradient", "ForwardFoldScaleAxis", "InferType", "Inline", "LambdaLift", "LazyGradientInit", "SimplifyExpr", "SimplifyInference", "ToANormalForm",
              "ToBasicBlockNormalForm", "ToGraphNormalForm"):  # fmt: skip
    if _name in _passes.names():
        globals()[_name] = _plain(_name)
        __all__.append(_name)


def Defunctionalization(func: Any, mod: _relay.IRModule) -> Any:  # noqa: N802
    """A function without functions as values; `mod` gets the data types that stand for them, and what applies these."""
    whole = mod.copy()
    whole["main"] = func
    made = create("Defunctionalization")(whole)
    known = {var.name_hint for var in mod.type_definitions}
    for var, data in made.type_definitions.items():
        if var.name_hint not in known:
            mod.add_type(data)
    for name in made.function_names:
        if name != "main":
            mod[name] = made[name]
    return made["main"]


def ToCPS(expr: Any, mod: _relay.IRModule | None = None) -> Any:  # noqa: N802
    """A function in continuation-passing style; what it calls in `mod` gets a form in this style, too."""
    return _passes.to_cps(expr, mod)


def gradient(expr: Any, mod: _relay.IRModule | None = None, mode: str = "higher_order") -> Any:
    """The gradient of a function: ``fn (x…) -> T`` becomes ``fn (x…) -> (T, (dx…))``; modes are higher_order and first_order.

    A name stands for its function in the module.
    """
    if isinstance(expr, _relay.GlobalVar) and mod is not None:
        expr = mod[expr]
    return _passes.gradient(expr, mod, mode)


def to_cps(func: Any, mod: _relay.IRModule | None = None) -> Any:
    """A function in continuation-passing style; what it calls in `mod` gets a form in this style, too."""
    return _passes.to_cps(func, mod)


def un_cps(func: Any) -> Any:
    """The function that one in continuation-passing style was made of."""
    return _passes.un_cps(func)


def _with_types(make: Any) -> Any:
    @functools.wraps(make)
    def construct(*args: Any, **kwargs: Any) -> Pass:
        return typed(make(*args, **kwargs))

    return construct


Conv2dToSparse, Conv2dToSparse2, DenseToSparse = (_with_types(make) for make in (_sparse.Conv2dToSparse, _sparse.Conv2dToSparse2, _sparse.DenseToSparse))

# Passes whose options are TVM's parameters, in their order.
for _name in ("AlterOpLayout", "CanonicalizeCast", "CapturePostDfsIndexInSpans", "DivToMul", "DynamicToStatic",
              "EtaExpand", "FastMath", "FlattenAtrousConv", "ManifestLifetimes"):  # fmt: skip
    if _name in _passes.names():
        globals()[_name] = _with_types(getattr(_passes, _name))
        __all__.append(_name)


def function_pass(
    pass_func: Any = None, opt_level: int | None = None, name: str | None = None, required: list[str] | None = None, traceable: bool = False
) -> Any:
    """Makes a pass of a function ``(func, mod, ctx) -> Function``, called for each global function, or of a class with a method
    ``transform_function(func, mod, ctx)``.

    Functions with the attribute SkipOptimization, Compiler or Extern are left alone. The module is typed before the pass runs, and where it
    changed a function, afterwards; a result that has no types is an error of the pass.
    """
    return _passes._decorate(_over_functions, "transform_function", pass_func, opt_level, name, required, True, typed)


_LEFT_ALONE = ("SkipOptimization", "Compiler", "Extern")


def _over_functions(run: Any, name: str, opt_level: int, doc: str, required: list[str], typed: bool) -> Pass:
    def whole(mod: _relay.IRModule, ctx: Any) -> _relay.IRModule:
        given, changed = with_module_attrs(mod, module_attrs(mod)), {}
        for each in mod.function_names:
            func = mod[each]
            if func.attrs is not None and any(func.attrs.get(key) for key in _LEFT_ALONE):
                continue
            made = run(func, given, ctx)
            if not isinstance(made, _relay.Function):
                raise TypeError(f"function pass {name} gave {type(made).__name__}, not a Function, on @{each}")
            if not _same_parts(made, func):
                changed[each] = made
        if not changed:
            return mod
        result = mod.copy()
        for each, made in changed.items():
            result[each] = made
        return result

    made: Pass = _relay._core.module_pass(with_context_of_here(whole), name, opt_level, doc, required, typed)
    return made


def _same_parts(made: _relay.Function, func: _relay.Function) -> bool:
    """True for the same function, taken apart and put together again."""
    if made is func:
        return True
    parts = [made.body, made.ret_type, *made.params, *made.type_params], [func.body, func.ret_type, *func.params, *func.type_params]
    same = len(parts[0]) == len(parts[1]) and all(a is b for a, b in zip(*parts))
    return same and (made.attrs is func.attrs or dict(made.attrs or {}) == dict(func.attrs or {}))


def ToMixedPrecision(mixed_precision_type: str = "float16", missing_op_mode: int = 1) -> Pass:  # noqa: N802
    """Computes on narrower floats where a table of operators allows it."""
    return create("ToMixedPrecision", mixed_precision_type=mixed_precision_type, missing_op_mode=missing_op_mode)


def ConvertLayout(desired_layouts: dict[str, list[str]]) -> Pass:  # noqa: N802
    """Makes operators work in other layouts, by name: ``{"nn.conv2d": ["NHWC", "default"]}``; what works in any layout follows.

    A function that a script has attached to one of them (`register_convert_op_layout`) is asked for the calls of its operator: of
    attributes, arguments, their types and the layouts, it gives the call.
    """
    layouts = {str(name): [str(text) for text in texts] for name, texts in desired_layouts.items()}
    own = {name: _attached[name, "FTVMConvertOpLayout"][1] for name in layouts if (name, "FTVMConvertOpLayout") in _attached}
    rest = create("ConvertLayout", desired_layouts={name: texts for name, texts in layouts.items() if name not in own})
    if not own:
        return rest

    def run(mod: Any, ctx: Any) -> Any:
        from ..testing.temp_op_attr import TempOpAttr

        with ExitStack() as attached:
            for name, hook in own.items():
                alter = _asked_for(hook, layouts[name])
                attached.enter_context(TempOpAttr(name, "FTVMAlterOpLayout", alter))
            mod = create("AlterOpLayout")(mod)
        return rest(mod) if len(own) < len(layouts) else mod

    return module_pass(run, opt_level=3, name="ConvertLayout")  # type: ignore[no-any-return]


def _asked_for(hook: Any, layouts: list[str]) -> Any:
    return lambda attrs, inputs, tinfos, out_type: hook(attrs, inputs, tinfos, layouts)


def Legalize(legalize_map_attr_name: str = "FTVMLegalize") -> Pass:  # noqa: N802
    """Puts what functions that are attached to operators under a key make of a call in its place."""
    return create("Legalize", legalize_map_attr_name=legalize_map_attr_name)


def FakeQuantizationToInteger(hard_fail: bool = False, use_qat: bool = False, optional_qnn_ops: list[str] | None = None) -> Pass:  # noqa: N802
    """Computes on integers what a quantised network computes on floats, between dequantize and quantize."""
    return create("FakeQuantizationToInteger", hard_fail=bool(hard_fail), use_qat=bool(use_qat), optional_qnn_ops=[str(name) for name in optional_qnn_ops or []])


def FoldConstant(fold_qnn: bool = False) -> Pass:  # noqa: N802
    """Evaluates what depends on constants only; operators of quantised networks with `fold_qnn`."""
    return create("FoldConstant", fold_qnn=bool(fold_qnn))


def FuseOps(fuse_opt_level: int = -1) -> Pass:  # noqa: N802
    """Groups operators into functions that become one kernel each; level 0 groups nothing."""
    return create("FuseOps", fuse_opt_level=int(fuse_opt_level))


def DeadCodeElimination(inline_once: bool = False, ignore_impurity: bool = False) -> Pass:  # noqa: N802
    """Drops lets that nobody uses and that have no effects; `inline_once` puts values in the place of their only use."""
    return create("DeadCodeElimination", inline_once=bool(inline_once), ignore_impurity=bool(ignore_impurity))


def CombineParallelDense(min_num_branches: int = 3, to_batch: bool = True) -> Pass:  # noqa: N802
    """Makes one product of several of the same input."""
    return create("CombineParallelDense", min_num_branches=min_num_branches, to_batch=bool(to_batch))


def CombineParallelConv2D(min_num_branches: int = 3) -> Pass:  # noqa: N802
    """Makes one convolution of several of the same input."""
    return create("CombineParallelConv2D", min_num_branches=min_num_branches)


def CombineParallelBatchMatmul(min_num_branches: int = 3) -> Pass:  # noqa: N802
    """Makes one batched product of several of the same input."""
    return create("CombineParallelBatchMatmul", min_num_branches=min_num_branches)


def RemoveUnusedFunctions(entry_functions: list[str] | None = None) -> Pass:  # noqa: N802
    """Drops functions that the entries, `main` by default, do not reach."""
    return create("RemoveUnusedFunctions", entry_functions=list(entry_functions or ["main"]))


def EliminateCommonSubexpr(fskip: Any = None) -> Pass:  # noqa: N802
    """Makes one of calls that are the same, but for those that `fskip`, a function of an expression, says True of.

    What is skipped is chosen by operator: NotImplementedError where `fskip` tells calls of one operator apart, or says True of a
    projection.
    """
    if fskip is None:
        return create("EliminateCommonSubexpr")
    if not callable(fskip):
        raise TypeError(f"EliminateCommonSubexpr: fskip is a function of an expression, not {type(fskip).__name__}")

    def eliminate(mod: _relay.IRModule, ctx: Any) -> _relay.IRModule:
        answers: dict[str, bool] = {}

        def ask(expr: Any) -> None:
            if isinstance(expr, _relay.TupleGetItem):
                if fskip(expr):
                    raise NotImplementedError("EliminateCommonSubexpr: fskip says True of a projection; what is skipped is chosen by operator")
                return
            if not (isinstance(expr, _relay.Call) and isinstance(expr.op, _relay.Op)):
                return
            name, skipped = expr.op.name, bool(fskip(expr))
            if answers.setdefault(name, skipped) != skipped:
                raise NotImplementedError(f"EliminateCommonSubexpr: fskip tells calls of {name} apart; what is skipped is chosen by operator")

        for name in mod.function_names:
            _relay.post_order_visit(mod[name], ask)
        made: _relay.IRModule = create("EliminateCommonSubexpr", fskip=[name for name in answers if answers[name]])(mod)
        return made

    result: Pass = module_pass(eliminate, opt_level=3, name="EliminateCommonSubexpr", required=["InferType"])
    return result


def PartialEvaluate() -> Pass:  # noqa: N802
    """Runs what is known of a program before it runs, and writes the rest."""
    return create("PartialEvaluate")


class FlexibleShapeDispatch:
    """A copy of a program for each of several extents of an axis, chosen when it runs: ``FlexibleShapeDispatch([1, 4])(mod)``.

    `auto_pad` pads inputs with `pad_value` to the next larger bucket; then results are cut to the size, unless `affects_output` is False.
    `input_indices` says which inputs have the axis, all by default. A size without a bucket runs the program for any size.
    """

    def __init__(self, buckets: list[int], axis: int = 0, auto_pad: bool = False, pad_value: float = 0, input_indices: list[int] | None = None,
                 affects_output: bool = True) -> None:
        self.buckets, self.axis, self.auto_pad, self.pad_value = list(buckets), axis, auto_pad, pad_value
        self.input_indices, self.affects_output = input_indices, affects_output

    def __call__(self, mod: _relay.IRModule) -> _relay.IRModule:
        made: _relay.IRModule = create(
            "FlexibleShapeDispatch", buckets=self.buckets, axis=int(self.axis), auto_pad=bool(self.auto_pad),
            pad_value=float(self.pad_value), input_indices=self.input_indices or [],
            affects_output=bool(self.affects_output))(mod)
        return made


def SplitArgs(max_function_args: int) -> Pass:  # noqa: N802
    """Makes a concatenation of more tensors than a kernel may take one of concatenations; 0 is no limit."""
    return create("SplitArgs", max_function_args=max_function_args)


def SimplifyFCTranspose(target_weight_name: list[str]) -> Pass:  # noqa: N802
    """Takes the named weights, which nn.dense uses transposed, as parameters ``w.T`` that are transposed already."""
    return create("SimplifyFCTranspose", target_weight_name=[str(name) for name in target_weight_name])


def ChangeBatch(data: dict[Any, int], batch_size: int = 16) -> Pass:  # noqa: N802
    """Gives inputs another batch size: `data` says for a parameter, or its name, which axis that is."""
    return create("ChangeBatch", data=data, batch_size=batch_size)


def MergeComposite(pattern_table: Any) -> Pass:  # noqa: N802
    """Makes a call of a function, with the attribute Composite, of what fits a pattern of a table [(name, pattern[, check])]."""
    return typed(_passes.MergeComposite(pattern_table))


def AnnotateTarget(targets: Any, include_non_call_ops: bool = True) -> Pass:  # noqa: N802
    """Annotates calls whose operator has an attribute ``target.NAME`` that says so, and calls of functions ``Composite="NAME.…"``."""
    names = [targets] if isinstance(targets, str) else [str(target) for target in targets]
    return typed(_passes.AnnotateTarget(names, include_non_call_ops, lookup=lambda op, key: op.get_attr(key)))


def MergeCompilerRegions() -> Pass:  # noqa: N802
    """Makes regions of one target one, where no cycle results."""
    return create("MergeCompilerRegions")


def PartitionGraph(mod_name: str = "default", bind_constants: bool = True) -> Pass:  # noqa: N802
    """Makes regions global functions, and has ``relay.ext.NAME.optimize``, where a script registered it, change each of them."""
    plain = create("PartitionGraph", mod_name=mod_name, bind_constants=bool(bind_constants))

    def partition(mod: _relay.IRModule, ctx: Any) -> _relay.IRModule:
        from ...runtime.registry import get_global_func

        made = plain(mod)
        known = set(mod.function_names)
        for name in [name for name in made.function_names if name not in known]:
            function = made[name]
            optimize = get_global_func(f"relay.ext.{function.attrs['Compiler']}.optimize", allow_missing=True)
            if optimize is None:
                continue
            alone = optimize(create("InferType")(module_of(function)))
            made = made.copy()
            made[name] = alone["main"].with_attr(dict(function.attrs.items()))
        return made

    return typed(_passes.module_pass(partition, opt_level=0, name="PartitionGraph", required=["InferType"], typed=True))


def OutlineCompilerFunctionsWithExistingGlobalSymbols(compiler_filter: str = "") -> Pass:  # noqa: N802
    """Makes inner functions of code generators global ones, called as their global_symbol."""
    return create("OutlineCompilerFunctionsWithExistingGlobalSymbols", compiler_filter=compiler_filter)


def MarkCompilerFunctionsAsExtern(compiler_filter: str = "") -> Pass:  # noqa: N802
    """Gives functions of code generators the one attribute Extern."""
    return create("MarkCompilerFunctionsAsExtern", compiler_filter=compiler_filter)


def InlineCompilerFunctionsBoundTo(global_vars: Any) -> Pass:  # noqa: N802
    """Puts the bodies of these functions of code generators back in the place of their calls."""
    return typed(_passes.InlineCompilerFunctionsBoundTo(list(global_vars)))


def PlanDevices(config: Any) -> Pass:  # noqa: N802
    """Says for each expression on which device it runs. `config` is what `tvm.target.make_compilation_config` gave, or a target."""
    # Programs run on the CPU: all that there is to say of their targets is that they are such.
    if not (isinstance(config, dict) and {"machine", "target"} <= config.keys()):
        if not isinstance(config, (str, Target)):
            raise TypeError(f"PlanDevices: config is made by tvm.target.make_compilation_config, and is not {config!r}")
        Target.machine_of(config)
    return create("PlanDevices")


def InferTypeLocal(expr: Any) -> Any:  # noqa: N802
    """The type of an expression, whose free variables have annotations."""
    return _relay._core.infer_expr_type(_relay.expr.as_expr(expr), _relay.IRModule())


def FoldConstantExpr(expr: Any, mod: _relay.IRModule, fold_qnn: bool = False) -> Any:  # noqa: N802
    """An expression with what depends on constants only evaluated."""
    done = mod.copy()
    is_function = isinstance(expr, _relay.Function)
    name = done.fresh_name("folded")
    done.add_function(name, expr if is_function else _relay.Function(_relay._core.free_vars(expr), expr))
    made = FoldConstant(fold_qnn)(done)[name]
    return made if is_function else made.body


def ToANormalFormExpr(e: Any) -> Any:  # noqa: N802
    """An expression with a let for every intermediate value."""
    made = create("ToANormalForm")(module_of(e))["main"]
    return made if isinstance(e, _relay.Function) else made.body

suffixes = submodule(__name__, "suffixes", SUFFIX_STRING=_origins.SUFFIX_STRING, tag_suffixes=_origins.tag_suffixes)

from . import mixed_precision as mixed_precision  # noqa: E402


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
