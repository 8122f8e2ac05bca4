"""The command line of TVM, `python -m tvm.driver.tvmc`: compile and run models. Relay's own command is `relay`."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import _absent, error
from .arguments import add_refused, split_target_options, with_target_options
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
    build.add_argument("--desired-layout", help="the layout of convolutions, NCHW or NHWC, or with that of weights NHWC:HWIO; one for each operator with commas between them")
    build.add_argument("--desired-layout-ops", help="the operators that --desired-layout says something of, with commas between them")
    build.add_argument("--module-name", default="default", help="a name for the compiled module (default)")
    build.add_argument("--tuning-records", help="accepted, where the file is there: kernels are generated without schedules")
    build.add_argument("--print-pass-times", action="store_true", help="print how long each pass takes")
    build.add_argument("--executor", default="graph", help="accepted: there is one executor")
    build.add_argument("--runtime", default="cpp", help="accepted: there is one runtime")
    build.add_argument("--use-vm", action="store_true", help="accepted: there is one executor")
    build.add_argument("-f", "--output-format", choices=("so", "tar", "mlf"), default="tar", help="accepted: the file is the same for so and tar; mlf is not there")
    add_refused(build, "--cross-compiler", "--cross-compiler-options", "--dump-code", "--dump-offloads", "--print-ir-before", "--print-ir-after",
                "--workspace-pools")  # fmt: skip

    run = commands.add_parser("run", help="run a compiled model")
    run.add_argument("FILE", help="what compile wrote")
    run.add_argument("-i", "--inputs", help="an .npz file of inputs by name; others are made up")
    run.add_argument("--input-shapes", type=parse_shape_string, help="extents of inputs that are made up, where the program leaves them open: 'x:[1,3]'")
    run.add_argument("--profile", action="store_true", help="print a table of kernels and their times")
    add_refused(run, "--rpc-tracker", "--rpc-key")
    run.add_argument("-o", "--outputs", help="the .npz file to write outputs to")
    run.add_argument("--device", default="cpu", help="the device (cpu)")
    run.add_argument("--fill-mode", choices=("zeros", "ones", "random"), default="random", help="the numbers of inputs that are not given")
    run.add_argument("--print-time", action="store_true", help="measure the run")
    run.add_argument("--print-top", type=int, metavar="N", help="print the N greatest values of the first output, and where they stand")
    run.add_argument("--repeat", type=int, default=1, help="how often to measure (1)")
    run.add_argument("--number", type=int, default=1, help="how many runs make one measurement (1)")
    run.add_argument("--end-to-end", action="store_true", help="measure the copies of inputs and outputs, too")

    tune = commands.add_parser("tune", help="write a log without records: nothing can be tuned", add_help=False)
    tune.add_argument("-o", "--output", "--tuning-records", required=True)
    return parser


# Commands of TVM that are not there.
_NO_COMMANDS = {"micro": "programs for microcontrollers: programs are compiled for CPUs of x86-64 and AArch64"}


def _options(argv: Sequence[str], parser: argparse.ArgumentParser) -> tuple[argparse.Namespace, dict[str, str]]:
    """The command line, and options of targets by name. Raises TVMCException for options that are none."""
    command = next((word for word in argv if not word.startswith("-")), None)
    if command in _NO_COMMANDS:
        raise NotImplementedError(f"the command {command} is not there. It needs {_NO_COMMANDS[str(command)]}")
    if command == "tune":
        return parser.parse_known_args(argv)[0], {}
    commands = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    inner = None if command is None else commands.choices.get(command)
    known = [option for part in (parser, inner) if part is not None for action in part._actions for option in action.option_strings]
    words, target_options = split_target_options(argv, known)
    return parser.parse_args(words), target_options


def _tune(args: argparse.Namespace) -> None:
    with open(args.output, "a", encoding="utf-8"):
        pass
    print("tvmc tune: kernels are generated without schedules, so nothing is tuned, and the log has no records", file=sys.stderr)


def _compile(args: argparse.Namespace, target_options: dict[str, str]) -> None:
    model = load_model(args.FILE, args.model_format, args.input_shapes)
    compile_model(
        model, with_target_options(args.target, target_options), args.opt_level, package_path=args.output, disabled_pass=args.disabled_pass,
        pass_context_configs=args.pass_config, desired_layout=args.desired_layout and args.desired_layout.split(","),
        desired_layout_ops=args.desired_layout_ops and args.desired_layout_ops.split(","), tuning_records=args.tuning_records,
        output_format=args.output_format, mod_name=args.module_name, print_pass_times=args.print_pass_times,
    )  # fmt: skip


def _run(args: argparse.Namespace) -> None:
    inputs: dict[str, Any] = {}
    if args.inputs is not None:
        with np.load(args.inputs, allow_pickle=False) as arrays:
            inputs = dict(arrays)
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        result = run_module(
            TVMCPackage(args.FILE), args.device, inputs=inputs, fill_mode=args.fill_mode, benchmark=args.print_time, repeat=args.repeat,
            number=args.number, end_to_end=args.end_to_end, profile=args.profile, input_shapes=args.input_shapes,
        )  # fmt: skip
    for note in notes:
        print(f"tvmc run: {note.message}", file=sys.stderr)
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
        args, target_options = _options(argv, parser)
    except SystemExit as end:
        return int(end.code or 0)
    except (TVMCException, NotImplementedError) as failure:
        print(f"tvmc: {failure}", file=sys.stderr)
        return 2
    if args.version:
        from ... import __version__

        print(__version__)
        return 0
    if args.command is None:
        parser.print_help(sys.stderr)
        return 2
    try:
        if args.command == "compile":
            _compile(args, target_options)
        else:
            (_tune if args.command == "tune" else _run)(args)
    except (TVMCException, error.TVMError, NotImplementedError, OSError, ValueError, KeyError) as failure:
        print(f"tvmc {args.command}: {failure}", file=sys.stderr)
        return 1
    return 0


def __getattr__(name: str) -> Any:
    return _absent.lookup(__name__, name)
