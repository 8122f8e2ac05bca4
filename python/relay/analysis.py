"""Questions about programs: variables, counts, forms, call graphs."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any, Sequence

from . import _core
from ._core import Call, Constant, Diagnostic, Expr, Function, GlobalVar, IRModule, Kind, Match, Pattern, Tuple, TupleGetItem, Type, TypeVar, Var
from .expr import TupleWrapper, as_expr
from .expr_functor import ExprVisitor, post_order_visit
from .module import _from_expr as _as_it_is  # the package `tvm` replaces IRModule.from_expr by one that renames variables

__all__ = [
    "AnnotatedRegion", "AnnotatedRegionSet", "CallGraph", "Feature", "LayerCounter", "all_dtypes", "all_type_vars", "all_vars", "bound_type_vars", "bound_vars",
    "check_basic_block_normal_form", "check_constant", "check_kind", "count_layers", "detect_feature", "extract_fused_functions",
    "extract_intermdeiate_expr", "extract_intermediate_expr", "free_type_vars", "free_vars", "get_calibration_data", "get_total_mac_number",
    "list_fake_quantized_op_freqs", "list_op_freqs",
    "post_order_visit", "search_fc_transpose", "unmatched_cases", "verify", "well_formed",
]  # fmt: skip

if TYPE_CHECKING:

    class Feature(IntEnum):
        fVar, fGlobalVar, fConstant, fTuple, fTupleGetItem, fFunction, fOp, fCall, fLet = range(9)
        fIf, fRefCreate, fRefRead, fRefWrite, fConstructor, fMatch, fGraph, fLetRec = range(9, 17)

else:
    # Numbers and names of constructs: fVar, fGlobalVar, ….
    Feature = IntEnum("Feature", _core.feature_names(), start=0)


def free_vars(expr: Expr | TupleWrapper) -> list[Var]:
    """Variables that are used but not bound inside, in order of first visit."""
    return _core.free_vars(as_expr(expr))


def bound_vars(expr: Expr | Pattern) -> list[Var]:
    """Variables that are bound inside, in order of first visit; of a pattern, those that it binds."""
    if isinstance(expr, _core.PatternVar):
        return [expr.var]
    if isinstance(expr, (_core.PatternConstructor, _core.PatternTuple)):
        return [var for pattern in expr.patterns for var in bound_vars(pattern)]
    return [] if isinstance(expr, Pattern) else _core.bound_vars(as_expr(expr))


def all_vars(expr: Expr) -> list[Var]:
    """Free and bound variables, in order of first mention."""
    return _core.all_vars(as_expr(expr))


def _type_vars(which: str, expr: Expr | Type) -> list[TypeVar]:
    if isinstance(expr, Type):
        # A variable of this type mentions what the type mentions.
        expr = Var("typed", expr)
    found: list[TypeVar] = getattr(_core, which)(as_expr(expr))
    return found


def free_type_vars(expr: Expr | Type, mod: IRModule | None = None) -> list[TypeVar]:
    """Type variables that nothing inside binds."""
    return _type_vars("free_type_vars", expr)


def bound_type_vars(expr: Expr | Type, mod: IRModule | None = None) -> list[TypeVar]:
    """Type parameters of functions and of function types inside."""
    return _type_vars("bound_type_vars", expr)


def all_type_vars(expr: Expr | Type, mod: IRModule | None = None) -> list[TypeVar]:
    """Free and bound type variables, in order of first mention."""
    return _type_vars("all_type_vars", expr)


def all_dtypes(expr: Expr) -> set[str]:
    """Names of the dtypes of all sub-expressions that are constants or have a type."""
    return _core.all_dtypes(as_expr(expr))


def list_fake_quantized_op_freqs(mod: IRModule | Expr) -> dict[str, int]:
    """The number of calls of each operator, by name, that compute on floats between ``qnn.dequantize`` and ``qnn.quantize``.

    FakeQuantizationToInteger computes these on integers.
    """
    return dict(_core.fake_quantised_operators(mod if isinstance(mod, IRModule) else _as_it_is(mod)))


def list_op_freqs(mod: IRModule | Expr) -> dict[str, int]:
    """The number of calls of each operator, by name."""
    return _core.op_frequencies(mod)


def count_layers(expr: Expr, valid_ops: Sequence[str]) -> int:
    """The most calls of these operators along one path of the dataflow."""
    return _core.count_layers(as_expr(expr), list(valid_ops))


def search_fc_transpose(expr: Expr) -> list[str]:
    """Names of weights ``w`` in ``nn.dense(x, transpose(w, axes=[1, 0]))``, sorted: what `SimplifyFCTranspose` takes transposed."""
    return _core.search_fc_transpose(as_expr(expr))


class LayerCounter(ExprVisitor):
    """The count of `count_layers`, as a visitor: visit an expression, then ask for `count()`."""

    def __init__(self, valid_ops: Sequence[str]) -> None:
        super().__init__()
        self.valid_ops = list(valid_ops)
        self._most = 0

    def visit(self, expr: Expr) -> Any:
        """Counts the layers of the expression."""
        self._most = max(self._most, count_layers(expr, self.valid_ops))

    def count(self) -> int:
        """The most of what was visited."""
        return self._most


def get_total_mac_number(expr: Expr) -> int:
    """Multiply-accumulates of all convolutions and matrix products of a typed expression. Raises RelayError where an extent that
    counts is unknown."""
    return _core.total_macs(as_expr(expr))


class AnnotatedRegion:
    """A part of a program that annotations give to one code generator.

    `args` are the calls where values go in, `rets` those where they come out; `nodes` are all of its nodes, these included.
    """

    def __init__(self, id: int, target: str, nodes: list[Expr], args: list[Expr], rets: list[Expr]) -> None:
        self.id = id
        self.target = target
        self.nodes = nodes
        self.args = args
        self.rets = rets

    def __repr__(self) -> str:
        return f"AnnotatedRegion(id={self.id}, target={self.target!r}, {len(self.nodes)} nodes)"


class AnnotatedRegionSet:
    """The regions of an expression between calls of two operators, such as ``annotation.compiler_begin`` and ``annotation.compiler_end``.

    Raises RelayError where annotations name different code generators for one node.
    """

    def __init__(self, expr: Any, region_begin_op: Any, region_end_op: Any) -> None:
        begin, end = (op if isinstance(op, str) else op.name for op in (region_begin_op, region_end_op))
        self._regions = [AnnotatedRegion(*parts) for parts in _core.annotated_regions(as_expr(expr), begin, end)]
        self._of = {node: region for region in self._regions for node in region.nodes}

    def __len__(self) -> int:
        return len(self._regions)

    def __iter__(self) -> Any:
        return iter(self._regions)

    def get_region(self, expr: Any) -> AnnotatedRegion | None:
        """The region of a node; None if it is in none."""
        return self._of.get(as_expr(expr))


def get_calibration_data(mod: IRModule, data: Any) -> dict[GlobalVar, dict[str, list[Any]]]:
    """The values that go into the functions of code generators that ``main`` calls, and come out of them, when it runs on `data`.

    Args:
        mod: A module that PartitionGraph has made.
        data: Values of the parameters of ``main``, by name.

    Returns:
        For each such function a dictionary of two lists of arrays, ``inputs`` and ``outputs``; tensors of tuples one after the other.

    Raises:
        ValueError: A parameter has no value.
        NotImplementedError: A call stands in a branch or in a function inside of ``main``.
    """
    import relay as _relay

    # Without lets, whose variables the results that are added could not see.
    traced = _relay.transform.create("ToGraphNormalForm")(_relay.transform.create("InferType")(mod)).copy()
    main = traced["main"]
    calls: list[Call] = []

    def collect(expr: Expr) -> None:
        if isinstance(expr, Call) and isinstance(expr.op, GlobalVar):
            attrs = mod[expr.op].attrs
            if attrs is not None and "Compiler" in attrs.keys():
                calls.append(expr)
        elif isinstance(expr, (_relay.If, Match)) or isinstance(expr, Function) and expr != main:
            inside: list[Any] = []
            post_order_visit(expr, lambda e: inside.append(e) if isinstance(e, Call) and isinstance(e.op, GlobalVar) else None)
            if inside:
                raise NotImplementedError("get_calibration_data: a call of a code generator's function in a branch or an inner function")

    post_order_visit(main, collect)
    missing = [param.name_hint for param in main.params if param.name_hint not in data]
    if missing:
        raise ValueError(f"get_calibration_data: the parameter %{missing[0]} has no value")
    values = [part for call in calls for part in (*call.args, call)]
    traced["main"] = Function(main.params, Tuple(values))
    found = list(_relay.evaluate(traced, *[data[param.name_hint] for param in main.params])) if values else []

    def flat(value: Any) -> list[Any]:
        return [leaf for part in value for leaf in flat(part)] if isinstance(value, (tuple, list)) else [value]

    result: dict[GlobalVar, dict[str, list[Any]]] = {}
    for call in calls:
        given, found = found[: len(call.args)], found[len(call.args) :]
        out, found = found[0], found[1:]
        assert isinstance(call.op, GlobalVar)
        entry = result.setdefault(mod.get_global_var(call.op.name_hint), {"inputs": [], "outputs": []})
        entry["inputs"] += [leaf for value in given for leaf in flat(value)]
        entry["outputs"] += flat(out)
    return result


def detect_feature(a: Any, b: Any = None) -> set[Any]:
    """Which constructs an expression or module uses, as a set of `Feature`; the order of two arguments does not matter."""
    program = b if isinstance(b, (Expr, IRModule)) and not isinstance(a, Expr) else a
    return {Feature(number) for number in _core.detect_features(program)}


def check_kind(t: Type, mod: IRModule | None = None) -> Kind:
    """The kind of a type, everything inside being checked. Raises RelayError."""
    return _core.kind_of_type(t, mod if mod is not None else IRModule())


def check_constant(expr: Expr) -> bool:
    """True if an expression is a constant, or a tuple of such."""
    stack = [as_expr(expr)]
    while stack:
        node = stack.pop()
        if isinstance(node, Tuple):
            stack += node.fields
        elif not isinstance(node, (Constant, _core.Literal)):
            return False
    return True


def check_basic_block_normal_form(expr: Expr) -> bool:
    """True if a let binds everything that two regions share."""
    return _core.in_basic_block_form(as_expr(expr))


def verify(program: IRModule | Expr) -> list[Diagnostic]:
    """The mistakes in a program apart from types: variables bound twice or used out of scope, and the like."""
    return _core.verify(program if isinstance(program, IRModule) else _as_it_is(as_expr(program)))


def well_formed(expr: IRModule | Expr) -> bool:
    """True if every variable is bound once and used only in its scope."""
    return not any(diagnostic.severity == "error" for diagnostic in verify(expr))


def unmatched_cases(match: Match, mod: IRModule | None = None) -> list[Pattern]:
    """Patterns of values that no clause of a match covers; empty if it is complete.

    Raises RelayError where that takes too long to decide: patterns of many fields have exponentially many cases.
    """
    return _core.unmatched_cases(match, mod if mod is not None else IRModule())


def extract_fused_functions(mod: IRModule) -> dict[int, Function]:
    """The functions that fusion made (with the attribute Primitive), by structural hash. A module without any is fused first."""
    found: dict[int, Function] = {}
    if not any(_is_kernel(node) for name in mod.function_names for node in _core.post_order(mod[name])):
        from . import transform  # which imports this module

        mod = transform.FuseOps()(transform.InferType()(mod))
    for name in mod.function_names:
        for node in _core.post_order(mod[name]):
            if _is_kernel(node):
                found[_core.expr_hash(node)] = node
    return found


def _is_kernel(node: Any) -> bool:
    return isinstance(node, Function) and node.attrs is not None and bool(node.attrs.get("Primitive"))


def extract_intermediate_expr(mod: IRModule, expr_id: int) -> IRModule:
    """A module that gives the value of a call, tuple or projection of `main`, by its number: 0 is the one that is computed first.

    Its parameters are the variables that the value needs, in the order in which it needs them. Raises IndexError.
    """
    nodes = [node for node in _core.post_order(mod["main"].body) if isinstance(node, (Call, Tuple, TupleGetItem))]
    if not 0 <= expr_id < len(nodes):
        raise IndexError(f"the program has calls, tuples and projections 0 to {len(nodes) - 1}, not {expr_id}")
    result = mod.copy()
    result["main"] = Function(_core.free_vars(nodes[expr_id]), nodes[expr_id])
    return result


extract_intermdeiate_expr = extract_intermediate_expr  # as TVM spells it


class CallGraph:
    """Which global function refers to which."""

    def __init__(self, module: IRModule) -> None:
        self.module = module
        self._graph = _core.CallGraph(module)

    @staticmethod
    def _name(var: GlobalVar | str) -> str:
        return var if isinstance(var, str) else var.name_hint

    def ref_count(self, var: GlobalVar | str) -> int:
        """References to a function in the whole module, its own body included."""
        return self._graph.ref_count(self._name(var))

    def global_call_count(self, var: GlobalVar | str) -> int:
        """References to global functions in a function's body."""
        return self._graph.global_call_count(self._name(var))

    def is_recursive(self, var: GlobalVar | str) -> bool:
        """True if a function may reach itself."""
        return self._graph.is_recursive(self._name(var))

    def print_var(self, var: GlobalVar | str) -> str:
        """A function with the number of its references, and what it refers to, as text."""
        name = self._name(var)
        callees = ", ".join("@" + callee for callee in self._graph.callees(name))
        return f"@{name}: #refs = {self.ref_count(name)}; refers to {callees or 'none'}"

    def __str__(self) -> str:
        return "\n".join(self.print_var(name) for name in self.module.function_names)
