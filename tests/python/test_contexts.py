"""Everything that compiles does so under the current PassContext."""

import numpy as np
import pytest

import relay
from relay import _core, transform

PROGRAM = relay.parse("""def @main(%x: Tensor[(4), float32]) {
  let %unused = exp(%x);
  let %y = add(nn.relu(multiply(%x, 2f)), add(1f, 2f));
  (tanh(%y), nn.batch_flatten(reshape(sqrt(abs(%y)), newshape=[2, 2])))
}""")
X = np.arange(4, dtype="float32") - 1


class Watch:
    def __init__(self):
        self.entered, self.ran = 0, []

    def enter_pass_ctx(self):
        self.entered += 1

    def run_before_pass(self, mod, info):
        self.ran.append(info.name)


def watched(opt_level=None, **context):
    """The passes that a compilation runs."""
    watch = Watch()
    with transform.PassContext(instruments=[watch], **context):
        relay.compile(PROGRAM, opt_level=opt_level, cache=False)
    assert watch.entered == 1
    return watch.ran


def kernels(**context):
    with transform.PassContext(**context):
        program = relay.compile(PROGRAM)
    assert all(np.allclose(got, want, rtol=1e-6) for got, want in zip(program(X), relay.evaluate(PROGRAM, X)))
    return len(program.profile(X))


def test_instruments_and_trace():
    assert {"InferType", "FoldConstant", "FuseOps"} <= set(watched())
    with transform.PassContext(trace=True) as context:
        relay.compile(PROGRAM)
    assert "FuseOps" in [entry.name for entry in context.trace]


def test_an_instrument_may_leave_a_pass_out_and_what_it_raises_comes_out():
    class Refuse:
        def should_run(self, mod, info):
            if info.name == "FuseOps":
                raise KeyError("no fusion")
            return True

    with transform.PassContext(instruments=[Refuse()]), pytest.raises(KeyError, match="no fusion"):
        relay.compile(PROGRAM)


def test_config():
    assert kernels(opt_level=3) < kernels(opt_level=3, config={"relay.FuseOps.max_depth": 1})
    assert kernels(opt_level=3, config={"relay.FuseOps.link_params": True}) == kernels(opt_level=3)
    assert kernels(opt_level=3, config={"relay.verify_passes": True, "relay.verify_types": True})


@pytest.mark.parametrize("depth", [0, -4])
def test_numbers_below_the_least_are_refused(depth):
    with pytest.raises(relay.RelayError, match=f"configuration key relay.FuseOps.max_depth is at least 1, not {depth}"):
        transform.PassContext(config={"relay.FuseOps.max_depth": depth})


def test_the_level_is_that_of_the_argument_else_that_of_the_context():
    assert "EliminateCommonSubexpr" in watched(opt_level=3)
    assert "FoldConstant" not in watched(opt_level=0, **{})
    watch = Watch()
    for level, given, wanted in [(1, None, False), (1, 3, True), (3, 1, False), (9, None, True)]:
        watch = Watch()
        with transform.PassContext(opt_level=level, instruments=[watch]):
            relay.compile(PROGRAM, opt_level=given)
        assert ("FoldConstant" in watch.ran) is wanted, (level, given)


def test_required_passes_run_below_their_level():
    watch = Watch()
    with transform.PassContext(opt_level=1, required_pass=["FoldConstant"], instruments=[watch]):
        relay.compile(PROGRAM)
    assert "FoldConstant" in watch.ran and "EliminateCommonSubexpr" not in watch.ran


def test_disabled_passes_do_not_run():
    watch = Watch()
    with transform.PassContext(opt_level=3, disabled_pass=["FoldConstant"], instruments=[watch]):
        relay.compile(PROGRAM)
    assert "FoldConstant" not in watch.ran and "SimplifyExpr" in watch.ran


def test_without_fusion_each_operator_is_alone():
    assert kernels(opt_level=3, disabled_pass=["FuseOps"]) == kernels(opt_level=3, config={"relay.FuseOps.max_depth": 1})


@pytest.mark.parametrize("disabled", [*([name] for name in transform.names()), transform.names()], ids=lambda names: names[0] if len(names) == 1 else "all")
def test_the_machine_runs_whatever_is_disabled(disabled):
    assert kernels(opt_level=4, disabled_pass=disabled)


def test_errors_of_callbacks_leave_the_context_usable():
    with transform.PassContext(opt_level=1) as context:
        with pytest.raises(relay.RelayError):
            relay.compile(relay.parse("def @main(%x) { %x }"))
        assert transform.PassContext.current() is context
    assert _core.PassContext.current() is not context
