"""Walks a graph of PyTorch and builds the expression: inputs, nodes, control flow, outputs."""

from __future__ import annotations

import operator
from typing import Any, Callable, Mapping, Sequence

import torch

from ..._core import Diagnostic, Expr, Function, IRModule, NDArray, RelayError, TensorType, Tuple, Var
from ...module import check
from . import complexes, control, detection, elementwise, gradients, indexing, linear_algebra, more, neural, pictures, pools, quantized_operators, reductions, shapes  # noqa: F401 (they fill the table)
from .complexes import Complex, fixed
from .context import Context, Later, Value, place_of
from .registry import SCALAR, find, supported

__all__ = ["NodeError", "convert_exported", "convert_graph", "convert_program", "is_token", "known", "own_name", "taken", "unsupported"]


class NodeError(RelayError):
    """An operator that has a converter, which does not take this call of it; `name` is the node's."""

    name = ""


def unsupported(graph_module: torch.fx.GraphModule, own: Mapping[str, Any] | None = None) -> list[Diagnostic]:
    """One error for each node whose operator has no converter, and none in `own`, those of subgraphs among them."""
    found = []
    for node in graph_module.graph.nodes:
        if node.op != "call_function" or taken(node) or (own and own_name(node.target) in own):
            continue
        found.append(Diagnostic(f"the operator {own_name(node.target) or _name(node.target)} of PyTorch is not supported", place_of(node)))
    for child in graph_module.children():
        if isinstance(child, torch.fx.GraphModule):
            found += unsupported(child, own)
    return found


def _name(target: Any) -> str:
    return str(target) if isinstance(target, torch._ops.OperatorBase) else getattr(target, "__name__", str(target))


def own_name(target: Any) -> str:
    """The name by which a caller gives a converter of an operator, as in `aten::relu`, for all its overloads."""
    return str(target._schema.name) if isinstance(target, torch._ops.OpOverload) else ""


def _own(target: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """The converter that a caller gave, which takes all arguments of the schema and their types, as one of the table."""

    def convert(context: Context, args: Any, kwargs: Any) -> Any:
        bound = {argument.name: argument.default_value for argument in target._schema.arguments}
        bound.update(zip(list(bound), args))
        bound.update(kwargs)
        values = list(bound.values())
        kinds = [value.dtype if isinstance(value, Value) else type(value).__name__ for value in values]
        plain = [torch.utils._pytree.tree_map(context.plain, value, is_leaf=lambda item: isinstance(item, Value)) for value in values]
        return function(plain, kinds)

    return convert


def _fixed(node: Any) -> bool:
    """True for an operator without tensors that gives the same at each call: PyTorch computes it once, and its result is a constant."""
    if not isinstance(node.target, torch._ops.OpOverload) or node.all_input_nodes or not isinstance(node.meta.get("val"), torch.Tensor):
        return False
    return torch.Tag.nondeterministic_seeded not in node.target.tags and not node.target._schema.is_mutable


# Calls of an operator in a given order: a token goes in and comes out. Relay's programs have the order of their values.
_ORDERED = "with_effects"


class _Token:
    """What orders the effects of a program."""


def _ordered(target: Any) -> bool:
    return isinstance(target, torch._ops.HigherOrderOperator) and target.name() == _ORDERED


def is_token(node: Any) -> bool:
    """True for a placeholder that is a token."""
    return bool(node.users) and all(_ordered(user.target) and user.args[0] is node for user in node.users)


def taken(node: Any) -> bool:
    """True for a node that has a converter or is a constant."""
    if _ordered(node.target):
        return supported(node.args[1])
    return known(node.target) or _fixed(node)


def known(target: Any) -> bool:
    """True for what converters take: operators, higher-order operators, Python's arithmetic on extents."""
    if target is operator.getitem or target in SCALAR or supported(target):
        return True
    return isinstance(target, torch._ops.HigherOrderOperator) and target.name() in control.NAMES


class _Walk:
    """One graph: the values of its nodes."""

    def __init__(self, context: Context, graph_module: torch.fx.GraphModule) -> None:
        self.context = context
        self.module = graph_module
        self.values: dict[Any, Any] = {}

    def run(self, inputs: Sequence[Any]) -> Any:
        """The value of the output node, given those of the placeholders."""
        given = iter(inputs)
        for node in self.module.graph.nodes:
            if node.op == "placeholder":
                self.values[node] = next(given)
            elif node.op == "get_attr":
                self.values[node] = self._attribute(node)
            elif node.op == "output":
                return torch.fx.node.map_aggregate(node.args[0], self._used)
            else:
                self.values[node] = self._call(node)
        raise AssertionError("a graph without an output")

    def _attribute(self, node: Any) -> Any:
        found: Any = self.module
        for part in node.target.split("."):
            found = getattr(found, part)
        return fixed(found, found) if isinstance(found, torch.Tensor) else found

    def _used(self, item: Any) -> Any:
        if not isinstance(item, torch.fx.Node):
            return item
        value, meta = self.values[item], item.meta.get("val")
        if isinstance(value, Later):
            context = self.context
            span, out = context.span, context.out
            value = self.values[item] = self._wrapped(value.make(), meta)
            context.span, context.out = span, out
        # A symbolic extent stands for itself: whoever needs it writes it with the extents of inputs.
        return meta if isinstance(meta, torch.SymInt) and not isinstance(value, Value) else value

    def _call(self, node: Any) -> Any:
        context = self.context
        context.span, context.out, context.name = place_of(node), node.meta.get("val"), _name(node.target)
        try:
            args = torch.fx.node.map_aggregate(node.args, self._used) if node.target is not operator.getitem else node.args
            if node.target is operator.getitem:
                return self.values[args[0]][args[1]]
            kwargs = torch.fx.node.map_aggregate(node.kwargs, self._used)
            if isinstance(context.out, (int, torch.SymInt)) and not isinstance(context.out, bool):
                return self._symbolic(node, args, kwargs)
            if node.target in SCALAR:
                return None  # a comparison of extents, which only assertions use
            if _ordered(node.target):
                token, target, *rest = args
                convert = find(target)
                assert convert is not None
                made = convert(context, rest, kwargs)
                result = (token, *(made if isinstance(made, (tuple, list)) else [made]))
            elif isinstance(node.target, torch._ops.HigherOrderOperator):
                result = control.convert(context, node.target.name(), args, kwargs, self._inner)
            else:
                own = context.own.get(own_name(node.target))
                convert = _own(node.target, own) if own is not None else find(node.target)
                if convert is None:
                    return fixed(node.target(*args, **kwargs), context.out)
                if _complex(args) or _complex(kwargs) or context.complex:
                    convert = complexes.lifted(node.target, convert)
                result = convert(context, args, kwargs)
            return self._wrapped(result, context.out)
        except NodeError:
            raise  # of a node in a subgraph
        except (NotImplementedError, RelayError, TypeError, ValueError) as error:
            failure = NodeError.of([Diagnostic(f"{_name(node.target)}: {error}", place_of(node))])
            failure.name = node.name
            raise failure from error

    def _symbolic(self, node: Any, args: Any, kwargs: Any) -> Any:
        out = self.context.out
        if isinstance(out, int):
            return out
        symbol = out.node.expr
        if symbol not in self.context.extents and node.target is torch.ops.aten._local_scalar_dense.default:
            self.context.extents[symbol] = self.context.cast(args[0], "int64")
        return out

    def _inner(self, graph_module: Any, inputs: Sequence[Any]) -> Any:
        span, out = self.context.span, self.context.out
        result = _Walk(self.context, graph_module).run(inputs)
        self.context.span, self.context.out = span, out
        return result

    def _wrapped(self, result: Any, meta: Any) -> Any:
        if isinstance(result, (tuple, list)):
            metas = list(meta) if isinstance(meta, (tuple, list)) else [meta]
            return [self._wrapped(item, inner) for item, inner in zip(result, metas)]
        if isinstance(result, Complex):
            made = result.named(meta)
            self.context.learn(made.re)
            return made
        if isinstance(result, Value):
            result = result.expr
        if not isinstance(result, Expr):
            return result
        value = Value(result, meta)
        self.context.learn(value)
        return value


def _complex(args: Any) -> bool:
    return any(isinstance(leaf, Complex) for leaf in torch.utils._pytree.tree_leaves(args, is_leaf=lambda item: isinstance(item, Value)))


def convert_graph(
    graph_module: torch.fx.GraphModule,
    bind: Callable[[Any, Any], Any] | None = None,
    ranges: Any = None,
    result_names: list[str] | None = None,
    own: Mapping[str, Any] | None = None,
) -> tuple[IRModule, list[Any]]:
    """A graph as a module, and each of its outputs as (position in the program's result, None) or, where the program does not give it, (None, value).

    `bind(node, meta)` gives the value of a placeholder that is no parameter of `main`, or None. Complex inputs and results have a last axis for
    their two parts. `result_names` has a name for each output of the graph, `own` a function for each operator that the caller converts.
    """
    errors = unsupported(graph_module, own)
    if errors:
        raise RelayError.of(errors)
    context = Context()
    context.words = _words(graph_module)
    context.own = dict(own or {})
    params: list[Var] = []
    inputs: list[Any] = []
    for node in graph_module.graph.nodes:
        if node.op != "placeholder":
            continue
        meta = node.meta.get("val")
        bound = _Token() if is_token(node) else bind(node, meta) if bind else None
        if bound is not None:
            inputs.append(bound)
        elif isinstance(meta, torch.Tensor) and meta.is_complex():
            pairs = torch.view_as_real(meta.resolve_conj())
            params.append(Var(node.name, context.tensor_type(pairs), place_of(node)))
            context.learn(Value(params[-1], pairs))
            inputs.append(complexes.apart(context, params[-1], meta))
        elif isinstance(meta, torch.Tensor):
            params.append(Var(node.name, context.tensor_type(meta), place_of(node)))
            inputs.append(Value(params[-1], meta))
            context.learn(inputs[-1])
        elif isinstance(meta, torch.SymInt):
            params.append(Var(node.name, TensorType((), "int64"), place_of(node)))
            context.extents.setdefault(meta.node.expr, params[-1])
            inputs.append(meta)
        elif meta is None or isinstance(meta, (int, float, bool, str)):
            inputs.append(meta)
        else:
            raise NotImplementedError(f"the input {node.name} is a {type(meta).__name__}, not a tensor")
    _assert_ranges(context, inputs, ranges)
    outputs = _Walk(context, graph_module).run(inputs)
    return _main(context, params, outputs, result_names)


def _words(graph_module: torch.fx.GraphModule) -> dict[Any, str]:
    """The names that a person gave symbols by `torch.export.Dim`: the environment of the symbols knows them by the places in the inputs."""
    metas = [node.meta.get("val") for node in graph_module.graph.nodes if node.op == "placeholder"]
    open_extents = (extent for meta in metas if isinstance(meta, torch.Tensor) for extent in meta.shape if isinstance(extent, torch.SymInt))
    environment = next((extent.node.shape_env for extent in open_extents), None)
    given = getattr(environment, "source_name_to_debug_name", {})
    words: dict[Any, str] = {}
    for symbol, sources in getattr(environment, "var_to_sources", {}).items():
        for source in sources:
            word = given.get(source.name() if callable(source.name) else source.name, "")
            if word.isidentifier() and word not in words.values():  # 2*n is no name
                words[symbol] = word
                break
    return words


def _extent_text(context: Context, inputs: list[Any], symbol: Any) -> str:
    """An extent for messages: its name, else where it is in an input."""
    if symbol in context.words:
        return f"the extent {context.words[symbol]}"
    for item in inputs:
        if isinstance(item, Value) and isinstance(item.expr, Var):
            for axis, extent in enumerate(item.shape):
                if isinstance(extent, torch.SymInt) and extent.node.expr == symbol:
                    return f"dimension {axis} of %{item.expr.name_hint}"
    return f"the extent {symbol}"


def _assert_ranges(context: Context, inputs: list[Any], ranges: Any) -> None:
    first = next((item for item in inputs if isinstance(item, Value) and not isinstance(item, Complex) and isinstance(item.expr, Var)), None)
    if first is None or not ranges:
        return
    texts = {symbol: _extent_text(context, inputs, symbol) for symbol in ranges}
    for symbol, bounds in ranges.items():
        if symbol not in context.extents or not symbol.is_Symbol:
            continue
        # PyTorch assumes 2 and more where nothing is said; what it then compiles holds for 0 and 1, too.
        for bound, test, least in ((bounds.lower, "greater_equal", 2), (bounds.upper, "less_equal", None)):
            if not bound.is_Integer or int(bound) >= 2**31 or (least is not None and int(bound) <= least):
                continue
            read = context.extents[symbol]
            holds = context.call(test, read, context.const(int(bound), "int64"))
            words = "at least" if least is not None else "at most"
            first.expr = context.call("assert_op", holds, first.expr, message=f"{texts[symbol]} is {words} {int(bound)}")


def _main(context: Context, params: list[Var], outputs: Any, result_names: list[str] | None) -> tuple[IRModule, list[Any]]:
    flat = list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]
    fields: list[Expr] = []
    places: list[Any] = []
    named: list[str] = []
    for number, item in enumerate(flat):
        if isinstance(item, torch.SymInt):
            item = context.term(item.node.expr)
        expr = complexes.joined(context, item) if isinstance(item, Complex) else item.expr if isinstance(item, Value) else item
        if not isinstance(expr, Expr):
            places.append((None, None if isinstance(expr, _Token) else expr))
            continue
        places.append((len(fields), None))
        fields.append(expr)
        if result_names is not None:
            named.append(result_names[number])
    body: Expr = fields[0] if len(fields) == 1 else Tuple(fields)
    names = [dim.symbol for dim in context.names.values()]
    function = Function(params, body, None, [name for name in names if name is not None])
    if named:
        function = function.with_attr("output_tensor_names", named)
    mod = IRModule.from_expr(function)
    check(mod)
    return mod, places


def _pairs(data: torch.Tensor) -> torch.Tensor:
    """The parts of complex elements on a last axis."""
    return torch.view_as_real(data.resolve_conj()) if data.is_complex() else data


def convert_exported(program: Any, freeze: bool) -> tuple[IRModule, dict[str, NDArray]]:
    """An exported program as a module and the parameters that it is called with."""
    return convert_program(program, freeze)[:2]


def convert_program(
    program: Any, freeze: bool, own: Mapping[str, Any] | None = None
) -> tuple[IRModule, dict[str, NDArray], list[Any]]:
    """The same, and where each output of the graph is, as `convert_graph` says it."""
    signature = program.graph_signature
    owners = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}
    constants = dict(getattr(signature, "inputs_to_lifted_tensor_constants", {}))
    params: dict[str, NDArray] = {}
    known: dict[Any, Value] = {}

    def bind(node: Any, meta: Any) -> Any:
        target = owners.get(node.name) or constants.get(node.name)
        if target is None:
            return None
        data = program.state_dict[target] if target in program.state_dict else program.constants[target]
        if not isinstance(data, torch.Tensor):
            return None
        if not freeze:
            params[node.name] = NDArray(_pairs(data.detach()).contiguous())
            return None
        # Weights that are tied are one constant.
        key = (data.data_ptr(), data.dtype, tuple(data.shape), tuple(data.stride())) if data.numel() else node.name
        if key not in known:
            known[key] = fixed(data, meta)
        return known[key] if isinstance(known[key], Complex) else Value(known[key].expr, meta)

    mod, places = convert_graph(program.graph_module, bind, program.range_constraints, _result_names(program), own)
    return mod, params, places


def _result_names(program: Any) -> list[str] | None:
    """A name for each output of an exported graph: where it is in the dictionary or dataclass that `forward` returns, as in `logits` or
    `past_key_values.0.1`, and for a buffer or input that changes its name. None if `forward` returns a tensor or a tuple. No two are equal:
    results keep theirs, and a buffer or input of the same name gets `.state` behind its own.
    """
    spec = program.call_spec.out_spec
    leaves, _ = torch.utils._pytree.tree_flatten_with_path(torch.utils._pytree.tree_unflatten(range(spec.num_leaves), spec))
    keys = {leaf: [getattr(part, "key", getattr(part, "name", getattr(part, "idx", None))) for part in path] for path, leaf in leaves}
    if not keys or any(not path or not isinstance(path[0], str) for path in keys.values()):
        return None
    users = iter(keys[leaf] for leaf in range(spec.num_leaves))
    wanted = [
        (".".join(map(str, next(users))), True) if output.kind.name == "USER_OUTPUT" else (output.target or output.arg.name, False)
        for output in program.graph_signature.output_specs
    ]  # fmt: skip
    return _distinct(wanted)


def _distinct(wanted: list[tuple[str, bool]]) -> list[str]:
    """Names of outputs of which no two are equal and none is empty. With each that is wanted: whether it is a result of the user's."""
    reserved = {name for name, _ in wanted if name}
    made = [""] * len(wanted)
    used: set[str] = set()
    for i, (name, is_result) in sorted(enumerate(wanted), key=lambda one: not one[1][1]):  # results first: they keep theirs
        base = name or f"output_{i}"
        if base in used and not is_result:
            base += ".state"
        choice, count = base, 1
        while choice in used or choice != name and choice in reserved:
            count += 1
            choice = f"{base}_{count}"
        made[i] = choice
        used.add(choice)
    return made
