"""The training programs of examples/: they learn, and nothing of a run that is killed is lost."""

import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import relay
from relay.optim import checkpoint

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
PATIENCE = 300 * float(os.environ.get("RELAY_TIMEOUT_FACTOR", "1"))


def command(example, *options):
    return [sys.executable, str(EXAMPLES / example / "train.py"), *map(str, options)]


def run(example, *options, status=0):
    done = subprocess.run(command(example, *options), capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_digits_are_learned_from_random_weights(tmp_path):
    printed = run("train_digits", "--plot", tmp_path / "plot.svg")
    assert re.search(r"epoch 40 of 40: loss 0\.\d+, accuracy 0\.9\d+, 0\.0 s left", printed)
    assert float(re.search(r"^accuracy: ([\d.]+)", printed, re.MULTILINE)[1]) >= 0.97
    drawing = (tmp_path / "plot.svg").read_text()
    assert drawing.startswith("<svg") and drawing.count("<polyline") == 2 and "40 epochs" in drawing


SMALL = ["--images", 256, "--epochs", 12, "--threads", 1, "--least", 0]


def test_a_training_that_is_killed_again_and_again_ends_with_the_same_weights(tmp_path):
    run("train_digits", *SMALL, "--weights", tmp_path / "whole.npz")
    options = [*SMALL, "--weights", tmp_path / "parts.npz", "--checkpoint", tmp_path / "kept.npz"]
    killed = 0
    for turn in range(40):
        process = subprocess.Popen(command("train_digits", *options), stdout=subprocess.PIPE, text=True)
        # Killed some milliseconds after the first epoch of its own: within a step, while it writes, between two epochs.
        for line in process.stdout:
            if line.startswith("epoch"):
                break
        time.sleep(0.002 * turn)
        process.kill()
        process.stdout.close()
        if process.wait() == 0:
            break
        killed += 1
    run("train_digits", *options)
    assert killed >= 3
    with np.load(tmp_path / "whole.npz") as whole, np.load(tmp_path / "parts.npz") as parts:
        assert whole.files == parts.files and len(whole.files) == 6
        for name in whole.files:
            np.testing.assert_array_equal(whole[name], parts[name])


def test_a_checkpoint_is_whole_at_whatever_byte_the_process_is_killed(tmp_path):
    """The kernel kills a process that writes beyond its limit: here while it saves, at bytes from the first to the last."""
    path = tmp_path / "kept.npz"
    checkpoint.save(path, weights=(np.arange(100.0), (np.float32(1), ())), step=1)
    save = (
        "import numpy as np, sys\nfrom relay.optim import checkpoint\n"
        "checkpoint.save(sys.argv[1], weights=(np.arange(100.0) + 1, (np.float32(2), ())), step=2)"
    )
    length = path.stat().st_size
    for limit in [0, 1, 30, length // 3, length // 2, length - 1, length]:

        def limited(limit=limit):
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        program = "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_DFL)\n" + save
        done = subprocess.run([sys.executable, "-c", program, path], preexec_fn=limited, env=environment, capture_output=True)
        kept = checkpoint.load(path)
        if limit < length:
            assert done.returncode == -signal.SIGXFSZ, done.stderr
        else:
            assert done.returncode == 0, done.stderr
        assert int(kept["step"]) == (1 if limit < length else 2)
        assert kept["weights"][1][1] == () and kept["weights"][0].tolist() == [x + (limit >= length) for x in range(100)]


def test_what_is_no_checkpoint_is_refused(tmp_path):
    assert checkpoint.load(tmp_path / "none.npz") is None
    (tmp_path / "text.npz").write_text("weights")
    whole = tmp_path / "whole.npz"
    checkpoint.save(whole, weights=np.zeros(100))
    (tmp_path / "half.npz").write_bytes(whole.read_bytes()[:200])
    np.savez(tmp_path / "other.npz", weights=np.zeros(3))
    for name in ("text", "half", "other"):
        with pytest.raises(ValueError, match="is no checkpoint"):
            checkpoint.load(tmp_path / f"{name}.npz")
    with pytest.raises(TypeError, match="weights.1 is no tree of arrays"):
        checkpoint.save(whole, weights=(1.0, "text"))
    assert checkpoint.load(whole)["weights"].shape == (100,)


def test_a_checkpoint_keeps_dictionaries_lists_and_tuples(tmp_path):
    path = tmp_path / "kept.npz"
    layer = {"w": np.ones((2, 3)), "b.#!\0": np.float32(1), "": (), "ä": {}}
    checkpoint.save(path, net={"layers": [layer, [layer]], "more": (layer,)}, empty=[])
    kept = checkpoint.load(path)
    assert kept["empty"] == [] and list(kept["net"]) == ["layers", "more"] and isinstance(kept["net"]["more"], tuple)
    for found in (kept["net"]["layers"][0], kept["net"]["layers"][1][0], kept["net"]["more"][0]):
        assert list(found) == list(layer) and found[""] == () and found["ä"] == {} and (found["w"] == 1).all()
    with pytest.raises(TypeError, match="^net.0 is a dictionary whose keys are not all texts"):
        checkpoint.save(path, net=[{1: 2.0}])
    assert checkpoint.load(path)["empty"] == []
    arrays = dict(np.load(path))
    for keys in (b"", b"[", b"[1, 2]", b'["layers"]', b'{"layers": 1, "more": 2}', b"\xff"):
        np.savez(path, **{**arrays, "net#keys": np.frombuffer(keys, "uint8")})
        with pytest.raises(ValueError, match="kept.npz is no checkpoint"):
            checkpoint.load(path)


def test_files_and_folders_that_are_no_checkpoint_say_why(tmp_path):
    (tmp_path / "text.npz").write_text("hello")
    np.save(tmp_path / "array.npy", np.ones(3))
    np.savez(tmp_path / "objects.npz", a=np.array([None]))
    for name, why in [("text.npz", r"it is no archive of arrays \(.npz\)"), ("array.npy", "it is no archive of arrays"),
                      ("objects.npz", "it has something else than arrays of numbers in it"), ("", "Is a directory")]:  # fmt: skip
        with pytest.raises(ValueError, match=f"is no checkpoint: .*{why}"):
            checkpoint.load(tmp_path / name)
    with pytest.raises(FileNotFoundError, match="'[^']*none'$"):
        checkpoint.save(tmp_path / "none" / "d.npz", a=np.ones(3))
    for value, what in [(None, "a NoneType"), ("text", "a str"), (np.array([None]), "an array of dtype object"), (relay.TensorType((2,)), "a TensorType")]:
        with pytest.raises(TypeError, match=f"^a.0 is no tree of arrays: it has {what} in it$"):
            checkpoint.save(tmp_path / "d.npz", a=[value])


def test_a_checkpoint_of_values_of_data_types(tmp_path):
    """Of any depth, and beside arrays; what a module does not fit is refused."""
    types = """
    type List[A] { Cons(A, List[A]), Nil }
    type Net { Layer(Tensor[(2), float32], (float32, int64), List[Tensor[(3), float64]]) }
    """
    mod = relay.parse(
        types
        + """
    def @main(%net: Net) { match (%net) { Layer(%w, %pair, %rows) => (%w, %pair.0, %pair.1, @sum(%rows)) } }
    def @sum(%rows: List[Tensor[(3), float64]]) -> Tensor[(3), float64] {
      match (%rows) { Cons(%x, %others) => %x + @sum(%others), Nil => zeros(shape=[3], dtype="float64") }
    }
    """
    )
    rows = relay.Value(mod.constructor("Nil"), [])
    for i in range(10_000):
        rows = relay.Value(mod.constructor("Cons"), [np.full(3, i, "float64"), rows])
    net = relay.Value(mod.constructor("Layer"), [np.arange(2, dtype="float32"), (np.float32(1.5), np.int64(2**40)), rows])
    path = tmp_path / "net.npz"
    checkpoint.save(path, net=net, both=(1, (net, np.zeros(3))), step=7)
    kept = checkpoint.load(path, mod)
    assert list(kept) == ["net", "both", "step"] and int(kept["step"]) == 7 and kept["both"][1][1].shape == (3,)
    parts = relay.compile(mod)
    for value in (kept["net"], kept["both"][1][0]):
        for found, wanted in zip(parts(value), parts(net)):
            np.testing.assert_array_equal(found, wanted)
            assert found.dtype == wanted.dtype
    with pytest.raises(TypeError, match=r"net has values of data types: give the module that defines them, load\(path, mod\)"):
        checkpoint.load(path)
    for other in ("def @main() { 0 }", types.replace("Cons(A, List[A])", "Cons(A)") + "def @main() { 0 }"):
        with pytest.raises(ValueError, match="does not fit the module: .*(no constructor|takes 1 field)"):
            checkpoint.load(path, relay.parse(other))
    with pytest.raises(TypeError, match="net is no tree of arrays: it has a reference in it"):
        checkpoint.save(path, net=relay.Value(mod.constructor("Cons"), [relay.Value.reference(1.0), rows]))
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    damaged = {
        "net!": [arrays["net!"][1:], arrays["net!"][:, None], arrays["net!"] + 0.5, arrays["net!"] - 9, arrays["net!"].astype(str)],
        "net!constructors": [np.array("Cons"), np.array([1, 2])],
        "net!fields": [np.array(2), np.array(["2", "0", "3"])],
        "net!0": [np.array(1.0), arrays["net!0"][:0]],
    }
    for name, wrong in damaged.items():
        for array in wrong:
            np.savez(path, **{**arrays, name: array})
            with pytest.raises(ValueError, match="is no checkpoint"):
                checkpoint.load(path, mod)
    with pytest.raises(ValueError, match="the name of a tree has no '.', '#' or '!' in it: 'net!'"):
        checkpoint.save(path, **{"net!": 1})


def test_a_checkpoint_keeps_numbers_of_float64_in_values(tmp_path):
    mod = relay.parse("type Net { Net(Tensor[(2), float64], float64) }\ndef @main(%n: Net) { %n }")
    net = relay.Value(mod.constructor("Net"), [np.ones(2), np.array(0.1)])
    checkpoint.save(tmp_path / "net.npz", net=net)
    assert checkpoint.load(tmp_path / "net.npz", mod)["net"] == net


def test_a_checkpoint_of_another_training_is_refused(tmp_path):
    kept = tmp_path / "kept.npz"
    run("train_digits", "--images", 64, "--epochs", 1, "--least", 0, "--checkpoint", kept)
    printed = run("train_digits", "--images", 64, "--epochs", 2, "--least", 0, "--checkpoint", kept, status=1)
    assert "is of another training: of seed, epochs and images [1, 1, 64]" in printed
    assert "train on that many or more, not on 63" in run("train_digits", "--images", 63, status=1)
    (tmp_path / "text.npz").write_text("weights")
    assert "is no checkpoint" in run("train_digits", "--checkpoint", tmp_path / "text.npz", status=1)


def test_the_losses_of_the_transformer_are_those_of_pytorch(tmp_path):
    printed = run("train_char_lm", "--check")
    assert re.search(r"50 steps: losses from 4\.\d+ to 2\.\d+, the largest relative difference from PyTorch is \d\.\de-0[5-9]", printed)


def test_the_transformer_goes_on_from_its_checkpoint(tmp_path):
    whole = run("train_char_lm", "--steps", 6, "--every", 3, "--threads", 1)
    kept = tmp_path / "kept.npz"
    run("train_char_lm", "--steps", 3, "--every", 3, "--threads", 1, "--checkpoint", kept)
    rest = run("train_char_lm", "--steps", 6, "--every", 3, "--threads", 1, "--checkpoint", kept)
    assert "going on after step 3" in rest
    assert re.search(r"step 6 of 6: loss ([\d.]+)", whole)[1] == re.search(r"step 6 of 6: loss ([\d.]+)", rest)[1]


@pytest.mark.parametrize("model", ["digits", "char_lm"])
def test_a_step_of_the_benchmark_lowers_the_loss(model):
    script = EXAMPLES.parent / "benchmarks" / "training.py"
    options = ["--worker", "relay", "--models", model, "--threads", "1", "--steps", "1"]
    done = subprocess.run([sys.executable, str(script), *options], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["losses"][0] > found["losses"][1] > found["losses"][2] > 0


def test_trees_are_learned():
    printed = run("train_tree_lstm", "--steps", 120, "--least", 0.8)
    losses = [float(loss) for loss in re.findall(r"loss ([\d.]+)", printed)]
    assert len(losses) == 3 and losses[0] > losses[1] > losses[2]


def test_a_law_of_motion_is_learned_through_a_loop_of_unknown_length():
    printed = run("neural_ode", "--steps", 100, "--check")
    assert printed.count("the largest difference of the gradient from central differences is") == 2
    assert len(set(re.findall(r"(\d+) steps of the solver", printed))) >= 1
