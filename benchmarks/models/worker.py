"""One runtime on one model, in a process of its own, so that pools of threads and memory do not meet.

    worker.py RUNTIME MODEL INPUTS.npz THREADS [LIBRARY]

Reads commands, one a line, and answers each with a line of JSON:
    load            loads and prepares the model                    {"ms": ...}
    feeds PATH      takes other inputs from now on                  {}
    run PATH        runs once, writes the results                   {}
    time N          runs N times                                    {"ms": [...]}
    memory          peak of resident memory so far, in bytes        {"bytes": ...}
RUNTIME is relay (MODEL is its .rlx, LIBRARY librelay_runtime.so), onnxruntime, openvino or torch. With `-` for INPUTS the
model is loaded as it is and gets inputs by `feeds`; else OpenVINO and PyTorch prepare it for the extents of these inputs.
"""

import json
import sys
import time
import traceback

import numpy as np


class Relay:
    def __init__(self, model, arrays, threads, library):
        from relay_runtime import Program

        self.program = Program(library, model, threads)
        if arrays is not None:
            self.feed(arrays)

    def feed(self, arrays):
        # Names that are no names of Relay's are kept as they are.
        self.program.bind(arrays)

    def once(self):
        self.program.free(self.program.run())

    def results(self):
        result = self.program.run()
        arrays = self.program.results(result)
        self.program.free(result)
        return arrays


class OnnxRuntime:
    def __init__(self, model, arrays, threads, _):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.arrays = arrays

    def feed(self, arrays):
        self.arrays = arrays

    def results(self):
        return self.session.run(None, self.arrays)

    once = results


class OpenVino:
    def __init__(self, model, arrays, threads, _):
        import openvino

        core = openvino.Core()
        read = core.read_model(model)
        if arrays is not None:
            read.reshape({name: list(array.shape) for name, array in arrays.items()})
        settings = {
            "INFERENCE_NUM_THREADS": threads,
            "INFERENCE_PRECISION_HINT": "f32",
            "PERFORMANCE_HINT": "LATENCY",
            "NUM_STREAMS": 1,
        }
        compiled = core.compile_model(read, "CPU", settings)
        self.request = compiled.create_infer_request()
        self.outputs = compiled.outputs
        self.tensor = openvino.Tensor
        if arrays is not None:
            self.feed(arrays)

    def feed(self, arrays):
        self.arrays = arrays
        for name, array in arrays.items():
            self.request.set_tensor(name, self.tensor(array, shared_memory=True))

    def once(self):
        self.request.infer()

    def results(self):
        self.request.infer()
        return [np.array(self.request.get_tensor(each).data) for each in self.outputs]


class Torch:
    """Compiles for the inputs that it begins with: no `feed`."""

    def __init__(self, model, arrays, threads, _):
        import torch
        from torch_model import load

        torch.set_num_threads(threads)
        self.torch = torch
        self.inputs = [torch.from_numpy(array) for array in arrays.values()]
        self.function = torch.compile(load(model), mode="max-autotune-no-cudagraphs")
        self.once()

    def once(self):
        with self.torch.inference_mode():
            return self.function(*self.inputs)

    def results(self):
        results = self.once()
        results = results if isinstance(results, (tuple, list)) else [results]
        return [each.numpy() for each in results]


RUNTIMES = {"relay": Relay, "onnxruntime": OnnxRuntime, "openvino": OpenVino, "torch": Torch}


def peak_memory():
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0


def arrays_of(path):
    with np.load(path) as stored:
        return {name: stored[name] for name in stored.files}


def main():
    runtime, model, inputs, threads = sys.argv[1:5]
    library = sys.argv[5] if len(sys.argv) > 5 else None
    arrays = None if inputs == "-" else arrays_of(inputs)
    engine = None
    for line in sys.stdin:
        command, *rest = line.split()
        answer = {}
        if command == "load":
            begin = time.perf_counter()
            engine = RUNTIMES[runtime](model, arrays, int(threads), library)
            answer["ms"] = (time.perf_counter() - begin) * 1e3
        elif command == "feeds":
            engine.feed(arrays_of(rest[0]))
        elif command == "run":
            np.savez(rest[0], *engine.results())
        elif command == "time":
            times = []
            for _ in range(int(rest[0])):
                begin = time.perf_counter()
                engine.once()
                times.append((time.perf_counter() - begin) * 1e3)
            answer["ms"] = times
        elif command == "memory":
            answer["bytes"] = peak_memory()
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    try:
        main()
    except Exception as error:  # whoever started this shows the last line
        traceback.print_exc()
        sys.exit(f"{type(error).__name__}: {' '.join(str(error).split())}")
