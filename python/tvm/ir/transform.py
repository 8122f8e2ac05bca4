"""Passes, contexts and sequences with TVM's arguments."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import relay as _relay
from relay import _core, transform as _passes
from relay._checks import did_you_mean, require_texts
from relay.transform import FunctionPass, Pass, PassInfo as _PassInfo

from .._errors import with_failures_of_here

__all__ = ["FunctionPass", "ModulePass", "Pass", "PassContext", "PassInfo", "PrintIR", "Sequential", "module_pass"]

ModulePass = _passes.ModulePass


def typed(made: Pass) -> Pass:
    """The pass, which types what it made where it changed something: TVM's passes do."""
    _core.type_results(made)
    return made


def create(name: str, **options: Any) -> Pass:
    """A registered pass by its name, with typed results."""
    return typed(_passes.create(name, **options))


def _only_default(what: str, **given: Any) -> None:
    for name, value in given.items():
        if value:
            raise NotImplementedError(f"{what}({name}=…): tuning of pass pipelines has no counterpart here")


class PassContext(_passes.PassContext):
    """Settings under which passes run.

    Keys of TVM's that concern what Relay has not, such as those of TIR and of vendors' libraries, are kept in `config` and change
    nothing. Raises AttributeError for a key that neither has.
    """

    _base: _passes.PassContext | None = None

    def __init__(
        self,
        opt_level: int = 2,
        required_pass: Sequence[str] | None = None,
        disabled_pass: Sequence[str] | None = None,
        instruments: Sequence[Any] | None = None,
        config: Mapping[str, Any] | None = None,
        trace: Any = None,
        trace_stack: Any = None,
        make_traceable: Any = None,
        num_evals: int = 0,
        tuning_api_database: Any = None,
    ) -> None:
        _only_default("PassContext", trace_stack=trace_stack, make_traceable=make_traceable, num_evals=num_evals,
                      tuning_api_database=tuning_api_database)  # fmt: skip
        own = _passes.PassContext.list_configs()
        self._elsewhere = {key: value for key, value in (config or {}).items() if key not in own}
        for key in self._elsewhere:
            if key not in _NO_EFFECT and not str(key).startswith(_NO_EFFECT_UNDER):
                raise AttributeError(_unknown_key(key, own))
        kept = {key: value for key, value in (config or {}).items() if key in own}
        self._required = require_texts("required_pass", required_pass)
        self._disabled = require_texts("disabled_pass", disabled_pass)
        # Passes that Relay has not neither run nor have to be kept from running.
        required, disabled = ([name for name in names if _core.is_pass_name(name)] for names in (self._required, self._disabled))
        super().__init__(opt_level, required, disabled, list(instruments or ()), kept, False, bool(trace))
        self._inside: list[int] = []  # the threads that entered it

    @property
    def required_pass(self) -> list[str]:
        """The names that were given, of passes that are there or not."""
        return list(self._required)

    @property
    def disabled_pass(self) -> list[str]:
        """The names that were given, of passes that are there or not."""
        return list(self._disabled)

    @property
    def config(self) -> dict[str, Any]:
        """The settings that were given, whether they change anything here or not."""
        return {**super().config, **self._elsewhere}

    def __enter__(self) -> PassContext:
        super().__enter__()
        self._inside.append(threading.get_ident())
        return self

    def __exit__(self, *exc: Any) -> None:
        if threading.get_ident() in self._inside:
            self._inside.remove(threading.get_ident())
        left = _leave_override(self)
        if left is not None and left.owner is self and left.ended:
            return
        super().__exit__(*exc)
        _forget_times(self)

    @staticmethod
    def current() -> PassContext:
        """The innermost context of this thread, or the default one."""
        return _of_here(_passes.PassContext.current())

    @staticmethod
    def list_configs() -> dict[Any, Any]:
        """Type, by TVM's name, default and documentation of every key of `config`."""
        own = _passes.PassContext.list_configs()
        return {key: {**facts, "type": _TYPES.get(facts["type"], facts["type"])} for key, facts in own.items()}


def _of_here(context: _passes.PassContext) -> PassContext:
    """A context as one of the class above, always the same one: the default one, and those of relay, are of its base."""
    if isinstance(context, PassContext):
        return context
    made: PassContext | None = vars(context).get("_of_here")
    if made is None:
        made = PassContext(context.opt_level, context.required_pass, context.disabled_pass, context.instruments, context.config)
        made._base = context  # the object has to last as long, since it knows this one
        setattr(context, "_of_here", made)
    return made


def with_context_of_here(run: Callable[..., Any]) -> Callable[..., Any]:
    """A pass of a script, whose last argument is the context: scripts ask for its class, and for that of what they raise."""
    run = with_failures_of_here(run)

    @functools.wraps(run, updated=())
    def call(*args: Any) -> Any:
        return run(*args[:-1], _of_here(args[-1]))

    return call


def _over_modules(run: Callable[..., Any], *facts: Any) -> Pass:
    made: Pass = _core.module_pass(with_context_of_here(run), *facts)
    return made


_TYPES = {"int": "IntImm", "bool": "IntImm", "float": "FloatImm", "str": "runtime.String"}

class _Override(NamedTuple):
    """What `override_instruments` did to a context: another one with other instruments stands in for it."""

    owner: _passes.PassContext
    # None where its instruments refused to begin.
    stand_in: _passes.PassContext | None
    # True if the instruments of the owner ended already; the context outside of any never ends.
    ended: bool


# Those that are in force in this thread.
_overrides = threading.local()


def _forget_times(context: _passes.PassContext) -> None:
    """Tells instruments that know times that their context ended."""
    for instrument in context.instruments or ():
        forget = getattr(instrument, "_forget", None)
        if forget is not None:
            forget()


def _leave_override(context: _passes.PassContext) -> _Override | None:
    """Ends what stands in for a context, or is it; gives what was in force."""
    stack: list[_Override] = getattr(_overrides, "stack", [])
    if not stack or all(context is not each for each in stack[-1][:2]):
        return None
    if context is not stack[-1].stand_in and context is _passes.PassContext.current():
        return None  # entered once more
    left = stack.pop()
    if left.stand_in is not None:
        _passes.PassContext.__exit__(left.stand_in, None, None, None)
        _forget_times(left.stand_in)
    return left


def _is_innermost(context: _passes.PassContext) -> bool:
    """True for the context that is in force in this thread, or that something in force stands in for."""
    stack: list[_Override] = getattr(_overrides, "stack", [])
    current = _passes.PassContext.current()
    if context is current or getattr(context, "_base", None) is current:
        return True
    return bool(stack) and context is stack[-1].owner and (stack[-1].stand_in is None or stack[-1].stand_in is current)


def _override_instruments(self: _passes.PassContext, instruments: Sequence[Any] | None) -> None:
    """Other instruments for the passes that follow under this context; None or an empty list: no instruments. Where it is in force, those
    that it had end, and the others begin. Raises ValueError, and changes nothing, where other contexts were entered within it."""
    given = list(instruments or ())
    if isinstance(self, PassContext) and self._base is None and not self._inside:
        vars(_passes.PassContext)["_set_instruments"](self, given)  # private members have no annotations
        return
    if not _is_innermost(self):
        raise ValueError("override_instruments is of the innermost context of this thread, or of one that is not entered yet; others are left first")
    left = _leave_override(self)
    owner, ended = (self, False) if left is None else (left.owner, left.ended)
    if not ended and not given and not owner.instruments:
        return
    if not ended and isinstance(owner, PassContext) and owner._base is None and threading.get_ident() in owner._inside:
        _passes.PassContext.__exit__(owner, None, None, None)
        _forget_times(owner)
        ended = True
    if not hasattr(_overrides, "stack"):
        _overrides.stack = []
    _overrides.stack.append(_Override(owner, None, ended))
    stand_in = PassContext(owner.opt_level, owner.required_pass, owner.disabled_pass, given, owner.config)
    stand_in.__enter__()
    _overrides.stack[-1] = _Override(owner, stand_in, ended)


# The context that is in force outside of any is none of the class above.
setattr(_passes.PassContext, "override_instruments", _override_instruments)


# Keys of TVM whose subject does not exist here.
_NO_EFFECT = {
    "relay.backend.use_auto_scheduler", "relay.backend.use_meta_schedule", "relay.backend.use_meta_schedule_dispatch",
    "relay.backend.disable_auto_scheduler_layout_rewrite", "relay.backend.tir_converter",
    "relay.remove_standalone_reshapes.enable", "relay.frontend.fill_span", "relay.ToMixedPrecision.keep_orig_output_dtype",
    "relay.collage.tvm_max_depth", "relay.collage.byoc_max_depth", "relay.collage.byoc_fusion_style", "ir.enable_si_builder", "testing.immutable_module", "te.keep_schedule_record",
}  # fmt: skip
_NO_EFFECT_UNDER = ("tir.", "relax.", "cuda.", "relay.ext.")


def _unknown_key(key: Any, own: Mapping[str, Any]) -> str:
    hint = did_you_mean(key, [*own, *_NO_EFFECT], 3) or f"there are {', '.join(own)}"
    return f"PassContext has no config option {key!r}; {hint}"


class _InfoOfScript(_PassInfo):
    """Facts that a script made up: it may require passes that are not there."""

    def __init__(self, opt_level: int, name: str, required: Sequence[str]) -> None:
        super().__init__(opt_level, name, [other for other in required if _core.is_pass_name(other)])
        self._required = list(required)

    @property
    def required(self) -> list[str]:
        """The names that were given."""
        return list(self._required)


class _OfLibrary(type):
    """Classes whose objects the library makes: `isinstance` asks about those."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return bool(cls._is_one(instance))  # type: ignore[attr-defined]


class PassInfo(metaclass=_OfLibrary):
    """Facts about a pass."""

    def __new__(cls, opt_level: int, name: str, required: Sequence[str] | None = None, traceable: bool = False) -> Any:
        return _InfoOfScript(opt_level, name, require_texts("required", required))

    @staticmethod
    def _is_one(instance: Any) -> bool:
        return isinstance(instance, _PassInfo)


class Sequential(metaclass=_OfLibrary):
    """Passes that run in order."""

    def __new__(
        cls,
        passes: Sequence[Pass] | None = None,
        opt_level: int = 0,
        name: str = "sequential",
        required: Sequence[str] | None = None,
        traceable: bool = False,
    ) -> Any:
        return typed(_passes.Sequential(passes, opt_level, name, required))

    @staticmethod
    def _is_one(instance: Any) -> bool:
        return isinstance(instance, Pass) and hasattr(instance, "passes")


def module_pass(
    pass_func: Any = None, opt_level: int | None = None, name: str | None = None, required: Sequence[str] | None = None, traceable: bool = False
) -> Any:
    """Makes a pass of a function of a module and a context, or of a class with `transform_module`."""
    return _passes._decorate(_over_modules, "transform_module", pass_func, opt_level, name, required, False, typed)


def PrintIR(header: str = "", show_meta_data: bool = False) -> Pass:  # noqa: N802
    """A pass that prints the module to the standard error output, where TVM's log goes, and gives it back."""

    def show(mod: _relay.IRModule, ctx: Any) -> _relay.IRModule:
        print(f"PrintIR({header}):\n{mod.astext(show_meta_data)}", file=sys.stderr)
        return mod

    made: Pass = module_pass(show, opt_level=0, name="PrintIR")
    return made


def ApplyPassToFunction(transform: Pass, func_name_regex: str, error_if_no_function_matches_regex: bool = False) -> Pass:  # noqa: N802
    """A pass that runs another one, and keeps only what it made of functions whose names match."""
    import re

    pattern = re.compile(func_name_regex)

    def run(mod: _relay.IRModule, ctx: Any) -> _relay.IRModule:
        chosen = [name for name in mod.function_names if pattern.fullmatch(name)]
        if not chosen and error_if_no_function_matches_regex:
            raise ValueError(f"no function's name matches {func_name_regex!r}")
        done = transform(mod)
        made = mod.copy()
        for name in chosen:
            made[name] = done[name]
        return made

    result: Pass = module_pass(run, opt_level=0, name="ApplyPassToFunction")
    return result


