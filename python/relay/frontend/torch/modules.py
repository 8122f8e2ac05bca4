"""Modules of PyTorch with the shapes of their inputs: what `from_pytorch` does."""

from __future__ import annotations

import contextlib
import operator
import os
import time
import warnings
from typing import Any, Callable, Mapping, Sequence

import torch
from torch.utils import _pytree as pytree

from ..._checks import shown
from ..._core import Constant, Diagnostic, Dim, Expr, IRModule, NDArray, RelayError, Tuple, TupleGetItem, TupleType, Var
from ...analysis import free_vars
from ...expr import bind, const
from ...module import check
from .convert import decompositions
from .program import convert_program, own_name
from .quantized import has_packed
from .script import Script

__all__ = ["converted"]

# Names of dtypes in C and in PyTorch.
_DTYPES = {
    "double": "float64", "float": "float32", "half": "float16", "long": "int64", "int": "int32", "short": "int16", "char": "int8", "byte": "uint8",
}  # fmt: skip
# Example extents of open dimensions: different ones, so that PyTorch does not take them for equal, unless the model wants them so.
_PRIMES = (5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43)


def converted(
    module: Any,
    input_infos: Sequence[Any],
    custom: Mapping[str, Callable[..., Any]] | None,
    default_dtype: str,
    friendly: bool,
    keep_quantized_weight: bool,
    folder: str | os.PathLike[str] | None,
) -> tuple[IRModule, dict[str, NDArray]]:
    """A module, plain, traced or scripted, or a traced or scripted function, as a program whose `main` takes the inputs, then the weights that it uses."""
    scripted = isinstance(module, (torch.jit.ScriptModule, torch.jit.ScriptFunction))
    if not scripted and not isinstance(module, torch.nn.Module):
        raise TypeError(f"script_module is a module of PyTorch, or a function that was traced or scripted, not {shown(module)}")
    own = _own_converters(custom)
    infos = _Infos(default_dtype)
    names, inputs, dynamic = infos.read(input_infos)
    state: dict[str, str] = {}
    if not scripted and has_packed(module):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module, scripted = torch.jit.trace(module, tuple(inputs)), True
    if scripted:
        module = Script(module, keep_quantized_weight)
        state = module.names
        if not module.takes(len(names)):
            raise ValueError(f"the inputs of the module are {', '.join(module.inputs())}, and input_infos lists {len(names)}")
    else:
        # A weight that several modules have goes by its first name, as in scripts; an export takes the last.
        first: dict[int, str] = {}
        for name, tensor in [*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)]:
            state[name] = first.setdefault(id(tensor), name)
    try:
        program = _program(module, inputs, dynamic, own)
    except Exception:
        program = None
        if infos.open > 1:  # perhaps open extents must be the same, as batches of two inputs that are added
            _, inputs, _ = _Infos(default_dtype, by_axis=True).read(input_infos)
            with contextlib.suppress(Exception):
                program = _program(module, inputs, dynamic, own)
        if program is None:
            raise
    if folder is not None:
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, f"tvm_exported_c_graph_{time.strftime('%Y_%m_%d_%H_%M_%S')}.txt"), "w") as file:
            file.write(f"{program.graph}\n")
    mod, params, places = convert_program(program, False, own)
    return _rearranged(mod, params, program, places, names, inputs, state, friendly)


def _program(module: Any, inputs: list[Any], dynamic: bool, own: Mapping[str, Any]) -> Any:
    """The exported program in core ATen and the operators that the caller converts. Of a script every failure is a RelayError."""
    table = decompositions()
    for target in [target for target in table if own_name(target) in own]:
        table.pop(target)
    try:
        program = torch.export.export(module, tuple(inputs), dynamic_shapes=_shapes_of(module, inputs, dynamic), strict=False)
        return program.run_decompositions(table)
    except RelayError:
        raise
    except Exception as error:
        if not isinstance(module, Script):
            raise
        text = str(error).strip().split("\n")[0] or type(error).__name__
        if "not functional" in text:
            text += "; a branch on the values of tensors may not write to a tensor that is read afterwards: x = x + y does not, x += y does"
        raise RelayError.of([Diagnostic(f"PyTorch cannot export the module: {text}", module.place)]) from error


def _own_converters(custom: Any) -> dict[str, Callable[..., Any]]:
    """The caller's converters by names of operators. An operator that writes in place becomes the one that does not when it is exported."""
    if not custom:
        return {}
    if not isinstance(custom, Mapping):
        raise TypeError(f"custom_convert_map is a dictionary of functions by names of operators, not {shown(custom)}")
    found: dict[str, Callable[..., Any]] = {}
    for name, function in custom.items():
        if not isinstance(name, str) or "::" not in name or not callable(function):
            raise TypeError(f"custom_convert_map has functions by names such as 'aten::relu', not {shown(name)}: {shown(function)}")
        found[name] = function
        if name.endswith("_") and not name.endswith("__"):
            found.setdefault(name[:-1], function)
    return found


class _Infos:
    """Reads `input_infos`."""

    def __init__(self, default_dtype: Any, by_axis: bool = False) -> None:
        self.default = default_dtype
        self.open = 0
        self.by_axis = by_axis  # open extents of one axis are alike in the examples, else all differ

    def read(self, infos: Any) -> tuple[list[str], list[Any], bool]:
        """The names of the inputs, example tensors or tuples of them, and whether an extent is open."""
        names: list[str] = []
        inputs: list[Any] = []
        if isinstance(infos, (str, bytes, Mapping)) or not isinstance(infos, Sequence):
            raise TypeError(f"input_infos is a list of (name, shape) or (name, (shape, dtype)), not {shown(infos)}")
        for info in infos:
            if not isinstance(info, (list, tuple)) or len(info) != 2 or not isinstance(info[0], str):
                raise TypeError(f"input_infos is a list of (name, shape) or (name, (shape, dtype)): {shown(info)} is neither")
            if info[0] in names:
                raise ValueError(f"input_infos has two inputs with the name {info[0]!r}")
            names.append(info[0])
            inputs.append(self._example(info[0], info[1]))
        return names, inputs, self.open > 0

    def _example(self, name: str, info: Any) -> Any:
        if isinstance(info, (list, tuple)):
            if len(info) == 2 and isinstance(info[0], (list, tuple)) and not isinstance(info[1], (list, tuple)):
                return self._zeros(name, info[0], info[1])
            if info and all(isinstance(part, (list, tuple)) for part in info):
                return tuple(self._example(name, part) for part in info)
            return self._zeros(name, info, self.default)
        raise TypeError(f"the input {name!r} has a shape, (shape, dtype) or a tuple of these, not {shown(info)}")

    def _zeros(self, name: str, shape: Any, dtype: Any) -> torch.Tensor:
        text = str(getattr(dtype, "__name__", dtype)).removeprefix("torch.").lower()
        found = getattr(torch, _DTYPES.get(text, text), None)
        if not isinstance(found, torch.dtype):
            raise ValueError(f"the input {name!r} has the dtype {shown(dtype)}, which PyTorch has not")
        extents, marked = [], []
        for axis, extent in enumerate(shape):
            known = not (isinstance(extent, Dim) and not isinstance(extent, int)) and hasattr(extent, "__index__")
            if known and not isinstance(extent, bool) and operator.index(extent) >= 0:
                extents.append(operator.index(extent))
            elif isinstance(extent, Dim) or extent == -1:
                extents.append(_PRIMES[(axis if self.by_axis else self.open) % len(_PRIMES)])
                marked.append(axis)
                self.open += 1
            else:
                raise TypeError(f"the input {name!r}: an extent is a whole number of 0 or more, or relay.Any(), not {shown(extent)}")
        tensor = torch.zeros(extents, dtype=found)
        tensor.open_axes = marked  # type: ignore[attr-defined]
        return tensor


def _shapes_of(module: Any, inputs: list[Any], dynamic: bool) -> Any:
    """What torch.export takes as `dynamic_shapes`: extents that are open, for each input."""
    if not dynamic:
        return None

    def axes(tensor: Any) -> Any:
        return {axis: torch.export.Dim.AUTO for axis in tensor.open_axes}

    shapes = pytree.tree_map(axes, tuple(inputs))
    return (shapes,) if isinstance(module, Script) else shapes


def _rearranged(
    mod: IRModule, params: dict[str, NDArray], program: Any, places: list[Any], names: list[str], inputs: list[Any], state: dict[str, str],
    friendly: bool,
) -> tuple[IRModule, dict[str, NDArray]]:  # fmt: skip
    """The module with its inputs under their names first, its weights under those of the state dict, and the user's results alone."""
    signature = program.graph_signature
    owners = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}
    main = mod["main"]
    body = _results(main.body, places, signature.output_specs)
    used = set(free_vars(body))
    fresh: dict[Var, Expr] = {}
    weights: dict[str, NDArray] = {}
    variables: list[Var] = []
    left = []
    order = {name: place for place, name in enumerate(dict.fromkeys(state.values()))}
    # Weights in the order of the state dict, wherever the program takes them.
    for param in sorted(main.params, key=lambda param: order.get(state.get(owners.get(param.name_hint, ""), ""), -1)):
        if param.name_hint not in params:
            left.append(param)
        elif param in used and param.name_hint in owners:
            name = state.get(owners[param.name_hint], owners[param.name_hint])
            name = name.replace(".", "_") if friendly else name
            if name in weights or name in names:
                raise ValueError(f"{name!r} is the name of a weight and of {'another one' if name in weights else 'an input'}: choose another one")
            weights[name] = params[param.name_hint].copy()
            variables.append(Var(name, param.type_annotation, param.span))
            fresh[param] = variables[-1]
        elif param in used:
            fresh[param] = Constant(params[param.name_hint])
    given: list[Var] = []
    flat = iter(left)
    for name, example in zip(names, inputs):
        given.append(_input(name, example, flat, fresh))
    attrs = dict(main.attrs or {})
    result = main.with_body(bind(body, fresh), [*given, *variables])
    kept = [place for place, _ in _users(places, signature.output_specs)]
    if "output_tensor_names" in attrs:
        result = result.with_attr("output_tensor_names", [attrs["output_tensor_names"][place] for place in kept if place is not None])
    renamed = mod.copy()
    renamed["main"] = result
    check(renamed)
    return renamed, weights


def _input(name: str, example: Any, flat: Any, fresh: dict[Var, Expr]) -> Var:
    """The parameter of an input, a tensor or a tuple, in place of those that were made for its tensors."""
    if isinstance(example, torch.Tensor):
        old = next(flat)
        for axis in example.open_axes:  # type: ignore[attr-defined]
            if isinstance(old.type_annotation.shape[axis], int):
                raise ValueError(f"the input {name!r}: its extent {axis} is relay.Any(), but the model computes with the one of an example, as in a loop "
                                 "over an extent or a test of one: give it as a number")  # fmt: skip
        made = Var(name, old.type_annotation, old.span)
        fresh[old] = made
        return made
    taken = [next(flat) for _ in pytree.tree_leaves(example)]
    leaves = iter(taken)

    def type_of(part: Any) -> Any:
        return next(leaves).type_annotation if isinstance(part, torch.Tensor) else TupleType([type_of(inner) for inner in part])

    made = Var(name, type_of(example))
    olds = iter(taken)

    def assign(part: Any, whole: Expr) -> None:
        if isinstance(part, torch.Tensor):
            fresh[next(olds)] = whole
        else:
            for index, inner in enumerate(part):
                assign(inner, TupleGetItem(whole, index))

    assign(example, made)
    return made


def _users(places: list[Any], specs: Sequence[Any]) -> list[Any]:
    return [place for place, spec in zip(places, specs) if spec.kind.name == "USER_OUTPUT"]


def _results(body: Expr, places: list[Any], specs: Sequence[Any]) -> Expr:
    """The results of the model without what buffers and inputs become. A number is a constant."""
    fields = [body] if sum(place is not None for place, _ in places) == 1 else list(body.fields)  # type: ignore[attr-defined]
    made = []
    for place, value in _users(places, specs):
        if place is not None:
            made.append(fields[place])
        elif isinstance(value, (bool, int, float)):
            made.append(const(value, "bool" if isinstance(value, bool) else "int64" if isinstance(value, int) else "float32"))
        elif value is not None:
            raise NotImplementedError(f"the model gives a {type(value).__name__}, not a tensor or number")
    return made[0] if len(made) == 1 else Tuple(made)
