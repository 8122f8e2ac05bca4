"""The command line of TVM, `python -m tvm.driver.tvmc`: compile and run models. Relay's own command is `relay`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import _absent, error
from .compiler import compile_model
from .frontends import get_frontend_names, load_model
from .model import TVMCException, TVMCPackage
from .runner import run_module
from .shape_parser import parse_shape_string

__all__ = ["main"]


def main() -> None:
    """Runs the command line, and exits with its status."""
    sys.exit(_main(sys.argv[1:]))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tvmc", description="Compile and run models.")
    parser.add_argument("--version", action="store_true", help="print the version")
    parser.add_argument("-v", "--verbose", action="count", default=0, help="accepted, and changes nothing")
    commands = parser.add_subparsers(title="commands", dest="command")

    build = commands.add_parser("compile", help="compile a model")
    build.add_argument("FILE", help="a model: .onnx, or program text (.relay, .rly)")
    build.add_argument("--target", default="llvm", help="the target, such as 'llvm -mcpu=skylake-avx512'")
    build.add_argument("-o", "--output", default="module.tar", help="the file to write (module.tar)")
    build.add_argument("--model-format", choices=get_frontend_names(), help="the format of the model, in place of what its name says")
    build.add_argument("--input-shapes", type=parse_shape_string, help="extents of inputs: 'name:[1,3,8,8] other:[1]'")
    build.add_argument("-O", "--opt-level", type=int, choices=range(4), default=3, help="how much to optimise (3)")
    build.add_argument("--disabled-pass", help="passes to leave out, with commas between them")
    build.add_argument("--pass-config", action="append", metavar="NAME=VALUE", help="an option of the pass context")
    build.add_argument("--desired-layout", help="not there: run ConvertLayout on the module")
    build.add_argument("-f", "--output-format", choices=("so", "tar"), default="tar", help="accepted: the file is the same for all formats")

    run = commands.add_parser("run", help="run a compiled model")
    run.add_argument("FILE", help="what compile wrote")
    run.add_argument("-i", "--inputs", help="an .npz file of inputs by name; others are made up")
    run.add_argument("-o", "--outputs", help="the .npz file to write outputs to")
    run.add_argument("--device", default="cpu", help="the device (cpu)")
    run.add_argument("--fill-mode", choices=("zeros", "ones", "random"), default="random", help="the numbers of inputs that are not given")
    run.add_argument("--print-time", action="store_true", help="measure the run")
    run.add_argument("--print-top", type=int, metavar="N", help="print the N greatest values of the first output, and where they stand")
    run.add_argument("--repeat", type=int, default=1, help="how often to measure (1)")
    run.add_argument("--number", type=int, default=1, help="how many runs make one measurement (1)")
    run.add_argument("--end-to-end", action="store_true", help="measure the copies of inputs and outputs, too")
    return parser


def _compile(args: argparse.Namespace) -> None:
    model = load_model(args.FILE, args.model_format, args.input_shapes)
    compile_model(
        model, args.target, args.opt_level, package_path=args.output, disabled_pass=args.disabled_pass,
        pass_context_configs=args.pass_config, desired_layout=args.desired_layout,
    )  # fmt: skip


def _run(args: argparse.Namespace) -> None:
    inputs: dict[str, Any] = {}
    if args.inputs is not None:
        with np.load(args.inputs, allow_pickle=False) as arrays:
            inputs = dict(arrays)
    result = run_module(
        TVMCPackage(args.FILE), args.device, inputs=inputs, fill_mode=args.fill_mode, benchmark=args.print_time, repeat=args.repeat,
        number=args.number, end_to_end=args.end_to_end,
    )  # fmt: skip
    if args.print_time:
        print(result.format_times())
    if args.print_top is not None:
        values = np.ravel(result.get_output("output_0"))
        places = np.argsort(values, kind="stable")[::-1][: max(args.print_top, 0)]
        print(np.array([places, values[places]]))
    if args.outputs is not None:
        result.save(args.outputs)


def _main(argv: Sequence[str]) -> int:
    """The exit status of a command line: 0, 1 if it failed, 2 if it cannot be read."""
    parser = _parser()
    try:
        args = parser.parse_args(argv)
    except SystemExit as end:
        return int(end.code or 0)
    if args.version:
        from ... import __version__

        print(__version__)
        return 0
    if args.command is None:
        parser.print_help(sys.stderr)
        return 2
    try:
        (_compile if args.command == "compile" else _run)(args)
    except (TVMCException, error.TVMError, NotImplementedError, OSError, ValueError, KeyError) as failure:
        print(f"tvmc {args.command}: {failure}", file=sys.stderr)
        return 1
    return 0


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
