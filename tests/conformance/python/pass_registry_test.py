"""Every registered pass has all that a pass must have: the passes are those of the registry, and what each lacks fails here."""

import os
import re
import subprocess
from pathlib import Path

import pytest

import relay

ROOT = Path(__file__).resolve().parents[3]
RELAY = os.environ.get("RELAY_BIN", str(ROOT / "build/bin/relay"))
NAMES = relay.transform.names()

# Passes of Relay alone. TVM has some of them under another name, which stands here.
NOT_IN_TVM = {
    "ApplyRules": "rules as text are Relay's",
    "DenseToSparse2": "TVM has the like of it for convolutions alone",
    "ExpandGradients": "grad is an operator of functions in Relay",
    "ExpandOps": "operators that others define are Relay's",
    "GenerateExternalCode": "relay.build does it in TVM",
    "Gradient": "transform.gradient takes a function in TVM",
    "InlineCompilerFunctions": "InlineCompilerFunctionsBoundTo takes global variables",
    "QnnCanonicalize": "relay.qnn.transform.CanonicalizeOps",
    "QnnLegalize": "relay.qnn.transform.Legalize",
    "Quantize": "quantize.quantize takes a module",
    "QuantizeAnnotate": "quantize.annotate",
    "QuantizeCalibrate": "quantize.calibrate",
    "QuantizePartition": "quantize.partition",
    "QuantizeRealize": "quantize.realize",
    "UnCPS": "transform.un_cps takes a function in TVM",
}

# Passes that the list of properties does not run, and the files that test their results: generated programs have nothing for them, or the result has another signature.
NO_PROPERTY = {
    "Defunctionalization": "tests/transform/defunctionalization.rly",  # takes programs whose functions are all monomorphic
    "FirstOrderGradient": "tests/transform/gradient_first_order.rly",  # the result has another signature
    "Gradient": "tests/transform/gradient_if.rly",
    "FlexibleShapeDispatch": "tests/transform/flexible_shape_dispatch.rly",  # is of one parameter whose extent is open
    "GenerateExternalCode": "tests/python/test_codegen.py",  # asks generators, which tests register
    "InlineCompilerFunctionsBoundTo": "tests/transform/compiler_functions.rly",  # is of functions by name
}


def read(*folders):
    return "\n".join(path.read_text(errors="ignore") for folder in folders for path in sorted((ROOT / "tests" / folder).rglob("*")) if path.is_file())


RUNS = "\n".join(line for line in read("transform", "program").splitlines() if "RUN:" in line)
PROPERTIES = (ROOT / "tests/unit/transform_property_test.cpp").read_text()
PAGE = (ROOT / "docs/passes.md").read_text()


def named(name, text):
    return re.search(rf"\b{name}\b", text) is not None


def test_the_command_lists_them():
    out = subprocess.run([RELAY, "opt", "--list"], capture_output=True, text=True, check=True).stdout
    assert re.findall(r"^(\w+) +level \d", out, re.MULTILINE) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_pass(name):
    assert named(name, RUNS), "no golden test runs it"
    assert f"## {name}\n" in PAGE, "it has no section in docs/passes.md"
    assert callable(getattr(relay.transform, name)), "relay.transform does not have it"
    assert named(name, PROPERTIES) or name in NO_PROPERTY, "the property test does not run it"


@pytest.mark.parametrize("name", [name for name in NAMES if name not in NOT_IN_TVM])
def test_pass_of_tvm(name):
    import tvm

    made = getattr(tvm.relay.transform, name)
    assert "is not there" not in repr(made) and "which is not here" not in repr(made)


def test_exceptions_are_of_passes_and_needed():
    import tvm

    assert set(NOT_IN_TVM) | set(NO_PROPERTY) <= set(NAMES)
    for name in NOT_IN_TVM:
        assert name not in dir(tvm.relay.transform), f"{name} is there by now"
    for name, file in NO_PROPERTY.items():
        assert not named(name, PROPERTIES), f"the property test runs {name} by now"
        assert (ROOT / file).exists() and named(name, (ROOT / file).read_text()), file


def test_batching_ops_follow_the_level():
    import tvm
    from tvm import relay as tvm_relay

    x, *weights = (tvm_relay.var(name, shape=shape) for name, shape in (("x", (4, 8)), ("a", (3, 8)), ("b", (3, 8)), ("c", (3, 8))))
    products = tvm_relay.Tuple([tvm_relay.nn.dense(x, weight) for weight in weights])
    mod = tvm.IRModule.from_expr(tvm_relay.Function([x, *weights], products))
    for level, count in ((2, {"nn.dense": 3}), (4, {"nn.batch_matmul": 1})):
        with tvm.transform.PassContext(opt_level=level):
            frequencies = tvm_relay.analysis.list_op_freqs(tvm_relay.transform.BatchingOps()(mod))
        assert {name: frequencies.get(name) for name in count} == count
