#!/usr/bin/env python3
"""Writes a model of torchvision as an ONNX file, its weights drawn from seed 0.

    export.py NAME FULL.onnx

Needs: torch, torchvision, onnx.
"""

import sys
import warnings

import torch
from torchvision import models

PICTURE = (1, 3, 224, 224)
NONE = {"weights": None}
MODELS = {
    "deeplabv3_mobilenet_v3": (
        models.segmentation.deeplabv3_mobilenet_v3_large, {**NONE, "weights_backbone": None}, (1, 3, 256, 256)
    ),
    "shufflenet_v2": (models.shufflenet_v2_x1_0, NONE, PICTURE),
    "mnasnet": (models.mnasnet1_0, NONE, PICTURE),
    "regnet_y_400mf": (models.regnet_y_400mf, NONE, PICTURE),
    "efficientnet_b0": (models.efficientnet_b0, NONE, PICTURE),
    "mobilenet_v3": (models.mobilenet_v3_large, NONE, PICTURE),
    "convnext_tiny": (models.convnext_tiny, NONE, PICTURE),
    "swin_t": (models.swin_t, NONE, PICTURE),
    "resnext50": (models.resnext50_32x4d, NONE, PICTURE),
}


def main(name, path):
    build, options, shape = MODELS[name]
    torch.manual_seed(0)
    model = build(**options).eval()
    warnings.simplefilter("ignore", DeprecationWarning)  # the other exporter needs packages more
    torch.onnx.export(model, (torch.zeros(shape),), path, opset_version=18, dynamo=False, input_names=["data"])


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in MODELS:
        sys.exit(__doc__)
    main(*sys.argv[1:])
