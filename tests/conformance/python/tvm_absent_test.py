"""Names out of scope: scripts that look whether something is there go on, others read why it is not."""

import importlib
import re

import pytest

import tvm
from tvm import relay
from tvm._absent import REASONS


def test_scripts_may_look_for_names():
    assert not hasattr(relay.transform, "EtaExpand") and not hasattr(tvm, "autotvm") and not hasattr(relay.frontend, "from_tflite")
    assert getattr(tvm.topi.testing, "pool_grad_nchw", None) is None


@pytest.mark.parametrize("statement", [
    "import tvm.autotvm", "from tvm import autotvm", "from tvm.autotvm import task", "from tvm.relay.transform import EtaExpand",
    "from tvm.relay import SplitArgs", "from tvm.relay.frontend import from_tflite", "from tvm.topi.testing import pool_grad_nchw",
])  # fmt: skip
def test_imports_may_fail_and_say_why(statement):
    for error in (ImportError, ModuleNotFoundError, NotImplementedError):
        with pytest.raises(error, match=r"^tvm\.[\w.]+ is not there. It needs: \w"):
            exec(statement, {})


def test_attributes_say_why():
    for error in (AttributeError, NotImplementedError):
        with pytest.raises(error, match=r"^tvm.relay.transform.EtaExpand is not there. It needs: this pass, which Relay does not have$"):
            relay.transform.EtaExpand
    for nn in (relay.nn, relay.op.nn):
        with pytest.raises(AttributeError, match="bitserial_conv2d is not there. It needs: operators on packed bits"):
            nn.bitserial_conv2d
    with pytest.raises(ImportError, match="remote devices") as caught:
        importlib.import_module("tvm.rpc")
    assert caught.value.name == "tvm.rpc"


def test_names_that_nobody_knows_are_plain_errors():
    with pytest.raises(AttributeError) as caught:
        tvm.nothing_of_this_name
    assert not isinstance(caught.value, NotImplementedError)
    with pytest.raises(ImportError, match="cannot import name 'nothing'"):
        exec("from tvm.relay.transform import nothing", {})


@pytest.mark.parametrize("name", REASONS)
def test_every_reason_is_given(name):
    """By an import of the module or name, and by an import from what it is in."""
    needs = re.escape(REASONS[name])
    within, _, last = name.rstrip(".").rpartition(".")
    with pytest.raises(ImportError, match=f"It needs: {needs}"):
        exec(f"from {within} import {last}", {})
    if name.endswith("."):
        with pytest.raises(ImportError, match=f"It needs: {needs}"):
            importlib.import_module(name.rstrip("."))


@pytest.mark.parametrize("name", ["tvm.relay.transform.nothing", "tvm.relay.analysis.nothing", "tvm.relay.op.nn.nothing"])
def test_imports_of_unknown_modules_are_plain_errors(name):
    with pytest.raises(ModuleNotFoundError, match="No module named") as caught:
        importlib.import_module(name)
    assert not isinstance(caught.value, NotImplementedError)
