"""Whole scripts as users of TVM wrote them: each runs to its end, and its own assertions hold."""

import runpy
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).parent / "scripts").glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=[path.stem for path in SCRIPTS])
def test_script(script, capsys):
    runpy.run_path(str(script), run_name="__main__")


def test_there_are_ten():
    assert len(SCRIPTS) >= 10
