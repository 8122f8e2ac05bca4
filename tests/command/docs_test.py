"""The generated pages of the documentation are those of the declarations."""

import os
import pathlib
import subprocess

import pytest

RELAY = os.environ["RELAY_BIN"]
DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize("page", ["operators", "passes"])
def test_page_is_current(page):
    done = subprocess.run([RELAY, "doc", page], capture_output=True, text=True, check=True)
    assert done.stdout == (DOCS / f"{page}.md").read_text(), "run `make docs`"
