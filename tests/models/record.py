#!/usr/bin/env python3
"""Records what ONNX Runtime computes for the models: tests/models/record.py [--models FOLDER] [CASE...]

Needs benchmarks/models/requirements.txt. Run it when the models or their inputs change.
"""

import argparse

import numpy as np
import onnxruntime
import samples
import zoo

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--models", default=str(samples.ROOT / "build/models"))
parser.add_argument("cases", nargs="*", default=list(samples.CASES))
options = parser.parse_args()
samples.RECORDED.mkdir(exist_ok=True)
for case in options.cases:
    model, dims = samples.CASES[case]
    path = zoo.materialised(model, options.models)
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), settings)
    outputs = session.run(None, zoo.inputs(model, path, dims))
    np.savez_compressed(samples.RECORDED / f"{case}.npz", **samples.record(outputs))
    print(case, [output.shape for output in outputs], flush=True)
