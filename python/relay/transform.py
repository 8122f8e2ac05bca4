"""Passes: registered ones as functions, ones written in Python, contexts, sequences.

A pass maps a module to a module and leaves its argument as it is; one that changed nothing gives the same object. How passes
are enabled, what they require and how contexts nest follows the source note on the pass infrastructure.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from operator import index
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, overload

from . import _core
from ._core import Function, IRModule, Pass, PassContext, PassInfo, PassTrace, Var
from ._checks import did_you_mean, require_int, require_list, require_texts, require_type, shown

_MOST = 2**31 - 1  # of levels

__all__ = ["FunctionPass", "LayoutConfig", "ModulePass", "Pass", "PassContext", "PassInfo", "PassTrace", "Sequential", "create", "function_pass",
           "gradient", "module_pass", "names", "standard_pipeline", "to_cps", "un_cps"]
__all__ += _core.pass_names()


def names() -> list[str]:
    """The names of all registered passes, each of which is also a function of this module."""
    return list(_core.pass_names())


def create(name: str, **options: Any) -> Pass:
    """A registered pass by its name, e.g. ``create("DeadCodeElimination", inline_once=True)``.

    Raises RelayError, with the nearest names, for a pass or option that there is not, TypeError for a value that no option takes. Lists and
    dictionaries have numbers as they are; names of a dictionary may be variables.
    """
    require_type("name", name, str)
    given = {key: value for key, value in options.items() if value is not None}
    return _core.create_pass(name, {key: _option(f"option {key} of {name}", value, _default(name, key)) for key, value in given.items()})


def _default(name: str, key: str) -> Any:
    """The default of an option, which has its type; an empty text where there is no such option."""
    options = _core.pass_info(name)[1] if name in _core.pass_names() else []
    return next((default for option, _, default in options if option == key), "")


def _option(what: str, value: Any, default: Any) -> Any:
    """What the library takes. It has lists of texts in the place of all lists and dictionaries: "1", "a: 1", "a: b c"."""
    if isinstance(value, dict):
        return [f"{_name(what, key)}: {_words(f'{what} for {_name(what, key)}', entry, 'a number or a list')}" for key, entry in value.items()]
    if isinstance(default, list):
        entries = [value] if isinstance(value, str) else require_list(what, value)
        return [entry if isinstance(entry, str) else _words(f"an entry of {what}", entry, "a text, a number or a list") for entry in entries]
    if isinstance(default, bool):
        return require_type(what, value, bool)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise OverflowError(f"{what} is an integer of 64 bits, not {value}")
    if isinstance(value, bool):
        raise TypeError(f"{what} is {_A[type(default)]}, not {value}")
    if isinstance(value, Integral):  # of NumPy, too
        return int(value)
    return float(value) if isinstance(value, Real) else require_type(what, value, int, float, str, list)


_A = {int: "an integer", float: "a number", str: "a text"}


def _name(what: str, key: Any) -> str:
    return key if isinstance(key, str) else require_type(f"a name in {what}", key, Var).name_hint


def _words(what: str, value: Any, kinds: str) -> str:
    """The text of a number, or of a list of texts or numbers."""
    if isinstance(value, (list, tuple)):
        return " ".join(each if isinstance(each, str) else _words(what, each, "of texts and numbers") for each in value)
    if isinstance(value, Real) and not isinstance(value, bool):
        return str(index(value)) if isinstance(value, Integral) else repr(float(value))
    raise TypeError(f"{what} is {kinds}, not {shown(value)}")


class LayoutConfig:
    """Layers that ConvertLayout leaves as they are, while this is entered: ``with LayoutConfig(skip_layers=[0]): …``.

    Layers are calls with weights of the operators that the pass is given, counted from 0 in the order in which they run.
    """

    current: LayoutConfig | None = None

    def __init__(self, skip_layers: Sequence[int] | None = None) -> None:
        self.skip_layers = [require_int("a number of skip_layers", layer, 0, _MOST) for layer in skip_layers or []]
        self._older: LayoutConfig | None = None

    def __enter__(self) -> LayoutConfig:
        _core.enter_layout_config(self.skip_layers)
        self._older, LayoutConfig.current = LayoutConfig.current, self
        return self

    def __exit__(self, *exc: Any) -> None:
        LayoutConfig.current = self._older
        _core.exit_layout_config()


def Sequential(passes: Sequence[Pass] | None = None, opt_level: int = 0, name: str = "sequential",
               required: Sequence[str] | None = None) -> Pass:
    """Passes that run in order: those that the context enables, each after what it requires."""
    given = [] if passes is None else require_list("passes", passes)
    level = require_int("opt_level", opt_level, 0, _MOST)
    made: Pass = _core.sequential(given, name, level, require_texts("required", required))
    made.passes = given  # type: ignore[attr-defined]
    return made


def standard_pipeline(level: int = 3) -> Pass:
    """The standard passes up to a level, 0 to 4, as one."""
    return _core.standard_pipeline(require_int("level", level, 0, 4))


def to_cps(func: Function, mod: IRModule | None = None) -> Function:
    """A function in continuation-passing style: one more parameter takes the result.

    The module, whose functions `func` may call, gets a form in this style of each that it reaches, named ``NAME_cps``.
    Raises RelayError if `func` has no types in the module.
    """
    return _core.to_cps(require_type("func", func, Function), IRModule() if mod is None else require_type("mod", mod, IRModule))


def un_cps(func: Function) -> Function:
    """The function that one in continuation-passing style was made of: it passes the identity as continuation.

    Raises RelayError if the last parameter of `func` does not take its result.
    """
    return _core.un_cps(require_type("func", func, Function))


def gradient(expr: Function, mod: IRModule | None = None, mode: str = "higher_order") -> Function:
    """The gradient of a function: ``fn (x…) -> T`` becomes ``fn (x…) -> (T, (dx…))``, where `dx` are gradients of the sum of the result.

    Mode "first_order" refuses all but functions of operators, tuples and branches, whose gradient is such a function again. "higher_order"
    takes any function; `mod`, whose functions it may call, gets the functions and data types that the gradient needs beside it.
    Raises RelayError where something has no gradient, ValueError for another mode.
    """
    if mode not in ("first_order", "higher_order"):
        raise ValueError(f"mode is first_order or higher_order, not {mode!r}")
    module = IRModule() if mod is None else require_type("mod", mod, IRModule)
    return _core.gradient(require_type("expr", expr, Function), module, first_order=mode == "first_order")


def MergeComposite(pattern_table: Sequence[tuple[Any, ...]] | str | os.PathLike[str]) -> Pass:  # noqa: N802
    """Makes a call of a function of what fits a pattern, with the entry's name as the attribute Composite.

    Args:
        pattern_table: Tuples (name, pattern) or (name, pattern, check), their text (docs/patterns.md), or the path of a file that has it,
            as a `pathlib.Path`. The check is a function of the root of a match, which is typed, and says False of what is not to be cut
            out. What several patterns fit goes to the first.
    """
    if isinstance(pattern_table, str):
        text_pass: Pass = _core.merge_composite_text(pattern_table)
        return text_pass
    if isinstance(pattern_table, os.PathLike):
        return create("MergeComposite", pattern_file=os.fspath(pattern_table))
    table = []
    for i, entry in enumerate(require_list("pattern_table", pattern_table)):
        if not isinstance(entry, (tuple, list)) or len(entry) not in (2, 3):
            raise TypeError(f"pattern_table[{i}] is (name, pattern) or (name, pattern, check), not {shown(entry)}")
        require_type(f"the name of pattern_table[{i}]", entry[0], str)
        require_type(f"the pattern of pattern_table[{i}]", entry[1], _core.DFPattern)
        check = entry[2] if len(entry) == 3 else None
        if check is not None and not callable(check):
            raise TypeError(f"the check of pattern_table[{i}] is a function of an expression, not {shown(check)}")
        table.append((entry[0], entry[1], check))
    made: Pass = _core.merge_composite(table)
    return made


def AnnotateTarget(targets: str | Sequence[str], include_non_call_ops: bool = True,  # noqa: N802
                   operators: Sequence[str] | None = None, *, lookup: Callable[[Any, str], Any] | None = None) -> Pass:
    """Puts annotations around the calls that code generators take: the first of `targets` that can take a call gets it.

    A target takes calls of functions whose attribute Composite begins with its name and a dot, and calls of operators that have a fact
    ``target.NAME`` (`relay.op.set_attr`): True, or a function of the call, which is typed, that says so.

    Args:
        targets: Names of code generators, in the order of their rank.
        include_non_call_ops: Tuples and projections belong to the target that their operands belong to.
        operators: Operators that the targets take whatever facts they have.
        lookup: Gives the fact of an operator under a key, or None; left out, `relay.op.get_attr`.
    """
    names = [targets] if isinstance(targets, str) else require_texts("targets", targets)
    taken = frozenset(() if operators is None else require_texts("operators", operators))
    from .op.facts import get_attr

    find: Callable[[Any, str], Any] = get_attr if lookup is None else lookup

    def supports(target: str, call: Any) -> bool:
        if call.op.name in taken:
            return True
        fact = find(call.op, "target." + target)
        return bool(fact(call)) if callable(fact) else bool(fact)

    made: Pass = _core.annotate_target(names, bool(include_non_call_ops), supports)
    return made


def InlineCompilerFunctionsBoundTo(global_vars: Sequence[Any]) -> Pass:  # noqa: N802
    """Puts the bodies of these functions of code generators, names or global variables, back in the place of their calls."""
    names = [var if isinstance(var, str) else var.name_hint for var in require_list("global_vars", global_vars)]
    return create("InlineCompilerFunctionsBoundTo", global_vars=names)


if TYPE_CHECKING:

    class ModulePass(Pass):
        """Stands for passes made by `module_pass`."""

    class FunctionPass(Pass):
        """Stands for passes made by `function_pass`."""

else:

    def _undecorated(instance: Any, decorator: str) -> str:
        name = type(instance).__name__
        return f"class {name} makes no passes yet: write @relay.transform.{decorator}(opt_level=…) above it"

    class _Kind(type):
        def __instancecheck__(cls, instance: Any) -> bool:
            return isinstance(instance, Pass) and getattr(instance, "made_as", None) is cls

    class ModulePass(metaclass=_Kind):
        """Stands for passes made by `module_pass`: ``isinstance(a_pass, ModulePass)``.

        Classes that `module_pass` decorates may derive from it: checkers of types that leave decorators of classes aside (mypy) then know
        that instances are passes.
        """

        def __call__(self, mod: Any) -> Any:
            raise TypeError(_undecorated(self, "module_pass"))

    class FunctionPass(metaclass=_Kind):
        """Stands for passes made by `function_pass`: ``isinstance(a_pass, FunctionPass)``.

        Classes that `function_pass` decorates may derive from it: checkers of types that leave decorators of classes aside (mypy) then know
        that instances are passes.
        """

        def __call__(self, mod: Any) -> Any:
            raise TypeError(_undecorated(self, "function_pass"))


_P = ParamSpec("_P")


class _TransformsModules(Protocol):
    def transform_module(self, mod: IRModule, ctx: Any, /) -> IRModule: ...


class _TransformsFunctions(Protocol):
    def transform_function(self, func: Function, mod: IRModule, ctx: Any, /) -> Function: ...


class _ModulePassDecorator(Protocol):
    @overload
    def __call__(self, thing: Callable[[IRModule, Any], IRModule], /) -> Pass: ...
    @overload
    def __call__(self, thing: Callable[_P, _TransformsModules], /) -> Callable[_P, Pass]: ...


class _FunctionPassDecorator(Protocol):
    @overload
    def __call__(self, thing: Callable[[Function, IRModule, Any], Function], /) -> Pass: ...
    @overload
    def __call__(self, thing: Callable[_P, _TransformsFunctions], /) -> Callable[_P, Pass]: ...


def _documentation(thing: Any) -> str:
    return inspect.cleandoc(thing.__doc__ or "").split("\n\n")[0].replace("\n", " ")


class _PassClass(type):
    """A class that `module_pass` or `function_pass` made: calling it gives a pass that runs a method of an instance.

    Classes derived from it are such classes, too, named after themselves.
    """

    def __init__(cls, title: str, bases: tuple[type, ...], namespace: dict[str, Any], **given: Any) -> None:
        super().__init__(title, bases, namespace, **given)
        if "_construct" not in namespace:
            _core.note_pass(title)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        # The class as it was written, so that what it says of itself by its name holds.
        written = vars(cls).get("__wrapped__", cls)
        instance = type.__call__(written, *args, **kwargs)
        made = cls._construct(cls, instance)  # type: ignore[attr-defined]
        made.instance, made.pass_class = instance, cls
        return made

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Pass) and issubclass(getattr(instance, "pass_class", object), cls)

    @property
    def __signature__(cls) -> inspect.Signature:
        if cls.__init__ is object.__init__:  # type: ignore[misc]
            return inspect.Signature()
        signature = inspect.signature(cls.__init__)  # type: ignore[misc]
        return signature.replace(parameters=list(signature.parameters.values())[1:], return_annotation=inspect.Signature.empty)


def _attribute_of_instance(self: Pass, name: str) -> Any:
    """The attributes of the object whose method the pass runs."""
    instance = vars(self).get("instance")
    if instance is None or name.startswith("__"):
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
    try:
        return getattr(instance, name)
    except AttributeError:
        raise AttributeError(f"pass {self.info.name} of class {type(instance).__name__} has no attribute '{name}'") from None


setattr(Pass, "__getattr__", _attribute_of_instance)


def _decorate(make: Callable[..., Pass], method: str, subject: Any, opt_level: int | None, name: str | None,
              required: Sequence[str] | None, typed: bool, finish: Callable[[Pass], Pass] = lambda made: made) -> Any:
    if opt_level is None:
        raise ValueError(f"give {make.__name__} an opt_level")
    level = require_int("opt_level", opt_level, 0, _MOST)
    needs = require_texts("required", required)
    if name is not None:
        require_type("name", name, str)

    def build(run: Callable[..., Any], title: str, doc: str) -> Pass:
        made = make(run, title, level, doc, needs, bool(typed))
        made.made_as = ModulePass if method == "transform_module" else FunctionPass  # type: ignore[attr-defined]
        return finish(made)

    def wrap(thing: Any) -> Any:
        if inspect.isclass(thing):
            if not callable(getattr(thing, method, None)):
                raise TypeError(f"class {thing.__name__} has no method {method}")

            def construct(cls: type, instance: Any) -> Pass:
                title = name or thing.__name__ if cls is made else cls.__name__
                return build(getattr(instance, method), title, _documentation(cls))

            meta = type(thing) if issubclass(type(thing), _PassClass) else type("_PassClass", (_PassClass, type(thing)), {})
            about = {key: getattr(thing, key) for key in ("__module__", "__qualname__", "__doc__")}
            made = meta(thing.__name__, (thing,), {**about, "__wrapped__": thing, "_construct": staticmethod(construct), "__slots__": ()})
            _core.note_pass(name or thing.__name__)
            return made
        if not callable(thing):
            raise TypeError(f"a pass is made of a function or a class, not of {type(thing).__name__}")
        title: str = getattr(thing, "__name__", type(thing).__name__)
        return build(thing, name or title, _documentation(thing))

    return wrap if subject is None else wrap(subject)


@overload
def module_pass(pass_func: Callable[[IRModule, Any], IRModule], opt_level: int, name: str | None = None,
                required: Sequence[str] | None = None, traceable: bool = False, *, typed: bool = False) -> Pass: ...
@overload
def module_pass(pass_func: Callable[_P, _TransformsModules], opt_level: int, name: str | None = None,
                required: Sequence[str] | None = None, traceable: bool = False, *, typed: bool = False) -> Callable[_P, Pass]: ...
@overload
def module_pass(pass_func: None = None, opt_level: int = ..., name: str | None = None,
                required: Sequence[str] | None = None, traceable: bool = False, *, typed: bool = False) -> _ModulePassDecorator: ...
def module_pass(pass_func: Any = None, opt_level: int | None = None, name: str | None = None,
                required: Sequence[str] | None = None, traceable: bool = False, *, typed: bool = False) -> Any:
    """Makes a pass of a function ``(mod, ctx) -> IRModule``, or of a class with a method ``transform_module(mod, ctx)``.

    Of a class it makes a class whose instances are passes; a pass has the attributes of the object whose method it runs, and what is
    derived from the class is such a class, too. With `typed` the module is typed before the pass runs.
    Can decorate: ``@module_pass(opt_level=1)``.
    """
    return _decorate(_core.module_pass, "transform_module", pass_func, opt_level, name, required, typed)


@overload
def function_pass(pass_func: Callable[[Function, IRModule, Any], Function], opt_level: int, name: str | None = None,
                  required: Sequence[str] | None = None, traceable: bool = False, *, typed: bool = True) -> Pass: ...
@overload
def function_pass(pass_func: Callable[_P, _TransformsFunctions], opt_level: int, name: str | None = None,
                  required: Sequence[str] | None = None, traceable: bool = False, *, typed: bool = True) -> Callable[_P, Pass]: ...
@overload
def function_pass(pass_func: None = None, opt_level: int = ..., name: str | None = None,
                  required: Sequence[str] | None = None, traceable: bool = False, *, typed: bool = True) -> _FunctionPassDecorator: ...
def function_pass(pass_func: Any = None, opt_level: int | None = None, name: str | None = None,
                  required: Sequence[str] | None = None, traceable: bool = False, *, typed: bool = True) -> Any:
    """Makes a pass of a function ``(func, mod, ctx) -> Function``, called for each global function, or of a class with a method
    ``transform_function(func, mod, ctx)``, as `module_pass` does.

    Functions with the attribute SkipOptimization, Compiler or Extern are left alone. The module is typed before the pass runs,
    unless `typed` says otherwise.
    """
    return _decorate(_core.function_pass, "transform_function", pass_func, opt_level, name, required, typed)


def _make(name: str) -> Callable[..., Pass]:
    info, options = _core.pass_info(name)
    # Numbers that the library has as texts appear as numbers.
    defaults = [[int(text) for text in default] if isinstance(default, list) and all(map(str.isdigit, default)) else default for _, _, default in options]
    keys = [key for key, _, _ in options]
    parameters = [inspect.Parameter(key, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default) for key, default in zip(keys, defaults)]
    signature = inspect.Signature(parameters)

    def construct(*args: Any, **kwargs: Any) -> Pass:
        for key in kwargs:
            if key not in keys:
                advice = did_you_mean(key, keys) or (f"it has {', '.join(keys)}" if keys else "it has none")
                raise TypeError(f"pass {name} has no option {key}: {advice}")
        if len(args) > len(keys):
            raise TypeError(f"pass {name} has {len(keys)} option{'' if len(keys) == 1 else 's'}, and {len(args)} are given")
        return create(name, **signature.bind(*args, **kwargs).arguments)

    construct.__name__ = construct.__qualname__ = name
    construct.__signature__ = signature  # type: ignore[attr-defined]
    listed = "".join(f"\n    {key}: {doc}" for key, doc, _ in options)
    construct.__doc__ = info.doc + ("\n\nOptions:" + listed if listed else "")
    return construct


def __getattr__(name: str) -> Any:
    """Registered passes become functions when they are first asked for."""
    if not name.startswith("_") and name in _core.pass_names():
        globals()[name] = made = _make(name)
        return made
    raise AttributeError(f"module 'relay.transform' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*__all__, *_core.pass_names()})
