#!/usr/bin/env python3
"""Writes a model of torchvision as an ONNX file, its weights drawn from seed 0.

    export.py NAME FULL.onnx

Needs: torch, torchvision, onnx.
"""

import sys
import warnings

import torch
from torchvision.models import segmentation

MODELS = {
    "deeplabv3_mobilenet_v3": (segmentation.deeplabv3_mobilenet_v3_large, (1, 3, 256, 256)),
}


def main(name, path):
    build, shape = MODELS[name]
    torch.manual_seed(0)
    model = build(weights=None, weights_backbone=None).eval()
    warnings.simplefilter("ignore", DeprecationWarning)  # the other exporter needs packages more
    torch.onnx.export(model, (torch.zeros(shape),), path, opset_version=18, dynamo=False, input_names=["data"])


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in MODELS:
        sys.exit(__doc__)
    main(*sys.argv[1:])
