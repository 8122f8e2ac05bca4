"""Passes written in Python: what they report, require and leave as it was."""

import sys

import pytest
import relay
from relay import instrument, transform


def program(text: str = "def @main(%x: Tensor[(2), float32]) { add(tanh(%x), 1f) }") -> relay.IRModule:
    mod = relay.parse(text)
    relay.check(mod)
    return mod


TWO = "def @a(%x: Tensor[(2), float32]) { tanh(%x) }\ndef @b(%x: Tensor[(2), float32]) { exp(%x) }"


@transform.function_pass(opt_level=0)
def Same(func, mod, ctx):
    return func.with_body(relay.rewrite(func.body, lambda e: None))


def test_a_function_of_the_same_parts_is_the_same_module() -> None:
    mod = program()
    with transform.PassContext(trace=True) as context:
        assert Same(mod) is mod
        assert not context.trace[0].changed
    changed = transform.function_pass(lambda f, m, c: f.with_attr("a", 1), opt_level=0, name="Marks")(mod)
    assert changed is not mod and changed["main"].attrs["a"] == 1


def test_passes_report_and_go_on() -> None:
    seen = []

    @transform.function_pass(opt_level=0, name="Strict")
    def strict(func, mod, ctx):
        seen.append(func)
        if func.body.op.name == "tanh":
            place = relay.Note("tanh is slow", func.body.span, "help")
            ctx.report(relay.Diagnostic("no tanh here", func.body.span, notes=["a remark", place]))
        ctx.report(relay.Diagnostic(f"met {func.body.op.name}", severity="warning"))
        return func.with_attr("seen", 1)

    mod = program(TWO)
    with transform.PassContext() as context:
        with pytest.raises(relay.RelayError) as caught:
            strict(mod)
        assert [d.message for d in context.diagnostics] == ["met tanh", "met exp"]
    assert len(seen) == 2
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.message == "no tanh here" and diagnostic.span.line == 1
    assert [note.message for note in diagnostic.notes] == ["a remark", "tanh is slow", "pass Strict failed on @a"]
    assert "from_string:1" in str(caught.value) and "no tanh here" in str(caught.value)

    ran = []
    after = transform.module_pass(lambda m, c: ran.append(m["b"].attrs["seen"]) or m, opt_level=0, name="After")
    with transform.PassContext(collect_errors=True):
        with pytest.raises(relay.RelayError, match="no tanh here"):
            transform.Sequential([strict, after])(mod)
    assert ran == [1]


def test_module_passes_report_what_they_raise_too() -> None:
    @transform.module_pass(opt_level=0, name="Both")
    def both(mod, ctx):
        ctx.report(relay.Diagnostic("first"))
        raise relay.RelayError.of([relay.Diagnostic("second", mod["main"].body.span)])

    with pytest.raises(relay.RelayError) as caught:
        both(program())
    assert [d.message for d in caught.value.diagnostics] == ["first", "second"]
    assert all(d.notes[-1].message == "in pass Both" for d in caught.value.diagnostics)


def test_reports_outside_of_passes() -> None:
    with pytest.raises(relay.RelayError, match="alone"):
        transform.PassContext.current().report(relay.Diagnostic("alone"))
    with pytest.raises(relay.RelayError, match="also alone"), transform.PassContext() as context:
        context.report(relay.Diagnostic("a warning", severity="warning"))
        assert [d.severity for d in context.diagnostics] == ["warning"]
        context.report(relay.Diagnostic("also alone"))


def test_diagnostics_are_made_of_parts() -> None:
    with pytest.raises(ValueError, match='severity is "error" or "warning", not "fatal"'):
        relay.Diagnostic("x", severity="fatal")
    with pytest.raises(TypeError, match="a note is a Note or a text, not 3"):
        relay.Diagnostic("x", notes=[3])
    with pytest.raises(TypeError, match="an error is made of a Diagnostic or a list of such, not of 'x'"):
        relay.RelayError.of("x")
    error = relay.RelayError.of(relay.Diagnostic("mine"))
    assert error.diagnostics[0].message == "mine" and str(error).startswith("error: mine")


def test_passes_of_python_are_required_by_name() -> None:
    order = []

    def named(name, **more):
        return transform.module_pass(lambda mod, ctx: order.append(name) or mod, opt_level=0, name=name, **more)

    first = named("FirstOfAll")
    second = named("SecondOfAll", required=["FirstOfAll", "FoldConstant"])
    transform.Sequential([second])(program())
    assert order == ["FirstOfAll", "SecondOfAll"]
    order.clear()
    transform.Sequential([first, second])(program())
    assert order == ["FirstOfAll", "FirstOfAll", "SecondOfAll"]
    order.clear()
    with transform.PassContext(disabled_pass=["SecondOfAll"]):
        transform.Sequential([second])(program())
    assert order == []
    del first
    import gc

    gc.collect()
    with pytest.raises(relay.RelayError, match="pass SecondOfAll requires pass FirstOfAll, which is neither registered nor part of the sequence"):
        transform.Sequential([second])(program())


def test_contexts_that_are_left_out_of_order_are_left() -> None:
    def inside():
        with transform.PassContext(opt_level=1):
            yield

    before = transform.PassContext.current()
    task = inside()
    next(task)
    with transform.PassContext(opt_level=3) as outer:
        with pytest.raises(ValueError, match="contexts are left in the reverse order of entering"):
            task.close()
        assert transform.PassContext.current() is outer
    assert transform.PassContext.current() is before
    alone = transform.PassContext()
    with pytest.raises(ValueError, match="this context is not entered, or it was entered by another thread"):
        alone.__exit__(None, None, None)


def test_instruments_of_such_a_context_are_left_too() -> None:
    class Counts(instrument.PassInstrument):
        def __init__(self):
            self.calls = []

        def enter_pass_ctx(self):
            self.calls.append("enter")

        def exit_pass_ctx(self):
            self.calls.append("exit")

    counts = Counts()
    first, second = transform.PassContext(instruments=[counts]), transform.PassContext()
    first.__enter__()
    second.__enter__()
    with pytest.raises(ValueError, match="reverse order"):
        first.__exit__(None, None, None)
    second.__exit__(None, None, None)
    assert counts.calls == ["enter", "exit"]


def test_failures_name_the_function() -> None:
    with pytest.raises(TypeError, match="function pass nothing gave NoneType, not a Function, on @main"):
        transform.function_pass(lambda f, m, c: None, opt_level=0, name="nothing")(program())
    twice = transform.function_pass(lambda f, m, c: m["a"], opt_level=0, name="Dup")
    ill = transform.function_pass(
        lambda f, m, c: relay.Function(f.params, relay.nn.dense(f.params[0], relay.const(1.0))), opt_level=0, name="Ill"
    )
    with transform.PassContext(instruments=[instrument.VerifyInstrument()]):
        with pytest.raises(relay.InternalError) as caught:
            twice(program(TWO))
        assert "bound by a parameter in @a" in str(caught.value) and "in @b" in str(caught.value)
        assert caught.value.diagnostics[0].message == str(caught.value)
        with pytest.raises(relay.InternalError, match="ill-typed module: .*\nnote: in function @main"):
            ill(program())


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exceptions have notes from Python 3.11 on")
def test_failing_passes_say_how_to_reduce() -> None:
    def fails(func, mod, ctx):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError) as caught:
        transform.function_pass(fails, opt_level=0, name="Fails")(program())
    (note,) = caught.value.__notes__
    assert note.startswith("pass Fails failed on @main\nhelp: to make the program small: relay.reduce(mod, fails)")
    ill = transform.function_pass(
        lambda f, m, c: relay.Function(f.params, relay.nn.dense(f.params[0], relay.const(1.0))), opt_level=0, name="IllTyped"
    )
    with transform.PassContext(instruments=[instrument.VerifyInstrument()]), pytest.raises(relay.InternalError) as defect:
        ill(program())
    assert any("relay.reduce" in note for note in defect.value.__notes__)
