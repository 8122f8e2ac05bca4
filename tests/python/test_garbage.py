"""Objects that nobody holds any more are freed; those that somebody holds live."""

import gc
import weakref

import numpy as np
import relay
from relay import instrument, transform


class Watched:
    """Something whose end can be seen."""


def collected(make) -> bool:
    ref = make()
    gc.collect()
    gc.collect()
    return ref() is None


def main(body=None) -> relay.IRModule:
    x = relay.var("x", shape=(2,))
    return relay.IRModule.from_expr(relay.Function([x], x + 1.0 if body is None else body(x)))


def test_a_pass_that_knows_the_sequence_it_is_in():
    def make():
        watched = Watched()

        def run(func, mod, ctx):
            return func if watched and holder else func

        one = transform.function_pass(run, opt_level=0)
        sequence = transform.Sequential([one, transform.Sequential([one])])
        holder = [sequence]
        sequence(main())
        return weakref.ref(watched)

    assert collected(make)


def test_a_class_of_a_pass_that_knows_itself():
    def make():
        watched = Watched()

        @transform.module_pass(opt_level=0)
        class Mine:
            def __init__(self):
                self.watched = watched
                self.all = []

            def transform_module(self, mod, ctx):
                return mod

        one = Mine()
        one.instance.all.append(transform.Sequential([one]))
        one.instance.all[0](main())
        return weakref.ref(watched)

    assert collected(make)


def test_an_instrument_that_writes_to_what_knows_it():
    for kind in (instrument.PrintAfterAll, instrument.PrintDifference, instrument.ProgressInstrument):

        def make(kind=kind):
            watched = Watched()
            texts = []

            def write(text):
                texts.append((text, watched, holder))

            printer = kind(write)
            context = transform.PassContext(instruments=[printer])
            holder = [printer, context]
            with context:
                transform.FoldConstant()(main())
            return weakref.ref(watched)

        assert collected(make)


def test_an_instrument_that_knows_its_context():
    def make():
        watched = Watched()

        class Mine:
            def run_before_pass(self, mod, info):
                self.watched = watched

        mine = Mine()
        context = transform.PassContext(instruments=[mine])
        mine.context = context
        with context:
            transform.FoldConstant()(main())
        return weakref.ref(watched)

    assert collected(make)


def test_a_context_keeps_its_instruments():
    texts = []
    context = transform.PassContext(instruments=[instrument.PrintAfterAll(texts.append)])
    gc.collect()
    with context:
        transform.FoldConstant()(main())
    assert any("after FoldConstant" in text for text in texts)


def test_a_sequence_keeps_its_passes():
    seen = []
    sequence = transform.Sequential([transform.function_pass(lambda f, m, c: seen.append(1) or f, opt_level=0, name="seen")])
    gc.collect()
    sequence(main())
    assert seen == [1]


def test_nodes_and_visitors_outlive_their_module():
    mod = main(lambda x: relay.nn.relu(x) * 2.0)
    relay.check(mod)
    body, kept = mod["main"].body, []

    class Keeper(relay.ExprVisitor):
        def visit_call(self, call):
            super().visit_call(call)
            kept.append(call)

    keeper = Keeper()
    keeper.visit(mod["main"])

    @transform.function_pass(opt_level=0)
    def keep(func, module, ctx):
        kept.extend([func, module, ctx])
        return func

    keep(mod)
    del mod
    gc.collect()
    assert str(body.checked_type) == "Tensor[(2), float32]"
    assert [call.op.name for call in kept[:2]] == ["nn.relu", "multiply"]
    assert kept[-2]["main"] is kept[-3] and keeper.visit(body) is None
    run = relay.compile(relay.Function(relay.analysis.free_vars(body), body))
    del body, kept, keeper
    gc.collect()
    assert run(np.ones(2, "float32")).tolist() == [2, 2]


def test_results_outlive_their_program():
    run = relay.compile(relay.parse("def @main(%x: Tensor[(2), float32]) { (%x, fn(%y: Tensor[(2), float32]) { %x + %y }) }"))
    x, closure = run(np.ones(2, "float32"))
    del run
    gc.collect()
    assert closure(x).tolist() == [2, 2]


def test_callbacks_that_make_others_when_they_go(python):
    """A callback that is let go of at the end of the process may register operators: they are let go of, too."""
    text = """
import relay
from relay import _core

class Relation:
    def __init__(self, left):
        self.left = left
        made.append(left)
    def __call__(self, call, x):
        return x
    def __del__(self):
        gone.append(self.left)
        if self.left > 0:
            for i in range(200):
                register(self.left - 1 if i == 0 else 0, f"test.late_{self.left}_{i}")

def register(left, name):
    relay.op.register(name, inputs=["x"], relation=Relation(left), kernel=abs)
    relay.op.registration._declared.pop(name, None)

made, gone = [], []
for i in range(50):
    register(3 if i == 0 else 0, f"test.early_{i}")
_core.drop_callbacks()
print(len(made), len(gone))
"""
    assert python(text) == "650 650\n"
