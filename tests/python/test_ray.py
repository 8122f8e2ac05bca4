"""`relay.ray`: programs on workers of Ray. Skipped where Ray is not installed."""

import importlib.util
import json
import os
import signal
import socket
import stat
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relay

if importlib.util.find_spec("ray") is None or importlib.util.find_spec("pyarrow") is None:
    pytest.skip("Ray is not installed (the extra relay-lang[ray])", allow_module_level=True)

import pyarrow as pa
import pyarrow.parquet as pq
import ray

from relay.ray import Batches, JobError, Program, infer, infer_parquet, tune, validate

ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers do not have the folder of this test in their path
TEXT = "def @main(%x: Tensor[(n, 2, 2), float32], %k: Tensor[(n), int64]) { (nn.relu(%x), cast(%k, dtype=\"float32\") + sum(%x, axis=[1, 2])) }"
FIXED = "def @main(%x: Tensor[(4, 3), float32]) { %x * 2f }"
ROWS = 600
COLUMNS = {"x": "picture", "k": "number"}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Ray with three cores by name, whatever the machine has, and programs in a folder of this test."""
    place = tmp_path_factory.mktemp("programs")
    place.chmod(0o700)
    os.environ["RELAY_RAY_DIR"] = str(place)
    variables = {"RELAY_RAY_DIR": str(place), "PYTHONPATH": os.pathsep.join(os.path.abspath(p) for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p)}
    ray.init("local", num_cpus=3, include_dashboard=False, log_to_driver=False, object_store_memory=100 << 20, runtime_env={"env_vars": variables})
    yield
    ray.shutdown()
    del os.environ["RELAY_RAY_DIR"]


@pytest.fixture(scope="module")
def program(cluster: None) -> Program:
    return Program(relay.compile(relay.parse(TEXT)))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three files of 200 rows in groups of 50: the number of the row, four floats, an integer."""
    folder = tmp_path_factory.mktemp("data")
    for i in range(3):
        number = np.arange(200 * i, 200 * i + 200)
        picture = pa.FixedSizeListArray.from_arrays(pa.array(pictures(number).ravel()), 4)
        pq.write_table(pa.table({"row": number, "picture": picture, "number": number % 7}), folder / f"{i}.parquet", row_group_size=50)
    return folder


def pictures(number: Any) -> Any:
    return (np.stack([number, -number, number + 1, number * 0], 1) / 10).astype("float32")


def slow(batch: dict[str, Any]) -> dict[str, Any]:
    time.sleep(0.1)
    return batch


def check(rows: list[dict[str, Any]]) -> None:
    """Every row once, with its right results."""
    rows = sorted(rows, key=lambda row: row["row"])
    assert [row["row"] for row in rows] == list(range(ROWS))
    number = np.arange(ROWS)
    positive = np.maximum(pictures(number), 0)
    np.testing.assert_allclose([np.asarray(row["output_0"]).ravel() for row in rows], positive, rtol=1e-6)
    np.testing.assert_allclose([row["output_1"] for row in rows], number % 7 + pictures(number).sum(1), rtol=1e-4, atol=1e-4)


def results(folder: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for file in sorted(folder.glob("*.parquet")):
        rows += pq.read_table(file).to_pylist()
    return rows


def test_program_is_one_file_on_the_node(cluster: None) -> None:
    x = relay.var("x", shape=(1, 1024))
    weights = np.random.default_rng(0).standard_normal((512, 1024)).astype("float32")  # small files are not kept mapped
    program = Program(relay.compile(relay.IRModule.from_expr(relay.Function([x], relay.nn.dense(x, relay.const(weights))))))
    file = program.file()
    assert program.file() == file and stat.S_IMODE(file.stat().st_mode) == 0o444 and program.size > weights.nbytes
    assert Program(str(file)).digest == program.digest

    @ray.remote
    def maps(program: Program) -> tuple[str, float, bool]:
        loaded = program.load()
        total = float(loaded(np.ones((1, 1024), "float32")).sum())
        return str(program.file()), total, str(program.file()) in Path("/proc/self/maps").read_text()

    found = ray.get([maps.remote(program), maps.remote(program)])
    assert found == [(str(file), found[0][1], True)] * 2 and abs(found[0][1] - weights.sum()) < 1


def test_program_refuses(cluster: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TypeError, match="a program is a relay.Executable or the path of a .rlx file, not int"):
        Program(3)  # type: ignore[arg-type]
    (tmp_path / "no.rlx").write_text("no")
    with pytest.raises(relay.RelayError, match="no.rlx"):
        Program(tmp_path / "no.rlx")
    tmp_path.chmod(0o777)
    monkeypatch.setenv("RELAY_RAY_DIR", str(tmp_path))
    with pytest.raises(relay.RelayError, match="others may write to it"):
        Program(relay.compile(relay.parse(FIXED))).file()


def test_batches(program: Program) -> None:
    batch = {"row": np.arange(3), "picture": pictures(np.arange(3)), "number": np.arange(3, dtype="int32")}
    made = Batches(program, COLUMNS, outputs=["a", "b"])(batch)
    assert list(made) == ["row", "a", "b"] and made["a"].shape == (3, 2, 2) and made["b"].shape == (3,)
    lists = {**batch, "picture": np.array([list(row) for row in batch["picture"]] + [None], object)[:3]}
    again = Batches(program, COLUMNS, keep=[], finish=lambda results: {"sum": results["output_1"]})(lists)
    assert list(again) == ["sum"] and np.array_equal(again["sum"], made["b"])


def test_batches_of_a_fixed_size(cluster: None) -> None:
    fixed = Batches(Program(relay.compile(relay.parse(FIXED))))
    x = np.arange(30, dtype="float32").reshape(10, 3)
    assert np.array_equal(fixed({"x": x})["output_0"], x * 2)


def test_results_replace_no_column_unasked(program: Program) -> None:
    batch = {"output_1": np.arange(3), "x": pictures(np.arange(3)), "k": np.arange(3, dtype="int64")}
    for keep in (None, ["k", "output_1"]):
        with pytest.raises(relay.RelayError, match="the result output_1 of the program has the name of a column that stays: give outputs=.* or keep="):
            Batches(program, keep=keep)(batch)
    assert list(Batches(program, keep=["k"])(batch)) == ["k", "output_0", "output_1"]
    assert list(Batches(program, outputs=["a", "b"])(batch)) == ["output_1", "a", "b"]
    assert Batches(program, outputs=["a", "output_1"])(batch)["output_1"].dtype == np.float32


@pytest.mark.parametrize(
    ("arguments", "batch", "message"),
    [
        ({"columns": {"y": "z"}}, None, "the program has no parameter y; it has x, k"),
        ({"outputs": ["a"]}, None, "the program returns 2 tensors, and outputs names 1"),
        ({"entry": "other"}, None, "the program has no function other; it has main"),
        ({}, {"x": np.zeros((1, 4), "float32")}, "the batch has no column k for the parameter k; it has x"),
        ({}, {"x": np.zeros((1, 4), "float32"), "k": np.zeros(1)}, "the column k is float64, and the parameter k wants int64"),
        ({}, {"x": np.zeros((1, 4), "float32"), "k": np.zeros(2, "int64")}, "the columns have different numbers of rows: x 1, k 2"),
        ({}, {"x": np.array([[1.0], [1.0, 2.0]], object), "k": np.zeros(2, "int64")}, "rows of the column x do not make one tensor"),
        ({"keep": ["z"]}, {"x": np.zeros((1, 4), "float32"), "k": np.zeros(1, "int64")}, "the batch has no column z to keep; it has x, k"),
    ],
)
def test_batches_refuse(program: Program, arguments: dict[str, Any], batch: dict[str, Any] | None, message: str) -> None:
    with pytest.raises(relay.RelayError, match=message):
        Batches(program, **arguments)(batch or {})


def test_dataset_survives_killed_workers(program: Program, data: Path) -> None:
    dataset = infer(ray.data.read_parquet(str(data)), program, columns=COLUMNS, batch_size=20, workers=2, prepare=slow)
    kill_soon("MapWorker")
    check(dataset.take_all())


def kill_soon(name: str) -> threading.Thread:
    """Kills (-9) the first worker whose title has the name."""

    def kill() -> None:
        for _ in range(6000):
            for process in Path("/proc").glob("[0-9]*"):
                try:
                    title, parent = (process / "cmdline").read_bytes(), (process / "stat").read_text()
                except OSError:
                    continue
                if title.startswith(b"ray::") and name.encode() in title and b"IDLE" not in title and ours(int(parent.rsplit(")", 1)[1].split()[1])):
                    os.kill(int(process.name), signal.SIGKILL)
                    return
            time.sleep(0.02)

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


def ours(parent: int) -> bool:
    """True for the daemon of this test's Ray, whose parent is this process."""
    try:
        return f"PPid:\t{os.getpid()}\n" in Path(f"/proc/{parent}/status").read_text()
    except OSError:
        return False


def test_parquet_survives_killed_workers(program: Program, data: Path, tmp_path: Path) -> None:
    thread = kill_soon("_Worker.run")  # it has begun a part
    done = infer_parquet(data, tmp_path, program, columns=COLUMNS, batch_size=10, rows=50, workers=2, prepare=slow)
    thread.join()
    assert (done.rows, done.rows_before, len(done.files)) == (ROWS, 0, 12) and done.deaths == 1
    check(results(tmp_path))
    assert sorted(file.name for file in tmp_path.iterdir()) == ["_job.json", "_lock", *(f"part-{i:06}.parquet" for i in range(12))]


class Stopped(Exception):
    pass


def test_parquet_goes_on(program: Program, data: Path, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []

    def stop(rows: int, total: int, left: float) -> None:
        assert left >= 0
        seen.append((rows, total))
        if len(seen) == 4:
            raise Stopped

    with pytest.raises(Stopped):
        infer_parquet(data, tmp_path, program, columns=COLUMNS, rows=50, progress=stop)
    assert seen[-1] == (200, ROWS)
    (tmp_path / ".part-000011.parquet.0.tmp").write_bytes(b"half")
    times = {file.name: file.stat().st_mtime_ns for file in tmp_path.glob("*.parquet")}
    done = infer_parquet(data, tmp_path, program, columns=COLUMNS, rows=50)
    assert 200 <= done.rows_before == 50 * len(times) < ROWS
    assert all((tmp_path / name).stat().st_mtime_ns == made for name, made in times.items())
    check(results(tmp_path))
    assert not list(tmp_path.glob(".*"))
    assert infer_parquet(data, tmp_path, program, columns=COLUMNS, rows=50).rows_before == ROWS
    assert pq.read_schema(tmp_path / "part-000000.parquet").field("row").type == pa.int64()


def refuse(batch: dict[str, Any]) -> dict[str, Any]:
    if 250 in batch["row"]:
        raise ValueError("no such picture")
    return batch


def die(batch: dict[str, Any]) -> dict[str, Any]:
    if 250 in batch["row"]:
        os.kill(os.getpid(), signal.SIGKILL)
    return batch


def test_parquet_refuses(program: Program, data: Path, tmp_path: Path) -> None:
    with pytest.raises(JobError, match="there is no Parquet file at .*nowhere"):
        infer_parquet(data / "nowhere", tmp_path, program)
    (tmp_path / "no.parquet").write_text("no")
    with pytest.raises(JobError, match="no.parquet is no Parquet file that can be read"):
        infer_parquet(tmp_path / "no.parquet", tmp_path / "a", program)
    with pytest.raises(relay.RelayError, match="no parameter y"):
        infer_parquet(data, tmp_path / "a", program, columns={"y": "z"})
    with pytest.raises(JobError, match=r"1.parquet, row groups 1 to 1: .*no such picture"):
        infer_parquet(data, tmp_path / "a", program, columns=COLUMNS, rows=50, prepare=refuse)
    with pytest.raises(JobError, match=r"has results of another job \(prepare differ\)"):
        infer_parquet(data, tmp_path / "a", program, columns=COLUMNS, rows=50)
    with pytest.raises(JobError, match="has Parquet files that are not of this job"):
        infer_parquet(data, data, program, columns=COLUMNS)
    (tmp_path / "a" / "_job.json").write_text("{")
    with pytest.raises(JobError, match="_job.json is damaged"):
        infer_parquet(data, tmp_path / "a", program, columns=COLUMNS, rows=50)
    with pytest.raises(JobError, match=r"1.parquet, row groups 1 to 1: 4 workers died of it"):
        infer_parquet(data, tmp_path / "b", program, columns=COLUMNS, rows=50, workers=1, prepare=die)


def test_parquet_one_job_at_a_time(program: Program, data: Path, tmp_path: Path) -> None:
    def again(*_: Any) -> None:
        with pytest.raises(JobError, match="another job writes to"):
            infer_parquet(data, tmp_path, program, columns=COLUMNS)

    infer_parquet(data, tmp_path, program, columns=COLUMNS, progress=again)
    check(results(tmp_path))


def crash(path: str) -> list[Any]:
    if "three" in path:
        os.kill(os.getpid(), signal.SIGKILL)
    return [np.ones((2, 3), "float32")]


def test_validate_and_tune(cluster: None, tmp_path: Path) -> None:
    texts = {"one": "def @main(%x: Tensor[(n, 3), float32]) { exp(%x) }", "two": "def @main(%x: Tensor[(n, 3), float32]) { exp(%x }", "three": TEXT}
    for name, text in texts.items():
        (tmp_path / f"{name}.rly").write_text(text)
    models = [tmp_path / f"{name}.rly" for name in texts]
    rows = validate(models)
    assert [row["ok"] for row in rows] == [True, False, True] and rows[0]["difference"] < 1e-6
    assert "two.rly:1" in rows[1]["error"] and [row["model"] for row in rows] == [str(model) for model in models]
    rows = validate(models[::2], inputs=crash, expected=lambda path, arrays: arrays[0], retries=0)
    assert rows[0]["error"].startswith("results differ by") and rows[1]["error"].startswith("its process died")
    tuned = tune(models[:2], [{"opt_level": 0}, {"opt_level": 3}, {"opt_level": 9}], seconds=0.05)
    one = tuned[str(models[0])]
    assert [row["error"] is None for row in one] == [True, True, False] and one[0]["median"] <= one[1]["median"]
    assert {row["candidate"]["opt_level"] for row in one[:2]} == {0, 3} and one[0]["runs"] >= 3
    assert all("two.rly:1" in row["error"] for row in tuned[str(models[1])])


@pytest.mark.skipif(importlib.util.find_spec("orjson") is None, reason="orjson is not installed")
def test_deployment(program: Program) -> None:
    from ray import serve

    from relay.ray import deployment

    with pytest.raises(TypeError, match="surprise"):
        deployment({"m": program}, surprise=1)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    serve.start(http_options={"port": port, "host": "127.0.0.1"})
    try:
        handle = serve.run(deployment({"m": program}, batch="n"), route_prefix="/")
        x = pictures(np.arange(2)).reshape(2, 2, 2)
        arrays = {"x": x, "k": np.array([1, 2])}
        inside: Any = handle.infer.remote("m", arrays).result(timeout_s=120)
        np.testing.assert_allclose(inside[0], np.maximum(x, 0))
        with pytest.raises(Exception, match="m takes x, k, not y"):
            handle.infer.remote("m", {"y": x}).result(timeout_s=120)
        query = {"inputs": [{"name": "x", "datatype": "FP32", "shape": [2, 2, 2], "data": x.ravel().tolist()}, {"name": "k", "datatype": "INT64", "shape": [2], "data": [1, 2]}]}
        request = urllib.request.Request(f"http://127.0.0.1:{port}/v2/models/m/infer", json.dumps(query).encode())
        with urllib.request.urlopen(request, timeout=60) as answer:
            outputs = json.load(answer)["outputs"]
        np.testing.assert_allclose(outputs[1]["data"], inside[1])
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/v2/models/m", timeout=60) as answer:
            assert json.load(answer)["name"] == "m"
    finally:
        serve.shutdown()
