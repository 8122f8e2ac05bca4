#!/usr/bin/env python3
"""`infer_parquet` and Ray Data on 1 and 2 workers, and on three nodes that are simulated on this machine; in some runs a worker is killed.

    PYTHONPATH=build/python .venv-peers/bin/python benchmarks/ray_batches.py build/models/resnet18.onnx --rows 400

needs ray[data] and pyarrow. The model runs on made-up rows that come from Parquet files; workers have one thread each.
"""

from __future__ import annotations

import argparse
import math
import os
import shutil
import signal
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import ray
from ray.cluster_utils import Cluster

import relay
from relay.ray import Program, infer, infer_parquet


def write_rows(folder: Path, shape: list[int], rows: int, group: int) -> None:
    """Bytes, as pictures are: four files."""
    folder.mkdir()
    random, size = np.random.default_rng(0), int(np.prod(shape))
    each = rows // 4
    for i in range(4):
        numbers = random.integers(0, 256, each * size, "uint8")
        column = pa.FixedSizeListArray.from_arrays(pa.array(numbers), size)
        pq.write_table(pa.table({"id": np.arange(i * each, (i + 1) * each), "x": column}), folder / f"{i}.parquet", row_group_size=group)


def watcher(kill_after: float, seen: list[tuple[float, int]]) -> Any:
    """Told of the progress, notes when so many rows were done, and kills one worker of this user after some rows."""
    killed: list[int] = []

    def told(done: int, _total: int, _left: float) -> None:
        seen.append((time.perf_counter(), done))
        if done < kill_after or killed:
            return
        for process in Path("/proc").glob("[0-9]*"):
            try:
                title = (process / "cmdline").read_bytes()
            except OSError:
                continue
            if title.startswith(b"ray::_Worker") and process.stat().st_uid == os.getuid():
                killed.append(int(process.name))
                os.kill(killed[0], signal.SIGKILL)
                return

    return told


def whole(folder: Path, rows: int) -> bool:
    """True if each row is there once."""
    return sorted(pq.read_table(folder, columns=["id"])["id"].to_pylist()) == list(range(rows))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("model", help="an ONNX model of one input")
    parser.add_argument("--rows", type=int, default=400)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--group", type=int, default=20, help="rows of a part")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--nodes", type=int, nargs="+", default=[1, 3], choices=[1, 3])
    parser.add_argument("--by", nargs="+", default=["infer_parquet", "Ray Data", "killed"])
    options = parser.parse_args()
    options.rows -= options.rows % 4  # four files
    module, _ = relay.frontend.from_onnx(options.model)
    executable = relay.compile(module, threads=1)
    name = executable.parameters[0][0]
    main_type: Any = module["main"].params[0].checked_type
    shape = [int(text) if (text := str(dim)).isdigit() else 1 for dim in main_type.shape][1:]

    def prepared(batch: dict[str, Any]) -> dict[str, Any]:
        return {name: batch["x"].reshape(-1, *shape).astype("float32") / 127.5 - 1}

    good = True
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        write_rows(place / "rows", shape, options.rows, options.group)
        alone = np.zeros((options.batch, *shape), "float32")
        executable(alone)
        times = []
        for _ in range(10):
            begin = time.perf_counter()
            executable(alone)
            times.append(time.perf_counter() - begin)
        print(f"the program alone, one thread: {options.batch / statistics.median(times):.1f} rows/s, at best {options.batch / min(times):.1f}")
        print("| nodes | workers | by | rows/s with the start, median | at best | rows/s after the first part, median | at best | whole |")
        print("|---|---|---|---|---|---|---|---|")
        for nodes in options.nodes:
            cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 3 if nodes == 1 else 1, "include_dashboard": False})
            for _ in range(nodes - 1):
                cluster.add_node(num_cpus=1)
            ray.init(cluster.address, log_to_driver=False)
            program = Program(executable)
            for workers, by in [(workers, by) for workers in ((1, 2) if nodes == 1 else (3,)) for by in options.by]:
                took, steady, complete = [], [0.0], True
                for _ in range(1 if by == "killed" else options.repeat):
                    shutil.rmtree(place / "out", ignore_errors=True)
                    begin = time.perf_counter()
                    if by == "Ray Data":
                        dataset = infer(
                            ray.data.read_parquet(str(place / "rows")), program, keep=["id"], workers=workers, batch_size=options.batch, prepare=prepared
                        )
                        dataset.write_parquet(str(place / "out"))
                        took.append(time.perf_counter() - begin)
                    else:
                        seen: list[tuple[float, int]] = []
                        done = infer_parquet(
                            place / "rows", place / "out", program, keep=["id"], workers=workers, batch_size=options.batch, rows=options.group,
                            prepare=prepared, progress=watcher(options.rows / 3 if by == "killed" else math.inf, seen),
                        )  # fmt: skip
                        took.append(done.seconds)
                        steady.append((seen[-1][1] - seen[0][1]) / (seen[-1][0] - seen[0][0]))
                        complete &= done.deaths == (by == "killed")
                    complete &= whole(place / "out", options.rows)
                good &= complete
                rates, steady = [options.rows / seconds for seconds in took], steady[1:] or steady
                figures = [statistics.median(rates), max(rates), statistics.median(steady), max(steady)]
                print(f"| {nodes} | {workers} | {by} | {' | '.join(f'{figure:.1f}' for figure in figures)} | {'yes' if complete else 'no'} |", flush=True)
            ray.shutdown()
            cluster.shutdown()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
