"""Pages of `relay explore` in headless Chromium, with real clicks; tests skip themselves where Chromium or Playwright is absent."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest

try:
    from playwright.sync_api import sync_playwright
except ImportError:  # the tests of pages skip themselves
    sync_playwright = None

RELAY = os.path.abspath(os.environ["RELAY_BIN"])
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium")

PROGRAM = """\
def @layer(%x: Tensor[(8, 16), float32], %w: Tensor[(16, 16), float32]) {
  let %h = nn.dense(%x, %w);
  nn.relu(%h * 1f)
}
def @main(%x: Tensor[(8, 16), float32], %w: Tensor[(16, 16), float32]) {
  let %a = @layer(%x, %w);
  let %b = @layer(%a, %w);
  nn.softmax(%b + exp(%x))
}
"""


def export(path, *arguments):
    """Runs `relay explore`, which has to succeed; gives the written file."""
    done = subprocess.run([RELAY, "explore", *map(str, arguments), "--output", str(path)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return path


def document(path, *arguments):
    """The JSON document of a program."""
    return json.loads(export(path, *arguments, "--format", "json").read_text())


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Has small.rly, and its page small.html."""
    made = tmp_path_factory.mktemp("explore")
    (made / "small.rly").write_text(PROGRAM)
    export(made / "small.html", made / "small.rly")
    return made


@pytest.fixture(scope="session")
def browser():
    if sync_playwright is None:
        pytest.skip("Playwright is not installed (pip install playwright)")
    if CHROMIUM is None or not pathlib.Path(CHROMIUM).exists():
        pytest.skip("Chromium is not installed (apt-get install chromium)")
    with sync_playwright() as player:
        chromium = player.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"], timeout=300_000)
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(browser):
    """Opens a page and waits until it shows; its console has to be silent and it may ask nothing of any host."""
    contexts = []

    def opened(path, place="", **options):
        context = browser.new_context(viewport={"width": 1400, "height": 850}, **options)
        contexts.append(context)
        page = context.new_page()
        page.problems = []
        page.set_default_timeout(120_000)
        page.on("console", lambda message: page.problems.append(message.text))
        page.on("pageerror", lambda error: page.problems.append(str(error)))
        page.on("request", lambda request: None if request.url.startswith(("file:", "data:", "blob:")) else page.problems.append(request.url))
        page.goto(f"file://{path}{place}")
        page.wait_for_selector("html[data-ready='1']")
        return page

    yield opened
    problems = [problem for context in contexts for page in context.pages for problem in page.problems]
    for context in contexts:
        context.close()
    assert problems == []
