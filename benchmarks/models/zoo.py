"""The fifteen models and their inputs: the six graphs beside this file and nine of the `onnx` package's light set; others
that are measured only where they are asked for.

Weights are left out of the graphs; materialize.py puts seeded ones back. A full model is made once, in a folder that
is no part of the repository.
"""

import os
import pathlib
import subprocess
import sys
import zlib

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
OWN = ("resnet18", "mobilenet_v2", "vit_b_16", "bert_base", "gpt2", "lstm")
LIGHT = (
    "resnet50",
    "densenet121",
    "inception_v1",
    "inception_v2",
    "squeezenet",
    "shufflenet",
    "vgg19",
    "bvlc_alexnet",
    "zfnet512",
)
NAMES = OWN + LIGHT
# Written by torchvision (export.py).
EXPORTED = (
    "deeplabv3_mobilenet_v3",
    "shufflenet_v2",
    "mnasnet",
    "regnet_y_400mf",
    "efficientnet_b0",
    "mobilenet_v3",
    "convnext_tiny",
    "swin_t",
    "resnext50",
)
# Quantised by ONNX Runtime's tools (quantise.py): the model, and the form.
QUANTISED = {
    f"{name}_{form}": (name, form)
    for name in ("resnet18", "mobilenet_v2", "bert_base")
    for form in ("qdq", "qoperator", "dynamic")
    if form != "dynamic" or name == "bert_base"
}
MORE = EXPORTED + tuple(QUANTISED)
# The extents of dimensions with a name; tokens are below the size of each model's vocabulary.
DIMS = {"seq": 40}
TOKENS = {"bert_base": 30000, "gpt2": 50000, "lstm": 1000}


def graph(name):
    """The file of a graph without its weights."""
    if name in OWN:
        return HERE / "graphs" / f"{name}.onnx"
    import onnx

    return pathlib.Path(onnx.__file__).parent / "backend/test/data/light" / f"light_{name}.onnx"


def materialised(name, folder):
    """The file of the full model; made if it is not there."""
    path = pathlib.Path(folder) / f"{name}.onnx"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}.part")
        if name in QUANTISED:
            base, form = QUANTISED[name]
            command = [sys.executable, HERE / "quantise.py", base, form, materialised(base, folder), part]
            subprocess.run(command, check=True)
        elif name in EXPORTED:
            subprocess.run([sys.executable, HERE / "export.py", name, part], check=True)
        else:
            subprocess.run([sys.executable, HERE / "materialize.py", graph(name), part], check=True)
            show_logits(part)
        part.rename(path)
    return path


def show_logits(path):
    """Makes what goes into a last softmax an output as well: random weights can make one class certain, and then the
    probabilities say nothing about the network."""
    import onnx

    model = onnx.load(path)
    results = {each.name for each in model.graph.output}
    inputs = [node.input[0] for node in model.graph.node if node.op_type == "Softmax" and node.output[0] in results]
    for name in inputs:
        model.graph.output.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None))
    if inputs:
        onnx.save(model, path)


def inputs(name, path, dims=None):
    """Seeded inputs by name: normal floats, tokens, masks of ones with a tail of zeros.

    `dims` says what dimensions with names are; by default DIMS.
    """
    import onnx

    name = QUANTISED.get(name, [name])[0]
    model = onnx.load(path, load_external_data=False)
    stored = {tensor.name for tensor in model.graph.initializer}
    arrays = {}
    for given in model.graph.input:
        if given.name in stored:
            continue
        tensor = given.type.tensor_type
        shape = [each.dim_value or (dims or DIMS)[each.dim_param] for each in tensor.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        generator = np.random.default_rng(zlib.crc32(f"{name}/{given.name}".encode()))
        if dtype == np.float32:
            arrays[given.name] = generator.standard_normal(shape, dtype=np.float32)
        elif "mask" in given.name:
            arrays[given.name] = np.ones(shape, dtype)
            arrays[given.name][..., -shape[-1] // 8 :] = 0
        else:
            arrays[given.name] = generator.integers(0, TOKENS[name], shape).astype(dtype)
    return arrays


def relative_error(ours, theirs):
    """The greatest difference relative to the range of what is expected; 0 for equal arrays of no range."""
    ours, theirs = np.asarray(ours, np.float64), np.asarray(theirs, np.float64)
    if ours.shape != theirs.shape or not np.isfinite(ours).all():
        return float("inf")
    if ours.size == 0:
        return 0.0
    difference = float(np.max(np.abs(ours - theirs)))
    return difference / max(float(np.max(theirs) - np.min(theirs)), 1e-30) if difference else 0.0
