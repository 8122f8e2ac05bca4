#!/usr/bin/env python3
"""Quantises a model by ONNX Runtime's own tools: benchmarks/models/quantise.py NAME FORM MODEL RESULT

NAME is one of the zoo, whose inputs calibrate; FORM is "qdq", "qoperator" (both static, weights by channel) or "dynamic".
"""

import pathlib
import sys
import tempfile

import zoo
from onnxruntime import quantization
from onnxruntime.quantization import shape_inference


class Inputs(quantization.CalibrationDataReader):
    """The model's inputs, once."""

    def __init__(self, name, path):
        self.left = [zoo.inputs(name, path)]

    def get_next(self):
        return self.left.pop() if self.left else None


def main():
    name, form, model, result = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        prepared = pathlib.Path(folder) / "prepared.onnx"
        # Batch norms go into convolutions; what shapes are is written down.
        shape_inference.quant_pre_process(model, prepared, skip_symbolic_shape=True)
        if form == "dynamic":
            quantization.quantize_dynamic(prepared, result, per_channel=False)
            return
        quantization.quantize_static(
            prepared, result, Inputs(name, prepared), per_channel=True,
            quant_format=quantization.QuantFormat.QDQ if form == "qdq" else quantization.QuantFormat.QOperator,
            activation_type=quantization.QuantType.QUInt8, weight_type=quantization.QuantType.QInt8,
        )


if __name__ == "__main__":
    main()
