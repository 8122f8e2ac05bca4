"""Times PyTorch on the cases: reads "NAME RUNS" lines, answers each with the median in milliseconds.

Started by kernels.py with an interpreter that has PyTorch, one process for all cases, so that its thread pool does not
meet the one of the program that it is compared with.
"""

import statistics
import sys
import time

import torch

from cases import cases


def main():
    torch.set_num_threads(int(sys.argv[1]))
    torch.manual_seed(0)
    by_name = {case.name: case for case in cases()}
    ready = {}
    print(torch.__version__, flush=True)
    for line in sys.stdin:
        name, runs = line.rstrip("\n").rsplit("\t", 1)
        if name not in ready:
            case = by_name[name]
            ready = {name: (case.torch(torch), [torch.rand(shape) - 0.5 for shape in case.inputs])}
        function, inputs = ready[name]
        times = []
        with torch.inference_mode():
            for _ in range(int(runs) + 2):
                begin = time.perf_counter()
                function(*inputs)
                times.append(time.perf_counter() - begin)
        print(statistics.median(times[2:]) * 1e3, flush=True)


if __name__ == "__main__":
    main()
