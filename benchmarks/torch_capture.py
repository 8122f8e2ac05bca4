#!/usr/bin/env python3
"""Writes PyTorch graphs in the form of GraphNet's samples, as Dynamo traces them: benchmarks/torch_capture.py FOLDER [NAME]...

The models are those of tests/torch/models.py and, as `timm/NAME`, those of the package timm, all with random weights by a seed. A model
with graph breaks gives several samples. `benchmarks/torch_graphs.py` runs what this writes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/torch"))
import models  # noqa: E402

__all__ = ["capture", "write"]

# Tensors of fewer elements are written out.
LITERAL = 64


def _meta(name: str, tensor: torch.Tensor) -> str:
    lines = [f"class Program_weight_tensor_meta_{name}:", f'    name = "{name}"', f"    shape = {list(tensor.shape)}", f'    dtype = "{tensor.dtype}"',
             '    device = "cpu"']  # fmt: skip
    floats = tensor.dtype.is_floating_point
    mean, spread = (tensor.float().mean(), tensor.float().std() if tensor.numel() > 1 else torch.zeros(())) if floats and tensor.numel() else (None, None)
    lines += [f"    mean = {None if mean is None else round(float(mean), 3)}", f"    std = {None if spread is None else round(float(spread), 3)}"]
    if tensor.numel() < LITERAL:
        lines.append(f"    data = {tensor.detach().flatten().tolist()!r}".replace("inf", "float('inf')").replace("nan", "float('nan')"))
    elif floats or tensor.dtype is torch.bool:
        lines.append("    data = None")
    else:
        lines += [f"    min_val = {int(tensor.min())}", f"    max_val = {int(tensor.max())}"]
    return "\n".join(lines) + "\n"


def write(folder: Path, graph: torch.fx.GraphModule, inputs: list[Any]) -> None:
    """Writes a graph of Dynamo as a sample."""
    folder.mkdir(parents=True, exist_ok=True)
    code = "\n".join("    " + line for line in graph.code.strip().splitlines())
    head = "import torch\nfrom torch import device, inf, nan\n\n\n"
    (folder / "model.py").write_text(f"{head}class GraphModule(torch.nn.Module):\n{code}\n", encoding="utf-8")
    names = [node.target for node in graph.graph.nodes if node.op == "placeholder"]
    metas = [_meta(name, value if isinstance(value, torch.Tensor) else torch.tensor(int(value))) for name, value in zip(names, inputs)]
    (folder / "weight_meta.py").write_text("\n\n".join(metas), encoding="utf-8")
    (folder / "input_meta.py").write_text("", encoding="utf-8")
    about = {"framework": "torch", "num_devices_required": 1, "num_nodes_required": 1, "dynamic": False, "model_name": folder.name}
    (folder / "graph_net.json").write_text(json.dumps(about, indent=4) + "\n", encoding="utf-8")


def capture(module: torch.nn.Module, x: torch.Tensor, folder: Path) -> int:
    """Writes the graphs that a call of the module gives, and says how many."""
    torch._dynamo.reset()
    made = 0

    def backend(graph: torch.fx.GraphModule, inputs: list[Any]) -> Any:
        nonlocal made
        if not any(isinstance(child, torch.fx.GraphModule) for child in graph.children()):
            write(folder if made == 0 else folder.with_name(f"{folder.name}.{made}"), graph, inputs)
            made += 1
        return graph.forward

    with torch.no_grad():
        torch.compile(module, backend=backend)(x)
    return made


def _built(name: str) -> tuple[torch.nn.Module, torch.Tensor]:
    if name in models.MODELS:
        model = models.MODELS[name]
        return model.build(), model.inputs(*model.sizes[0])
    import timm

    torch.manual_seed(0)
    module = timm.create_model(name.removeprefix("timm/"), pretrained=False).eval()
    return module, torch.randn(1, *module.default_cfg["input_size"], generator=torch.Generator().manual_seed(0))


def main() -> int:
    """Captures the models that are named, or all of tests/torch/models.py; exit status 1 where one fails."""
    if len(sys.argv) < 2:
        print((__doc__ or "").partition("\n")[0], file=sys.stderr)
        return 2
    root, names = Path(sys.argv[1]), sys.argv[2:] or list(models.MODELS)
    failed = 0
    for name in names:
        try:
            print(f"{name}: {capture(*_built(name), root / name.replace('/', '.'))} graphs", flush=True)
        except Exception as error:  # noqa: BLE001 (the next model may do)
            failed += 1
            print(f"{name}: {type(error).__name__}: {error}"[:600], flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
