"""Networks of floats made networks of integers: annotate, calibrate on data, realise.

``quantize(mod, params, dataset)`` does all of it, as the `qconfig` around it says. Products and convolutions get 8-bit integers as
operands and sum in 32 bits; what only moves, adds or bounds numbers between them works on integers, too.
"""

from __future__ import annotations

import dataclasses
import math
import threading
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ._checks import did_you_mean, require_type, shown
from ._core import Call, Constant, Expr, Function, IRModule, Op, Pass, PassContext, TensorType, Var
from ._progress import progress
from .analysis import post_order_visit
from .expr import bind, const
from .expr_functor import rewrite
from .transform import Sequential, create, module_pass

__all__ = ["QConfig", "QAnnotateKind", "annotate", "calibrate", "current_qconfig", "kl_divergence_threshold", "partition", "prerequisite_optimize", "qconfig",
           "quantize", "realize"]


class QAnnotateKind:
    """The kinds of values that an annotation quantises: an operand, a weight, or sums."""

    IDENTITY, INPUT, WEIGHT, ACTIVATION, BIAS = 0, 1, 2, 3, 4


@dataclasses.dataclass
class QConfig:
    """How a network is quantised; entered by ``with qconfig(…)``.

    `calibrate_mode`: "global_scale" takes `global_scale` as the greatest number of every operand; "kl_divergence" chooses for each that
    which loses least of what the data show, "percentile" that below which 99.99% of them are, and "max" the greatest of all.
    `weight_scale`: "power2" or "max". `skip_conv_layers`: numbers of convolutions that stay, counted from 0. `do_simulation`: the
    result quantises numbers but computes on floats. `calibrate_chunk_by`: how many operands one run looks at; -1 is all.
    """

    nbit_input: int = 8
    nbit_weight: int = 8
    nbit_activation: int = 32
    dtype_input: str = "int8"
    dtype_weight: str = "int8"
    dtype_activation: str = "int32"
    calibrate_mode: str = "global_scale"
    global_scale: float = 8.0
    weight_scale: str = "power2"
    skip_dense_layer: bool = True
    skip_conv_layers: list[int] | None = dataclasses.field(default_factory=lambda: [0])
    do_simulation: bool = False
    round_for_shift: bool = True
    debug_enabled_ops: list[str] | None = None
    rounding: str = "UPWARD"
    calibrate_chunk_by: int = -1
    partition_conversions: str = "disabled"

    def __post_init__(self) -> None:
        for name in ("nbit_input", "nbit_weight"):
            if not 2 <= getattr(self, name) <= 8:
                raise ValueError(f"{name} is between 2 and 8, not {getattr(self, name)}")
        for name, words in _CHOICES.items():
            if getattr(self, name) not in words:
                raise ValueError(f"{name} is one of {', '.join(words)}, not {getattr(self, name)!r}")
        if not self.global_scale > 0:
            raise ValueError(f"global_scale is greater than 0, not {self.global_scale}")

    def __enter__(self) -> QConfig:
        _entered().append(self)
        return self

    def __exit__(self, *exc: Any) -> None:
        _entered().pop()


_CHOICES = {
    "calibrate_mode": ("global_scale", "kl_divergence", "percentile", "max"),
    "weight_scale": ("power2", "max"),
    "dtype_input": ("int8", "uint8"),
    "dtype_weight": ("int8", "uint8"),
    "dtype_activation": ("int32", "int16"),
    "rounding": ("UPWARD", "TONEAREST"),
    "partition_conversions": ("disabled",),
}  # fmt: skip
_local = threading.local()


def _entered() -> list[QConfig]:
    if not hasattr(_local, "configs"):
        _local.configs = []
    return _local.configs  # type: ignore[no-any-return]


def current_qconfig() -> QConfig:
    """The innermost configuration of the thread."""
    return _entered()[-1] if _entered() else QConfig()


def qconfig(**kwargs: Any) -> QConfig:
    """A configuration with these fields, others as by default. Raises TypeError for a field that there is not."""
    return QConfig(**kwargs)


# ---- Annotate ---------------------------------------------------------------------------------

_SCALE = "quantize.scale"


def _step(name: str, config: QConfig, *fields: str, **options: Any) -> Pass:
    """A registered pass with what it takes of a configuration."""
    given = {field: getattr(config, field) for field in fields}
    if "skip_conv_layers" in given:
        given["skip_conv_layers"] = config.skip_conv_layers or []
    made: Pass = create(name, **given, **options)
    return made


def partition() -> Pass:
    """Marks where results of integer computation meet: an operand of a sum of two such gets an `annotation.cast_hint` of the dtype of
    operands, at which `annotate` quantises it. What is marked already stays."""
    return _step("QuantizePartition", current_qconfig(), "dtype_input", "skip_dense_layer", "skip_conv_layers")


def annotate() -> Pass:
    """Quantises operands of convolutions and products, and what `partition` marked (which runs first where it has not). Each scale is a
    parameter of the function, which `calibrate` binds."""
    return _step("QuantizeAnnotate", current_qconfig(), "dtype_input", "dtype_weight", "skip_dense_layer", "skip_conv_layers")


# ---- Calibrate --------------------------------------------------------------------------------


def _name_of(expr: Expr) -> str:
    return expr.op.name if isinstance(expr, Call) and isinstance(expr.op, Op) else ""


def _points(main: Function) -> list[tuple[Var, Expr]]:
    """Each scale with the operand that it is for."""
    found: dict[Any, Expr] = {}

    def look(expr: Expr) -> None:
        if _name_of(expr) == "qnn.quantize" and isinstance(expr.args[1], Var) and expr.args[1].name_hint.startswith(_SCALE):  # type: ignore[attr-defined]
            found[expr.args[1]] = expr.args[0]  # type: ignore[attr-defined]

    post_order_visit(main.body, look)
    return [(param, found[param]) for param in main.params if param in found]


def _inputs(what: str, item: Any) -> Mapping[str, Any]:
    if not isinstance(item, Mapping):
        raise TypeError(f"{what} is a dictionary from the names of inputs to arrays, not {shown(item)}")
    return item


def _as_floats_of(param: Var, value: Any) -> np.ndarray[Any, Any]:
    """An input as an array; floats in the parameter's dtype, since numbers of NumPy are float64 unless a script says otherwise."""
    array, kind = np.asarray(value), param.type_annotation
    if isinstance(kind, TensorType) and str(kind.dtype) in ("float16", "float32") and array.dtype == np.float64:
        return array.astype(str(kind.dtype))
    return array


def _samples(mod: IRModule, points: list[tuple[Var, Expr]], scales: set[Any], dataset: Iterable[Mapping[str, Any]], chunk: int) -> list[np.ndarray[Any, Any]]:
    """The absolute numbers of each operand in the network of floats, for all data."""
    from .execution import compile as build
    from .expr import Tuple

    main = mod["main"]

    def unquantised(expr: Expr) -> Expr | None:
        if _name_of(expr) == "qnn.dequantize" and isinstance(expr.args[1], Var) and expr.args[1] in scales:  # type: ignore[attr-defined]
            return expr.args[0].args[0]  # type: ignore[attr-defined, no-any-return]
        return None

    whole = rewrite(Tuple([expr for _, expr in points]), unquantised)
    params = [param for param in main.params if param not in scales]
    names = [param.name_hint for param in params]
    data = [dict(_inputs(f"dataset[{i}]", item)) for i, item in enumerate(dataset)]
    if not data:
        raise ValueError("calibration needs data: a dataset of dictionaries from the names of inputs to arrays")
    step = len(points) if chunk < 1 else chunk
    found: list[np.ndarray[Any, Any]] = []
    for first in range(0, len(points), step):
        fields = list(whole.fields[first : first + step])  # type: ignore[attr-defined]
        part = mod.copy()
        part["main"] = Function(params, Tuple(fields))
        program = build(part)
        chunks: list[list[np.ndarray[Any, Any]]] = [[] for _ in fields]
        for item in progress(data, f"calibrating, operands {first + 1} to {first + len(fields)} of {len(points)}"):
            missing = [name for name in names if name not in item]
            if missing:
                raise ValueError(f"calibration data has no input %{missing[0]}; it has {', '.join(map(str, item)) or 'nothing'}")
            for place, value in enumerate(program(*[_as_floats_of(param, item[param.name_hint]) for param in params])):
                chunks[place].append(np.abs(np.asarray(value.numpy() if hasattr(value, "numpy") else value)).ravel())
        for place, one in enumerate(chunks, start=first + 1):
            found.append(np.concatenate(one))
            if not np.isfinite(found[-1]).all():
                raise ValueError(f"calibration data make operand {place} of {len(points)}, of {points[place - 1][0].name_hint}, infinite or not a number")
    return found


def kl_divergence_threshold(samples: Any, bits: int = 8, bins: int = 2048) -> float:
    """The number at which cutting off loses least: the distribution of the numbers, in ``2**(bits - 1)`` steps up to there, is nearest to
    what it is in all `bins` (Kullback and Leibler's divergence)."""
    values = np.abs(np.asarray(samples, dtype="float64")).ravel()
    most = float(values.max()) if values.size else 0.0
    if not most > 0:
        return 0.0
    counts, edges = np.histogram(values, bins=bins, range=(0, most))
    counts[0] = 0  # zeros (of relu) are exact at every scale
    levels = 2 ** (bits - 1)
    best, threshold = math.inf, most
    for end in range(levels, bins + 1, max(1, bins // 256)):
        wanted = counts[:end].astype("float64")
        wanted[-1] += counts[end:].sum()
        if not wanted.sum():
            continue
        level = np.arange(end) * levels // end
        mass = np.bincount(level, weights=counts[:end], minlength=levels)
        filled = np.bincount(level, weights=(counts[:end] > 0), minlength=levels)
        near = np.where(counts[:end] > 0, mass[level] / np.maximum(filled[level], 1), 0)
        if not near.sum():
            continue
        p, q = wanted / wanted.sum(), near / near.sum()
        both = p > 0
        loss = float(np.sum(p[both] * np.log(p[both] / np.maximum(q[both], 1e-9))))
        if loss < best:
            best, threshold = loss, float(edges[end])
    return threshold


def _scale_of(config: QConfig, samples: np.ndarray[Any, Any]) -> float:
    """That of an operand which has these numbers in the data."""
    levels: int = 2 ** (config.nbit_input - 1)
    if config.calibrate_mode == "kl_divergence":
        most = kl_divergence_threshold(samples, config.nbit_input)
    elif config.calibrate_mode == "percentile":
        most = float(np.quantile(samples, 0.9999)) if samples.size else 0.0
    else:
        most = float(samples.max()) if samples.size else 0.0
    return most / (levels - 1) if most > 0 else 1.0 / levels


def calibrate(dataset: Iterable[Mapping[str, Any]] | None = None) -> Pass:
    """Chooses the scales of an annotated module, as the configuration says. `dataset` has for each run a dictionary from the names of
    inputs to arrays; "global_scale" uses none, and warns if there are any. Raises ValueError for data that do not fit."""
    config = current_qconfig()
    if dataset is not None and config.calibrate_mode == "global_scale":
        warnings.warn('calibrate_mode "global_scale" uses no data: the dataset is left out; qconfig(calibrate_mode="kl_divergence") uses it', stacklevel=2)

    def run(mod: IRModule, ctx: Any) -> IRModule:
        points = _points(mod["main"])
        shown = [point for point in points if not isinstance(point[1], Constant)]
        found: dict[str, float] = {}
        if config.calibrate_mode != "global_scale" and shown:
            if dataset is None:
                raise ValueError(f'calibrate_mode "{config.calibrate_mode}" needs a dataset')
            samples = _samples(mod, shown, {scale for scale, _ in points}, dataset, config.calibrate_chunk_by)
            found = {scale.name_hint: _scale_of(config, numbers) for (scale, _), numbers in zip(shown, samples)}
        done: IRModule = _step("QuantizeCalibrate", config, "nbit_input", "nbit_weight", "global_scale", "weight_scale", scales=found)(mod)
        return done

    return module_pass(run, opt_level=1, name="QuantizeCalibrate", typed=True)


# ---- Realise ----------------------------------------------------------------------------------


def realize() -> Pass:
    """Computes on integers what an annotated and calibrated module computes on floats."""
    return create("QuantizeRealize")


def prerequisite_optimize(mod: IRModule, params: Mapping[str, Any] | None = None) -> IRModule:
    """The module with parameters bound, without norms, and with factors moved into weights: what `quantize` starts from."""
    if params:
        mod = mod.copy()
        main = mod["main"]
        known = [param.name_hint for param in main.params]
        for name in params:
            if name not in known:
                # No error: scripts give parameters again that they have bound.
                advice = did_you_mean(name, known, sign="%")
                warnings.warn(f"@main has no parameter %{name}" + (f": {advice}" if advice else ""), stacklevel=3)
        bound = bind(main, {param: const(params[param.name_hint]) for param in main.params if param.name_hint in params})
        assert isinstance(bound, Function)
        mod["main"] = bound
    passes = ["SimplifyInference", "FoldConstant", "FoldScaleAxis", "CanonicalizeOps", "FoldConstant"]
    with PassContext(opt_level=3):
        done: IRModule = Sequential([create(name) for name in passes])(mod)
    return done


def quantize(mod: IRModule, params: Mapping[str, Any] | None = None, dataset: Iterable[Mapping[str, Any]] | None = None) -> IRModule:
    """A module whose `main` computes on integers, as the current `qconfig` says.

    `params`: values of parameters by name. A weight that is none of them is quantised at each run like an input, by the scale of all
    operands or by that of the data. `dataset`: data to calibrate on. What is not quantised, such as the
    first convolution by default, works on floats as before; inputs and results have the types that they had.
    """
    mod = prerequisite_optimize(require_type("mod", mod, IRModule), params)
    passes = [partition(), annotate(), calibrate(dataset)] + ([] if current_qconfig().do_simulation else [realize(), create("FoldConstant", fold_qnn=True)])
    with PassContext(opt_level=3):
        result: IRModule = Sequential(passes)(mod)
    return result
