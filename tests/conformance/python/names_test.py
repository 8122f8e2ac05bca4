"""The table of TVM's names: no fewer work than `counts.tsv` says, and none is without an answer beyond those counted there."""

import re
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


def test_operators_of_every_level_are_tested():
    from tvm import relay

    here = Path(names.__file__).parent
    words = set(re.findall(r"\w+", "".join(path.read_text() for path in here.glob("op_level*_test.py"))))
    levels = {}
    for name in relay.op.Op.list_op_names():
        operator = relay.op.get(name)
        levels.setdefault(operator.support_level, []).append(operator.name.split(".")[-1] in words)
    shares = {level: sum(found) / len(found) for level, found in sorted(levels.items())}
    assert set(shares) >= {1, 2, 3, 4, 5, 6, 10, 11} and min(shares.values()) >= 0.4, shares
