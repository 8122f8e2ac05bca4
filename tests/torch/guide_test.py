"""The programs of docs/guides/pytorch.md, as they stand there."""

import re
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from relay.frontend.torch.backend import relay as backend  # noqa: E402

GUIDE = Path(__file__).resolve().parents[2] / "docs/guides/pytorch.md"
PROGRAMS = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.fixture(autouse=True, scope="module")
def known_backend():
    """A checkout that is not installed has no entry points."""
    if "relay" not in torch._dynamo.list_backends():
        torch._dynamo.register_backend(backend, name="relay")


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_program(program, tmp_path, capsys):
    path = tmp_path / "program.py"  # torch.compile reads source
    path.write_text(program)
    exec(compile(program, str(path), "exec"), {"__name__": "guide"})  # noqa: S102
    printed = capsys.readouterr().out
    if "allclose" in program:
        assert printed.strip() == "True"
    if "loss.item" in program:
        first, last = map(float, printed.split())
        assert last < 0.2 * first
