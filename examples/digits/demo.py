#!/usr/bin/env python3
"""Runs digits.rly on the held-back images with the relay command and shows what it reads: demo.py RELAY

The images are read by machine code and by the reference evaluator. Uses only the standard library. Fails when
relay fails, when the two disagree about an image, or when fewer than 97 of 100 images are read correctly.
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
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
REQUIRED_ACCURACY = 0.97
DRAWN = 12       # digits drawn
ACROSS = 4       # of them on a line
SHADES = " .:-=+*#%@"


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


def call(command):
    """The text that a command prints on standard output and on standard error; ends when it fails."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8")
    except OSError as error:
        sys.exit(f"cannot start {command[0]}: {error.strerror}")
    if done.returncode != 0:
        sys.stderr.write(done.stdout + done.stderr)
        sys.exit(f"{' '.join(command[:2])} failed with exit code {done.returncode}")
    return done.stdout, done.stderr


def result_of(printed):
    results = [line for line in printed.splitlines() if line.startswith("{")]
    if len(results) != 1:
        sys.exit(f"relay printed {len(results)} results instead of one:\n{printed}")
    return json.loads(results[0])["value"]


def run_native(relay, images):
    """(classes, probabilities) and the median seconds of a run, by the program compiled with its weights."""
    with tempfile.TemporaryDirectory() as folder:
        model = str(pathlib.Path(folder) / "digits.rlx")
        call([relay, "compile", str(HERE / "digits.rly"), "--params", str(HERE / "weights.npz"), "-o", model])
        printed, _ = call([relay, "run", model, "--arg", images, "--format", "json"])
        measured, _ = call([relay, "bench", model, "--arg", images, "--runs", "20", "--format", "json"])
    return result_of(printed), json.loads(measured)["median_ms"] / 1000


def run_reference(relay, images):
    """The same by the reference evaluator; relay's own measure leaves out reading, checking and printing."""
    printed, times = call([relay, "run", str(HERE / "digits.rly"), "--params", str(HERE / "weights.npz"),
                           "--arg", images, "--executor", "eval", "--format", "json", "--time"])
    measured = re.search(r"^run: ([\d.]+) ms$", times, re.MULTILINE)
    if not measured:
        sys.exit(f"relay run --time does not say how long the run took:\n{times}")
    return result_of(printed), float(measured.group(1)) / 1000


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
    argument = f"images=@{HERE / 'test.npz'}:images"
    (classes, probabilities), seconds = run_native(sys.argv[1], argument)
    (expected, _), reference_seconds = run_reference(sys.argv[1], argument)
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
    print(f"time per image: {1000 * seconds / count:.4f} ms as machine code, "
          f"{1000 * reference_seconds / count:.4f} ms in the reference evaluator")
    differing = sum(1 for a, b in zip(classes, expected) if a != b)
    print(f"predictions that differ between the two: {differing}")
    if differing or len(expected) != count:
        return 1
    if accuracy < REQUIRED_ACCURACY:
        print(f"this is less than {REQUIRED_ACCURACY}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
