"""Times the peer's side of the cases, in one process for all of them.

Reads lines of JSON: {"case": name, "inputs": an .npz of arrays} makes a case ready and answers with an .npz of its
results beside it; {"case": name, "runs": n} answers with the median in milliseconds. Started by kernels.py with an
interpreter that has PyTorch, so that its thread pool does not meet the one of the program that it is compared with.
"""

import json
import statistics
import sys
import time

import numpy as np
import torch

from all_cases import cases


def as_arrays(result):
    results = result if isinstance(result, (tuple, list)) else [result]
    return [np.asarray(each) for each in results]


def main():
    torch.set_num_threads(int(sys.argv[1]))
    by_name = {case.name: case for case in cases()}
    print(torch.__version__, flush=True)
    function, inputs = None, []
    for line in sys.stdin:
        command = json.loads(line)
        case = by_name[command["case"]]
        with torch.inference_mode():
            if "inputs" in command:
                with np.load(command["inputs"]) as stored:
                    inputs = [torch.from_numpy(stored[f"arr_{i}"]) for i in range(len(stored.files))]
                function = case.torch(torch)
                if case.adapt:
                    inputs = case.adapt(torch, inputs)
                results = case.theirs(as_arrays(function(*inputs)))
                np.savez(command["inputs"].replace("inputs", "theirs"), *results)
                print("ready", flush=True)
                continue
            times = []
            for _ in range(int(command["runs"]) + 2):
                begin = time.perf_counter()
                function(*inputs)
                times.append(time.perf_counter() - begin)
        print(statistics.median(times[2:]) * 1e3, flush=True)


if __name__ == "__main__":
    main()
