"""Operators declared in Python: `relay.op.register`. docs/operators-from-python.md has the guide."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import inspect
import re
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, Union

from .. import _core
from .._core import Call, Expr, Op
from ..expr import TupleWrapper

__all__ = ["Attr", "Input", "Output", "REQUIRED", "function", "gradients", "register", "registered", "unregister"]


class _Required:
    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED: Any = _Required()
"""The default of an attribute that has none."""


@dataclasses.dataclass(frozen=True)
class Input:
    """One input of an operator.

    `dtype` is a class of dtypes ("any", "number", "float", "integer", "bool") or dtypes with | between. Inputs and results of the same
    `var` (a letter) have one dtype. `rank` is a number or the least and greatest. `tuple` says that it is a tuple of any number of such
    tensors, `constant` that it must be known when the program is compiled.
    """

    name: str
    doc: str = ""
    dtype: str = "any"
    var: str = ""
    rank: int | tuple[int, int] | None = None
    tuple: bool = False
    constant: bool = False


@dataclasses.dataclass(frozen=True)
class Output:
    """The result of an operator, or a field of the tuple that it gives; as `Input`."""

    name: str
    doc: str = ""
    dtype: str = "any"
    var: str = ""
    rank: int | tuple[int, int] | None = None


@dataclasses.dataclass(frozen=True)
class Attr:
    """One attribute. `type` is int, float, bool, str, "dtype", a list of such (`list[int]`), an Optional, or a Literal of words.

    `kind` says what it means to passes: "axis", "axes", "new-axis", "layout", "sizes", "shape", "per-axis".
    """

    type: Any
    default: Any = REQUIRED
    doc: str = ""
    kind: str = "plain"


@dataclasses.dataclass
class _Declared:
    op: Expr
    function: Callable[..., Any]
    examples: tuple[Any, ...]
    kind: str  # of its definition


_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)
_KEYWORDS = {"def", "else", "extern", "fn", "free_var", "if", "import", "let", "match", "meta", "ref", "type", "where", "True", "False"}
_declared: dict[str, _Declared] = {}


def register(
    name: str,
    *,
    inputs: Sequence[Input | str] | None = None,
    attrs: Mapping[str, Any] | type | None = None,
    outputs: Sequence[Output | str] | None = None,
    relation: Callable[..., Any] | str | None = None,
    compute: Callable[..., Any] | None = None,
    expand: Callable[..., Any] | None = None,
    kernel: Callable[..., Any] | None = None,
    gradient: Callable[..., Any] | None = None,
    no_gradient: str | None = None,
    level: int = 10,
    pure: bool = True,
    doc: str | None = None,
    examples: Sequence[Any] = (),
) -> Callable[..., Any]:
    """Declares an operator and gives its function, which makes calls. Without a definition it is a decorator of `compute`.

    Functions get the inputs by position and those attributes by name that they have parameters for.

    Args:
        name: As programs write it, such as "my.softplus".
        inputs: Names, or `Input`s that say more. Left out: the positional parameters of the definition.
        attrs: `Attr`s, types or defaults by name, or a dataclass. Left out: the parameters of the definition behind `*`.
        outputs: The result, or the fields of the result's tuple.
        relation: Gives the type of the result: `relation(call, *types)` (None: wait until more is known), or the name of a shared
            relation: "Identity", "Broadcast", "BroadcastComp". It also runs on the shapes of a run. ValueError says that a call is wrong.
        compute: The definition as a tensor expression: `compute(b, *tensors)`, see `relay.te`.
        expand: The definition by other operators: `expand(call, *args)`.
        kernel: The definition as a function over NumPy arrays: `kernel(*arrays)`, which returns its results or, if it has a parameter
            `out`, writes them there.
        gradient: `gradient(call, *gradients_of_results)` gives an expression for each input. Left out: what can be derived.
        no_gradient: Reason why there is no gradient.
        level: TVM's support level.
        pure: True if a call may be dropped, repeated, moved and computed beforehand.
        doc: Description; by default the definition's docstring.
        examples: Pairs of a program's text and a list of arguments, for `relay.op.describe`.
    """
    _check_name(name)
    given = {"compute": compute, "expand": expand, "kernel": kernel}
    definitions = [(kind, made) for kind, made in given.items() if made is not None]
    if not definitions:

        def decorate(made: Callable[..., Any]) -> Callable[..., Any]:
            return _declare(
                name, inputs, attrs, outputs, relation, "compute", made, gradient, no_gradient, level, pure, doc, tuple(examples)
            )

        return decorate
    if len(definitions) > 1:
        raise TypeError(f"{name} has several definitions: " + " and ".join(kind for kind, _ in definitions))
    kind, made = definitions[0]
    return _declare(name, inputs, attrs, outputs, relation, kind, made, gradient, no_gradient, level, pure, doc, tuple(examples))


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name) or not _KEYWORDS.isdisjoint(name.split(".")):
        raise ValueError(f"{name!r} cannot be the name of an operator: it is words with dots between, such as 'my.softplus'")
    if name.startswith("grad."):
        raise ValueError(f"{name}: names that begin with 'grad.' are those of gradients that the compiler derives")


def register_code(
    name: str, *, inputs: Sequence[str], relation: Callable[..., Any], kernel: Callable[..., Any], no_gradient: str, doc: str
) -> Callable[..., Any]:
    """Does what `register` does, for an operator that programs in text do not name: the name is for messages, any text."""
    return _declare(name, inputs, None, None, relation, "kernel", kernel, None, no_gradient, 10, True, doc, ())


def unregister(op: str | Op | Callable[..., Any]) -> None:
    """Takes out an operator that `register` declared. Programs that hold it stay as they are; text no longer finds it.

    Its functions are freed with the next collection of garbage (`gc`) after the last program that calls it. Functions that themselves
    hold such a program, or the operator, are kept.
    """
    name = op if isinstance(op, str) else getattr(op, "op_name", None) or getattr(op, "name", None)
    declared = _declared.get(name) if isinstance(name, str) else None
    if declared is None:
        raise KeyError(f"{name if isinstance(name, str) else repr(op)} is not an operator that Python has registered")
    assert isinstance(name, str)
    _core.unregister_op(name)
    del _declared[name]
    if _free_removed not in gc.callbacks:
        gc.callbacks.append(_free_removed)


def _free_removed(phase: str, info: dict[str, int]) -> None:
    """After a collection of garbage: lets go of the functions of operators that no program holds any more."""
    if phase == "stop":
        _core.free_removed_ops()


@contextlib.contextmanager
def registered(name: str, **declaration: Any) -> Iterator[Callable[..., Any]]:
    """An operator for the block of a `with` statement; the arguments are those of `register`."""
    made = register(name, **declaration)
    if not hasattr(made, "op"):
        raise TypeError(f"{name} has no definition: give compute, expand or kernel")
    try:
        yield made
    finally:
        declared = _declared.get(name)
        if declared is not None and declared.function is made:
            unregister(name)


def function(op: str | Op) -> Callable[..., Any]:
    """The function that makes calls of an operator, with its signature and documentation. Raises KeyError for an unknown name."""
    node = op if isinstance(op, Op) else _core.op(op)
    assert isinstance(node, Op)
    declared = _declared.get(node.name)
    if declared is not None and declared.op is node:
        return declared.function
    info = _core.op_info(node)
    return _make_function(node, info)


def gradients(call: Call, *gradients_of_results: Expr | None) -> list[Expr | None]:
    """Expressions for the gradients of a call's inputs, by the operator's rule or as derived from its definition; None for those not of floats.

    The call has types (`relay.check`); a gradient is given for each tensor in its result. Raises RelayError if there is no gradient.
    """
    return _core.gradients(call, list(gradients_of_results))


# ---- Declarations ---------------------------------------------------------------------------------------------------------------------


def _declare(
    name: str,
    inputs: Sequence[Input | str] | None,
    attrs: Mapping[str, Any] | type | None,
    outputs: Sequence[Output | str] | None,
    relation: Callable[..., Any] | str | None,
    kind: str,
    definition: Callable[..., Any],
    gradient: Callable[..., Any] | None,
    no_gradient: str | None,
    level: int,
    pure: bool,
    doc: str | None,
    examples: tuple[Any, ...],
) -> Callable[..., Any]:
    if name in _declared:
        raise ValueError(f"operator {name} is registered already; relay.op.unregister({name!r}) takes it out")
    for what, part in (("relation", relation), (kind, definition), ("gradient", gradient)):
        if part is not None and not callable(part) and not (what == "relation" and isinstance(part, str)):
            raise TypeError(f"{what} of {name} is a function, not {type(part).__name__}")
    if relation is None:
        raise TypeError(f"{name} needs a relation: a function that gives the type of its result, or a name such as 'Identity' or 'Broadcast'")
    if gradient is not None and no_gradient is not None:
        raise TypeError(f"{name} has both gradient and no_gradient")
    first = 0 if kind == "kernel" else 1
    if inputs is None:
        inputs = _inputs_of(name, definition, first)
    made_inputs = [Input(one) if isinstance(one, str) else one for one in inputs]
    made_outputs = [Output(one) if isinstance(one, str) else one for one in outputs or ()]
    for one in (*made_inputs, *made_outputs):
        if not isinstance(one, (Input, Output)):
            raise TypeError(f"inputs and outputs of {name} are names or relay.op.Input and relay.op.Output, not {type(one).__name__}")
        if not one.name.isidentifier():
            raise ValueError(f"{name}: {one.name!r} cannot be the name of an input or result")
    made_attrs = _attrs_of(name, attrs, definition)
    names = [one.name for one in made_inputs] + list(made_attrs)
    for twice in {one for one in names if names.count(one) > 1}:
        raise ValueError(f"{name} has two parameters {twice}")
    context = {"compute": "b", "expand": "call"}
    count = len(made_inputs)
    definition_call = _adapted(name, kind, definition, context.get(kind), made_inputs, made_attrs)
    relation_call = relation if isinstance(relation, str) else _adapted(name, "relation", relation, "call", made_inputs, made_attrs)
    if gradient is not None and made_outputs:
        _check_positions(name, "gradient", gradient, ["call", *(f"grad_{one.name}" for one in made_outputs)])
    text = doc if doc is not None else inspect.cleandoc(definition.__doc__ or "") if _is_own(definition) else ""
    op = _core.register_op(
        name,
        text,
        [_spec(one) for one in made_inputs],
        [_spec(one) for one in made_outputs],
        "python.attrs." + "".join(part.capitalize() for part in re.split(r"[._]", name)) + "Attrs",
        [_attr_spec(name, key, attr) for key, attr in made_attrs.items()],
        relation_call,
        kind,
        definition_call,
        kind == "kernel" and _has_out(definition),
        gradient if gradient is not None else no_gradient,
        level,
        pure,
    )
    assert count == len(made_inputs)
    made = _make_function(op, _core.op_info(op))
    _declared[name] = _Declared(op, made, examples, kind)
    return made


def _amend(
    name: str, *, inputs: Sequence[Input], attrs_type: str | None, relation: Callable[..., Any] | str, level: int, pure: bool, doc: str,
    compute: Callable[..., Any] | None = None,
) -> None:  # fmt: skip
    """Says anew, in place, what an operator is: those who hold it see the new declaration. `attrs_type`: the type of its attributes by name.

    For operators that a script declares bit by bit, before anybody uses them. The definition stays unless `compute` is one.
    """
    declared = _declared[name]
    relation_call = relation if isinstance(relation, str) else _adapted(name, "relation", relation, "call", list(inputs), {})
    _core.amend_op(declared.op, doc, [_spec(one) for one in inputs], attrs_type, relation_call, level, pure, compute)
    declared.function = _make_function(declared.op, _core.op_info(declared.op))


def _is_own(definition: Callable[..., Any]) -> bool:
    """True if it was written to be a definition: a plain function, and not somebody's library function or object."""
    return inspect.isfunction(definition)


def _parameters(made: Callable[..., Any]) -> list[inspect.Parameter] | None:
    try:
        return list(inspect.signature(made).parameters.values())
    except (TypeError, ValueError):
        return None


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _inputs_of(name: str, definition: Callable[..., Any], first: int) -> list[str]:
    parameters = _parameters(definition)
    if parameters is None:
        raise TypeError(f"{name} needs inputs: the parameters of its definition are not known")
    found = [one.name for one in parameters if one.kind in _POSITIONAL and one.name != "out"]
    if any(one.kind is inspect.Parameter.VAR_POSITIONAL for one in parameters):
        raise TypeError(f"{name} needs inputs: its definition takes any number of arguments")
    return found[first:]


def _attrs_of(name: str, attrs: Mapping[str, Any] | type | None, definition: Callable[..., Any]) -> dict[str, Attr]:
    made: dict[str, Attr] = {}
    if attrs is None:
        hints = _hints(definition)
        for one in (_parameters(definition) or ()) if _is_own(definition) else ():
            if one.kind is not inspect.Parameter.KEYWORD_ONLY or one.name == "out":
                continue
            default = REQUIRED if one.default is inspect.Parameter.empty else one.default
            hint = hints.get(one.name, None if one.annotation is inspect.Parameter.empty else one.annotation)
            made[one.name] = Attr(hint if hint is not None else _type_of_default(name, one.name, default), default)
    elif isinstance(attrs, type):
        if not dataclasses.is_dataclass(attrs):
            raise TypeError(f"attributes of {name} are a mapping or a dataclass, not {attrs.__name__}")
        hints = _hints(attrs)
        for field in dataclasses.fields(attrs):
            default = field.default
            if field.default_factory is not dataclasses.MISSING:
                default = field.default_factory()
            elif default is dataclasses.MISSING:
                default = REQUIRED
            made[field.name] = Attr(
                hints.get(field.name, field.type), default, field.metadata.get("doc", ""), field.metadata.get("kind", "plain")
            )
    else:
        for key, attr in attrs.items():
            if isinstance(attr, Attr):
                made[key] = attr
            elif isinstance(attr, type) or typing.get_origin(attr) is not None:
                made[key] = Attr(attr)
            else:
                made[key] = Attr(_type_of_default(name, key, attr), attr)
    for key in made:
        if not isinstance(key, str) or not key.isidentifier() or key == "out":
            raise ValueError(f"{name}: {key!r} cannot be the name of an attribute")
    return made


def _hints(owner: Any) -> dict[str, Any]:
    try:
        return typing.get_type_hints(owner)
    except Exception:  # names that only a type checker knows
        return {}


def _type_of_default(name: str, key: str, default: Any) -> Any:
    if isinstance(default, (bool, int, float, str, dict)):
        return type(default)
    if isinstance(default, (list, tuple)) and default and all(isinstance(one, type(default[0])) for one in default):
        return list[type(default[0])]  # type: ignore[misc]
    raise TypeError(f"{name}: the type of attribute {key} is not known; annotate it, or give relay.op.Attr(type, default)")


_PLAIN = {int: "int", float: "float", bool: "bool", str: "str", dict: "dict", Any: "any"}


def _type_text(name: str, key: str, wanted: Any) -> tuple[str, list[tuple[str, str]]]:
    """A type as the compiler writes it, and the words of a choice."""
    if isinstance(wanted, str):
        return wanted, []
    if wanted in _PLAIN:
        return _PLAIN[wanted], []
    origin, args = typing.get_origin(wanted), typing.get_args(wanted)
    if origin in (dict, Mapping):
        return "dict", []
    if origin is Literal and args and all(isinstance(word, str) for word in args):
        return "str", [(word, "") for word in args]
    is_union = origin is Union or type(wanted).__name__ == "UnionType"
    if is_union and len(args) == 2 and type(None) in args:
        inner, words = _type_text(name, key, args[0] if args[1] is type(None) else args[1])
        return f"optional<{inner}>", words
    if origin in (list, tuple, Sequence) and args and (len(args) == 1 or args[1:] == (...,)):
        inner, words = _type_text(name, key, args[0])
        if not words and "<" not in inner:
            return f"list<{inner}>", []
    raise TypeError(
        f"{name}: attribute {key} cannot be of type {getattr(wanted, '__name__', wanted)}; types are int, float, bool, str, dict, 'dtype', lists of"
        " such, Optional ones, and a Literal of words"
    )


def _attr_spec(name: str, key: str, attr: Attr) -> tuple[Any, ...]:
    text, words = _type_text(name, key, attr.type)
    has_default = attr.default is not REQUIRED
    return key, attr.doc, text, attr.kind, words, has_default, attr.default if has_default else None


def _spec(one: Input | Output) -> tuple[str, str, str, str, str, int, int]:
    role = "tensor"
    if isinstance(one, Input):
        role = "tuple" if one.tuple else "constant" if one.constant else role
    if len(one.var) > 1 or (one.var and not one.var.isalpha()):
        raise ValueError(f"{one.name}: a dtype variable is one letter, not {one.var!r}")
    least, most = one.rank if isinstance(one.rank, tuple) else (one.rank, one.rank) if one.rank is not None else (0, -1)
    return one.name, one.doc, role, one.var, "" if one.dtype == "any" else one.dtype, least, most


def _has_out(definition: Callable[..., Any]) -> bool:
    return any(one.name == "out" and one.kind is not inspect.Parameter.POSITIONAL_ONLY for one in _parameters(definition) or ())


def _check_positions(name: str, what: str, made: Callable[..., Any], positions: list[str], keywords: Sequence[str] = ()) -> None:
    try:
        signature = inspect.signature(made)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*positions, **dict.fromkeys(keywords))
    except TypeError:
        wanted = ", ".join([*positions, *(["*", *keywords] if keywords else [])])
        raise TypeError(f"{what} of {name} is called as ({wanted}); it is {getattr(made, '__name__', what)}{signature}") from None


def _adapted(
    name: str, what: str, made: Callable[..., Any], context: str | None, inputs: Sequence[Input], attrs: Mapping[str, Attr]
) -> Callable[..., Any]:
    """The function as the library calls it, with all attributes."""
    parameters = _parameters(made)
    taken = list(attrs)
    if parameters is not None and not any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters):
        by_name = {one.name for one in parameters if one.kind is not inspect.Parameter.POSITIONAL_ONLY}
        taken = [key for key in attrs if key in by_name]
    elif parameters is None:
        taken = []
    positions = ([context] if context else []) + [one.name for one in inputs]
    keywords = taken + (["out"] if what == "kernel" and _has_out(made) else [])
    _check_positions(name, what, made, positions, keywords)
    if len(taken) == len(attrs):
        return made

    def with_its_attributes(*args: Any, **given: Any) -> Any:
        return made(*args, **{key: value for key, value in given.items() if key in keywords})

    return with_its_attributes


def _make_function(op: Expr, info: dict[str, Any]) -> Callable[..., Any]:
    inputs = [one for one, _ in info["inputs"]]
    attrs = {attr["name"]: attr for attr in info["attrs"]}
    count = len(info["outputs"])
    either = inspect.Parameter.POSITIONAL_OR_KEYWORD
    ordered = sorted(attrs.values(), key=lambda attr: not attr["required"])
    signature = inspect.Signature(
        [inspect.Parameter(one, either) for one in inputs]
        + [
            inspect.Parameter(attr["name"], either, default=inspect.Parameter.empty if attr["required"] else attr["default"])
            for attr in ordered
        ],
        return_annotation=Expr,
    )

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            values = signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise TypeError(f"{info['name']}{signature}: {error}") from None
        made = _core.call_op(op, *(values[one] for one in inputs), **{key: values[key] for key in attrs if key in values})
        return TupleWrapper(made, count) if count > 1 else made

    call.__name__ = info["name"].rpartition(".")[2]
    call.__qualname__ = info["name"]
    call.__module__ = "relay.op"
    setattr(call, "__signature__", signature)
    call.__doc__ = _docstring(info)
    setattr(call, "op", op)
    setattr(call, "op_name", info["name"])
    return call


def _docstring(info: dict[str, Any]) -> str:
    lines = [info["doc"]] if info["doc"] else []
    args = [f"    {one}: {doc}" for one, doc in info["inputs"]]
    args += [f"    {attr['name']}: {attr['doc']} ({attr['type']})".replace(":  (", ": (") for attr in info["attrs"]]
    if args:
        lines += ["", "Args:", *(line.rstrip(": ") if line.endswith(": ") else line for line in args)]
    results = [f"    {one}: {doc}".rstrip(": ") for one, doc in info["outputs"]]
    if results:
        lines += ["", "Returns:", *results]
    return "\n".join(lines)
