"""Every code block of docs/python.md runs."""

import pathlib
import re

import pytest

GUIDE = pathlib.Path(__file__).parents[2] / "docs/python.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(), re.DOTALL | re.MULTILINE)


def test_there_are_blocks() -> None:
    assert len(BLOCKS) >= 3


@pytest.mark.parametrize("code", BLOCKS, ids=range(len(BLOCKS)))
def test_block_runs(code: str) -> None:
    exec(compile(code, str(GUIDE), "exec"), {})  # noqa: S102


def test_the_pass_of_the_guide_does_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    code = next(block for block in BLOCKS if "FuseScale" in block)
    exec(compile(code, str(GUIDE), "exec"), {})  # noqa: S102
    assert "multiply(%x, 6f)" in capsys.readouterr().out
