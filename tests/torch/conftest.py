"""No test of this folder is collected without PyTorch. The summary says how many samples of PyTorch's own tests agree."""

import importlib.util

collect_ignore_glob = [] if importlib.util.find_spec("torch") else ["*_test.py"]


def pytest_terminal_summary(terminalreporter):
    passed = terminalreporter.getreports("passed")
    counts = [value for report in passed if report.when == "call" for name, value in report.user_properties if name == "samples"]
    if counts:
        terminalreporter.write_line(f"{sum(counts)} samples of {len(counts)} operators agree with PyTorch")
