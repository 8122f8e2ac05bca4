"""Contexts: nesting, configuration, defaults, threads."""
import threading

import pytest

import tvm
from tvm import relay
from tvm.transform import PassContext


def test_nesting():
    assert PassContext.current().opt_level == 2
    with PassContext(opt_level=0):
        assert PassContext.current().opt_level == 0
        with tvm.transform.PassContext(opt_level=3, disabled_pass=["FoldConstant"], required_pass=["SimplifyExpr"]):
            inner = PassContext.current()
            assert inner.opt_level == 3 and list(inner.disabled_pass) == ["FoldConstant"] and list(inner.required_pass) == ["SimplifyExpr"]
        assert PassContext.current().opt_level == 0
    assert PassContext.current().opt_level == 2


def test_configuration():
    with PassContext(config={"relay.FuseOps.max_depth": 10, "tir.disable_vectorize": True, "relay.backend.use_auto_scheduler": False}) as ctx:
        assert int(ctx.config["relay.FuseOps.max_depth"]) == 10 and bool(ctx.config["tir.disable_vectorize"])
        x = relay.var("x", shape=(3,))
        relay.build(tvm.IRModule.from_expr(relay.Function([x], relay.exp(x))), "llvm")
    with pytest.raises(AttributeError, match="relay.FuseOps.max_dept"):
        PassContext(config={"relay.FuseOps.max_dept": 10})
    assert "relay.FuseOps.max_depth" in PassContext.list_configs()


def test_build_config():
    with relay.build_config(opt_level=3, disabled_pass={"AlterOpLayout"}):
        assert PassContext.current().opt_level == 3


def test_threads_have_contexts_of_their_own():
    levels = []
    with PassContext(opt_level=3):
        thread = threading.Thread(target=lambda: levels.append(PassContext.current().opt_level))
        thread.start()
        thread.join()
    assert levels == [2]


def test_exceptions_leave_the_context():
    with pytest.raises(ZeroDivisionError):
        with PassContext(opt_level=1):
            1 / 0
    assert PassContext.current().opt_level == 2


def test_facts_of_passes():
    fold, fuse = relay.transform.FoldConstant(), relay.transform.FuseOps()
    assert (fold.info.name, fold.info.opt_level) == ("FoldConstant", 2) and fuse.info.name == "FuseOps"
    seq = tvm.transform.Sequential([fold, fuse], name="both")
    assert [p.info.name for p in seq.passes] == ["FoldConstant", "FuseOps"] and "both" in str(seq.info)


if __name__ == "__main__":
    pytest.main([__file__])
