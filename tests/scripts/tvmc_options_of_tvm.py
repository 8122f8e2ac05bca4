"""tvmc: open extents, options that change nothing, and reasons for those that are not there."""
import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.driver import tvmc
from tvm.driver.tvmc.compiler import parse_configs
from tvm.driver.tvmc.model import TVMCException, TVMCModel

FOLDER = tempfile.mkdtemp()
MODEL = os.path.join(FOLDER, "m.relay")
PACKAGE = os.path.join(FOLDER, "m.tar")


@pytest.fixture(scope="module", autouse=True)
def files():
    with open(MODEL, "w") as file:
        file.write("def @main(%x: Tensor[(n, 3), float32], %y: Tensor[(n, 3), float32], %z: Tensor[(?, 2), float32]) { (%x + %y, exp(%z)) }")


def command(*words):
    done = subprocess.run([sys.executable, "-m", "tvm.driver.tvmc", *words], capture_output=True, text=True)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def conv():
    x, w = relay.var("x", shape=(1, 3, 8, 8)), relay.var("w", shape=(4, 3, 3, 3))
    mod = tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.relu(relay.nn.conv2d(x, w, kernel_size=(3, 3), channels=4))))
    return TVMCModel(mod, {"w": tvm.nd.array(np.random.rand(4, 3, 3, 3).astype("float32"))})


def test_open_extents():
    done = command("compile", MODEL, "-o", PACKAGE, "--executor", "graph", "--executor-graph-link-params", "0", "--runtime=cpp", "--runtime-cpp-system-lib", "1",
                   "--target", "llvm", "--target-llvm-mcpu=x86-64", "--target-llvm-num-cores", "2", "--module-name", "default", "--print-pass-times")
    assert done.returncode == 0, done.stderr
    assert "InferType" in done.stdout
    done = command("run", PACKAGE, "--outputs", os.path.join(FOLDER, "o.npz"))
    assert done.returncode == 0, done.stderr
    assert "extent n of the input x is open, and 1 in the values that are made up: give --inputs or --input-shapes for another" in done.stderr
    assert np.load(os.path.join(FOLDER, "o.npz"))["output_0"].shape == (1, 3)
    done = command("run", PACKAGE, "--input-shapes", "x:[4,3] z:[5,2]", "--outputs", os.path.join(FOLDER, "o.npz"), "--profile")
    assert done.returncode == 0 and done.stderr == "" and "Percent" in done.stdout
    results = np.load(os.path.join(FOLDER, "o.npz"))
    assert results["output_0"].shape == (4, 3) and results["output_1"].shape == (5, 2)
    np.savez(os.path.join(FOLDER, "in.npz"), y=np.ones((6, 3), "float32"), z=np.ones((1, 2), "float32"))
    done = command("run", PACKAGE, "--inputs", os.path.join(FOLDER, "in.npz"), "--outputs", os.path.join(FOLDER, "o.npz"))
    assert done.returncode == 0 and done.stderr == "" and np.load(os.path.join(FOLDER, "o.npz"))["output_0"].shape == (6, 3)
    done = command("run", PACKAGE, "--input-shapes", "x:[4,2]")
    assert done.returncode == 1 and "the input 'x' takes the shape (n, 3), not (4, 2)" in done.stderr
    done = command("run", PACKAGE, "--input-shapes", "q:[4,2]")
    assert done.returncode == 1 and "the model has no input 'q'; it has x, y, z" in done.stderr


def test_the_note_of_an_extent_in_python():
    package = tvmc.compile(tvmc.load(MODEL), target="llvm")
    with pytest.warns(UserWarning, match="extent n of the input x is open"):
        tvmc.run(package, "cpu", inputs={"z": np.ones((1, 2), "float32")})


@pytest.mark.parametrize(("words", "reason"), [
    (("compile", "--cross-compiler", "gcc", MODEL), "--cross-compiler is not there: compiled files hold machine code"),
    (("compile", "--dump-code", "asm", MODEL), "--dump-code is not there: compiled programs keep no source"),
    (("compile", "--workspace-pools=a", MODEL), "--workspace-pools is not there: the program plans its own memory"),
    (("compile", "--print-ir-after", "[FuseOps]", MODEL), "--print-ir-after is not there: give tvmc.compile instruments"),
    (("compile", "--dezired-layout", "NHWC", MODEL), "there is no option --dezired-layout; did you mean --desired-layout?"),
    (("compile", "--target-llvm-mcpu", "--output", "x", MODEL), "--target-llvm-mcpu wants a value"),
    (("run", "--rpc-tracker", "a:9090", "--rpc-key", "k", PACKAGE), "--rpc-tracker is not there: programs run in this process"),
    (("micro", "create-project"), "the command micro is not there. It needs programs for microcontrollers"),
])  # fmt: skip
def test_options_that_are_not_there(words, reason):
    done = command(*words)
    assert done.returncode == 2 and reason in done.stderr, done.stderr


def test_formats_and_records():
    done = command("compile", "-f", "mlf", MODEL, "-o", PACKAGE)
    assert done.returncode == 1 and "the format mlf is not there: it is C source for microcontrollers" in done.stderr
    log = os.path.join(FOLDER, "tuned.json")
    done = command("compile", "--tuning-records", log, MODEL, "-o", PACKAGE)
    assert done.returncode == 1 and f"there are no tuning records at {log}" in done.stderr
    done = command("tune", "--target", "llvm", "--trials", "10", "--output", log, MODEL)
    assert done.returncode == 0 and "nothing is tuned, and the log has no records" in done.stderr
    assert command("compile", "--tuning-records", log, MODEL, "-o", PACKAGE).returncode == 0


def test_tuning_in_python():
    with pytest.raises(FileNotFoundError, match="there are no tuning records at /nonexistent.json"):
        tvmc.compile(conv(), target="llvm", tuning_records="/nonexistent.json")
    with pytest.warns(UserWarning, match="nothing is tuned, and the log has no records"):
        log = tvmc.tune(conv(), target="llvm", enable_autoscheduler=True)
    assert os.path.getsize(log) == 0 and tvmc.compile(conv(), target="llvm", tuning_records=log)


def test_settings_have_the_type_of_their_key():
    assert parse_configs(["relay.FuseOps.max_depth=3", "relay.FuseOps.link_params=true", "tir.disable_vectorize=1"]) == {
        "relay.FuseOps.max_depth": 3, "relay.FuseOps.link_params": True, "tir.disable_vectorize": "1"}  # fmt: skip
    assert parse_configs(None) is None
    for text, reason in (("relay.FuseOps.max_depth=many", "takes a value of type int, not 'many'"), ("relay.FuseOps.link_params=2", "takes a value of type bool"),
                         ("relay.FuseOps.max_depth", "is no setting: write key=value")):  # fmt: skip
        with pytest.raises(TVMCException, match=reason):
            parse_configs([text])
    assert tvmc.compile(conv(), target="llvm", pass_context_configs=["relay.FuseOps.max_depth=1"]).lib.program.kernels
    done = command("compile", "--pass-config", "relay.FuseOps.max_depth=3", MODEL, "-o", PACKAGE)
    assert done.returncode == 0, done.stderr


def test_layouts():
    data = np.random.rand(1, 3, 8, 8).astype("float32")
    model = conv()
    plain = tvmc.run(tvmc.compile(model, target="llvm"), "cpu", inputs={"x": data}).get_output("output_0")
    for layout in ("NHWC", ["NHWC:HWIO"], ["NHWC", "NHWC", "NHWC"]):
        package = tvmc.compile(model, target="llvm", desired_layout=layout)
        np.testing.assert_allclose(tvmc.run(package, "cpu", inputs={"x": data}).get_output("output_0"), plain, rtol=1e-4)
    converted = tvmc.compiler.convert_graph_layout(model.mod, "NHWC")
    assert 'data_layout="NHWC"' in converted.astext()
    assert 'kernel_layout="OHWI"' in tvmc.compiler.convert_graph_layout(model.mod, ["NHWC:OHWI"], ["nn.conv2d"]).astext()
    with pytest.raises(TVMCException, match="2 layouts for 3 operators: give one, or one for each"):
        tvmc.compile(model, target="llvm", desired_layout=["NHWC", "NCHW"])


def test_arguments_that_are_not_there():
    for name, value in (("dump_code", ["asm"]), ("cross", "gcc"), ("workspace_pools", object())):
        with pytest.raises(NotImplementedError, match=rf"tvmc.compile\({name}=…\) is not there: "):
            tvmc.compile(conv(), target="llvm", **{name: value})
    with pytest.raises(TypeError, match="tvmc.compile has no argument speed"):
        tvmc.compile(conv(), target="llvm", speed=9)
    package = tvmc.compile(conv(), target="llvm")
    assert package.lib_path == package.package_path  # one file of code and constants
    assert "nodes" in package.graph and tvmc.TVMCPackage(package.package_path).graph is None
    with pytest.raises(NotImplementedError, match=r"tvmc.run\(hostname=…\) is not there: programs run in this process"):
        tvmc.run(package, "cpu", hostname="board")


if __name__ == "__main__":
    warnings.simplefilter("default")
    pytest.main([__file__])
