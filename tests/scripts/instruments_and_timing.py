"""Instruments of passes: counting, timing, dumping what each pass made, overriding opt level in nested contexts."""
import tvm
import tvm.relay as relay
from tvm.instrument import PassInstrument, PassTimingInstrument, PrintAfterAll, PrintBeforeAll, pass_instrument
from tvm.relay.testing import mlp


@pass_instrument
class Counter:
    def __init__(self):
        self.names, self.entered, self.left = [], 0, 0

    def enter_pass_ctx(self):
        self.entered += 1

    def exit_pass_ctx(self):
        self.left += 1

    def should_run(self, mod, info):
        return info.name != "FoldScaleAxis"

    def run_before_pass(self, mod, info):
        self.names.append(info.name)

    def run_after_pass(self, mod, info):
        assert isinstance(mod, tvm.IRModule) and info.opt_level >= 0


@pass_instrument
class Dump(PassInstrument):
    def __init__(self):
        super().__init__()
        self.texts = {}

    def run_after_pass(self, mod, info):
        self.texts[info.name] = mod.astext(show_meta_data=False)


mod, params = mlp.get_workload(1)
seq = tvm.transform.Sequential(
    [relay.transform.InferType(), relay.transform.SimplifyInference(), relay.transform.FoldScaleAxis(), relay.transform.EliminateCommonSubexpr(), relay.transform.FuseOps(2)], name="all"
)
counter, dump, timing = Counter(), Dump(), PassTimingInstrument()
with tvm.transform.PassContext(opt_level=3, instruments=[counter, dump, timing]) as ctx:
    out = seq(mod)
    profile = timing.render()
assert counter.entered == 1 and counter.left == 1
assert "SimplifyInference" in counter.names and "FuseOps" in counter.names and "FoldScaleAxis" not in counter.names
assert "Primitive=1" in dump.texts["FuseOps"]
assert "FuseOps" in profile and "us" in profile
with tvm.transform.PassContext(opt_level=0):
    with tvm.transform.PassContext(opt_level=2, disabled_pass=["FuseOps"]):
        assert tvm.transform.PassContext.current().opt_level == 2
        assert "Primitive" not in str(seq(mod))
    assert tvm.transform.PassContext.current().opt_level == 0
