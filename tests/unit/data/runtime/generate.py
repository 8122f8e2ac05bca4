#!/usr/bin/env python3
"""Writes the NumPy files that runtime_files_test.cpp reads; the values are what the test expects."""
import pathlib

import numpy as np
from numpy.lib import format as npy

HERE = pathlib.Path(__file__).parent

KINDS = ["?", "i1", "<i2", "<i4", "<i8", "u1", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8", ">i4", ">f8", ">u2"]


def values(kind, shape):
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    return (array % 2 == 1) if kind == "?" else array.astype(kind)


def main():
    arrays = {}
    for kind in KINDS:
        name = kind.replace("<", "").replace(">", "big_").replace("?", "bool")
        arrays[name] = values(kind, (2, 3))
    arrays["fortran"] = np.asfortranarray(values("<f4", (2, 3, 4)))
    arrays["scalar"] = values("<i4", ())
    arrays["empty"] = values("<f4", (0, 3))
    arrays["vector"] = values("<f4", (5,))
    np.savez(HERE / "stored.npz", **arrays)
    np.savez_compressed(HERE / "deflated.npz", **arrays)
    for version in ((1, 0), (2, 0), (3, 0)):
        with open(HERE / f"version{version[0]}.npy", "wb") as file:
            npy.write_array(file, values("<f4", (2, 3)), version=version)
    np.save(HERE / "structured.npy", np.zeros(2, dtype=[("a", "<i4"), ("b", "<f4")]))
    np.save(HERE / "complex.npy", np.zeros(2, dtype="<c8"))
    np.save(HERE / "text.npy", np.array(["a", "b"]))
    np.save(HERE / "objects.npy", np.array([None, 1], dtype=object), allow_pickle=True)


if __name__ == "__main__":
    main()
