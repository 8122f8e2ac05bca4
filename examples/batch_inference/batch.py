#!/usr/bin/env python3
"""Reads digits, or lines of text, out of pictures in Parquet files, on all cores that Ray has; goes on where it was stopped.

    batch.py make digits pictures/digits            # 100,000 pictures of digits, with the right answers
    batch.py run digits pictures/digits answers/digits
    batch.py make text pictures/text                # 2,000 lines of text as PNG
    batch.py run text pictures/text answers/text    # by the recogniser in the package rapidocr

needs `relay-lang[ray]`, and for text pillow, onnx and rapidocr (or `--model FILE`, its recogniser). Stop a run as you like, by Ctrl-C or kill -9 of a
worker or of all of it: the same command goes on, and no row comes twice. `--address` names a running cluster, whose nodes must see both folders.
"""

from __future__ import annotations

import argparse
import importlib.util
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

HERE = Path(__file__).resolve().parent
GROUP = 2000  # rows of a row group
WORDS = "batch north river 2026 signal matrix 417 paper window total 88.20 invoice garden street copper light".split()


def digits(rows: int) -> Iterator[Any]:
    """Tables of made-up pictures: those of examples/digits that no network was trained on, with noise. 8 × 8 numbers from 0 to 255 each."""
    with np.load(HERE.parent / "digits/test.npz") as held_back:
        images, labels = held_back["images"], held_back["labels"]
    random = np.random.default_rng(0)
    for begin in range(0, rows, GROUP):
        count = min(GROUP, rows - begin)
        chosen = random.integers(0, len(images), count)
        noisy = images[chosen].reshape(count, 64) / images.max() + random.normal(0, 0.03, (count, 64))
        pixels = (noisy.clip(0, 1) * 255).round().astype("uint8")
        column = pa.FixedSizeListArray.from_arrays(pa.array(pixels.ravel()), 64)
        yield pa.table({"id": np.arange(begin, begin + count), "image": column, "label": labels[chosen].astype("int64")})


def text(rows: int) -> Iterator[Any]:
    """Tables of lines of two or three words, black on light grey, as PNG."""
    from PIL import Image, ImageDraw, ImageFont

    random = np.random.default_rng(0)
    font = ImageFont.load_default(size=32)
    group = GROUP // 20
    for begin in range(0, rows, group):
        labels, pictures = [], []
        for _ in range(min(group, rows - begin)):
            label = " ".join(random.choice(WORDS, random.integers(2, 4)))
            picture = Image.new("RGB", (int(font.getlength(label)) + 24, 48), (int(random.integers(200, 256)),) * 3)
            ImageDraw.Draw(picture).text((12, 4), label, fill=(int(random.integers(0, 60)),) * 3, font=font)
            file = io.BytesIO()
            picture.save(file, "PNG")
            labels.append(label)
            pictures.append(file.getvalue())
        yield pa.table({"id": np.arange(begin, begin + len(labels)), "image": pa.array(pictures, pa.binary()), "label": labels})


def make(kind: str, folder: Path, rows: int, files: int) -> None:
    """Writes the pictures as Parquet files of several row groups."""
    folder.mkdir(parents=True, exist_ok=True)
    tables = list((digits if kind == "digits" else text)(rows))
    each = -(-len(tables) // files)
    for i in range(0, len(tables), each):
        with pq.ParquetWriter(folder / f"{i // each:04}.parquet", tables[0].schema) as writer:
            for table in tables[i : i + each]:
                writer.write_table(table)
    print(f"{rows} pictures in {folder}")


def scaled(batch: dict[str, Any]) -> dict[str, Any]:
    """Digits as the network wants them: floats from 0 to the greatest that it was trained on, 1."""
    return {"images": batch["image"].astype("float32") / 255}


def most_likely(results: dict[str, Any]) -> dict[str, Any]:
    return {"digit": results["scores"].argmax(axis=1)}


def decoded(batch: dict[str, Any]) -> dict[str, Any]:
    """PNG as the recogniser wants it: 48 rows, values from -1 to 1, on the right filled up to the widest of the batch."""
    from PIL import Image

    pictures = []
    for data in batch["image"]:
        picture = Image.open(io.BytesIO(data)).convert("RGB")
        picture = picture.resize((max(8, round(picture.width * 48 / picture.height)), 48))
        pictures.append(np.asarray(picture, "float32")[:, :, ::-1] / 127.5 - 1)
    width = -(-max(picture.shape[1] for picture in pictures) // 32) * 32
    made = np.zeros((len(pictures), 3, 48, width), "float32")
    for i, picture in enumerate(pictures):
        made[i, :, :, : picture.shape[1]] = picture.transpose(2, 0, 1)
    return {"x": made}


class Letters:
    """Texts of what the recogniser found most likely at each place: repeats count once, and 0 is no letter."""

    def __init__(self, letters: list[str]) -> None:
        self.letters = ["", *letters, " "]

    def __call__(self, results: dict[str, Any]) -> dict[str, Any]:
        texts = []
        for places in results["letters"]:
            first = np.concatenate([[True], places[1:] != places[:-1]])
            texts.append("".join(self.letters[i] for i in places[first]))
        return {"text": texts}


def recogniser(path: Path | None) -> tuple[Any, list[str]]:
    """The recogniser with the choice of the most likely letter as its last step, and its letters."""
    import onnx

    import relay

    if path is None:
        package = importlib.util.find_spec("rapidocr")
        if package is None or not package.submodule_search_locations:
            sys.exit("the package rapidocr is not installed: pip install rapidocr, or give its recogniser by --model")
        found = sorted(Path(package.submodule_search_locations[0], "models").glob("*_rec_*.onnx"))
        if not found:
            sys.exit("the package rapidocr has no recogniser among its models: give one by --model")
        path = found[-1]
    letters = next(p.value for p in onnx.load(path, load_external_data=False).metadata_props if p.key == "character")
    module, _ = relay.frontend.from_onnx(str(path))
    main = module["main"]
    module["main"] = relay.Function(main.params, relay.argmax(main.body, axis=[2]))
    return relay.compile(module, threads=1), letters.split("\n")


def show(done: int, total: int, left: float) -> None:
    print(f"{done} of {total} pictures, {left:.0f} s left", flush=True)


def run(kind: str, source: Path, folder: Path, options: argparse.Namespace) -> None:
    """Runs the job and counts the right answers."""
    import ray

    import relay
    from relay.ray import infer_parquet

    if not list(source.glob("*.parquet")):
        sys.exit(f"{source} has no pictures: batch.py make {kind} {source}")
    ray.init(options.address or "local", num_cpus=None if options.address else options.cores, include_dashboard=False, log_to_driver=False)
    more: dict[str, Any]
    if kind == "digits":
        module, _ = relay.frontend.from_onnx(str(HERE.parent / "onnx/digits.onnx"))
        program = relay.compile(module, threads=1)
        more = {"outputs": ["scores"], "prepare": scaled, "finish": most_likely, "rows": 4000, "batch_size": 500}
        answer = "digit"
    else:
        program, letters = recogniser(options.model)
        more = {"outputs": ["letters"], "prepare": decoded, "finish": Letters(letters), "rows": 100, "batch_size": 10}
        answer = "text"
    done = infer_parquet(source, folder, program, keep=["id", "label"], workers=options.workers, progress=show, **more)
    table = pq.read_table(folder, columns=["id", "label", answer])
    right = sum(a == b for a, b in zip(table["label"].to_pylist(), table[answer].to_pylist()))
    assert len(table) == len(set(table["id"].to_pylist())) == done.rows
    new = done.rows - done.rows_before
    print(f"{right} of {done.rows} right; {new} new ones in {done.seconds:.1f} s ({new / done.seconds:.0f} a second), {done.deaths} workers died")
    ray.shutdown()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["make", "run"])
    parser.add_argument("kind", choices=["digits", "text"])
    parser.add_argument("source", type=Path, help="the folder of pictures")
    parser.add_argument("folder", type=Path, nargs="?", help="the folder of answers, for run")
    parser.add_argument("--rows", type=int, help="make: how many pictures (100,000 digits, 2,000 texts)")
    parser.add_argument("--files", type=int, default=8, help="make: in how many files (default: %(default)s)")
    parser.add_argument("--workers", type=int, help="run: processes; by default one for each core of the cluster")
    parser.add_argument("--cores", type=int, help="run: cores that Ray uses of this machine; all by default")
    parser.add_argument("--address", help="run: of a cluster; by default Ray runs on this machine alone")
    parser.add_argument("--model", type=Path, help="run: another recogniser of texts")
    options = parser.parse_args()
    if options.action == "make":
        make(options.kind, options.source, options.rows or (100_000 if options.kind == "digits" else 2_000), options.files)
    elif options.folder is None:
        parser.error("run needs the folder for the answers")
    else:
        run(options.kind, options.source, options.folder, options)


if __name__ == "__main__":
    main()
