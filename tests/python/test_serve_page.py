"""The page of `relay serve` in a headless Chromium. Skipped where that or playwright is not installed; RELAY_SCREENS is a folder for pictures of it."""

import importlib.util
import os
from pathlib import Path

import pytest
from test_serve import MISSING, ROWS, Server

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
MISSING = [*MISSING, *([] if importlib.util.find_spec("playwright") else ["playwright"]), *([] if os.path.exists(CHROMIUM) else ["chromium"])]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
PATIENCE = 300_000  # ms: machines are busy


def test_page(tmp_path: Path) -> None:
    from playwright.sync_api import expect, sync_playwright

    (tmp_path / "spare.rly").write_text("def @main(%x: Tensor[(2), float32]) { %x }")
    server = Server(tmp_path, {"rows": ROWS}, "--repository", str(tmp_path), "--token-file", str(token(tmp_path)), "--memory", "1G")
    expect.set_options(timeout=PATIENCE)
    try:
        with sync_playwright() as player:
            browser = player.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"], timeout=PATIENCE)
            page = browser.new_page(viewport={"width": 900, "height": 1000})
            page.set_default_timeout(PATIENCE)
            wrong: list[str] = []
            page.on("pageerror", lambda error: wrong.append(str(error)))
            page.on("request", lambda request: wrong.append(request.url) if f"127.0.0.1:{server.port}/" not in request.url else None)
            page.goto(f"http://127.0.0.1:{server.port}/")
            expect(page.get_by_role("alert")).to_contain_text("this server wants a token")  # and shows no model
            assert page.locator("section").count() == 0
            page.get_by_label("token").fill("secret")
            page.get_by_label("token").press("Enter")
            section = page.locator("section").filter(has=page.get_by_role("heading", name="rows"))
            expect(section).to_contain_text("no requests yet")
            expect(section).to_contain_text("(n, 4)")
            expect(page.locator("section").filter(has=page.get_by_role("heading", name="spare"))).to_contain_text("not loaded")
            expect(page.locator("#memory")).to_contain_text("of 1000.0 MB")
            expect(page.get_by_role("alert")).to_be_empty()

            section.get_by_text("Try it").click()
            request = section.get_by_label("request to rows")
            expect(request).to_have_value('{"inputs":[{"name":"x","shape":[1,4],"datatype":"FP32","data":[0,0,0,0]},{"name":"k","shape":[1],"datatype":"INT64","data":[0]}]}')
            request.fill(request.input_value().replace("[0,0,0,0]", "[1,-2,3,4]"))
            section.get_by_role("button", name="Infer").click()
            expect(section.locator("pre")).to_contain_text('"data":[1.0,0.0,3.0,4.0]')
            expect(section.locator("pre")).to_contain_text('"data":[6.0]')
            expect(section).to_contain_text("last 1 requests: median")
            screenshot(page, "answer")
            request.fill('{"inputs": [')
            section.get_by_role("button", name="Infer").click()
            expect(section).to_contain_text("400, ")
            for width in (360, 900):
                page.set_viewport_size({"width": width, "height": 1000})
                assert page.evaluate("document.documentElement.scrollWidth") <= width, f"wider than {width} pixels"
                screenshot(page, f"refused-{width}")
            page.emulate_media(color_scheme="dark")
            screenshot(page, "dark")
            assert wrong == []
            browser.close()
    finally:
        code, errors = server.stop()
    assert (code, errors) == (0, "")


def token(folder: Path) -> Path:
    path = folder / "token"
    path.write_text("secret")
    path.chmod(0o600)
    return path


def screenshot(page: object, name: str) -> None:
    folder = os.environ.get("RELAY_SCREENS")
    if folder:
        page.screenshot(path=os.path.join(folder, f"{name}.png"))  # type: ignore[attr-defined]
