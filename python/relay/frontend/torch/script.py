"""TorchScript as a module that torch.export takes: the graph runs node by node while PyTorch records what it does.

Loops and branches on numbers and extents run as they are, so a loop of known length is unrolled. Those on values of tensors become
`while_loop` and `cond`.
"""

from __future__ import annotations

import operator
import re
from typing import Any, Callable, Iterator, Sequence

import torch
from torch.fx import traceback
from torch.utils import _pytree as pytree

from ..._core import Diagnostic, RelayError, Span
from ...functions.places import line_span
from . import quantized

__all__ = ["Script"]

# Nodes that may run while loops of known length are unrolled.
_LIMIT = 20_000
_FRAME = re.compile(r'File "([^"]+)", line (\d+)')
_TRACED = re.compile(r"^(.+)\((\d+)\): ")

_NUMBERS = ("number", "Scalar", "int", "float", "bool")
_NUMBER = (int, float, bool, torch.SymInt, torch.SymFloat, torch.SymBool)

# Arithmetic on numbers. Python's operators take tensors, too, where a loop made a number a tensor.
_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "add": lambda a, b, scale=1: a + scale * b if scale != 1 else a + b, "sub": lambda a, b, scale=1: a - scale * b if scale != 1 else a - b,
    "mul": operator.mul, "div": operator.truediv, "floordiv": operator.floordiv,
    "remainder": operator.mod, "pow": operator.pow, "neg": operator.neg, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
    "eq": operator.eq, "ne": operator.ne, "__and__": operator.and_, "__or__": operator.or_, "__xor__": operator.xor,
}  # fmt: skip


def _extended(items: list[Any], more: list[Any]) -> list[Any]:
    items.extend(more)
    return items


# Methods of lists and dictionaries, and functions of them, that have names of functions of tensors.
_ON_LISTS: dict[str, Callable[..., Any]] = {
    "copy": lambda items: items.copy(), "clear": lambda items: items.clear(),
    "reverse": lambda items: items.reverse(), "sort": lambda items, down: items.sort(reverse=down),
    "index": lambda items, item: items.index(item), "count": lambda items, item: items.count(item), "remove": lambda items, item: items.remove(item),
    "slice": lambda items, start, end, step: items[start:end:step], "max": max, "min": min, "sum": sum, "any": any, "all": all,
    "add_": _extended, "get": lambda items, key, default=None: items.get(key, default), "update": lambda items, more: items.update(more),
}  # fmt: skip


class _Unset:
    """The value of a variable that a branch does not set."""


class _Object:
    """A module inside of the one that is run, by its name."""

    def __init__(self, module: Any, name: str) -> None:
        self.module, self.name = module, name


class Script(torch.nn.Module):
    """A scripted or traced module or function, to be exported. `names` has the names that its tensors have in the state dict."""

    def __init__(self, module: torch.jit.ScriptModule | torch.jit.ScriptFunction[..., Any], keep_quantized_weight: bool = False) -> None:
        super().__init__()
        self.graph = module.inlined_graph
        # The arguments of a function are those of the graph; a module has itself before them.
        self._is_function = isinstance(module, torch.jit.ScriptFunction)
        schema = module.schema if isinstance(module, torch.jit.ScriptFunction) else module._c._get_method("forward").schema
        self._arguments = schema.arguments[0 if self._is_function else 1 :]
        self.names: dict[str, str] = {}
        self._held: list[Any] = [module]
        self._last: Any = None
        self._steps = self._depth = 0
        self._assigned: dict[str, Any] = {}
        known: dict[int, str] = {}
        self._tensors: dict[str, str] = {}
        for named in () if isinstance(module, torch.jit.ScriptFunction) else (module.named_parameters, module.named_buffers):
            for name, tensor in named(remove_duplicate=False):
                if id(tensor) not in known:
                    known[id(tensor)] = f"tensor{len(known)}"
                    self.register_buffer(known[id(tensor)], tensor.detach())
                    self.names[known[id(tensor)]] = name
                    self._held.append(tensor)
                self._tensors[name] = known[id(tensor)]
        self._packed, self._numbers, unsupported = quantized.unpacked(self.graph, module)
        if unsupported:
            raise RelayError.of([Diagnostic(f"the operator {node.kind()} of PyTorch is not supported", _place(node)) for node in unsupported])
        for name, packed in self._packed.items():
            self._unpack(name, packed, keep_quantized_weight)

    def _unpack(self, name: str, packed: quantized.Packed, keep_quantized_weight: bool) -> None:
        """Makes tensors of packed weights. They have TVM's names, those of the objects without the last part."""
        prefix = name[: -len("._packed_params")]
        for word, tensor in (("weight", packed.tensor), ("bias", packed.bias_tensor)):
            if tensor is None:
                continue
            plain = tensor if not tensor.is_quantized else tensor.int_repr() if keep_quantized_weight else tensor.dequantize()
            place = f"tensor{len(self.names)}"
            self.register_buffer(place, plain.detach())
            self.names[place] = f"{prefix}_{word}"
            setattr(packed, word, place)

    @property
    def place(self) -> Span:
        """Where the node is that ran last."""
        return _place(self._last)

    def inputs(self) -> list[str]:
        """The names of the arguments of the function or of `forward`."""
        return [argument.name for argument in self._arguments]

    def defaults(self) -> list[Any]:
        """The values of the arguments that have one, None for others."""
        return [argument.default_value if argument.has_default_value() else None for argument in self._arguments]

    def takes(self, count: int) -> bool:
        """True if so many inputs are enough and not too many."""
        return count <= len(self.inputs()) and all(argument.has_default_value() for argument in self._arguments[count:])

    def forward(self, *args: Any) -> Any:
        """The results of the graph."""
        values = list(self.graph.inputs())
        env: dict[str, Any] = {} if self._is_function else {values.pop(0).debugName(): _Object(self._held[0], "")}
        for value, arg in zip(values, [*args, *self.defaults()[len(args) :]]):
            env[value.debugName()] = arg
        self._steps = self._depth = 0
        self._assigned = {}
        with traceback.preserve_node_meta():  # each node of the exported graph gets the place of the one that it comes from
            results = quantized.integers(self._run(self.graph, env))
        return results[0] if len(results) == 1 else tuple(results)

    def _run(self, block: Any, env: dict[str, Any]) -> list[Any]:
        for node in block.nodes():
            self._steps += 1
            if self._steps > _LIMIT:
                raise _failure(node, f"a loop is unrolled, and more than {_LIMIT} operators ran: use torch's while_loop or scan, and from_torch")
            outputs = list(node.outputs())
            if outputs and node.kind() in ("prim::Constant", "prim::GetAttr") and outputs[0].debugName() in env:
                continue  # that was made before the function of a loop or branch
            made = self._node(node, env)
            for value, result in zip(outputs, made):
                env[value.debugName()] = result
        return [env[value.debugName()] for value in block.outputs()]

    def _node(self, node: Any, env: dict[str, Any]) -> Sequence[Any]:
        kind = node.kind()
        if kind == "prim::Constant":
            return [node.output().toIValue()]
        args = [self._numbers.get(value.debugName(), env[value.debugName()]) for value in node.inputs()]
        traceback.set_stack_trace([_frames(node)])
        if not self._depth:
            self._last = node
        if kind == "prim::If":
            return self._if(node, env, args[0])
        if kind == "prim::Loop":
            return self._loop(node, env, args[0], args[1], args[2:])
        convert = _NODES.get(kind)
        try:
            if kind == "prim::GetAttr":
                return [self._attribute(args[0], node.s("name"))]
            if kind == "prim::SetAttr":
                return self._assign(args[0], node.s("name"), args[1])
            if convert is not None:
                result = convert(*args)
                return list(result) if kind in _MANY else [result]
            if kind.startswith("quantized::") and not quantized.known(kind):
                raise _failure(node, f"the operator {kind} of PyTorch is not supported")
            results = quantized.run(self, node, args, self._operator)
            return self._operator(node, args) if results is None else results
        except RelayError:
            raise
        except Exception as error:
            raise _failure(node, f"{kind}: {str(error) or type(error).__name__}") from error

    def _attribute(self, owner: Any, name: str) -> Any:
        if not isinstance(owner, _Object):
            raise NotImplementedError(f"the attribute {name} of an object of class {type(owner).__name__}")
        path = f"{owner.name}.{name}" if owner.name else name
        if path in self._assigned:
            return self._assigned[path]
        if path in self._packed:
            return self._packed[path]
        if path in self._tensors:
            return getattr(self, self._tensors[path])
        found = getattr(owner.module, name)
        return _Object(found, path) if isinstance(found, torch.nn.Module) else found

    def _assign(self, owner: Any, name: str, value: Any) -> Sequence[Any]:
        if not isinstance(owner, _Object) or self._depth:
            raise NotImplementedError(f"an assignment to the attribute {name} in a loop or branch on the values of tensors, or of an object")
        self._assigned[f"{owner.name}.{name}" if owner.name else name] = value
        return []

    def _operator(self, node: Any, args: list[Any]) -> Sequence[Any]:
        namespace, _, name = node.kind().partition("::")
        if name in _ARITHMETIC and args and all(isinstance(arg, _NUMBER) for arg in args):
            return [_ARITHMETIC[name](*args)]
        if node.schema() == "(no schema)":
            raise NotImplementedError("this node of TorchScript is not supported")
        schema = torch._C.parse_schema(node.schema())
        tensors = [str(argument.type) in ("Tensor", "Optional[Tensor]") for argument in schema.arguments]
        if name in _ON_LISTS and args and isinstance(args[0], (list, dict)):
            return [_ON_LISTS[name](*args)]
        if name in _ARITHMETIC and not any(tensors):
            return [_ARITHMETIC[name](*args)]
        packet = getattr(getattr(torch.ops, namespace), name)
        overload = getattr(packet, schema.overload_name or "default")
        if any(isinstance(arg, torch.Tensor) and str(argument.type) in _NUMBERS for arg, argument in zip(args, schema.arguments)):
            overload = packet  # a number that is the value of a tensor: the overload for tensors
        numbers = [is_tensor and isinstance(arg, _NUMBER) for is_tensor, arg in zip(tensors, args)]
        if any(numbers) and not any(isinstance(arg, torch.Tensor) for arg in args):
            # A trace makes tensors of extents to compute on them. They stay numbers.
            with torch.utils._python_dispatch._disable_current_modes():
                given = [torch.tensor(arg) if is_number else arg for arg, is_number in zip(args, numbers)]
                result = _called(overload, schema, given)
                return [result.item() if isinstance(result, torch.Tensor) and result.dim() == 0 else result]
        given = [_narrow(_tensor(arg)) if is_number else arg for arg, is_number in zip(args, numbers)]
        if overload is packet and not any(isinstance(arg, torch.Tensor) and arg.is_floating_point() for arg, is_tensor in zip(given, tensors) if is_tensor):
            given = [_narrow(arg) if isinstance(arg, torch.Tensor) and str(argument.type) in _NUMBERS else arg
                     for arg, argument in zip(given, schema.arguments)]  # fmt: skip
        result = _called(overload, schema, given)
        count = len(schema.returns)
        return [] if count == 0 else [result] if count == 1 else list(result)

    def _if(self, node: Any, env: dict[str, Any], test: Any) -> list[Any]:
        branches = list(node.blocks())
        if not isinstance(test, torch.Tensor):
            return self._run(branches[0 if test else 1], env)
        _require_own_containers(node, "branch")
        if not node.outputsSize():
            if _writes(node):
                raise _failure(node, "a branch on the values of tensors writes to a tensor that is read afterwards: make a new tensor, "
                                     "as in x = x + y for x += y")  # fmt: skip
            return []
        operands, rebuilt = self._captured(node, env, ())

        # A branch may write to copies of tensors that nobody reads afterwards.
        around = [value for inside in _inside(node) for value in inside.inputs()]
        copies = _writes(node) and not self._read_elsewhere(node, around, env)

        def branch(block: Any) -> Callable[..., Any]:
            def run(*given: Any) -> Any:
                own = [tensor.clone() for tensor in given] if copies else given
                leaves, spec = pytree.tree_flatten(self._run(block, rebuilt(own)))
                specs.append(spec)
                return tuple(_tensor(item, node).clone() for item in leaves)

            return run

        specs: list[Any] = []
        found = self._traced(node, torch.ops.higher_order.cond, test, branch(branches[0]), branch(branches[1]), tuple(operands))
        return self._together(node, found, specs)

    def _loop(self, node: Any, env: dict[str, Any], count: Any, test: Any, carried: list[Any]) -> list[Any]:
        (block,) = node.blocks()
        inner = [value.debugName() for value in block.inputs()]
        step = 0
        while not isinstance(test, torch.Tensor) and not isinstance(count, torch.Tensor):
            if not test or step >= count:
                return carried
            # What the body makes of constants may stay: they are the same each time.
            again = dict(env)
            again.update(zip(inner, [step, *carried]))
            test, *carried = self._run(block, again)
            step += 1
        return self._while(node, env, (step, count), test, carried)

    def _while(self, node: Any, env: dict[str, Any], steps: tuple[int, Any], test: Any, carried: list[Any]) -> list[Any]:
        (block,) = node.blocks()
        inner = [value.debugName() for value in block.inputs()]
        _require_own_containers(node, "loop")
        inside = any(not isinstance(item, (torch.Tensor, *_NUMBER)) for item in carried)  # in tuples, whose tensors have other names
        if _writes(node) and (inside or self._read_elsewhere(node, list(node.inputs())[2:], env)):
            raise _failure(node, "a loop on the values of tensors writes to tensors in place, and one of them may be read by another name: "
                                 "make a new tensor instead, as in x = x + y for x += y")  # fmt: skip
        operands, rebuilt = self._captured(node, env, set(inner))
        leaves, spec = pytree.tree_flatten(carried)
        start = [_tensor(item, node).clone() for item in (steps[0], test, *leaves)]
        specs = [spec]
        bound = steps[1]
        if isinstance(bound, torch.Tensor):
            operands = [*operands, bound]

        def holds(step: Any, going: Any, *rest: Any) -> Any:
            limit = rest[-1] if isinstance(bound, torch.Tensor) else bound
            return torch.logical_and(going, step < limit)

        def body(step: Any, _: Any, *rest: Any) -> Any:
            state, given = rest[: len(leaves)], rest[len(leaves) :]
            again = rebuilt(given)
            again.update(zip(inner, [step, *pytree.tree_unflatten([item.clone() for item in state], spec)]))
            going, *values = self._run(block, again)
            made, now = pytree.tree_flatten(values)
            specs.append(now)
            self._together(node, made, specs)
            return (step + 1, *(_tensor(item, node).clone() for item in (going, *made)))

        found = self._traced(node, torch.ops.higher_order.while_loop, holds, body, tuple(start), tuple(operands))
        return self._together(node, list(found)[2:], specs)

    def _together(self, node: Any, leaves: Sequence[Any], specs: Sequence[Any]) -> list[Any]:
        """The tensors in the tuples that all ways of a loop or branch give."""
        if any(spec != specs[0] for spec in specs):
            raise _failure(node, "a loop or branch on the values of tensors gives tuples of different lengths")
        values: list[Any] = pytree.tree_unflatten(list(leaves), specs[0])
        return values

    def _read_elsewhere(self, node: Any, values: Sequence[Any], env: dict[str, Any]) -> bool:
        """True if a node that runs later may read one of these tensors, or a tensor whose memory it shares, by another name."""
        outputs = [value.debugName() for value in node.outputs()]
        mine = {out.debugName() for inside in _inside(node) for out in inside.outputs()}
        blocks = [*node.blocks(), *(block for inside in _inside(node) for block in inside.blocks())]
        given = [value.debugName() for block in blocks for value in block.outputs()]
        for value in values:
            if not isinstance(env.get(value.debugName()), torch.Tensor):
                continue
            if value.node().kind() not in ("prim::Param", "prim::GetAttr") and re.search(r"-> \S*\(a", value.node().schema()):
                return True
            for user in (use.user for use in value.uses()):
                names = [out.debugName() for out in user.outputs()]
                own = names == outputs or bool(names and names[0] in mine) or user.kind() == "prim::Return"
                if not own and not any(name in env for name in names):
                    return True
            if sum(use.user.kind() == "prim::Return" for use in value.uses()) > given.count(value.debugName()):
                return True  # the function, or a block around, gives it
        return False

    def _traced(self, node: Any, target: Any, *args: Any) -> Any:
        self._depth += 1
        try:
            return target(*args)
        except RelayError:
            raise
        except Exception as error:
            word = "loop" if node.kind() == "prim::Loop" else "branch"
            text = (str(error).strip().split("\n")[0] or type(error).__name__).rstrip(":")
            raise _failure(node, f"PyTorch does not record this {word} on the values of tensors: {text.rstrip('.')}. Its tensors must keep "
                                 "their shapes and dtypes, and tensors from outside of it must not be written") from error  # fmt: skip
        finally:
            self._depth -= 1

    def _captured(self, node: Any, env: dict[str, Any], own: Any) -> tuple[list[Any], Callable[[Sequence[Any]], dict[str, Any]]]:
        """The tensors that the blocks of a node use, and the function that gives the values around them for others in their places."""
        used: dict[str, Any] = {}
        for inside in _inside(node):
            if inside.kind() in ("prim::Constant", "prim::GetAttr"):
                for value, result in zip(inside.outputs(), self._node(inside, env)):
                    env[value.debugName()] = result
                    used[value.debugName()] = result
            for value in inside.inputs():
                name = value.debugName()
                if name in env and name not in own:
                    used[name] = env[name]
        for block in node.blocks():
            for value in block.outputs():
                if value.debugName() in env:
                    used[value.debugName()] = env[value.debugName()]
        leaves, spec = pytree.tree_flatten(used)
        tensors = {id(leaf): leaf for leaf in leaves if isinstance(leaf, torch.Tensor)}

        def rebuilt(given: Sequence[Any]) -> dict[str, Any]:
            fresh = dict(zip(tensors, given))
            return {**env, **pytree.tree_unflatten([fresh.get(id(leaf), leaf) for leaf in leaves], spec)}

        return list(tensors.values()), rebuilt


def _inside(node: Any) -> Iterator[Any]:
    blocks = list(node.blocks())
    while blocks:
        for inside in blocks.pop(0).nodes():
            yield inside
            blocks += inside.blocks()


def _writes(node: Any) -> bool:
    """True if an operator in the blocks of a node writes in place."""
    return any("!)" in inside.schema() for inside in _inside(node))


def _require_own_containers(node: Any, word: str) -> None:
    """Raises RelayError for a list or dictionary from outside of a branch or loop that it changes: how it does is known only when it runs."""
    inside = list(_inside(node))
    made = {out.debugName() for one in inside if one.kind() in _MAKERS for out in one.outputs()}
    for one in inside:
        for value in list(one.inputs())[:1]:
            if "!)" in one.schema() and value.type().kind() in ("ListType", "DictType") and value.debugName() not in made:
                raise _failure(one, f"a {word} on the values of tensors changes a {value.type().kind()[:4].lower()} from outside of it: "
                                    "it may give tensors and numbers only")  # fmt: skip


def _narrow(tensor: torch.Tensor) -> torch.Tensor:
    """The value of a number in the dtype that it has beside tensors of integers."""
    return tensor.to(torch.get_default_dtype()) if tensor.dtype == torch.float64 and tensor.dim() == 0 else tensor


def _called(overload: Any, schema: Any, args: list[Any]) -> Any:
    free = not isinstance(overload, torch._ops.OpOverload)  # whose arguments after the first ones may differ
    plain, named = [], {}
    for arg, argument in zip(args, schema.arguments):
        if argument.kwarg_only or free and argument.has_default_value():
            if not free or arg != argument.default_value:
                named[argument.name] = arg
        else:
            plain.append(arg)
    return overload(*plain, **named)


def _tensor(item: Any, node: Any = None) -> Any:
    """A number as a tensor; a value of a loop or branch must be one or the other."""
    if isinstance(item, torch.Tensor):
        return item
    if isinstance(item, _NUMBER):
        dtype = torch.bool if isinstance(item, (bool, torch.SymBool)) else torch.int64 if isinstance(item, (int, torch.SymInt)) else torch.float64
        return torch.scalar_tensor(item, dtype=dtype)  # type: ignore[arg-type]
    raise _failure(node, f"a loop or branch on the values of tensors gives a {_kind(item)}; it may give tensors and numbers only")


def _kind(item: Any) -> str:
    return "variable that is not set on all ways" if item is _UNSET else type(item).__name__


def _frames(node: Any) -> str:
    """The lines that a node comes from, as Python writes them. A trace lists them from the innermost one to those that started it."""
    text = str(node.sourceRange())
    if _FRAME.search(text):
        return text
    lines = []
    for line in text.split("\n"):
        found = _TRACED.match(line)
        if found is None or found[1].endswith("torch/jit/_trace.py"):
            break
        lines.append(f'File "{found[1]}", line {found[2]}')
    return "\n".join(reversed(lines))


def _place(node: Any) -> Span:
    found = _FRAME.findall(_frames(node)) if node is not None else []
    return line_span(found[0][0], int(found[0][1])) if found else Span()


def _failure(node: Any, text: str) -> RelayError:
    return RelayError.of([Diagnostic(text, _place(node))])


_UNSET = _Unset()


def _raised(text: Any = "", *_: Any) -> Any:
    raise ValueError(f"the model raises {text!r} for inputs of these shapes")


def _set(container: Any, key: Any, value: Any) -> Any:
    container[key] = value
    return container


def _appended(items: list[Any], item: Any) -> list[Any]:
    items.append(item)
    return items


def _same(item: Any) -> Any:
    return item


def _to(kind: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A conversion of numbers; a tensor stays one, since its value is not known."""
    dtype = {bool: torch.bool, int: torch.int64, float: torch.float64}[kind]  # type: ignore[index]

    def converted(item: Any) -> Any:
        if isinstance(item, torch.Tensor):
            return item.to(dtype).reshape([])
        return item if kind is int and isinstance(item, torch.SymInt) else kind(item)

    return converted


def _made(data: Any, dtype: Any = None, *_: Any) -> Any:
    """`torch.tensor` of a script: numbers in lists, some of which may be values of tensors."""
    if isinstance(data, list) and any(isinstance(item, (list, torch.Tensor)) for item in data):
        found = torch.stack([_made(item) for item in data])
    else:
        found = data if isinstance(data, torch.Tensor) else torch.tensor(data)
    return torch.ops.aten.to.dtype(found, dtype) if dtype is not None else _narrow(found) if isinstance(data, torch.Tensor) else found


def _not(item: Any) -> Any:
    return torch.logical_not(item) if isinstance(item, torch.Tensor) else not item


# Nodes that are no operator, and operators on lists, dictionaries and numbers. Gradients are on, so that layers do not call kernels of PyTorch
# that are for inference alone.
_NODES: dict[str, Callable[..., Any]] = {
    "prim::ListConstruct": lambda *items: list(items), "prim::TupleConstruct": lambda *items: items,
    "prim::DictConstruct": lambda *items: dict(zip(items[::2], items[1::2])), "prim::ListUnpack": _same, "prim::TupleUnpack": _same,
    "prim::TupleIndex": lambda items, index: items[index], "prim::NumToTensor": _same, "prim::Uninitialized": lambda: _UNSET,
    "prim::unchecked_cast": _same, "prim::unchecked_unwrap_optional": _same, "aten::_unwrap_optional": _same,
    "prim::RaiseException": _raised, "prim::Print": lambda *_: None, "aten::warn": lambda *_: None, "prim::dtype": lambda x: x.dtype,
    "prim::device": lambda x: x.device, "prim::layout": lambda x: x.layout, "prim::requires_grad": lambda x: x.is_floating_point(),
    "aten::is_grad_enabled": lambda: True, "aten::tensor": _made, "aten::size": lambda x, axis=None: list(x.shape) if axis is None else x.shape[axis],
    "prim::is_cuda": lambda x: False, "prim::data": lambda x: x.detach(), "prim::min": lambda *x: min(*x), "prim::max": lambda *x: max(*x),
    "aten::append": _appended, "aten::insert": lambda items, place, item: items.insert(place, item),
    "aten::extend": lambda items, more: items.extend(more), "aten::pop": lambda items, place=-1: items.pop(place),
    "aten::__getitem__": lambda items, key: items[key], "aten::_set_item": _set, "aten::len": len, "aten::list": list,
    "aten::keys": lambda items: list(items.keys()), "aten::values": lambda items: list(items.values()),
    "aten::items": lambda items: list(items.items()),
    "aten::__contains__": lambda items, item: item in items,
    "aten::__is__": lambda a, b: a is b, "aten::__isnot__": lambda a, b: a is not b, "aten::__not__": _not, "aten::Bool": _to(bool),
    "aten::Int": _to(int), "aten::Float": _to(float), "aten::IntImplicit": _to(int), "aten::FloatImplicit": _to(float),
    "aten::ScalarImplicit": _same, "aten::is_nonzero": _to(bool), "aten::item": _same,
    "aten::format": lambda text, *items: text.format(*items), "aten::str": str,
    "aten::__range_length": lambda low, high, step: len(range(low, high, step)),
    "aten::__derive_index": lambda index, low, step: low + index * step,
}  # fmt: skip
# Those that make a list or dictionary.
_MAKERS = frozenset(("prim::ListConstruct", "prim::DictConstruct", "aten::list", "aten::copy"))
_MANY = frozenset(("prim::ListUnpack", "prim::TupleUnpack"))
