"""Progress of long work, and how things show themselves in notebooks."""

import io
import sys
import time
import types

import numpy as np
import pytest

import relay
from relay import _progress, display


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def soon(monkeypatch):
    monkeypatch.setattr(_progress, "_FIRST", 0.0)
    monkeypatch.setattr(_progress, "_BETWEEN", 0.0)


def test_a_bar_on_a_terminal(monkeypatch, soon):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    for i in (bar := relay.progress([10, 20, 30, 40], "training")):
        bar.note = f"loss {i}"
    shown = screen.getvalue().split("\r")
    assert shown[2].startswith("[############            ] training, 2/4, 0:00, 0:00 left, loss 20") and len(bar) == 4
    assert shown[-1] == "" and shown[-2].strip() == ""


def test_the_time_left():
    bar = relay.progress(range(100), "x")
    bar.done = 25
    assert bar.text(3600 / 4) == "x, 25/100, 15:00, 45:00 left"
    bar.done = 50
    assert bar.text(7300) == "x, 50/100, 2:01:40, 2:01:40 left"
    endless = relay.progress(iter([1]))
    assert endless.text(5) == "0, 0:05"
    with pytest.raises(TypeError, match="not known how many"):
        len(endless)


def test_it_is_silent_elsewhere(capsys, soon):
    assert list(relay.progress(iter("abc"), total=3)) == ["a", "b", "c"]
    relay.compile(relay.parse("def @main(%x: float32) { %x }"))
    assert capsys.readouterr() == ("", "")


def test_the_bar_goes_when_the_work_fails(monkeypatch, soon):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with pytest.raises(ZeroDivisionError):
        with relay.progress(range(3), "x") as bar:
            bar.update(2)
            1 / 0
    assert screen.getvalue().split("\r")[-2].strip() == ""


def test_work_of_unknown_length_says_that_it_goes_on(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with _progress.working("compiling"):
        pass
    assert screen.getvalue() == ""
    with _progress.working("compiling"):
        end = time.monotonic() + 30
        while "compiling, 0:01" not in screen.getvalue() and time.monotonic() < end:
            time.sleep(0.05)
    assert "compiling, 0:01" in screen.getvalue() and screen.getvalue().split("\r")[-2].strip() == ""


def test_a_bar_in_a_notebook(monkeypatch, soon):
    shown = []

    class ZMQInteractiveShell:
        pass

    handle = types.SimpleNamespace(update=shown.append)
    kernel = types.ModuleType("IPython")
    kernel.get_ipython = ZMQInteractiveShell
    kernel.display = types.SimpleNamespace(HTML=lambda text: text, display=lambda html, display_id: shown.append(html) or handle)
    monkeypatch.setitem(sys.modules, "IPython", kernel)
    list(relay.progress(range(4), "<training>"))
    assert len(shown) == 4 and shown[1].startswith('<div><progress max="1" value="0.500"></progress> &lt;training&gt;, 2/4')


def test_types_and_executables_show_themselves():
    assert relay.TensorType((relay.ShapeVar("n"), 2), "float32")._repr_html_() == "<code>Tensor[(n, 2), float32]</code>"
    program = relay.compile(relay.parse("def @main(%x: Tensor[(4), float32]) { tanh(exp(%x)) }"))
    page = program._repr_html_()
    assert "<td>x</td><td>Tensor[(4), float32]</td>" in page and "<summary>1 kernel</summary>" in page and "exp_tanh" in page


def test_a_profile_is_a_list_and_a_table():
    program = relay.compile(relay.parse("def @main(%x: Tensor[(4), float32]) { tanh(exp(%x)) }"))
    profile = program.profile(np.ones(4, "float32"))
    assert isinstance(profile, list) and profile[0]["calls"] == 1
    lines = str(profile).split("\n")
    assert lines[0].split() == ["kernel", "calls", "time", "share", "operations", "moved"] and lines[1].startswith("exp_tanh") and "100%" in lines[1]
    assert profile._repr_html_().startswith("<table><tr><th>kernel</th>") and display.size_text(2.5e9) == "2.5 GB" and display.size_text(999) == "999 bytes"
