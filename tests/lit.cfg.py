"""Golden tests: lit finds the files, golden_format.py runs them.

Parameters: relay=<the binary>, scratch=<folder for temporary files>. RELAY_UPDATE_GOLDEN=1 rewrites the expectations.
"""

import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import golden_format  # noqa: E402

build = HERE.parent / "build"
config.name = "golden"
config.suffixes = [".rly", ".test"]
config.excludes = ["unit", "python", "command", "Inputs"]
config.test_source_root = str(HERE)
scratch_root = pathlib.Path(lit_config.params.get("scratch", build / "golden")).resolve()
config.test_exec_root = str(scratch_root)
# Kernels are cached beside the tests, not in the user's home, which need not be there: relay warns if it cannot write.
os.environ.setdefault("RELAY_CACHE_DIR", str(scratch_root / "cache"))
config.test_format = golden_format.GoldenTest(
    pathlib.Path(lit_config.params.get("relay", build / "bin/relay")).resolve(),
    scratch_root,
    os.environ.get("RELAY_UPDATE_GOLDEN") == "1",
)
