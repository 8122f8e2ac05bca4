"""The tool's side of GradBench's protocol: one JSON message a line on standard input, one answer a line on standard output.

A tool is a table of evaluations: {module: {function: Function}}. Messages are `start`, `define`, `evaluate`, `analysis`, and `end`, which has
no answer. A mistake in a message, or in what it asks for, is an answer with `success` false and an `error`; the tool goes on.
"""

import json
import sys
import time
import traceback
from dataclasses import dataclass
from typing import Any, Callable


@dataclass
class Function:
    """One function of an evaluation. `prepare` is not timed: it gives what is called without arguments, as often as is asked for."""

    prepare: Callable[[Any], Callable[[], Any]]
    shown: Callable[[Any], Any]  # the result as JSON


def measured(call, runs, seconds):
    """The last result, and the nanoseconds of each run: at least so many runs and at least so long."""
    times = []
    while True:
        begin = time.perf_counter_ns()
        result = call()
        times.append(time.perf_counter_ns() - begin)
        if len(times) >= runs and sum(times) >= seconds * 1e9:
            return result, times


def evaluate(tools, message):
    functions = tools.get(message["module"])
    if functions is None:
        raise LookupError(f"no evaluation {message['module']!r}; there are {', '.join(tools)}")
    function = functions.get(message["function"])
    if function is None:
        raise LookupError(f"{message['module']} has no function {message['function']!r}; it has {', '.join(functions)}")
    given = message["input"]
    runs, seconds = (given.get("min_runs", 1), given.get("min_seconds", 0)) if isinstance(given, dict) else (1, 0)
    result, times = measured(function.prepare(given), runs, seconds)
    timings = [{"name": "evaluate", "nanoseconds": spent} for spent in times]
    return {"success": True, "output": function.shown(result), "timings": timings}


def answer(name, tools, message):
    kind = message.get("kind")
    if kind == "start":
        return {"tool": name}
    if kind == "define":
        if message.get("module") in tools:
            return {"success": True}
        return {"success": False, "error": f"no evaluation {message.get('module')!r}; there are {', '.join(tools)}"}
    if kind == "evaluate":
        return evaluate(tools, message)
    if kind == "analysis":
        return {}
    raise LookupError(f"no message of kind {kind!r}")


def serve(name, tools):
    """Answers messages until the input ends, or `end`."""
    for line in sys.stdin:
        if not line.strip():
            continue
        number = None
        try:
            message = json.loads(line)
            number = message["id"]
            if message.get("kind") == "end":
                return
            reply = answer(name, tools, message)
        except Exception as error:  # noqa: BLE001 (whatever it is, the other side is told, and the next message is answered)
            reply = {"success": False, "error": "".join(traceback.format_exception(error))}
        print(json.dumps({"id": number} | reply), flush=True)
