"""For all tests in Python: a folder for cached kernels where the user's home has none, because relay warns if it cannot write there."""

import atexit
import os
import pathlib
import shutil
import sys
import tempfile

# pytest puts the folder of this file on the path, where the folder `torch` would be taken for PyTorch.
_HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [path for path in sys.path if os.path.abspath(path) != _HERE]


def _cache_is_writable() -> bool:
    try:
        folder = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return False
    return os.access(folder, os.W_OK | os.X_OK)


if "RELAY_CACHE_DIR" not in os.environ and not _cache_is_writable():
    os.environ["RELAY_CACHE_DIR"] = tempfile.mkdtemp(prefix="relay-test-cache-")
    atexit.register(shutil.rmtree, os.environ["RELAY_CACHE_DIR"], ignore_errors=True)
