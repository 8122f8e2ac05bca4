"""Renderers that scripts choose, and contexts that collect diagnostics."""

import pytest

import tvm
from tvm import relay
from tvm.ir.diagnostics import Diagnostic, DiagnosticContext, DiagnosticLevel, DiagnosticRenderer, get_renderer, override_renderer

UNKNOWN = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(3), float32]) { %x + %u }'
ILL = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(3), float32], %y: Tensor[(4), float32]) { add(%x, %y) }'


@pytest.fixture
def shown():
    contexts = []
    override_renderer(contexts.append)
    yield contexts
    override_renderer(None)


def ill_typed():
    x, y = relay.var("x", shape=(3,)), relay.var("y", shape=(4,))
    return tvm.IRModule.from_expr(relay.Function([x, y], x + y))


@pytest.mark.parametrize("run, said", [
    (lambda: relay.parse(UNKNOWN), "unknown local name %u"), (lambda: relay.fromtext(UNKNOWN), "unknown local name %u"),
    (lambda: relay.parse_expr("%u"), "%u"), (lambda: relay.parse(ILL), "do not broadcast"), (lambda: relay.transform.InferType()(ill_typed()), "do not broadcast"),
    (lambda: relay.build(ill_typed(), "llvm"), "do not broadcast"), (lambda: relay.vm.compile(ill_typed(), "llvm"), "do not broadcast"),
    (lambda: tvm.transform.Sequential([relay.transform.FoldConstant(), relay.transform.InferType()])(ill_typed()), "do not broadcast"),
])  # fmt: skip
def test_an_error_is_shown_once(run, said, shown):
    with pytest.raises(tvm.error.DiagnosticError):
        run()
    (context,) = shown
    assert said in context.diagnostics[0].message and context.diagnostics[0].level == DiagnosticLevel.ERROR
    assert isinstance(context, DiagnosticContext) and isinstance(context.diagnostics[0], Diagnostic)


def test_the_default_shows_nothing_more():
    override_renderer(lambda context: pytest.fail("the default is in force again"))
    override_renderer(None)
    with pytest.raises(tvm.error.DiagnosticError):
        relay.parse(UNKNOWN)
    with pytest.raises(TypeError, match="override_renderer takes a function of a context, or None, not int"):
        override_renderer(3)


def test_a_context_collects(capsys):
    context = DiagnosticContext(tvm.IRModule(), get_renderer())
    context.emit(Diagnostic(DiagnosticLevel.WARNING, None, "odd"))
    context.render()
    assert capsys.readouterr().out == "warning: odd\n"
    context.emit(Diagnostic(DiagnosticLevel.ERROR, relay.var("x").span, "wrong"))
    with pytest.raises(tvm.error.DiagnosticError, match="wrong"):
        context.render()
    seen = []
    context.renderer = DiagnosticRenderer(seen.append)
    with pytest.raises(tvm.error.DiagnosticError, match="wrong"):
        context.render()
    assert seen == [context] and context.get_renderer() is context.renderer
    with pytest.raises(TypeError, match="a context takes a Diagnostic, not str"):
        context.emit("text")
