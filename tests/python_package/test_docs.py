"""Every code block of the guides for Python runs."""

import pathlib
import re

import pytest

DOCS = pathlib.Path(__file__).parents[2] / "docs"
GUIDES = ["python.md", "operators-from-python.md"]
BLOCKS = [
    (guide, block)
    for guide in GUIDES
    for block in re.findall(r"^```python\n(.*?)^```", (DOCS / guide).read_text(), re.DOTALL | re.MULTILINE)
]


def test_there_are_blocks() -> None:
    assert all(sum(one == guide for one, _ in BLOCKS) >= 3 for guide in GUIDES)


@pytest.mark.parametrize("guide, code", BLOCKS, ids=range(len(BLOCKS)))
def test_block_runs(guide: str, code: str) -> None:
    exec(compile(code, guide, "exec"), {})  # noqa: S102


def test_the_pass_of_the_guide_does_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    guide, code = next(one for one in BLOCKS if "FuseScale" in one[1])
    exec(compile(code, guide, "exec"), {})  # noqa: S102
    assert "multiply(%x, 6f)" in capsys.readouterr().out
