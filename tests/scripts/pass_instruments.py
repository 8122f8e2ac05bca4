"""Instruments: a timer, one of one's own, one that skips passes, one that fails."""
import tvm
import tvm.relay as relay
from tvm.ir.instrument import PassTimingInstrument, PrintAfterAll, PrintBeforeAll, pass_instrument

mod, params = relay.testing.squeezenet.get_workload(batch_size=1, num_classes=10, image_shape=(3, 64, 64))
mod["main"] = relay.build_module.bind_params_by_name(mod["main"], params)
passes = tvm.transform.Sequential([relay.transform.FoldConstant(), relay.transform.EliminateCommonSubexpr(), relay.transform.FuseOps()])

timing = PassTimingInstrument()
with tvm.transform.PassContext(opt_level=3, instruments=[timing]):
    passes(mod)
    table = timing.render()
assert "FuseOps" in table and "FoldConstant" in table
print(table)


@pass_instrument
class Ledger:
    """Notes what ran, and how many calls there were before and after."""

    def __init__(self, skip=()):
        self.skip = set(skip)
        self.rows = []

    def enter_pass_ctx(self):
        self.rows.append("enter")

    def exit_pass_ctx(self):
        self.rows.append("exit")

    def should_run(self, mod, info):
        return info.name not in self.skip

    def run_before_pass(self, mod, info):
        self.before = sum(relay.analysis.list_op_freqs(mod).values())

    def run_after_pass(self, mod, info):
        self.rows.append((info.name, self.before))


ledger = Ledger(skip=["EliminateCommonSubexpr"])
with tvm.transform.PassContext(opt_level=3, instruments=[ledger]):
    passes(mod)
names = [row[0] for row in ledger.rows if isinstance(row, tuple)]
assert ledger.rows[0] == "enter" and ledger.rows[-1] == "exit"
assert "FuseOps" in names and "EliminateCommonSubexpr" not in names


@pass_instrument
class Strict:
    def run_before_pass(self, mod, info):
        if info.name == "FuseOps":
            raise RuntimeError("no fusion, please")


try:
    with tvm.transform.PassContext(opt_level=3, instruments=[Strict()]):
        passes(mod)
except RuntimeError as error:
    assert "no fusion" in str(error)
else:
    raise AssertionError("the instrument was not asked")

context = tvm.transform.PassContext(opt_level=2)
context.override_instruments([PassTimingInstrument()])
context.override_instruments(None)
assert not context.instruments
