"""The table of TVM's names: no fewer work than `counts.tsv` says, and none is without an answer beyond those counted there."""

import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import names  # noqa: E402


def test_names_work_as_counted(capsys):
    found = names.judgements()
    counts = Counter(state for _, state, _ in found)
    pinned = dict(line.split("\t") for line in (Path(names.__file__).parent / "counts.tsv").read_text().splitlines())
    with capsys.disabled():
        print("\n" + ", ".join(f"{state}: {counts[state]}" for state in pinned))
    assert counts["works"] >= int(pinned["works"])
    assert counts["missing"] <= int(pinned["missing"])
    assert sum(counts.values()) == len(names.rows())


def test_a_name_out_of_scope_has_a_reason():
    assert all(why for _, state, why in names.judgements() if state != "works")
