"""The programs of docs/guides/pytorch.md, and those of the README that import PyTorch, as they stand there."""

import re
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from relay.frontend.torch.backend import relay as backend  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]


def programs(document):
    return re.findall(r"^```python\n(.*?)^```", (ROOT / document).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


PROGRAMS = programs("docs/guides/pytorch.md") + [program for program in programs("README.md") if "torch" in program]


@pytest.fixture(autouse=True, scope="module")
def known_backend():
    """A checkout that is not installed has no entry points."""
    if "relay" not in torch._dynamo.list_backends():
        torch._dynamo.register_backend(backend, name="relay")


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_program(program, tmp_path, capsys, monkeypatch):
    path = tmp_path / "program.py"  # torch.compile reads source
    path.write_text(program)
    monkeypatch.chdir(tmp_path)  # where programs save files
    exec(compile(program, str(path), "exec"), {"__name__": "guide"})  # noqa: S102
    printed = capsys.readouterr().out
    if "allclose" in program:
        assert printed.strip() == "True"
    if program in programs("README.md"):
        assert printed.strip() in ("torch.Size([2, 4])", "(2, 4)")
    if "loss.item" in program:
        first, last = map(float, printed.split())
        assert last < 0.2 * first
