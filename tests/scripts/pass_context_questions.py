"""Contexts as scripts ask and set them: required and disabled passes, configuration keys, names from the registry, instruments that decide."""
import pytest

import tvm
from tvm import relay
from tvm.ir.instrument import PassInstrument, PassTimingInstrument, pass_instrument
from tvm.transform import PassContext


def program():
    x = relay.var("x", shape=(4,))
    y = relay.add(relay.const(1.0), relay.const(2.0))
    return tvm.IRModule.from_expr(relay.Function([x], relay.add(relay.add(x, y), relay.add(x, y))))


PASSES = [relay.transform.InferType(), relay.transform.EliminateCommonSubexpr(), relay.transform.FoldConstant(), relay.transform.FuseOps()]


@pass_instrument
class Journal:
    def __init__(self, skip=()):
        self.skip, self.names = skip, []

    def should_run(self, mod, info):
        return info.name not in self.skip

    def run_before_pass(self, mod, info):
        self.names.append(info.name)


def test_levels():
    seen = {}
    for level in (0, 2, 3):
        journal = Journal()
        with PassContext(opt_level=level, instruments=[journal]):
            tvm.transform.Sequential(PASSES)(program())
        seen[level] = set(journal.names)
    assert "FoldConstant" not in seen[0] and "FoldConstant" in seen[2] and "EliminateCommonSubexpr" not in seen[2]
    assert "EliminateCommonSubexpr" in seen[3]


def test_required_and_disabled():
    journal = Journal()
    with PassContext(opt_level=0, required_pass=["FoldConstant"], disabled_pass=["FuseOps"], instruments=[journal]):
        made = tvm.transform.Sequential(PASSES)(program())
    assert "FoldConstant" in journal.names and "FuseOps" not in journal.names
    assert relay.analysis.list_op_freqs(made)["add"] == 4 - 1


def test_an_instrument_says_no():
    journal = Journal(skip=["FoldConstant"])
    assert isinstance(journal, PassInstrument) and journal.name == "Journal"
    with PassContext(opt_level=3, instruments=[journal]):
        tvm.transform.Sequential(PASSES)(program())
    assert "FoldConstant" not in journal.names


def test_times():
    timing = PassTimingInstrument()
    with PassContext(opt_level=3, instruments=[timing]):
        tvm.transform.Sequential(PASSES)(program())
        profile = timing.render()
    assert "FuseOps" in profile and "us" in profile


def test_the_current_context():
    assert PassContext.current().opt_level == 2
    with PassContext(opt_level=1, config={"relay.FuseOps.max_depth": 5}) as outer:
        assert PassContext.current().opt_level == 1 and PassContext.current().config["relay.FuseOps.max_depth"] == 5
        with PassContext(opt_level=3):
            assert PassContext.current().opt_level == 3
        assert PassContext.current().opt_level == outer.opt_level
    assert "relay.FuseOps.max_depth" in PassContext.list_configs()
    with pytest.raises(Exception):
        PassContext(config={"relay.NoSuchPass.depth": 1})


def test_names():
    for made in PASSES:
        assert made.info.name in repr(made.info) or made.info.name in str(made)
    assert [made.info.opt_level for made in PASSES[:3]] == [0, 3, 2]
    fold = tvm.get_global_func("relay._transform.FoldConstant", allow_missing=True)
    if fold is not None:
        assert fold(False).info.name == "FoldConstant"


if __name__ == "__main__":
    pytest.main([__file__])
