"""Why names of TVM have nothing behind them here.

Keys are full names; one that ends in a dot stands for a module and everything below it.
"""

from __future__ import annotations

from relay.transform import names as _pass_names

_TUNING = "tuning schedules of TIR: kernels are generated from tensor expressions without schedules"
_TIR = "TIR programs: operators are defined by tensor expressions"
_REMOTE = "remote devices: programs run in this process"
_VENDOR = "libraries of vendors: all kernels are generated"
_GPU = "GPUs: programs are compiled for CPUs"
_PRIVATE = "a private name of TVM's C++ registry"
_QUANTIZE = "the steps inside of TVM's quantization: relay.quantize has annotate, calibrate and realize as passes of its own"
_QNN = "TVM's rules for single qnn operators: relay.qnn.transform.CanonicalizeOps and Legalize are passes of their own"
_INTEGERS = "TVM's rules for single operators: FakeQuantizationToInteger derives what an operator becomes from what it computes"
_COLLAGE = "choosing between external compilers"
_BYOC = "external code generators"
_SPARSE = "conversion of dense weights to sparse ones"
_MICRO = "microcontrollers"
_MEMORY = "memory plans as objects: a compiled program has its own"

REASONS: dict[str, str] = {
    "tvm.autotvm.": _TUNING, "tvm.auto_scheduler.": _TUNING, "tvm.meta_schedule.": _TUNING, "tvm.script.": _TIR,
    "tvm.rpc.": _REMOTE, "tvm.micro.": _MICRO, "tvm.relax.": "Relax, the language after Relay", "tvm.driver.tvmc.": "TVM's command line: the command is relay",
    "tvm._ffi.": _PRIVATE, "tvm.contrib.nvcc.": _GPU, "tvm.contrib.cudnn.": _VENDOR,
    "tvm.contrib.cublas.": _VENDOR,
    "tvm.target.hexagon": "Hexagon", "tvm.tir.Stmt": _TIR, "tvm.tir.stmt_functor.": _TIR, "tvm.tir.expr.PrimExprWithOp": _TIR,
    "tvm.te.create_schedule": _TUNING, "tvm.te.compute": _TIR,
    "tvm.testing.aot.": _MICRO, "tvm.topi.arm_cpu.": _TUNING, "tvm.topi.x86.": _TUNING, "tvm.topi.cuda.": _GPU,
    "tvm.topi.sparse.": _SPARSE, "tvm.topi.nn.": _TUNING,
    "tvm.relay.quantize.": _QUANTIZE, "tvm.relay.collage.": _COLLAGE, "tvm.relay.data_dep_optimization.": _SPARSE,
    "tvm.relay.op.contrib.": _BYOC, "tvm.relay.op.memory.": "explicit allocation in programs",
    "tvm.relay.op.nn._make.": _PRIVATE, "tvm.relay.transform._ffi_api.": _PRIVATE, "tvm.relay.analysis._ffi_api.": _PRIVATE,
    "tvm.relay.backend._backend.": _PRIVATE, "tvm.relay.backend.te_compiler.": _TUNING,
    "tvm.relay.backend.graph_executor_codegen.": "graphs beside the program", "tvm.relay.qnn.op.legalizations.": _QNN,
    "tvm.relay.qnn.op.canonicalizations.": _QNN, "tvm.relay.script": "programs written as Python functions",
    "tvm.relay.op.register_external_compiler": _BYOC,
    "tvm.relay.testing.byoc.": _BYOC, "tvm.relay.testing.darknet.": "the Darknet front end", "tvm.relay.testing.tf.": "the TensorFlow front end",
    "tvm.relay.testing.tflite.": "the TFLite front end", "tvm.relay.testing.yolo_detection.": "the Darknet front end",
    "tvm.relay.copy_shape_func": "shape functions written in Python", "tvm.relay.testing.py_converter.to_python": "programs as Python source",
    "tvm.relay.testing.to_python": "programs as Python source",
    "tvm.relay.transform.fake_quantization_to_integer.": _INTEGERS, "tvm.relay.transform.mixed_precision.": "mixed precision",
    "tvm.relay.transform.infer_layout_utils.": "layouts as objects",
    "tvm.relay.qnn.op.register_qnn_canonicalize": _QNN,
    "tvm.relay.qnn.op.target_has_features": _QNN,
    "tvm.ir.GlobalInfo": "Relax, the language after Relay", "tvm.ir.SourceMap": "sources beside modules: spans and diagnostics know theirs",
    "tvm.runtime.disco.": _REMOTE, "tvm.runtime.relax_vm.": "Relax, the language after Relay",
    "tvm.relay.backend.executor_factory.": "programs compiled ahead of time for a C runtime: relay.build gives one that is exported and run",
    "tvm.relay.analysis.annotated_regions.": _BYOC, "tvm.relay.analysis.operations_distribution.": _BYOC,
    "tvm.relay.transform.memory_plan.": _MEMORY, "tvm.relay.expr.StorageInfo": _MEMORY, "tvm.relay.expr.StaticMemoryPlan": _MEMORY,
    "tvm.relay.StorageInfo": _MEMORY, "tvm.relay.StaticMemoryPlan": _MEMORY,
    "tvm.relay.transform.suffixes.": "spans numbered by a pass",
}  # fmt: skip

for _name in ("contrib_conv2d_nchwc", "contrib_dense_pack", "contrib_conv2d_gemm_weight_transform", "contrib_conv2d_gemm_without_weight_transform",
              "contrib_conv3d_winograd_weight_transform", "contrib_conv3d_winograd_without_weight_transform",
              "contrib_depthwise_conv2d_nchwc", "contrib_conv2d_winograd_nnpack_weight_transform", "contrib_conv2d_winograd_weight_transform",
              "contrib_conv2d_winograd_without_weight_transform"):  # fmt: skip
    for _module in ("tvm.relay.nn.", "tvm.relay.op.nn."):
        REASONS[_module + _name] = "operators that stand for one way to compute another one: the compiler chooses the way"
for _name in ("bitpack", "bitserial_conv2d", "bitserial_dense"):
    REASONS["tvm.relay.nn." + _name] = REASONS["tvm.relay.op.nn." + _name] = "operators on packed bits"
REASONS["tvm.relay.qnn.op.contrib_dense_pack"] = "operators that stand for one way to compute another one: the compiler chooses the way"
REASONS["tvm.relay.op._make."] = _PRIVATE
REASONS["tvm.te.round"] = REASONS["tvm.tir.Cast"] = REASONS["tvm.tir.expr."] = _TIR

# Passes that do not exist yet; those that are registered go by themselves.
_there = frozenset(_pass_names())
_PASSES = {
    _BYOC: ["AnnotateTarget", "PartitionGraph", "MergeCompilerRegions", "MergeComposite", "OutlineCompilerFunctionsWithExistingGlobalSymbols",
            "InlineCompilerFunctionsBoundTo", "MarkCompilerFunctionsAsExtern", "mangle_module_name"],
    _COLLAGE: ["CollagePartition"],
    "dynamic shapes made static by a pass": ["DynamicToStatic", "FlexibleShapeDispatch"],
    "partial evaluation": ["PartialEvaluate", "Defunctionalization"],
    "mixed precision": ["ToMixedPrecision", "recast"],
    "this pass, which Relay does not have": ["AnnotateSpans", "CapturePostDfsIndexInSpans", "CanonicalizeCast", "ChangeBatch", "DivToMul",
                                       "FastMath", "FlattenAtrousConv", "ManifestLifetimes", "SplitArgs"],
}  # fmt: skip
for _reason, _names in _PASSES.items():
    for _name in _names:
        if _name not in _there:
            REASONS.setdefault("tvm.relay.transform." + _name, _reason)
if "SplitArgs" not in _there:
    REASONS["tvm.relay.SplitArgs"] = REASONS["tvm.relay.transform.SplitArgs"]

# Names that nothing above says more about.
_REST: dict[str, str] = {
    "tvm.": "this part of TVM, which Relay does not have", "tvm.tir.": _TIR, "tvm.te.": _TIR, "tvm.arith.": _TIR, "tvm.topi.": _TUNING,
    "tvm.hybrid.": _TIR, "tvm.lower": _TIR, "tvm.build": _TIR, "tvm.create_schedule": _TUNING, "tvm.driver.build_module.": _TIR,
    "tvm.contrib.": "a tool or library beside TVM", "tvm.exec.": "TVM's servers", "tvm.dlight.": _TUNING, "tvm.tirx.": _TIR,
    "tvm.ffi.": _PRIVATE, "tvm.testing.": "tests of TVM's own parts", "tvm.contrib.hexagon.": "Hexagon", "tvm.contrib.ethosu.": _BYOC,
    "tvm.contrib.cutlass.": _VENDOR,
    "tvm.relay.frontend.": "a front end of another system; from_onnx reads ONNX, which their exporters write, and from_pytorch takes modules of PyTorch",
    "tvm.relay.backend.compile_engine.": _TUNING, "tvm.relay.backend.contrib.": _BYOC, "tvm.relay.op.strategy.": _TUNING,
    "tvm.relay.op.op_attrs.": "attributes as classes: those of every call are relay.Attrs", "tvm.relay.op.vm.": "instructions of TVM's machine",
}  # fmt: skip


def reason(full: str) -> str | None:
    """Why a name is not there; None if it is no name that is known."""
    return _prefixed(REASONS, full) or _prefixed(_REST, full)


def _prefixed(table: dict[str, str], full: str) -> str | None:
    if full in table:
        return table[full]
    parts = full.split(".")
    for count in range(len(parts), 0, -1):
        found = table.get(".".join(parts[:count]) + ".")
        if found is not None:
            return found
    return None
