"""oneDNN: what the built-in code generator ``dnnl`` takes."""

from __future__ import annotations

from typing import Any

from ... import transform
from ...dataflow_pattern import DFPattern, is_op, wildcard
from ..facts import set_attr
from .register import register_pattern_table

__all__ = ["make_dense_pattern", "make_dnnl_pattern", "partition_for_dnnl", "pattern_table", "prune_dnnl_subgraphs"]

# Products and convolutions of float32 are its own; what else it gets beside them Relay compiles.
PRODUCTS = ("nn.conv1d", "nn.conv2d", "nn.conv3d", "nn.conv2d_transpose", "nn.conv3d_transpose", "nn.dense", "nn.batch_matmul")
BESIDE = ("nn.max_pool2d", "nn.avg_pool2d", "nn.max_pool3d", "nn.avg_pool3d", "nn.global_avg_pool2d", "abs", "clip", "exp", "log", "sqrt", "round",
          "nn.relu", "nn.leaky_relu", "nn.prelu", "tanh", "sigmoid", "nn.softmax", "add", "multiply", "nn.layer_norm", "nn.batch_norm")  # fmt: skip
_ACTIVATIONS = ("nn.relu", "tanh", "sigmoid", "clip", "nn.leaky_relu", None)


def _is_float32(call: Any) -> bool:
    """True if all tensors among arguments and result are of float32."""
    types = [arg.checked_type for arg in call.args]
    result = call.checked_type
    types += list(result.fields) if hasattr(result, "fields") else [result]
    return all(getattr(type_, "dtype", None) == "float32" for type_ in types)


def _register() -> None:
    for name in (*PRODUCTS, *BESIDE):
        set_attr(name, "target.dnnl", _is_float32, level=5)


def make_dnnl_pattern(op_name: str, with_bias: bool, with_eltwise: str | None) -> tuple[str, DFPattern]:
    """The name and the pattern of a convolution, with a bias and an activation behind it.

    Args:
        op_name: Operator of the convolution, such as ``nn.conv2d``.
        with_bias: ``nn.bias_add`` or ``add`` follows.
        with_eltwise: The activation; None for none.
    """
    made: DFPattern = is_op(op_name)(wildcard(), wildcard())
    if with_bias:
        bias = wildcard()
        made = is_op("nn.bias_add")(made, bias) | is_op("add")(made, bias)
    return _activated("dnnl." + op_name.removeprefix("nn.") + ("_bias" if with_bias else ""), made, with_eltwise)


def make_dense_pattern(with_bias: bool = True, with_eltwise: str | None = None) -> tuple[str, DFPattern]:
    """The same for ``nn.dense``."""
    return make_dnnl_pattern("nn.dense", with_bias, with_eltwise)


def _activated(name: str, made: DFPattern, activation: str | None) -> tuple[str, DFPattern]:
    if activation is None:
        return name, made
    # An activation may have further arguments: none of these has.
    return f"{name}_{activation.removeprefix('nn.')}", is_op(activation)(made)


def _all_float32(root: Any) -> bool:
    return getattr(root.checked_type, "dtype", None) == "float32"


def pattern_table() -> list[tuple[Any, ...]]:
    """The longest first: products and convolutions with a bias and an activation behind them."""
    table: list[tuple[Any, ...]] = []
    for with_bias in (True, False):
        for activation in _ACTIVATIONS:
            if not with_bias and activation is None:
                continue
            for name in PRODUCTS:
                table.append((*make_dnnl_pattern(name, with_bias, activation), _all_float32))
    return table


register_pattern_table("dnnl", pattern_table)


def prune_dnnl_subgraphs(mod: Any) -> Any:
    """The module without those functions of oneDNN that have no product or convolution, which Relay itself computes as well."""
    import relay

    light = []
    for var in mod.get_global_vars():
        attrs = mod[var].attrs
        if attrs is None or "Compiler" not in attrs.keys() or attrs["Compiler"] != "dnnl":
            continue
        found: list[Any] = []
        relay.post_order_visit(mod[var], lambda e: found.append(e) if isinstance(e, relay.Op) and e.name in PRODUCTS else None)
        if not found:
            light.append(var)
    return transform.InlineCompilerFunctionsBoundTo(light)(mod) if light else mod


def partition_for_dnnl(mod: Any, params: Any = None, alter_layout: bool = True, prune_subgraphs: bool = True) -> Any:
    """The module with the parts that oneDNN computes in functions of their own, for the code generator ``dnnl``.

    Args:
        mod: The module.
        params: Values of parameters of ``main``, by name, that become constants.
        alter_layout: Without effect: oneDNN chooses its layouts itself when a program runs.
        prune_subgraphs: Functions without a product or convolution go back where they came from.
    """
    import relay

    module = mod.copy()
    if params:
        main = module["main"]
        values = {param: relay.const(params[param.name_hint]) for param in main.params if param.name_hint in params}
        module["main"] = relay.bind(main, values)
    steps = [
        transform.create("SimplifyInference"), transform.create("FoldConstant"), transform.create("FoldScaleAxis"),
        transform.create("FoldConstant"), transform.MergeComposite(pattern_table()), transform.AnnotateTarget("dnnl"),
        transform.create("MergeCompilerRegions"), transform.create("PartitionGraph"),
    ]  # fmt: skip
    with transform.PassContext(opt_level=3):
        module = transform.Sequential([transform.create("InferType"), *steps])(module)
    return prune_dnnl_subgraphs(module) if prune_subgraphs else module


_register()
