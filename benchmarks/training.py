#!/usr/bin/env python3
"""One training step (loss, gradients, update of the weights) against PyTorch's eager mode and torch.compile: benchmarks/training.py

    benchmarks/training.py [--models digits char_lm …] [--threads 1 2] [--steps N] [--peers PYTHON] [--no-compile]
    benchmarks/training.py --gradients [--models …] [--threads 1 2] [--steps N]

Each tool is a process of its own that makes the model of benchmarks/training/models.py (or trees.py) from the same weights, trains some steps and reports
their losses, the least and the median time of a step, and by how much the process grew at most. The losses must agree. The ratio is
that of the medians, against the better of PyTorch's two. Relay runs in this interpreter; --peers is one with PyTorch (.venv-peers).
With --gradients Relay alone computes the loss, and the loss with its gradients, in turns; the ratio is that of the two.
"""

import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE / "training"))


def peak():
    """The most memory that the process has had, in MiB."""
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return float("nan")


def relay_step(model, threads):
    import relay
    from relay import optim

    mod = relay.parse(model.relay)
    kind, arguments = model.optimizer
    optimizer = getattr(optim, kind)(**arguments)
    slope = relay.value_and_grad("loss", 0, mod)
    params = mod["loss"].params[0].type_annotation
    mod["update"], mod["initial"] = optimizer.update(params, mod), optimizer.init(params, mod)
    variables = [relay.var("p", params), relay.var("state", optimizer.state_type(params))]
    batch = [relay.var(param.name_hint, param.type_annotation) for param in mod["loss"].params[1:]]
    scope = relay.ScopeBuilder()
    found = scope.let("found", slope(variables[0], *batch))
    new = scope.let("new", relay.GlobalVar("update")(variables[0], relay.TupleGetItem(found, 1), variables[1]))
    scope.ret(relay.Tuple([relay.TupleGetItem(new, 0), relay.TupleGetItem(new, 1), relay.TupleGetItem(found, 0)]))
    mod["step"] = relay.Function([*variables, *batch], scope.get())
    run, first = relay.compile(mod, entry="step", threads=threads, donate=("p", "state")), relay.compile(mod, entry="initial")
    # As PyTorch's, the weights are copies in memory of the tool's own, so that the first step may write over them.
    given = relay.var("given", params)
    own = relay.compile(relay.Function([given], relay.Tuple([relay.copy(relay.TupleGetItem(given, i)) for i in range(len(model.shapes))])))
    weights = own(tuple(model.weights().values()))
    kept = [weights, first(weights)]
    del weights

    def step():
        kept[0], kept[1], loss = run(kept[0], kept[1], *model.batch)
        return float(loss)

    return step


def torch_step(model, threads, compiled):
    import torch

    if threads:
        torch.set_num_threads(threads)
    params = {name: torch.tensor(value, requires_grad=True) for name, value in model.weights().items()}
    kind, arguments = model.optimizer
    optimizer = getattr(torch.optim, kind)(params.values(), **arguments)
    batch = [torch.tensor(a.astype("int64") if a.dtype == "int32" else a) for a in model.batch]
    loss_of = torch.compile(model.torch) if compiled else model.torch

    def step():
        optimizer.zero_grad()
        loss = loss_of(params, *batch)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def value_and_gradient(name, threads):
    """The loss alone, and the loss with its gradients, as functions of nothing."""
    import models
    import relay
    import trees

    if name == "tree_lstm":
        mod, batch = trees.relay_program()
        weights = trees.weights(trees.SHAPES)
    else:
        model = models.MODELS[name]()
        mod, batch, weights = relay.parse(model.relay), model.batch, model.weights().values()
    mod["slope"] = relay.value_and_grad("loss", 0, mod)
    runs = [relay.compile(mod, entry=entry, threads=threads) for entry in ("loss", "slope")]
    return [lambda run=run: run(tuple(weights), *batch) for run in runs]


def time_gradients(options):
    name = options.models[0]
    runs = value_and_gradient(name, options.threads[0])
    times = [[], []]
    for turn in range(options.steps + 2):
        for run, found in zip(runs, times):
            begin = time.perf_counter()
            run()
            if turn >= 2:
                found.append((time.perf_counter() - begin) * 1e3)
    print(json.dumps([(min(found), statistics.median(found)) for found in times]))


def work(options):
    import models
    import trees

    tool, threads, name = options.worker, options.threads[0], options.models[0]
    if tool == "gradients":
        return time_gradients(options)
    if tool == "relay":
        import relay.optim  # noqa: F401 (before memory is looked at)
    else:
        import torch

        torch.zeros(1).sum()
    model = None if name == "tree_lstm" else models.MODELS[name]()
    before = peak()
    if model is None:
        step = trees.relay_step(threads) if tool == "relay" else trees.torch_step(threads)
    else:
        step = relay_step(model, threads) if tool == "relay" else torch_step(model, threads, tool == "torch.compile")
    losses, times = [step() for _ in range(3)], []
    while len(times) < options.steps:
        begin = time.perf_counter()
        step()
        times.append(time.perf_counter() - begin)
    found = {"losses": losses, "least": min(times) * 1e3, "median": statistics.median(times) * 1e3, "memory": peak() - before}
    print(json.dumps(found))


def measured(tool, name, threads, options):
    python = sys.executable if tool in ("relay", "gradients") else options.peers
    command = [python, __file__, "--worker", tool, "--models", name, "--threads", str(threads), "--steps", str(options.steps)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        print(f"  {tool}: {done.stderr.strip().splitlines()[-1][:160] if done.stderr.strip() else done.returncode}", flush=True)
        return None
    return json.loads(done.stdout.splitlines()[-1])


def print_gradients(options):
    for threads in options.threads:
        print(f"{threads or 'all'} threads: median (least) milliseconds of the loss, of the loss with its gradients")
        for name in options.models:
            found = measured("gradients", name, threads, options)
            if found:
                (least, median), (least_both, median_both) = found
                times = f"{median:.3f} ({least:.3f})  {median_both:.3f} ({least_both:.3f})"
                print(f"{name:10}  {times}  ratio {median_both / median:.2f} ({least_both / least:.2f})", flush=True)
    return 0


def main():
    names = ["digits", "char_lm", "resnet18", "bert_base", "mobilenet_v2", "vgg", "unet", "lstm", "tree_lstm"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", choices=names, default=names)
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2], help="0 stands for all cores")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--no-compile", action="store_true", help="leave out torch.compile, which compiles for a minute")
    parser.add_argument("--peers", default=str(ROOT / ".venv-peers/bin/python"))
    parser.add_argument("--gradients", action="store_true", help="time the loss against the loss with its gradients")
    parser.add_argument("--worker", choices=["relay", "torch", "torch.compile", "gradients"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(options)
        return 0
    if options.gradients:
        return print_gradients(options)
    tools = ["relay", "torch"] + ([] if options.no_compile else ["torch.compile"])
    differ = False
    for threads in options.threads:
        print(f"{threads or 'all'} threads: median (least) milliseconds of a step, MiB at most")
        ratios = []
        for name in options.models:
            # A recursion over trees is compiled anew for each shape of tree.
            used = [tool for tool in tools if (name, tool) != ("tree_lstm", "torch.compile")]
            found = {tool: measured(tool, name, threads, options) for tool in used}
            row = "".join(f"  {t} {r['median']:.2f} ({r['least']:.2f}), {r['memory']:.0f}" for t, r in found.items() if r)
            ours, peers = found["relay"], [r for t, r in found.items() if t != "relay" and r]
            if ours and peers:
                ratios.append(ours["median"] / min(r["median"] for r in peers))
                row += f"  ratio {ratios[-1]:.3f}"
                if not np.allclose(ours["losses"], peers[0]["losses"], rtol=1e-3):
                    row += f"  LOSSES DIFFER: {ours['losses']} and {peers[0]['losses']}"
                    differ = True
            print(f"{name:10}{row}", flush=True)
        if ratios:
            print(f"geometric mean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f}")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
