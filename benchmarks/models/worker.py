"""One runtime on one model, in a process of its own, so that pools of threads and memory do not meet.

    worker.py RUNTIME MODEL INPUTS.npz THREADS [LIBRARY]

Reads commands, one a line, and answers each with a line of JSON:
    load            loads and prepares the model                    {"ms": ...}
    run PATH        runs once, writes the results                   {}
    time N          runs N times                                    {"ms": [...]}
    memory          peak of resident memory so far, in bytes        {"bytes": ...}
RUNTIME is relay (MODEL is its .rlx, LIBRARY librelay_runtime.so), onnxruntime, openvino or torch.
"""

import json
import sys
import time

import numpy as np


class Relay:
    def __init__(self, model, arrays, threads, library):
        from relay_runtime import Program

        self.program = Program(library, model, threads)
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

    def results(self):
        return self.session.run(None, self.arrays)

    once = results


class OpenVino:
    def __init__(self, model, arrays, threads, _):
        import openvino

        core = openvino.Core()
        read = core.read_model(model)
        read.reshape({name: list(array.shape) for name, array in arrays.items()})
        settings = {
            "INFERENCE_NUM_THREADS": threads,
            "INFERENCE_PRECISION_HINT": "f32",
            "PERFORMANCE_HINT": "LATENCY",
            "NUM_STREAMS": 1,
        }
        compiled = core.compile_model(read, "CPU", settings)
        self.request = compiled.create_infer_request()
        for name, array in arrays.items():
            self.request.set_tensor(name, openvino.Tensor(array, shared_memory=True))
        self.outputs = compiled.outputs

    def once(self):
        self.request.infer()

    def results(self):
        self.request.infer()
        return [np.array(self.request.get_tensor(each).data) for each in self.outputs]


class Torch:
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


def main():
    runtime, model, inputs, threads = sys.argv[1:5]
    library = sys.argv[5] if len(sys.argv) > 5 else None
    with np.load(inputs) as stored:
        arrays = {name: stored[name] for name in stored.files}
    engine = None
    for line in sys.stdin:
        command, *rest = line.split()
        answer = {}
        if command == "load":
            begin = time.perf_counter()
            engine = RUNTIMES[runtime](model, arrays, int(threads), library)
            answer["ms"] = (time.perf_counter() - begin) * 1e3
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
    main()
