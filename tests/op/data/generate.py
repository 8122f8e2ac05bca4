"""Writes the operator test data: python3 tests/op/data/generate.py [--check [ORACLE_FOLDER] | FAMILY…]

Without arguments it writes the *.jsonl files beside it, otherwise those of the families. With --check it writes nothing: it generates everything in memory,
compares it with the files, reads every program back through a small evaluator, and runs the reference functions on the
oracle's cases, reporting each disagreement.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from generate.main import main  # noqa: E402

sys.exit(main(sys.argv[1:]))
