"""No test of this folder is collected without PyTorch."""

import importlib.util

collect_ignore_glob = [] if importlib.util.find_spec("torch") else ["*_test.py"]
