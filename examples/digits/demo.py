#!/usr/bin/env python3
"""Runs digits.rly on the held-back images with the relay command and shows what it reads: demo.py RELAY

Uses only the standard library. Fails when relay fails or fewer than 97 of 100 images are read correctly.
"""

import array
import ast
import io
import json
import math
import pathlib
import re
import struct
import subprocess
import sys
import time
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
REQUIRED_ACCURACY = 0.97
DRAWN = 12       # digits drawn
ACROSS = 4       # of them on a line
SHADES = " .:-=+*#%@"
UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0}


def read_npz_array(path, name):
    """The values, flat and in row-major order, and the shape of one array of an .npz file."""
    with zipfile.ZipFile(path) as archive:
        data = io.BytesIO(archive.read(name + ".npy"))
    magic = data.read(8)
    if magic[:6] != b"\x93NUMPY":
        sys.exit(f"{path}: {name} is no NumPy array")
    length = struct.unpack("<H", data.read(2))[0] if magic[6] == 1 else struct.unpack("<I", data.read(4))[0]
    header = ast.literal_eval(data.read(length).decode("latin-1"))
    values = array.array({"<f4": "f", "<i4": "i"}[header["descr"]])
    values.frombytes(data.read())
    if sys.byteorder == "big":
        values.byteswap()
    if header["fortran_order"] or len(values) != math.prod(header["shape"]):
        sys.exit(f"{path}: {name} is not in row-major order or not whole")
    return values, header["shape"]


def run_relay(relay):
    """(classes, probabilities), seconds of the run, and whether these are relay's own measure of it."""
    command = [relay, "run", str(HERE / "digits.rly"), "--params", str(HERE / "weights.npz"),
               "--arg", f"images=@{HERE / 'test.npz'}:images", "--format", "json", "--time"]
    start = time.perf_counter()
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8")
    except OSError as error:
        sys.exit(f"cannot start {relay}: {error.strerror}")
    seconds = time.perf_counter() - start
    if done.returncode != 0:
        sys.stderr.write(done.stdout + done.stderr)
        sys.exit(f"relay failed with exit code {done.returncode}")
    results = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if len(results) != 1:
        sys.exit(f"relay printed {len(results)} results instead of one:\n{done.stdout}")
    # relay's own measure leaves out starting the process, reading, checking and printing.
    measured = re.search(r"^\W*(?:run|eval)\w*\b[^\d\n]*([\d.]+)\s*(ns|[uµμ]s|ms|s)\b",
                         done.stderr + "\n" + done.stdout, re.MULTILINE | re.IGNORECASE)
    if measured:
        return json.loads(results[0])["value"], float(measured.group(1)) * UNITS[measured.group(2)], True
    return json.loads(results[0])["value"], seconds, False


def drawn(image, predicted, actual, probability):
    """Eight rows of two characters a pixel, and a line below that says what was read."""
    rows = ["".join(SHADES[min(9, int(pixel * 9.99))] * 2 for pixel in image[y * 8:y * 8 + 8]) for y in range(8)]
    verdict = "right" if predicted == actual else f"is {actual}!"
    return rows + [f"{predicted} ({100 * probability:.0f} %) {verdict}".ljust(16)]


def main():
    if len(sys.argv) != 2:
        print("usage: demo.py RELAY", file=sys.stderr)
        return 2
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(encoding="utf-8")
    images, shape = read_npz_array(HERE / "test.npz", "images")
    labels, _ = read_npz_array(HERE / "test.npz", "labels")
    count = shape[0]
    (classes, probabilities), seconds, measured = run_relay(sys.argv[1])
    if len(classes) != count or len(probabilities) != count or any(len(p) != 10 for p in probabilities):
        sys.exit(f"relay's results are not of {count} images and 10 digits")

    wrong = [i for i in range(count) if classes[i] != labels[i]]
    # The first image of each digit, then some that were misread.
    picks = [list(labels).index(digit) for digit in range(10)]
    picks += [i for i in wrong if i not in picks][:DRAWN - len(picks)]
    picks += [i for i in range(count) if i not in picks][:DRAWN - len(picks)]
    for at in range(0, DRAWN, ACROSS):
        pictures = [drawn(images[i * 64:i * 64 + 64], classes[i], labels[i], probabilities[i][classes[i]])
                    for i in picks[at:at + ACROSS]]
        print("\n".join("  |  ".join(parts).rstrip() for parts in zip(*pictures)), end="\n\n")

    accuracy = (count - len(wrong)) / count
    print(f"accuracy: {accuracy:.4f} ({count - len(wrong)} of {count} held-back images)")
    print(f"time per image: {1000 * seconds / count:.3f} ms "
          f"({seconds:.3f} s for {count}{'' if measured else ', the whole command'})")
    if accuracy < REQUIRED_ACCURACY:
        print(f"this is less than {REQUIRED_ACCURACY}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
