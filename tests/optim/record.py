#!/usr/bin/env python3
"""Writes trajectories.json: parameters after each update by PyTorch's optimisers, under given gradients. Needs PyTorch.

    .venv-peers/bin/python tests/optim/record.py
"""

import json
import pathlib

import numpy as np
import torch

HERE = pathlib.Path(__file__).resolve().parent
UPDATES = 8
SHAPES = {"weight": (3, 2), "bias": (4,), "scale": ()}

# name, optimiser, its arguments, more: clip_norm, clip_value, dtype, schedule (class, arguments).
CASES = [
    ("sgd", "SGD", {"lr": 0.1}, {}),
    ("sgd_decay", "SGD", {"lr": 0.1, "weight_decay": 0.05}, {}),
    ("sgd_momentum", "SGD", {"lr": 0.1, "momentum": 0.9}, {}),
    ("sgd_dampening", "SGD", {"lr": 0.1, "momentum": 0.8, "dampening": 0.3, "weight_decay": 0.01}, {}),
    ("sgd_nesterov", "SGD", {"lr": 0.05, "momentum": 0.9, "nesterov": True, "weight_decay": 0.02}, {}),
    ("sgd_float32", "SGD", {"lr": 0.1, "momentum": 0.9}, {"dtype": "float32"}),
    ("adam", "Adam", {"lr": 0.01}, {}),
    ("adam_float32", "Adam", {"lr": 0.01}, {"dtype": "float32"}),
    ("adam_decay", "Adam", {"lr": 0.02, "betas": [0.8, 0.95], "eps": 1e-6, "weight_decay": 0.1}, {}),
    ("adam_amsgrad", "Adam", {"lr": 0.02, "betas": [0.5, 0.6], "amsgrad": True}, {}),
    ("adamw", "AdamW", {"lr": 0.01}, {}),
    ("adamw_amsgrad", "AdamW", {"lr": 0.03, "betas": [0.7, 0.8], "weight_decay": 0.2, "amsgrad": True}, {}),
    ("clip_norm", "SGD", {"lr": 0.1, "momentum": 0.9}, {"clip_norm": 3.0}),
    ("clip_norm_adamw", "AdamW", {"lr": 0.01}, {"clip_norm": 0.5}),
    ("clip_value", "SGD", {"lr": 0.1}, {"clip_value": 0.75}),
    ("step", "SGD", {"lr": 0.1}, {"schedule": ["StepLR", {"step_size": 3, "gamma": 0.5}]}),
    ("multi_step", "SGD", {"lr": 0.1}, {"schedule": ["MultiStepLR", {"milestones": [2, 5], "gamma": 0.3}]}),
    ("exponential", "SGD", {"lr": 0.1}, {"schedule": ["ExponentialLR", {"gamma": 0.7}]}),
    ("cosine", "Adam", {"lr": 0.1}, {"schedule": ["CosineAnnealingLR", {"T_max": 7, "eta_min": 0.01}]}),
    ("warm_up", "AdamW", {"lr": 0.1}, {"schedule": ["WarmUp", {"steps": 3, "start_factor": 0.25, "T_max": 5}]}),
]  # fmt: skip


def scheduler(optimizer, kind, arguments):
    made = torch.optim.lr_scheduler
    if kind != "WarmUp":
        return getattr(made, kind)(optimizer, **arguments)
    rise = made.LinearLR(optimizer, start_factor=arguments["start_factor"], total_iters=arguments["steps"])
    rest = made.CosineAnnealingLR(optimizer, arguments["T_max"])
    return made.SequentialLR(optimizer, [rise, rest], milestones=[arguments["steps"]])


def trajectory(kind, arguments, more, start, gradients):
    dtype = getattr(torch, more.get("dtype", "float64"))
    params = {name: torch.tensor(value, dtype=dtype, requires_grad=True) for name, value in start.items()}
    optimizer = getattr(torch.optim, kind)(params.values(), **{k: tuple(v) if k == "betas" else v for k, v in arguments.items()})
    schedule = scheduler(optimizer, *more["schedule"]) if "schedule" in more else None
    rows = []
    for given in gradients:
        for name, param in params.items():
            param.grad = torch.tensor(given[name], dtype=dtype)
        if "clip_norm" in more:
            torch.nn.utils.clip_grad_norm_(params.values(), more["clip_norm"])
        if "clip_value" in more:
            torch.nn.utils.clip_grad_value_(params.values(), more["clip_value"])
        optimizer.step()
        if schedule is not None:
            schedule.step()
        rows.append({name: param.detach().double().tolist() for name, param in params.items()})
    return rows


def main():
    rng = np.random.default_rng(11)

    def drawn(scale):
        # Rounded to float32, so that both dtypes begin with the same numbers.
        return {name: (scale * rng.normal(size=shape)).astype("float32").astype("float64").tolist() for name, shape in SHAPES.items()}

    start = drawn(1)
    gradients = [drawn(1 + i % 3) for i in range(UPDATES)]
    cases = [
        {"name": name, "optimizer": kind, "arguments": arguments, **more, "params": trajectory(kind, arguments, more, start, gradients)}
        for name, kind, arguments, more in CASES
    ]
    text = json.dumps({"torch": torch.__version__, "start": start, "gradients": gradients, "cases": []})
    rows = ",\n".join(json.dumps(case) for case in cases)
    (HERE / "trajectories.json").write_text(text[:-2] + "\n" + rows + "\n]}\n")


if __name__ == "__main__":
    main()
